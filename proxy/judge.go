package proxy

import (
	"context"
	"fmt"
	"time"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/policy/statement"
	"github.com/pgairlock/pgairlock/proxy/wire"
)

// judge decides about a text as things stand when the server comes to it. It
// returns nil if the message must not be sent: the session ended, or an error
// came by meanwhile. The caller holds x.mu.
func (x *session) judge(ctx context.Context, text, types []byte) (*judged, error) {
	if err := x.keepFresh(ctx); err != nil {
		return nil, err
	}
	ok, err := x.settled(ctx)
	if err != nil || !ok {
		return nil, err
	}
	x.keys.set(text, types)
	// while a ROLLBACK can bring back a former search_path, verdicts depend on it
	settledPath := len(x.path.former) == 0
	if settledPath {
		j := x.view.known(&x.keys)
		if j == nil {
			j = x.view.like(&x.keys, text, types)
		}
		if j != nil {
			x.server.counters.known.Add(1)
			return j, nil
		}
	}
	j := x.decide(string(text), types)
	if j.Refusal != nil && unresolved(j.Refusal.Rule) {
		// it may have been made since the catalog was taken
		newer, err := x.refresh(ctx)
		if err != nil {
			return nil, err
		}
		if newer {
			if err := x.adopt(ctx); err != nil {
				return nil, err
			}
			j = x.decide(string(text), types)
		}
	}
	j = x.answerItself(j)
	if !j.touch.named && settledPath {
		x.view.remember(&x.keys, j)
	}
	return j, nil
}

// decide decides about a text that is not known, and counts how long it took.
func (x *session) decide(text string, types []byte) *judged {
	defer x.server.gate.queue(text)()
	began := x.server.now()
	j := x.view.judge(text, types, x.names(), x.limits)
	x.server.counters.decisions.observe(x.server.now().Sub(began))
	return j
}

// keepFresh takes the catalog anew when it has grown old.
func (x *session) keepFresh(ctx context.Context) error {
	if x.catalog.fresh(x.server.now(), x.server.options.Refresh) {
		return nil
	}
	_, err := x.refresh(ctx)
	return err
}

func unresolved(rule string) bool {
	switch rule {
	case "unresolved-relation", "unresolved-column", "unresolved-function", "unresolved-operator", "unresolved-type":
		return true
	}
	return false
}

// names are the session's names as a statement sent now will find them.
func (x *session) names() sessionNames {
	return sessionNames{
		prepared: func(name string) (*policy.Facts, bool) {
			p := x.statements.find(name)
			if p == nil || x.refreshStatement(p) != nil {
				return nil, false
			}
			return p.facts(), true
		},
		cursor:     func(name string) bool { return x.portals.find(name) != nil },
		resetPath:  x.path.start,
		otherPaths: x.path.former,
	}
}

// current finds a prepared statement that is still allowed.
func (x *session) current(ctx context.Context, name []byte) (*prepared, *statement.Refusal, error) {
	p := x.statements.find(string(name))
	if p == nil {
		message := fmt.Sprintf("prepared statement \"%s\" does not exist", name)
		if len(name) == 0 {
			message = "unnamed prepared statement does not exist"
		}
		return nil, &statement.Refusal{Rule: "unresolved-statement", SQLSTATE: "26000", Message: message}, nil
	}
	refusal, err := x.rejudge(ctx, p)
	return p, refusal, err
}

// rejudge decides anew about a prepared statement if policy, catalog or
// search_path are no longer those of its last verdict.
func (x *session) rejudge(ctx context.Context, p *prepared) (*statement.Refusal, error) {
	ok, err := x.settled(ctx)
	if err != nil || !ok {
		return nil, err
	}
	return x.refreshStatement(p), nil
}

func (x *session) refreshStatement(p *prepared) *statement.Refusal {
	if p.judged.view == x.view {
		return p.judged.Refusal
	}
	types := []byte(p.judged.types)
	x.keys.set([]byte(p.judged.Text), types)
	j := x.view.known(&x.keys)
	if j == nil {
		j = x.decide(p.judged.Text, types)
		if !j.touch.named {
			x.view.remember(&x.keys, j)
		}
	}
	if j.Refusal == nil {
		// a refused statement keeps its former verdict's view, to be judged again next time
		p.judged = j
	}
	return j.Refusal
}

// occupy counts the session as at work, if the agent may have one more so.
func (x *session) occupy() *statement.Refusal {
	limit := x.agent.Limits.Concurrent
	if limit == 0 || x.busy {
		return nil
	}
	if !x.server.occupy(x.agent.Name, limit) {
		return &statement.Refusal{Rule: "concurrent", SQLSTATE: "53400",
			Message: fmt.Sprintf("agent %q already runs %d statements, as many as its policy allows at a time", x.agent.Name, limit),
			Hint:    "Wait for one of them to end."}
	}
	x.busy = true
	return nil
}

