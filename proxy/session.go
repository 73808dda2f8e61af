package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/rs/zerolog"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/policy/statement"
	"github.com/pgairlock/pgairlock/proxy/wire"
)

// session is one client on one upstream connection.
type session struct {
	// fixed before run
	server   *Server
	id       string
	client   net.Conn
	up       *upstream
	key      cancelKey
	minor    int // of the protocol version that the client speaks
	database string
	role     string
	program  string
	pair     [2]string // agent and database
	began    time.Time
	catalog  *catalogEntry
	log      zerolog.Logger
	limits   statement.Limits
	helpers  sync.WaitGroup // goroutines that interrupt

	// fromClient's own
	toServer []byte  // bytes for the server, not yet written
	keys     scratch // of the statement being looked up
	halfSent bool    // part of a message has been forwarded, the rest is still to come
	discard  bool    // the rest of the current message goes nowhere

	// fromServer's own
	toClient []byte // bytes for the client, not yet written
	withhold bool   // the rest of the current message goes nowhere

	mu           sync.Mutex // guards what follows
	changed      sync.Cond  // on mu: flow, path, interrupting, reading or ended changed
	flow         *wire.Flow
	agent        *policy.Agent
	view         *view
	path         searchPath
	onBehalfOf   string
	statements   names[prepared]
	portals      names[portal]
	oldestSince  time.Time // since when the oldest pending message is the oldest
	busy         bool      // counted among the agent's sessions at work
	interrupting bool      // a cancel request of the proxy's own is on its way
	interrupted  uint64    // the message that the watch cancelled
	reading      reading
	answer       []byte // first column of the newest row of an internal exchange
	retiring     bool   // to end as soon as no transaction is open
	ended        bool
	reason       error // why, for the log
}

// session runs a session for an agent that has proved itself.
func (s *Server) session(ctx context.Context, c *client) error {
	now := s.current.Load()
	agent, ok := now.set.Agent(c.agent.name)
	if !ok {
		return agentGone(c.agent.name)
	}
	name := c.startup.database
	base, known := s.options.Databases[name]
	roleName, allowed := agent.Databases[name]
	role, hasRole := base.Roles[roleName]
	if !known || !allowed || !hasRole {
		return &refusal{sqlstate: "42501", message: fmt.Sprintf("agent %q may not connect to database %q", agent.Name, name), rule: "databases",
			hint: databasesHint(agent)}
	}
	x := &session{server: s, id: newID(s.now()), client: c.conn, agent: agent, minor: c.startup.minor, database: name, role: roleName,
		pair: [2]string{agent.Name, name}, began: s.now(),
		catalog: s.catalogs.entry(name, roleName), statements: newNames[prepared](), portals: newNames[portal](),
		limits: statement.Limits{Bytes: s.options.Limits.Statement}}
	x.changed.L = &x.mu
	x.log = s.options.Log.With().Str("session", x.id).Str("agent", agent.Name).Logger()
	if err := s.register(x, base); err != nil {
		return err
	}
	defer s.unregister(x)
	for _, asked := range c.startup.settings {
		switch asked.name {
		case "application_name":
			x.program = asked.value
		case onBehalfOfSetting:
			x.onBehalfOf = asked.value
		}
	}
	if err := x.connect(ctx, c, base, role); err != nil {
		return err
	}
	defer func() { _ = x.up.conn.Close() }()
	return x.run(ctx)
}

// onBehalfOfSetting is the setting in which a client claims for whom it acts.
const onBehalfOfSetting = "pgairlock.on_behalf_of"

func agentGone(name string) error {
	return &refusal{sqlstate: "28000", message: fmt.Sprintf("agent %q is not in the policy", name), rule: "agents"}
}

func databasesHint(agent *policy.Agent) string {
	var names []string
	for name := range agent.Databases {
		names = append(names, name)
	}
	if len(names) == 0 {
		return "The policy gives this agent no database."
	}
	return "The policy gives this agent: " + strings.Join(sorted(names), ", ") + "."
}

// connect dials the server, looks at what the login could do, takes the catalog
// if nobody has, and greets the client.
func (x *session) connect(ctx context.Context, c *client, base Database, role Role) error {
	settings, refused := upstreamSettings(x.agent, c.startup.settings)
	if refused != nil {
		return refused
	}
	var notices []*pgconn.Notice
	began := x.server.now()
	up, err := dial(ctx, base, role, settings, func(n *pgconn.Notice) { notices = append(notices, n) },
		func(ctx context.Context, conn *pgconn.PgConn) error {
			x.server.counters.connected(x.database, x.server.now().Sub(began))
			if err := x.catalog.ensure(ctx, conn, x.server.now, x.server.options.Refresh); err != nil {
				return err
			}
			path, err := askPath(ctx, conn, role.User)
			x.path.set(path)
			return err
		})
	if err != nil {
		x.server.counters.unconnected(x.database, err)
		return explainDial(err, x.database)
	}
	x.up = up
	ready := false
	defer func() {
		if !ready {
			_ = up.conn.Close()
		}
	}()
	if x.agent.Access == policy.ReadOnly && !role.AcceptWrites {
		if could := x.catalog.writable(); could != "" {
			return &refusal{sqlstate: "42501", rule: "role-can-write",
				message: fmt.Sprintf("agent %q is read_only, but its login on the server can write", x.agent.Name),
				detail:  could,
				hint:    "Give the role read grants only (pgairlock doctor prints the SQL), or set accept_role_that_can_write in the configuration."}
		}
	}
	if err := lexerAgrees(up.settings); err != nil {
		return err
	}
	x.flow = wire.NewFlow(up.status)
	if err := x.server.name(x); err != nil {
		return err
	}
	hello, err := greeting(up, x.key, notices)
	if err != nil {
		return err
	}
	if err := x.recordStart(ctx); err != nil {
		return &refusal{sqlstate: "53400", message: "the audit record cannot be written: no session can begin", rule: "audit"}
	}
	if _, err := x.client.Write(hello); err != nil {
		x.recordEnd(ctx)
		return errClosed
	}
	ready = true
	return nil
}

