package main

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/pgairlock/pgairlock/audit"
	"github.com/pgairlock/pgairlock/internal/config"
	"github.com/pgairlock/pgairlock/internal/metrics"
	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/proxy"
)

// recorder writes what the proxy tells into the audit log.
type recorder struct {
	log     *audit.Log
	sync    []policy.Risk // levels whose intents have to be on disk
	ids     *audit.IDs
	about   aspectCache
	full    bool             // texts are recorded with their literals
	metrics *metrics.Metrics // nil: nobody counts

	mu       sync.Mutex
	sessions map[string]*tally
}

// tally is what an open session has done so far. The place of its last record
// is held from its first, so that it can be written whatever happens.
type tally struct {
	actor              audit.Actor
	began              time.Time
	end                audit.Slot
	statements, denied int64
	rows, bytes        int64
}

func newRecorder(log *audit.Log, c config.Audit) *recorder {
	return &recorder{log: log, sync: c.Sync, full: !c.RedactLiterals, ids: audit.NewIDs(time.Now), sessions: map[string]*tally{}}
}

// Reserve holds a place for a statement's record. An intent is in the log, and
// for the risk levels of r.sync on disk, when it returns.
func (r *recorder) Reserve(ctx context.Context, intent *proxy.StatementRecord) (proxy.Place, error) {
	p := &place{recorder: r, operation: r.ids.Next()}
	var err error
	if p.slot, err = r.log.Reserve(ctx); err != nil {
		return nil, err
	}
	if intent == nil {
		return p, nil
	}
	p.sequence, p.announced = r.number(intent), true
	p.actor = audit.Actor{Session: intent.Session, Agent: intent.Agent, Claimed: intent.OnBehalfOf}
	if err := r.announce(ctx, p, intent); err != nil {
		p.slot.Release()
		return nil, err
	}
	return p, nil
}

// announce records what is about to be done.
func (r *recorder) announce(ctx context.Context, p *place, s *proxy.StatementRecord) error {
	e := r.event(p, s)
	intent := &audit.Intent{
		Actor: e.Actor, Operation: e.Operation, Sequence: e.Sequence, Database: e.Database, Text: e.Text, Fingerprint: e.Fingerprint,
		Kind: e.Kind, Verdict: e.Verdict, Risk: e.Risk, Rules: e.Rules, Policy: e.Policy, Catalog: e.Catalog, Relations: e.Relations,
		Rows: -1, // nothing was run for a preview
	}
	if s.Judgement != nil && slices.Contains(r.sync, s.Judgement.Risk) {
		return r.log.WriteSync(ctx, intent)
	}
	return r.log.Write(ctx, intent)
}

// Session records the begin or end of a session, or that there was none.
func (r *recorder) Session(ctx context.Context, s proxy.SessionRecord) error {
	switch s.Event {
	case "session_start":
		return r.start(ctx, s)
	case "session_end":
		r.finish(s)
		return nil
	}
	if r.metrics != nil {
		r.metrics.Login(s.SQLSTATE)
	}
	return r.log.Write(ctx, &audit.LoginRefused{
		Agent: s.Agent, Client: s.Address, Application: s.Program, Database: s.Database, Reason: s.Reason, SQLSTATE: s.SQLSTATE,
	})
}

func (r *recorder) start(ctx context.Context, s proxy.SessionRecord) error {
	t := &tally{actor: audit.Actor{Session: s.Session, Agent: s.Agent, Claimed: s.OnBehalfOf}, began: s.Time}
	var err error
	if t.end, err = r.log.Reserve(ctx); err != nil {
		return err
	}
	if err := r.log.Write(ctx, &audit.SessionStart{
		Actor: t.actor, Client: s.Address, Application: s.Program, Database: s.Database, Role: s.Role,
		UpstreamPID: int64(s.PID), Access: s.Access, Policy: s.Policy,
	}); err != nil {
		t.end.Release()
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sessions[s.Session] = t
	return nil
}

func (r *recorder) finish(s proxy.SessionRecord) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.sessions[s.Session]
	if t == nil {
		return
	}
	delete(r.sessions, s.Session)
	if s.Reason == "" {
		s.Reason = "client closed"
	}
	t.write(s.Reason, s.SQLSTATE, s.Time)
}

