package proxy

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/proxy/wire"
)

// fromServer carries the server's messages to the client.
func (x *session) fromServer() error {
	input := newInput(x.up.conn)
	splitter := wire.NewBackend(x.server.options.Limits)
	for {
		piece, need, err := splitter.Next(input.bytes())
		if err != nil {
			return fmt.Errorf("the server broke the protocol: %w", err)
		}
		if piece.Raw == nil {
			if err := x.flushClient(); err != nil {
				return err
			}
			if err := input.fill(need); err != nil && !x.parkedFor(err, input.end-input.start) {
				return x.serverGone(err)
			}
			continue
		}
		if piece.First {
			if err := x.reply(&piece); err != nil {
				// what was answered before comes before the last word
				return errors.Join(err, x.flushClient())
			}
		} else if !x.withhold {
			x.toClient = append(x.toClient, piece.Raw...)
		}
		input.drop(len(piece.Raw))
		if len(x.toClient) >= writeSize {
			if err := x.flushClient(); err != nil {
				return err
			}
		}
	}
}

// serverGone says in what state the upstream connection was lost.
func (x *session) serverGone(err error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended {
		return errClosed
	}
	x.log.Warn().Str("error", x.server.options.Redact(err.Error())).Msg("the server closed the connection")
	return &refusal{sqlstate: "08006", message: "the server closed the connection", rule: "upstream"}
}

func (x *session) flushClient() error {
	if len(x.toClient) == 0 {
		return nil
	}
	n, err := x.client.Write(x.toClient)
	x.server.counters.bytesToClients.Add(int64(n))
	x.toClient = emptied(x.toClient)
	if err != nil {
		return errClosed
	}
	return nil
}

// reply handles the first piece of a server message.
func (x *session) reply(p *wire.Piece) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.withhold = false
	reply, err := x.flow.Reply(p.Type, p.Body())
	if err != nil {
		return fmt.Errorf("the server broke the protocol: %w", err)
	}
	if reply.Done {
		defer x.next()
	}
	op := noteOf(reply.Entry)
	switch p.Type {
	case wire.NoticeResponse, wire.NotificationResponse:
		x.pass(p)
		return nil
	case wire.ParameterStatus:
		return x.setting(p)
	case wire.ErrorResponse:
		return x.failure(p, reply, op)
	case wire.ReadyForQuery:
		return x.ready(p, reply, op)
	}
	if reply.Entry.Internal {
		return x.internal(p, op)
	}
	if op == nil {
		x.pass(p)
		return nil
	}
	if op.refusal != nil {
		return fmt.Errorf("the server took a text that cannot parse: %w", &wire.Violation{Message: "refusal was not refused"})
	}
	return x.answered(p, reply, op)
}

func noteOf(e *wire.Entry) *operation {
	if e == nil {
		return nil
	}
	op, _ := e.Note.(*operation)
	return op
}

// next wakes whoever waits for the queue, and starts the next message's clock.
func (x *session) next() {
	if x.flow.Pending() > 0 {
		x.oldestSince = x.server.now()
	} else {
		x.vacate()
	}
	x.changed.Broadcast()
}

// pass lets a piece through as it came.
func (x *session) pass(p *wire.Piece) { x.toClient = append(x.toClient, p.Raw...) }

// answered handles a message that answers one of the client's.
func (x *session) answered(p *wire.Piece, reply wire.Reply, op *operation) error {
	switch p.Type {
	case wire.ParseComplete:
		x.statements.confirm(op.name, op.statement)
	case wire.BindComplete:
		if old := x.portals.confirmed[op.name]; old != nil {
			x.finishPortal(old, "")
		}
		x.portals.confirm(op.name, op.portal)
	case wire.CloseComplete:
		x.closed(reply.Entry.What, op.name)
	case wire.RowDescription:
		if err := x.columns(p, op); err != nil {
			return err
		}
	case wire.DataRow:
		return x.row(p, op)
	case wire.CopyData:
		if op.frames(p, reply.Entry.Index) {
			break
		}
		return x.row(p, op)
	case wire.CommandComplete:
		return x.complete(p, reply, op)
	case wire.EmptyQueryResponse:
		x.finished(reply, op, "")
	case wire.PortalSuspended:
		return x.suspended(p, op)
	}
	x.pass(p)
	return nil
}

// columns holds a description of an answer against the policy. The catalog by
// which the statement was judged can be a moment old; the server's word is new.
func (x *session) columns(p *wire.Piece, op *operation) error {
	if x.agent.Access == policy.Observe || op.judged == nil {
		return nil
	}
	v := op.judged.view
	var bad *wire.Field
	err := wire.EachField(p.Body(), func(f wire.Field) bool {
		if f.Table == 0 {
			return true
		}
		if !readable(v, f) {
			bad = &f
			return false
		}
		return true
	})
	if err != nil {
		return err
	}
	if bad == nil {
		return nil
	}
	x.log.Error().Uint32("table_oid", bad.Table).Int16("column", bad.Column).Msg("the answer holds a column that the agent may not read")
	return &refusal{sqlstate: "42501", rule: "answer", message: "the answer would hold a column that this agent may not read: the session ends",
		hint: "The table has changed since the statement was judged. Connect again."}
}

