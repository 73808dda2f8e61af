package proxy

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/policy/statement"
	"github.com/pgairlock/pgairlock/proxy/wire"
)

// failure handles an ErrorResponse: the server's own, or one that stands for a
// refusal or a limit.
func (x *session) failure(p *wire.Piece, reply wire.Reply, op *operation) error {
	body := p.Body()
	code := string(wire.ErrorField(body, 'C'))
	if wire.Fatal(body) {
		x.pass(p)
		x.failed(reply, code)
		if err := x.flushClient(); err != nil {
			return err
		}
		return fmt.Errorf("the server ended the session: %s: %w", code, errClosed)
	}
	if reply.Entry == nil || op == nil {
		if reply.Entry != nil && reply.Entry.Internal {
			return fmt.Errorf("an exchange of the proxy's own ended with %s", code)
		}
		x.pass(p)
		x.failed(reply, code)
		return nil
	}
	switch limit := op.exceeded(); {
	case op.refusal != nil:
		code = op.refusal.SQLSTATE
		x.toClient = wire.AppendReport(x.toClient, refusalReport(op.refusal))
	case limit != nil && code == "57014":
		code = limitError(limit).sqlstate
		x.toClient = wire.AppendReport(x.toClient, limitError(limit).report("ERROR"))
	case op.judged != nil && len(op.judged.Edits) > 0:
		x.toClient = wire.AppendMoved(x.toClient, wire.ErrorResponse, body, op.judged.Original)
	default:
		x.pass(p)
	}
	x.failed(reply, code)
	return nil
}

// exceeded is the meter whose limit made the proxy stop the server, nil if none.
func (op *operation) exceeded() *meter {
	m := &op.meter
	if op.portal != nil {
		m = &op.portal.meter
	}
	if m.exceeded == "" {
		return nil
	}
	return m
}

func refusalReport(r *statement.Refusal) wire.Report {
	detail := r.Detail
	if detail == "" {
		detail = "Rule " + r.Rule + "."
	}
	return wire.Report{Severity: "ERROR", SQLSTATE: r.SQLSTATE, Message: r.Message, Detail: detail, Hint: r.Hint, Position: r.Position}
}

// failed takes note of what an error ends: the message it answers, and those
// that the server passes over.
func (x *session) failed(reply wire.Reply, code string) {
	if op := noteOf(reply.Entry); op != nil {
		op.sqlstate = cmp.Or(op.sqlstate, code) // what ends a session comes after an error, not in place of it
		x.undo(reply.Entry, op)
		switch {
		case reply.Entry.Kind == wire.Query, reply.Entry.Kind == wire.FunctionCall:
			// recorded with its ReadyForQuery
		case op.portal != nil:
			if reply.Entry.Kind == wire.Execute {
				op.portal.elapsed += x.server.now().Sub(x.oldestSince)
			}
			x.finishPortal(op.portal, code)
		case op.refusal != nil:
			x.recordRefusal(op)
		}
	}
	for i := range reply.Lost {
		e := &reply.Lost[i]
		if op := noteOf(e); op != nil {
			x.undo(e, op)
			switch {
			case e.Kind != wire.Bind || op.portal.place == nil:
			case x.ended && op.portal.executed:
				x.finishPortal(op.portal, code) // nobody heard what came of it: it may have run
			default:
				op.portal.place.Release()
				op.portal.place = nil
			}
		}
	}
}

// undo takes back what a message would have brought about.
func (x *session) undo(e *wire.Entry, op *operation) {
	switch e.Kind {
	case wire.Parse:
		if op.statement != nil {
			x.statements.lose(op.name, op.statement)
		}
	case wire.Bind:
		x.portals.lose(op.name, op.portal)
	case wire.Describe:
		op.statement.described = nil
	}
	for _, m := range op.makes {
		x.statements.lose(m.name, m.statement)
		x.portals.lose(m.name, m.portal)
	}
	x.pathDone(op, true)
}