// write records the session's end.
func (t *tally) write(reason, sqlstate string, at time.Time) {
	t.end.Write(&audit.SessionEnd{
		Actor: t.actor, Reason: reason, SQLSTATE: sqlstate, Statements: t.statements, Denied: t.denied,
		Rows: t.rows, Bytes: t.bytes, Duration: at.Sub(t.began),
	})
}

// close records the end of sessions that have not said so themselves, and
// returns how many there were.
func (r *recorder) close() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.sessions)
	for _, t := range r.sessions {
		t.write("the proxy stopped", "57P01", time.Now())
	}
	clear(r.sessions)
	return n
}

// number is a statement's number in its session.
func (r *recorder) number(s *proxy.StatementRecord) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.sessions[s.Session]
	if t == nil { // cannot be: a session starts with a record
		return 0
	}
	t.statements++
	return t.statements
}

// add counts what a statement came to.
func (r *recorder) add(s *proxy.StatementRecord) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.sessions[s.Session]
	if t == nil {
		return
	}
	if s.Refusal != nil {
		t.denied++
	}
	t.rows += s.Rows
	t.bytes += s.Bytes
	t.actor.Claimed = s.OnBehalfOf
}

// place is a place in the audit log that is held for one statement.
type place struct {
	recorder  *recorder
	slot      audit.Slot
	operation string
	announced bool        // by an intent, with the number and the actor that follow
	sequence  int64       // 0: not given yet
	actor     audit.Actor // of an announced statement
}

// Write records the statement.
func (p *place) Write(s *proxy.StatementRecord) {
	defer p.slot.Release() // a fault on the way must not keep the place
	if !p.announced {
		p.sequence = p.recorder.number(s)
	}
	p.recorder.add(s)
	e := p.recorder.event(p, s)
	if m := p.recorder.metrics; m != nil {
		m.Statement(e)
	}
	p.slot.Write(e)
}

// Release gives the place back. What was announced is said not to have
// happened.
func (p *place) Release() {
	if !p.announced {
		p.slot.Release()
		return
	}
	p.slot.Write(&audit.Outcome{Actor: p.actor, Operation: p.operation, Result: "refused", Reason: "it was not run: an error came before it"})
}

// event is the record in the audit log's words.
func (r *recorder) event(p *place, s *proxy.StatementRecord) *audit.Statement {
	e := &audit.Statement{
		Actor:     audit.Actor{Session: s.Session, Agent: s.Agent, Claimed: s.OnBehalfOf},
		Operation: p.operation, Sequence: p.sequence, Database: s.Database, Policy: s.Policy, Catalog: s.Catalog,
		Rows: s.Rows, Bytes: s.Bytes, Limited: s.Withheld > 0, Duration: s.Duration, SQLSTATE: s.SQLSTATE,
	}
	verdict := policy.Allow
	if j := s.Judgement; j != nil {
		verdict = j.Verdict
		shown, about := j, r.about.of(j)
		if !r.full && j.Like != nil {
			shown = j.Like // the same but for literals, which are not recorded
		}
		e.Text, e.Risk, e.Fingerprint = shown.Text, j.Risk.String(), about.fingerprint
		if shown.Send != shown.Text && s.Refusal == nil {
			e.Sent = shown.Send
		}
		e.Kind, e.Rules, e.Relations = about.kind, slices.Clip(about.rules), about.relations
		if about.wouldHave > verdict {
			e.WouldHave = about.wouldHave.String()
		}
	}
	if s.Refusal != nil {
		verdict = max(verdict, policy.Hold)
		if s.Judgement == nil || s.Judgement.Refusal == nil {
			// refused for what no text says: its budget, its place in the protocol
			verdict = policy.Deny
			e.Rules = append(e.Rules, audit.Rule{ID: s.Refusal.Rule, Verdict: verdict.String(), Enforced: true, Source: s.Refusal.Source})
		}
	}
	e.Verdict = verdict.String()
	return e
}
