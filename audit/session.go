package audit

import "time"

// SessionStart says that an agent was let in and has its upstream connection.
type SessionStart struct {
	Actor
	Client      string // address
	Application string // application_name
	TLS         string // version of the encryption; "" if there is none
	Database    string
	Role        string // the upstream login
	UpstreamPID int64  // the server's process id
	Server      string // the server's address
	Access      string // what the agent's policy grants: "read_only", "observe" …
	Policy      string // digest
}

func (*SessionStart) kind() string { return "session_start" }
func (s *SessionStart) size() int  { return len(s.Application) + len(s.Claimed) }

func (s *SessionStart) appendTo(e *encoder) {
	s.Actor.appendTo(e)
	e.text("client", s.Client)
	e.text("application", s.Application)
	e.text("tls", s.TLS)
	e.text("database", s.Database)
	e.text("role", s.Role)
	e.number("upstream_pid", s.UpstreamPID)
	e.text("server", s.Server)
	e.text("access", s.Access)
	e.text("policy", s.Policy)
}

// SessionEnd says that a session is over. Reserve its Slot when the session
// starts, so that it can be written whatever happens.
type SessionEnd struct {
	Actor
	Reason     string // "client closed", "client vanished", "idle in transaction" …
	SQLSTATE   string // of the error the session ended with
	Statements int64
	Denied     int64
	Rows       int64 // given to the client
	Bytes      int64 // of row data given to the client
	Duration   time.Duration
}

func (*SessionEnd) kind() string { return "session_end" }
func (s *SessionEnd) size() int  { return len(s.Claimed) }

func (s *SessionEnd) appendTo(e *encoder) {
	s.Actor.appendTo(e)
	e.text("reason", s.Reason)
	e.text("sqlstate", s.SQLSTATE)
	e.number("statements", s.Statements)
	e.number("denied", s.Denied)
	e.number("rows", s.Rows)
	e.number("bytes", s.Bytes)
	e.number("duration_us", microseconds(s.Duration))
}

// LoginRefused says that a client was turned away before it had a session.
type LoginRefused struct {
	Agent       string // as claimed: nothing is proved
	Client      string // address
	Application string
	Database    string
	Reason      string
	SQLSTATE    string
}

func (*LoginRefused) kind() string { return "login_refused" }
func (l *LoginRefused) size() int  { return len(l.Agent) + len(l.Application) + len(l.Database) }

func (l *LoginRefused) appendTo(e *encoder) {
	e.text("agent", l.Agent)
	e.text("client", l.Client)
	e.text("application", l.Application)
	e.text("database", l.Database)
	e.text("reason", l.Reason)
	e.text("sqlstate", l.SQLSTATE)
}