func (x *session) vacate() {
	if x.busy {
		x.busy = false
		x.server.vacate(x.agent.Name)
	}
}

// admit reserves the record of a statement that is allowed. Waiting for it lets
// the session's answers through.
func (x *session) admit(ctx context.Context, j *judged) (Place, *statement.Refusal) {
	var intent *StatementRecord
	if j.Risk > policy.L0Read {
		intent = x.statementRecord(j, 0, "")
		intent.Time = x.server.now()
	}
	place, err := x.reserve(ctx, intent)
	if err != nil {
		x.log.Error().Str("error", x.server.options.Redact(err.Error())).Msg("audit")
		return nil, &statement.Refusal{Rule: "audit", SQLSTATE: "53400", Message: "the audit record cannot take this statement now",
			Hint: "Try again in a moment: nothing runs without a record."}
	}
	return place, nil
}

// reserve lets go of x.mu while it waits for a place in the record.
func (x *session) reserve(ctx context.Context, intent *StatementRecord) (Place, error) {
	x.mu.Unlock()
	defer x.mu.Lock()
	return x.server.options.Recorder.Reserve(ctx, intent)
}

// executed finds what SQL EXECUTE in a text will run.
func (x *session) executed(j *judged) []*prepared {
	if !j.touch.named {
		return nil
	}
	found := make([]*prepared, len(j.Parts))
	for i := range j.Parts {
		if f := &j.Parts[i].Facts; f.Kind == policy.KindExecute {
			found[i] = x.statements.find(f.Name)
		}
	}
	return found
}

// noteSent takes note of what a statement that is about to be sent will bring
// about: a change of search_path, prepared statements, cursors. A part of -1
// stands for all statements of the text.
func (x *session) noteSent(op *operation, part int) {
	for i := range op.judged.Parts {
		if part >= 0 && part != i {
			continue
		}
		switch f := &op.judged.Parts[i].Facts; f.Kind {
		case policy.KindPrepare:
			made := making{part: i, name: f.Name, statement: newPrepared(op.judged, i)}
			x.statements.send(made.name, made.statement)
			op.makes = append(op.makes, made)
		case policy.KindDeclare:
			stmt := newPrepared(op.judged, i)
			made := making{part: i, name: f.Name, portal: &portal{statement: stmt, meter: stmt.meter(), hold: f.WithHold}}
			x.portals.send(made.name, made.portal)
			op.makes = append(op.makes, made)
		}
	}
	if op.judged.touch.path || op.judged.touch.ends && x.path.inBlock {
		op.pathAhead = true
		x.path.pending++
	}
}

// whileInterrupting waits until a cancel request of the proxy's own has been
// taken by the server, so that it can't hit what is sent next.
func (x *session) whileInterrupting() error {
	if !x.interrupting {
		return nil
	}
	if err := x.flushServer(); err != nil {
		return err
	}
	for x.interrupting && !x.ended {
		x.changed.Wait()
	}
	return nil
}

// outOfTime refuses to go on with a portal that has used up its time: the
// server's statement_timeout starts anew with every Execute.
func (x *session) outOfTime(p *portal) *statement.Refusal {
	limit := x.agent.Limits.StatementTimeout
	if limit <= 0 || p.elapsed < limit {
		return nil
	}
	return &statement.Refusal{Rule: "statement_timeout", SQLSTATE: "57014",
		Message: fmt.Sprintf("the portal has run for %s, longer than the policy's statement_timeout of %s", p.elapsed.Round(time.Millisecond), limit)}
}

// refusedText takes the place of a refused text. It parses on no server, and
// says in the server's log what happened.
const refusedText = "refused by pgairlock"

// refuseQuery sends a Query in place of one that is refused.
func (x *session) refuseQuery(r *statement.Refusal, j *judged) {
	x.sent(wire.Entry{Kind: wire.Query, Note: x.refusedOperation(r, j)})
	x.toServer = wire.AppendQuery(x.toServer, refusedText)
}

// refuseSeries sends a Parse in place of a message of the extended protocol
// that is refused. It has the client's name if that was a Parse, so that the
// unnamed statement is lost where it would be; otherwise a name of the proxy's
// own, so that nothing is.
func (x *session) refuseSeries(r *statement.Refusal, j *judged, name string) {
	x.sent(wire.Entry{Kind: wire.Parse, Note: x.refusedOperation(r, j)})
	x.toServer = wire.AppendParse(x.toServer, name, refusedText, nil)
}

func (x *session) refusedOperation(r *statement.Refusal, j *judged) *operation {
	return &operation{refusal: r, judged: j, sentAt: x.server.now()}
}
