package proxy

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/rs/zerolog"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/proxy/wire"
)

// Options is what a Server is made of. All of it is fixed for its life but for
// the policy, which Apply replaces.
type Options struct {
	Databases      map[string]Database
	TLS            *tls.Config // nil: connections are not encrypted
	RequireTLS     bool
	DrainTimeout   time.Duration // how long sessions at work may go on when Serve ends; 0: not at all
	StartupTimeout time.Duration // until an agent has proved itself; 0: 10 s
	Refresh        time.Duration // age at which the picture of a database is taken anew; 0: 1 min
	Limits         wire.Limits   // zero: wire.DefaultLimits
	Recorder       Recorder
	Log            zerolog.Logger
	Redact         func(string) string // runs over everything that leaves, but for the two SQL sockets
	Now            func() time.Time    // nil: time.Now
}

// Database is a database behind the proxy.
type Database struct {
	Server         *pgconn.Config // without user and password
	Roles          map[string]Role
	MaxConnections int // 0: no limit
}

// Role is an upstream login.
type Role struct {
	User     string
	Password func() string
	// AcceptWrites serves read_only agents on a login that can write. Without
	// it such agents are refused: grants are the floor that holds when all else
	// fails.
	AcceptWrites bool
}

// policyState is one policy with what belongs to it. It is immutable.
type policyState struct {
	set       *policy.Set
	verifiers map[string]Verifier
}

// Server is the proxy. Make one with New, give it a policy with Apply, then
// Serve.
type Server struct {
	options  Options
	current  atomic.Pointer[policyState]
	gate     *gate
	catalogs *catalogs
	counters *counters
	decoyKey [32]byte

	mu       sync.Mutex
	closing  bool
	sessions map[cancelKey]*session
	perAgent map[string]int
	perBase  map[string]int
	perPair  map[[2]string]int // by agent and database; for Stats
	busy     map[string]int    // sessions of an agent for which the server is at work
	running  sync.WaitGroup
}

// cancelKey is what a client gets in BackendKeyData: the server's own process
// id, and a secret of the proxy's.
type cancelKey struct {
	pid    uint32
	secret string
}

// Lengths of the secret in bytes: protocol 3.0 has room for four, and the
// server's own from 3.2 on.
const (
	shortSecret = 4
	longSecret  = 32
)

// New makes a Server that has no policy yet.
func New(o Options) (*Server, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.StartupTimeout == 0 {
		o.StartupTimeout = 10 * time.Second
	}
	if o.Refresh == 0 {
		o.Refresh = time.Minute
	}
	if o.Limits == (wire.Limits{}) {
		o.Limits = wire.DefaultLimits()
	}
	if o.Redact == nil {
		o.Redact = func(s string) string { return s }
	}
	if o.Recorder == nil {
		return nil, errors.New("proxy: a Recorder is needed")
	}
	s := &Server{options: o, gate: newGate(), catalogs: newCatalogs(), counters: newCounters(o.Databases), sessions: map[cancelKey]*session{},
		perAgent: map[string]int{}, perBase: map[string]int{}, perPair: map[[2]string]int{}, busy: map[string]int{}}
	if _, err := rand.Read(s.decoyKey[:]); err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	return s, nil
}

// Apply makes set the policy from the next statement on, also of sessions that
// are open and of statements that are prepared. passwords are the agents'
// passwords or SCRAM verifiers by agent name.
func (s *Server) Apply(set *policy.Set, passwords map[string]string) error {
	verifiers := make(map[string]Verifier, len(passwords))
	for agent, text := range passwords {
		v, err := NewVerifier(text)
		if err != nil {
			return fmt.Errorf("agent %s: %w", agent, err)
		}
		verifiers[agent] = v
	}
	s.current.Store(&policyState{set: set, verifiers: verifiers})
	s.gate.forget()
	return nil
}

func (s *Server) now() time.Time { return s.options.Now() }

