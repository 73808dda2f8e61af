package audit

import "time"

// Event is something that gets recorded. The types of this package are all
// there are. An event belongs to the Log once it was written: its slices must
// not change afterwards.
type Event interface {
	body
	// size is roughly how many bytes of text the event keeps in memory while
	// it is queued.
	size() int
}

// body is what makes a record; the log's own records have no more.
type body interface {
	// kind is the record's "type".
	kind() string
	// appendTo writes the record's own fields in their fixed order.
	appendTo(e *encoder)
}

// Actor is who acts, and on whose behalf.
type Actor struct {
	Session string // session id
	Agent   string // as authenticated
	Claimed string // on whose behalf, as the client says; free text
	Proved  string // on whose behalf, as a verified token says
}

func (a *Actor) appendTo(e *encoder) {
	e.text("session", a.Session)
	e.text("agent", a.Agent)
	e.text("on_behalf_of_claimed", a.Claimed)
	e.text("on_behalf_of_proved", a.Proved)
}

// Startup says that the proxy began to serve.
type Startup struct {
	Version string // of the program
	Host    string
	PID     int
	Listen  []string // addresses
	Policy  string   // digest of the policy in force
	Note    string   // what an auditor should know, e.g. that a check is off
}

func (*Startup) kind() string { return "startup" }
func (*Startup) size() int    { return 0 }

func (s *Startup) appendTo(e *encoder) {
	e.text("version", s.Version)
	e.text("host", s.Host)
	e.number("pid", int64(s.PID))
	e.texts("listen", s.Listen)
	e.text("policy", s.Policy)
	e.text("note", s.Note)
}

// Shutdown says that the proxy stopped serving.
type Shutdown struct {
	Reason   string // the signal or error
	Sessions int    // how many were still open
}

func (*Shutdown) kind() string { return "shutdown" }
func (*Shutdown) size() int    { return 0 }

func (s *Shutdown) appendTo(e *encoder) {
	e.text("reason", s.Reason)
	e.number("sessions", int64(s.Sessions))
}

// PolicyReload says that a policy was put in force, or was found wrong and the
// old one kept.
type PolicyReload struct {
	File     string
	Cause    string // "file changed", "SIGHUP"
	Before   string // digest of the policy of before
	After    string // digest of the new one; "" if it could not be read
	Accepted bool
	Error    string // why it was not accepted
}

func (*PolicyReload) kind() string { return "policy_reload" }
func (p *PolicyReload) size() int  { return len(p.Error) }

func (p *PolicyReload) appendTo(e *encoder) {
	e.text("file", p.File)
	e.text("cause", p.Cause)
	e.text("before", p.Before)
	e.text("after", p.After)
	e.flag("accepted", p.Accepted)
	e.text("error", p.Error)
}

// Failure is something that went wrong in the proxy itself: a lost upstream
// connection, a panic that was caught, a catalog that could not be read. Message
// holds no row, parameter or statement text.
type Failure struct {
	Actor     // empty if no session is concerned
	Operation string
	Where     string // the part of the program: "upstream", "catalog"
	Message   string
	SQLSTATE  string
}

func (*Failure) kind() string { return "failure" }
func (f *Failure) size() int  { return len(f.Message) }

func (f *Failure) appendTo(e *encoder) {
	f.Actor.appendTo(e)
	e.text("operation", f.Operation)
	e.text("where", f.Where)
	e.text("message", f.Message)
	e.text("sqlstate", f.SQLSTATE)
}

// microseconds is how durations are recorded.
func microseconds(d time.Duration) int64 { return d.Microseconds() }
