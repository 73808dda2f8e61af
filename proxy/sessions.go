package proxy

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/pgairlock/pgairlock/policy/statement"
)

// SessionInfo is how one session stands, for whoever operates the proxy.
type SessionInfo struct {
	ID         string
	Agent      string
	OnBehalfOf string // as claimed by the client
	Database   string
	Role       string // upstream login
	PID        uint32 // upstream backend
	Client     string // address
	Program    string // application_name
	Began      time.Time
	State      State
	Statement  string    // what the server is at: without literals and secrets, cut at longStatement bytes; "" when idle
	Since      time.Time // when the server began with it; zero when idle
}

// State is what a session is at, in pg_stat_activity's words.
type State string

// States of a session.
const (
	StateActive  State = "active"
	StateIdle    State = "idle"
	StateInBlock State = "idle in transaction"
	StateFailed  State = "idle in transaction (aborted)"
	// StateBusy is a session that could not be looked at: it waits for a socket.
	StateBusy State = "busy"
)

// longStatement is how much of a statement is shown, in bytes.
const longStatement = 1000

// Sessions tells of every session, the oldest first.
func (s *Server) Sessions() []SessionInfo {
	open := s.open()
	list := make([]SessionInfo, 0, len(open))
	for _, x := range open {
		list = append(list, x.info())
	}
	slices.SortFunc(list, func(a, b SessionInfo) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// patience is how often a session that is held is tried, a millisecond apart.
const patience = 20

func (x *session) info() SessionInfo {
	info := SessionInfo{ID: x.id, Agent: x.pair[0], Database: x.database, Role: x.up.user, PID: x.up.pid,
		Client: x.client.RemoteAddr().String(), Program: x.server.options.Redact(x.program), Began: x.began, State: StateBusy}
	text := ""
	for range patience {
		// never waits for a session: one that hangs is what somebody looks for
		if x.mu.TryLock() {
			text = x.standing(&info)
			x.mu.Unlock()
			break
		}
		time.Sleep(time.Millisecond)
	}
	if text != "" {
		info.Statement = shown(x.server.options.Redact(statement.WithoutLiterals(text)))
	}
	return info
}

// standing fills in what changes, and returns the text that the server is at. The
// caller holds x.mu.
func (x *session) standing(info *SessionInfo) string {
	info.OnBehalfOf = x.server.options.Redact(x.onBehalfOf)
	if x.flow.Pending() == 0 {
		switch x.flow.Status() {
		case 'T':
			info.State = StateInBlock
		case 'E':
			info.State = StateFailed
		default:
			info.State = StateIdle
		}
		return ""
	}
	info.State, info.Since = StateActive, x.oldestSince
	if op := noteOf(x.flow.Oldest()); op != nil && op.judged != nil {
		return op.judged.Text
	}
	return ""
}

// shown cuts a long text, between two characters.
func shown(text string) string {
	if len(text) <= longStatement {
		return text
	}
	return strings.ToValidUTF8(text[:longStatement], "") + "…"
}