// Serve accepts connections until ctx ends or a listener fails; it closes the
// listeners. It returns when every session has ended: sessions are told so
// (57P01) when they stand between transactions, and after DrainTimeout wherever
// they stand.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	if s.current.Load() == nil {
		return errors.New("proxy: no policy was applied")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// sessions outlive ctx by DrainTimeout
	sessions, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	stop := context.AfterFunc(ctx, func() {
		for _, l := range listeners {
			_ = l.Close()
		}
	})
	defer stop()
	var helpers, acceptors sync.WaitGroup
	helpers.Go(func() { s.watch(sessions) })
	failures := make([]error, len(listeners))
	for i, l := range listeners {
		acceptors.Go(func() {
			failures[i] = s.accept(ctx, sessions, l)
			cancel()
		})
	}
	<-ctx.Done()
	s.retire()
	late := time.AfterFunc(s.options.DrainTimeout, s.shut)
	defer late.Stop()
	acceptors.Wait()
	s.running.Wait()
	end()
	helpers.Wait()
	return errors.Join(failures...)
}

func (s *Server) accept(ctx, sessions context.Context, l net.Listener) error {
	for {
		conn, err := l.Accept()
		switch {
		case err == nil:
			// also when ctx has ended: whoever came just before is told so (57P03)
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("accept: %w", err)
		case err != nil:
			// out of descriptors, for instance: connections that end make room
			s.options.Log.Warn().Err(err).Msg("accept")
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
			continue
		}
		s.counters.accepted.Add(1)
		s.running.Add(1)
		go func() {
			defer s.running.Done()
			s.handle(sessions, conn)
		}()
	}
}

// handle serves one connection from its first byte to its last. A fault in it
// ends it alone.
func (s *Server) handle(ctx context.Context, conn net.Conn) {
	defer func() { _ = conn.Close() }()
	defer func() {
		if fault := recover(); fault != nil {
			s.counters.faults.Add(1)
			s.options.Log.Error().Str("client", conn.RemoteAddr().String()).
				Str("fault", s.options.Redact(fmt.Sprint(fault))).Msg("session ended by a fault")
		}
	}()
	c, err := s.begin(ctx, conn)
	if err == nil && c == nil {
		return
	}
	if err == nil {
		err = s.session(ctx, c)
	}
	if err != nil {
		s.turnAway(ctx, c, err)
	}
}

// turnAway tells a client why it can't have a session.
func (s *Server) turnAway(ctx context.Context, c *client, err error) {
	var known *refusal
	if !errors.As(err, &known) {
		if !errors.Is(err, errClosed) {
			s.options.Log.Warn().Str("client", c.conn.RemoteAddr().String()).Str("error", s.options.Redact(err.Error())).Msg("connection refused")
		}
		return
	}
	var cause *upstreamError
	if errors.As(err, &cause) {
		s.options.Log.Error().Str("database", s.options.Redact(c.startup.database)).Str("error", s.options.Redact(cause.cause.Error())).Msg("connect to the server")
	}
	s.options.Log.Warn().Str("client", c.conn.RemoteAddr().String()).Str("user", s.options.Redact(c.startup.user)).
		Str("sqlstate", known.sqlstate).Str("error", s.options.Redact(known.message)).Msg("connection refused")
	recordErr := s.options.Recorder.Session(ctx, SessionRecord{Time: s.now(), Event: "login_refused", Agent: c.startup.user,
		Address: c.conn.RemoteAddr().String(), Database: c.startup.database, SQLSTATE: known.sqlstate, Reason: known.message})
	if recordErr != nil {
		s.options.Log.Error().Str("error", s.options.Redact(recordErr.Error())).Msg("audit")
	}
	_ = c.conn.SetWriteDeadline(s.now().Add(2 * time.Second))
	_, _ = c.conn.Write(wire.AppendReport(nil, known.report("FATAL")))
}