// lexerAgrees holds the settings that decide how a text is read against what
// the parser assumes. Where they differ, the server would read another
// statement than the one that was judged.
func lexerAgrees(settings map[string]string) error {
	for name, want := range map[string]string{"client_encoding": "UTF8", "standard_conforming_strings": "on"} {
		if got, ok := settings[name]; ok && got != want {
			return &refusal{sqlstate: "42501", message: fmt.Sprintf("the server has %s = %s, but statements are judged as under %s", name, got, want), rule: "lexer"}
		}
	}
	return nil
}

// run carries the session until one side ends it. It returns nil: what there
// is to say has been said.
func (x *session) run(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer x.contain()
		x.closeWith(x.fromServer())
	}()
	func() {
		defer x.contain()
		x.closeWith(x.fromClient(ctx))
	}()
	<-done
	x.abandon(ctx)
	x.helpers.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.releaseAll()
	x.vacate()
	x.recordEnd(context.WithoutCancel(ctx))
	if x.reason != nil && !errors.Is(x.reason, errClosed) {
		x.log.Info().Str("reason", x.server.options.Redact(x.reason.Error())).Msg("session ended")
	}
	return nil
}

// contain turns a fault in this session into its end.
func (x *session) contain() {
	if fault := recover(); fault != nil {
		x.server.counters.faults.Add(1)
		x.log.Error().Str("fault", x.server.options.Redact(fmt.Sprint(fault))).Msg("session ended by a fault")
		x.end(&refusal{sqlstate: "XX000", message: "internal error of pgairlock: the session ends, nothing unjudged was sent"})
	}
}

// closeWith ends the session for the reason that one direction stopped.
func (x *session) closeWith(err error) {
	var breach *wire.Violation
	switch {
	case errors.As(err, &breach):
		err = &refusal{sqlstate: "08P01", message: breach.Message, rule: "protocol"}
	case err == nil, errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed):
		err = errClosed
	}
	x.end(err)
}

// retire ends the session now if it stands between transactions, else when it
// comes to that.
func (x *session) retire() {
	x.mu.Lock()
	x.retiring = true
	now := x.flow.AtRest() && x.flow.Status() == 'I'
	x.mu.Unlock()
	if now {
		x.end(stopped())
	}
}

// end closes both sides, once. A *refusal is said to the client as FATAL.
func (x *session) end(reason error) {
	// a write that the server does not take would keep the mutex
	_ = x.up.conn.SetWriteDeadline(time.Unix(1, 0))
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended {
		return
	}
	x.ended, x.reason = true, reason
	x.changed.Broadcast()
	var known *refusal
	if errors.As(reason, &known) {
		_ = x.client.SetWriteDeadline(x.server.now().Add(time.Second))
		_, _ = x.client.Write(wire.AppendReport(nil, known.report("FATAL")))
	}
	// reads end at once; the upstream connection is closed after its statement
	// has been cancelled
	_ = x.client.Close()
	_ = x.up.conn.SetReadDeadline(time.Unix(1, 0))
}

// abandon lets go of the server: what it still does for the session is
// cancelled, then the connection is closed. Both directions have ended.
func (x *session) abandon(ctx context.Context) {
	defer func() { _ = x.up.conn.Close() }()
	if x.halfSent {
		// what is written now would be taken for the rest of a message
		x.cancelUpstream(ctx, time.Second)
		return
	}
	_ = x.up.conn.SetWriteDeadline(x.server.now().Add(time.Second))
	_, _ = x.up.conn.Write(wire.AppendEmpty(nil, wire.Terminate))
	if x.flow.Pending() == 0 {
		return
	}
	// A cancel request that comes before its statement has begun is lost on the
	// server, and so is one while several wait: it is repeated until the server
	// has come to the Terminate.
	for end := x.server.now().Add(abandonLimit); x.server.now().Before(end); {
		x.cancelUpstream(ctx, time.Second)
		_ = x.up.conn.SetReadDeadline(x.server.now().Add(cancelAgain))
		if _, err := io.Copy(io.Discard, x.up.conn); !errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
	}
}

const (
	// cancelAgain is how long the server has to act on a cancel request before
	// the next one, when its client has gone.
	cancelAgain = 100 * time.Millisecond
	// abandonLimit is when a connection is closed though the server is still busy.
	abandonLimit = 5 * time.Second
)

// releaseAll gives back the places in the record of what never ran to its end.
// The caller holds x.mu.
func (x *session) releaseAll() {
	for _, p := range x.portals.confirmed {
		x.finishPortal(p, "")
	}
	for {
		e := x.flow.Oldest()
		if e == nil {
			return
		}
		reply, err := x.flow.Reply(wire.ErrorResponse, nil)
		if err != nil || reply.Entry == nil {
			return
		}
		x.failed(reply, "57P01")
		if !reply.Done {
			ready, err := x.flow.Reply(wire.ReadyForQuery, []byte{'I'})
			if err != nil {
				return
			}
			if op := noteOf(ready.Entry); op != nil {
				x.recordQuery(op)
			}
		}
	}
}