// readable says whether the agent may read a column of an answer. A number of 0
// stands for the whole row.
func readable(v *view, f wire.Field) bool {
	relation := v.catalog.RelationByOID(f.Table)
	if relation == nil {
		return false
	}
	if f.Column != 0 {
		return policy.ReadableColumn(v.agent, relation, f.Column)
	}
	for _, column := range relation.Columns {
		if !policy.ReadableColumn(v.agent, relation, column.Num) {
			return false
		}
	}
	return true
}

// row counts a row, and lets it through or not.
func (x *session) row(p *wire.Piece, op *operation) error {
	m := &op.meter
	if op.portal != nil {
		m = &op.portal.meter
	}
	if m.row(int64(p.Length)) {
		x.pass(p)
		return nil
	}
	x.withhold = true
	if m.exceeded != "" && m.withheld == 1 {
		x.interrupt(context.Background())
	}
	return nil
}

// frames says whether a CopyData message is the header line or the trailer of a
// COPY, not a row. The server sends each row in a message of its own (copyto.c).
func (op *operation) frames(p *wire.Piece, part int) bool {
	if op.portal != nil {
		part = op.portal.statement.part
	}
	if part >= len(op.judged.Parts) {
		return false
	}
	first := !op.copying
	op.copying = true
	f := &op.judged.Parts[part].Facts
	return f.CopyHeader && first || f.CopyBinary && p.Length == 2
}

// complete handles the end of a statement, with the tag and the notice that are
// true of what the client got.
func (x *session) complete(p *wire.Piece, reply wire.Reply, op *operation) error {
	tag, err := wire.Tag(p.Body())
	if err != nil {
		return err
	}
	x.effects(string(tag), reply, op)
	x.path.ran = true
	m := &op.meter
	if op.portal != nil {
		m = &op.portal.meter
	}
	if m.exceeded != "" {
		return x.exceededButDone(reply, op, m)
	}
	if m.withheld > 0 && !m.told {
		x.limited(m, string(tag))
	} else {
		x.pass(p)
	}
	m.sent, op.copying = 0, false
	x.finished(reply, op, "")
	return nil
}

// suspended handles the pause of a portal after max_rows rows.
func (x *session) suspended(p *wire.Piece, op *operation) error {
	m := &op.portal.meter
	op.portal.elapsed += x.server.now().Sub(x.oldestSince)
	x.pathDone(op, true)
	if m.withheld > 0 && !m.told {
		// the row after the last that is allowed came within max_rows: for the
		// client, the portal is at its end
		x.limited(m, "SELECT 0")
	} else {
		x.pass(p)
	}
	m.sent = 0
	return nil
}

// limited tells the client that rows were kept back, and how many it got.
func (x *session) limited(m *meter, tag string) {
	m.told = true
	x.toClient = wire.AppendReport(x.toClient, limitNotice(m))
	x.toClient = wire.AppendComplete(x.toClient, retag(tag, m.sent))
}

// exceededButDone handles a statement that came to its end before the server
// took the cancel request for it. In a simple Query nothing more runs, so the
// error can stand in place of the end; in a series only Sync may follow.
func (x *session) exceededButDone(reply wire.Reply, op *operation, m *meter) error {
	last := reply.Entry.Kind == wire.Execute || reply.Entry.Index == len(op.judged.Parts)
	if !last || reply.Entry.Kind == wire.Execute && !x.flow.SkipToSync() {
		return limitError(m)
	}
	x.toClient = wire.AppendReport(x.toClient, limitError(m).report("ERROR"))
	x.finished(reply, op, limitError(m).sqlstate)
	return nil
}

// retag writes a command tag with another number of rows.
func retag(tag string, rows int64) string {
	words := strings.Fields(tag)
	if len(words) == 0 {
		return tag
	}
	return words[0] + " " + strconv.FormatInt(rows, 10)
}

func limitNotice(m *meter) wire.Report {
	return wire.Report{Severity: "NOTICE", SQLSTATE: "01000",
		Message: fmt.Sprintf("pgairlock: the result was limited to %d rows; there are more", m.maxRows),
		Detail:  "The policy's limit for this agent is " + strconv.FormatInt(m.maxRows, 10) + " rows for each statement.",
		Hint:    "Narrow the WHERE clause, aggregate, or page through by a key: WHERE key > last ORDER BY key."}
}

// cursorNotice comes with DECLARE: where a FETCH ends, the client could not tell
// the limit from the end of the rows.
func cursorNotice(name string, rows int64) wire.Report {
	return wire.Report{Severity: "NOTICE", SQLSTATE: "01000",
		Message: fmt.Sprintf("pgairlock: cursor %q gives at most %d rows in all", name, rows),
		Hint:    "Narrow the WHERE clause, aggregate, or page through by a key: WHERE key > last ORDER BY key."}
}

func limitError(m *meter) *refusal {
	if m.exceeded == "bytes" {
		return &refusal{sqlstate: "53400", rule: "bytes", message: fmt.Sprintf("the result is larger than %d bytes, the policy's limit for this agent", m.maxBytes),
			hint: "Select fewer columns or rows, or aggregate."}
	}
	return &refusal{sqlstate: "53400", rule: "rows", message: fmt.Sprintf("the result has more than %d rows, the policy's limit for this agent", m.maxRows),
		hint: "Add a LIMIT, narrow the WHERE clause, or aggregate."}
}