// pathDone takes the end of a statement that may have changed search_path.
func (x *session) pathDone(op *operation, inTransaction bool) {
	if op.pathAhead {
		op.pathAhead = false
		x.path.pending--
		x.path.noteDone(op.judged.touch, inTransaction)
	}
}

// ready handles a ReadyForQuery.
func (x *session) ready(p *wire.Piece, reply wire.Reply, op *operation) error {
	status := x.flow.Status()
	if op != nil {
		x.pathDone(op, status != 'I')
		x.recordQuery(op)
	}
	x.path.noteStatus(status)
	if status == 'I' {
		x.expirePortals(reply.Entry.Number)
	}
	if !reply.Entry.Internal {
		x.pass(p)
	}
	if x.retiring && status == 'I' && x.flow.AtRest() {
		return stopped()
	}
	return nil
}

// expirePortals takes note that a transaction is over: its portals are gone, but
// for cursors WITH HOLD.
func (x *session) expirePortals(before uint64) {
	for name, p := range x.portals.confirmed {
		if p.number < before && !p.hold {
			x.finishPortal(p, "")
			x.portals.drop(name)
		}
	}
}

// internal takes an answer to a message of the proxy's own. The client does not
// see it.
func (x *session) internal(p *wire.Piece, op *operation) error {
	x.withhold = !p.Last
	switch p.Type {
	case wire.RowDescription:
		if op != nil {
			return x.columns(p, op)
		}
	case wire.DataRow:
		body := p.Body()
		if !p.Last || len(body) < 6 {
			return errors.New("an exchange of the proxy's own had an answer that cannot be read")
		}
		n := int32(binary.BigEndian.Uint32(body[2:]))
		if n < 0 || int(n) > len(body)-6 {
			return errors.New("an exchange of the proxy's own had an answer that cannot be read")
		}
		x.answer = append(x.answer[:0], body[6:6+n]...)
	}
	return nil
}

// setting passes a ParameterStatus on, unless the server has come to read texts
// in another way than they are judged. Where nothing is refused whatever the
// judgement (unsafe_passthrough), the session goes on.
func (x *session) setting(p *wire.Piece) error {
	name, value, err := wire.Setting(p.Body())
	if err != nil {
		return err
	}
	if err := lexerAgrees(map[string]string{string(name): string(value)}); err != nil && !x.agent.UnsafePassthrough {
		return err
	}
	x.pass(p)
	return nil
}

// closed handles a CloseComplete.
func (x *session) closed(what byte, name string) {
	if what == 'S' {
		x.statements.drop(name)
		return
	}
	x.dropPortal(name)
}

func (x *session) dropPortal(name string) {
	if p := x.portals.confirmed[name]; p != nil {
		x.finishPortal(p, "")
		x.portals.drop(name)
	}
}

// effects takes note of what a finished statement did to the session's names
// and claims.
func (x *session) effects(tag string, reply wire.Reply, op *operation) {
	part := reply.Entry.Index - 1
	if op.portal != nil {
		part = op.portal.statement.part
	}
	if part < 0 || part >= len(op.judged.Parts) {
		return
	}
	f := &op.judged.Parts[part].Facts
	switch f.Kind {
	case policy.KindPrepare, policy.KindDeclare:
		x.made(op, part, reply.Entry.Number)
	case policy.KindDeallocate:
		if f.Name == "" {
			clear(x.statements.confirmed)
		} else {
			x.statements.drop(f.Name)
		}
	case policy.KindClose:
		if f.Name == "" {
			x.dropPortals()
		} else {
			x.dropPortal(f.Name)
		}
	case policy.KindDiscard:
		if tag == "DISCARD ALL" {
			clear(x.statements.confirmed)
			x.dropPortals()
		}
	case policy.KindSet:
		for i := range f.Settings {
			if s := &f.Settings[i]; s.Name == onBehalfOfSetting && s.Literal {
				x.onBehalfOf = s.Value
			}
		}
	}
}