// register makes room for a session within the limits, and gives it its key.
func (s *Server) register(x *session, base Database) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return shuttingDown()
	}
	if limit := x.agent.Limits.Sessions; limit > 0 && s.perAgent[x.agent.Name] >= limit {
		return &refusal{sqlstate: "53300", message: fmt.Sprintf("too many connections for agent %q", x.agent.Name), rule: "sessions",
			hint: fmt.Sprintf("The policy allows %d sessions at a time: close one, or use a smaller pool.", limit)}
	}
	if base.MaxConnections > 0 && s.perBase[x.database] >= base.MaxConnections {
		return &refusal{sqlstate: "53300", message: fmt.Sprintf("too many connections for database %q", x.database), rule: "max_connections"}
	}
	s.perAgent[x.agent.Name]++
	s.perBase[x.database]++
	s.perPair[x.pair]++
	return nil
}

func (s *Server) unregister(x *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.perAgent[x.agent.Name]--
	s.perBase[x.database]--
	s.perPair[x.pair]--
	if s.sessions[x.key] == x {
		delete(s.sessions, x.key)
	}
}

// occupy counts a session of the agent as at work, unless as many as limit are.
func (s *Server) occupy(agent string, limit int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if limit > 0 && s.busy[agent] >= limit {
		return false
	}
	s.busy[agent]++
	return true
}

func (s *Server) vacate(agent string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy[agent]--
}

// name gives a connected session its cancel key.
func (s *Server) name(x *session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return shuttingDown()
	}
	length := shortSecret
	if x.minor >= 2 {
		length = longSecret
	}
	for {
		secret := make([]byte, length)
		if _, err := rand.Read(secret); err != nil {
			return fmt.Errorf("cancel key: %w", err)
		}
		x.key = cancelKey{pid: x.up.pid, secret: string(secret)}
		if s.sessions[x.key] == nil {
			s.sessions[x.key] = x
			return nil
		}
	}
}

func shuttingDown() error {
	return &refusal{sqlstate: "57P03", message: "the database system is shutting down"}
}

// Prepare connects to every database as every login that an agent of the policy
// uses, takes the catalog, and tells what went wrong by "database as login". So
// faults show when the proxy starts, and no client has to wait for the catalog.
func (s *Server) Prepare(ctx context.Context) map[string]error {
	faults := map[string]error{}
	done := map[[2]string]bool{}
	for _, agent := range s.current.Load().set.Agents() {
		for name, roleName := range agent.Databases {
			base, ok := s.options.Databases[name]
			role, has := base.Roles[roleName]
			at := fmt.Sprintf("%s as %s", name, roleName)
			switch {
			case done[[2]string{name, roleName}]:
				continue
			case !ok || !has:
				faults[at] = fmt.Errorf("agent %s: the configuration has no such database or role", agent.Name)
			default:
				if err := s.prepare(ctx, name, base, role, s.catalogs.entry(name, roleName)); err != nil {
					faults[at] = err
				}
			}
			done[[2]string{name, roleName}] = true
		}
	}
	return faults
}

func (s *Server) prepare(ctx context.Context, name string, base Database, role Role, entry *catalogEntry) error {
	began := s.now()
	up, err := dial(ctx, base, role, nil, func(*pgconn.Notice) {}, func(ctx context.Context, conn *pgconn.PgConn) error {
		s.counters.connected(name, s.now().Sub(began))
		return entry.ensure(ctx, conn, s.now, s.options.Refresh)
	})
	if err != nil {
		s.counters.unconnected(name, err)
		return err
	}
	return up.conn.Close()
}

// retire lets no new session begin, and ends those that stand between
// transactions as soon as they do.
func (s *Server) retire() {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	for _, x := range s.open() {
		x.retire()
	}
}

// shut ends every session.
func (s *Server) shut() {
	for _, x := range s.open() {
		x.end(stopped())
	}
}

func stopped() error {
	return &refusal{sqlstate: "57P01", message: "terminating connection due to administrator command"}
}

// open lists the sessions.
func (s *Server) open() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := make([]*session, 0, len(s.sessions))
	for _, x := range s.sessions {
		open = append(open, x)
	}
	return open
}

// watch looks at every session a few times a second, for what no message
// announces: statements that outlive their limit.
func (s *Server) watch(ctx context.Context) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, x := range s.open() {
			x.checkTime(ctx, s.now())
		}
	}
}