// made confirms what PREPARE or DECLARE has made.
func (x *session) made(op *operation, part int, number uint64) {
	for _, m := range op.makes {
		switch {
		case m.part != part:
		case m.statement != nil:
			x.statements.confirm(m.name, m.statement)
		default:
			m.portal.number = number
			x.portals.confirm(m.name, m.portal)
			if m.portal.statement.asked > 0 {
				x.toClient = wire.AppendReport(x.toClient, cursorNotice(m.name, m.portal.statement.asked))
			}
		}
	}
}

func (x *session) dropPortals() {
	for name := range x.portals.confirmed {
		x.dropPortal(name)
	}
}

// finished takes the end of a statement in a Query, or of a portal.
func (x *session) finished(reply wire.Reply, op *operation, code string) {
	if code != "" {
		op.sqlstate = code
	}
	if op.portal == nil {
		op.start(reply.Entry.Index)
		return
	}
	x.pathDone(op, true)
	op.portal.elapsed += x.server.now().Sub(x.oldestSince)
	x.finishPortal(op.portal, code)
}

// recordStart records that the session begins.
func (x *session) recordStart(ctx context.Context) error {
	return x.server.options.Recorder.Session(ctx, x.sessionRecord("session_start"))
}

func (x *session) recordEnd(ctx context.Context) {
	r := x.sessionRecord("session_end")
	if x.reason != nil && !errors.Is(x.reason, errClosed) {
		r.Reason = x.reason.Error()
	}
	var known *refusal
	if errors.As(x.reason, &known) {
		r.SQLSTATE = known.sqlstate
	}
	if err := x.server.options.Recorder.Session(ctx, r); err != nil {
		x.log.Error().Str("error", x.server.options.Redact(err.Error())).Msg("audit")
	}
}

func (x *session) sessionRecord(event string) SessionRecord {
	return SessionRecord{Time: x.server.now(), Event: event, Session: x.id, Agent: x.agent.Name, OnBehalfOf: x.onBehalfOf,
		Address: x.client.RemoteAddr().String(), Program: x.program, Database: x.database, Role: x.up.user, PID: x.up.pid,
		Access: string(x.agent.Access), Policy: x.server.current.Load().set.Digest}
}

// finishPortal records what came of a bound statement, once.
func (x *session) finishPortal(p *portal, code string) {
	if p.place == nil {
		return
	}
	place := p.place
	p.place = nil
	r := x.statementRecord(p.statement.judged, p.number, code)
	r.Time, r.Duration = p.bound, p.elapsed
	r.Rows, r.Bytes, r.Withheld = p.meter.rows, p.meter.bytes, p.meter.withheld
	place.Write(r)
}

// recordQuery records what came of a Query.
func (x *session) recordQuery(op *operation) {
	if op.refusal != nil {
		x.recordRefusal(op)
		return
	}
	if op.place == nil {
		return
	}
	place := op.place
	op.place = nil
	op.start(len(op.judged.Parts))
	r := x.statementRecord(op.judged, 0, op.sqlstate)
	r.Time, r.Duration = op.sentAt, x.server.now().Sub(op.sentAt)
	r.Rows, r.Bytes, r.Withheld = op.total.rows, op.total.bytes, op.total.withheld
	place.Write(r)
}

// recordRefusal records that a message was refused, once.
func (x *session) recordRefusal(op *operation) {
	if op.recorded {
		return
	}
	op.recorded = true
	place, err := x.server.options.Recorder.Reserve(context.Background(), nil)
	if err != nil {
		x.log.Error().Str("error", x.server.options.Redact(err.Error())).Msg("a refusal could not be recorded")
		return
	}
	r := x.statementRecord(op.judged, 0, op.refusal.SQLSTATE)
	r.Time, r.Refusal = op.sentAt, op.refusal
	place.Write(r)
}

func (x *session) statementRecord(j *judged, number uint64, code string) *StatementRecord {
	r := &StatementRecord{Session: x.id, Agent: x.agent.Name, OnBehalfOf: x.onBehalfOf, Database: x.database, Role: x.up.user,
		Number: number, SQLSTATE: code}
	if j != nil {
		r.Judgement, r.Policy, r.Catalog = &j.Judgement, j.view.set.Digest, j.view.catalog.Digest()
	}
	return r
}
