package proxy

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/policy/statement"
	"github.com/pgairlock/pgairlock/proxy/wire"
)

const (
	// writeSize is how much is gathered for a socket before it is written.
	writeSize = 64 << 10
	// maxPortals is how many portals and cursors a session may have open: each
	// holds a snapshot and memory on the server.
	maxPortals = 100
	// maxStatements is how many prepared statements a session may have.
	maxStatements = 10_000
)

// operation is what the proxy knows of a message that waits for its replies.
type operation struct {
	judged    *judged
	refusal   *statement.Refusal // in place of a refused message a text was sent that cannot parse
	name      string             // of the statement or portal that it makes, uses or closes
	statement *prepared          // Parse, Bind
	portal    *portal            // Bind, Execute
	meter     meter              // Query: of the statement being answered
	total     meter              // Query: sums over its finished statements
	executes  []*prepared        // Query: what each of its statements executes, where it is SQL EXECUTE
	makes     []making           // Query, Execute: what its statements make by SQL
	place     Place              // Query: in the record
	sentAt    time.Time
	copying   bool   // a message of COPY data has come
	pathAhead bool   // counted in searchPath.pending
	sqlstate  string // of the error it ended with
	recorded  bool   // a refusal, already in the record
}

// making is a prepared statement or a cursor that SQL makes, once the statement
// at index part has run.
type making struct {
	part      int
	name      string
	statement *prepared // PREPARE
	portal    *portal   // DECLARE
}

// start makes ready for the answer to statement i of a Query.
func (op *operation) start(i int) {
	op.total.rows += op.meter.rows
	op.total.bytes += op.meter.bytes
	op.total.withheld += op.meter.withheld
	op.meter = newMeter(op.judged, i)
	if i < len(op.executes) && op.executes[i] != nil {
		op.meter.tighten(op.executes[i].meter())
		op.meter.asked = op.executes[i].asked
	}
}

// fromClient carries the client's messages to the server.
func (x *session) fromClient(ctx context.Context) error {
	input := newInput(x.client)
	splitter := wire.NewFrontend(x.server.options.Limits)
	for {
		piece, need, err := splitter.Next(input.bytes())
		if err != nil {
			return err
		}
		if piece.Raw == nil {
			if err := x.flushServer(); err != nil {
				return err
			}
			if err := input.fill(need); err != nil {
				return err
			}
			continue
		}
		stop, err := x.take(ctx, &piece)
		if err != nil || stop {
			return err
		}
		input.drop(len(piece.Raw))
		if len(x.toServer) >= writeSize {
			if err := x.flushServer(); err != nil {
				return err
			}
		}
	}
}

// take handles one piece of what the client sends. stop is the client's wish to
// end the session.
func (x *session) take(ctx context.Context, p *wire.Piece) (stop bool, err error) {
	if !p.First {
		if !x.discard {
			x.toServer = append(x.toServer, p.Raw...)
			x.halfSent = !p.Last
		}
		return false, nil
	}
	defer func() { x.halfSent = !p.Last && !x.discard }()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.discard = false
	admission, err := x.flow.Admit(p.Type)
	if err != nil {
		return false, err
	}
	if admission == wire.Ignore {
		x.discard = true
		return false, nil
	}
	if x.ended {
		return false, errClosed
	}
	switch p.Type {
	case wire.Query:
		return false, x.query(ctx, p)
	case wire.Parse:
		return false, x.parse(ctx, p)
	case wire.Bind:
		return false, x.bind(ctx, p)
	case wire.Describe:
		return false, x.describe(ctx, p)
	case wire.Execute:
		return false, x.execute(ctx, p)
	case wire.Close:
		return false, x.close(p)
	case wire.Sync, wire.CopyDone, wire.CopyFail:
		x.forward(p, wire.Entry{Kind: p.Type})
	case wire.Flush, wire.CopyData:
		x.toServer = append(x.toServer, p.Raw...)
	case wire.FunctionCall:
		return false, x.functionCall(ctx, p)
	case wire.Terminate:
		return true, nil
	}
	return false, nil
}

// forward sends a message as it came.
func (x *session) forward(p *wire.Piece, e wire.Entry) uint64 {
	x.toServer = append(x.toServer, p.Raw...)
	return x.sent(e)
}

// sent notes a message for the server. It must come before the bytes are
// written, so that no reply can be early.
func (x *session) sent(e wire.Entry) uint64 {
	n := x.flow.Sent(e)
	x.path.noteSent(e, n)
	if x.flow.Pending() == 1 {
		x.oldestSince = x.server.now()
	}
	return n
}

func (x *session) flushServer() error {
	if len(x.toServer) == 0 {
		return nil
	}
	n, err := x.up.conn.Write(x.toServer)
	x.server.counters.bytesToServers.Add(int64(n))
	x.toServer = emptied(x.toServer)
	if err != nil {
		return fmt.Errorf("write to the server: %w", err)
	}
	return nil
}

// emptied is a buffer for what comes next: the same, unless a large message has
// made it large.
func emptied(b []byte) []byte {
	if cap(b) > 2*writeSize {
		return nil
	}
	return b[:0]
}

// query judges and sends a Query.
func (x *session) query(ctx context.Context, p *wire.Piece) error {
	if p.TooLong {
		x.discard = true
		x.refuseQuery(tooLong(p.Length, x.server.options.Limits.Statement), nil)
		return nil
	}
	text, err := wire.QueryText(p.Body())
	if err != nil {
		return err
	}
	j, err := x.judge(ctx, text, nil)
	if err != nil || j == nil {
		return err
	}
	refusal := j.Refusal
	if refusal == nil && j.touch.declares && x.tooManyPortals() {
		refusal = manyPortals()
	}
	var place Place
	if refusal == nil {
		refusal = x.occupy()
	}
	if refusal == nil {
		place, refusal = x.admit(ctx, j)
	}
	if refusal != nil {
		x.refuseQuery(refusal, j)
		return nil
	}
	if err := x.whileInterrupting(); err != nil {
		return err
	}
	op := &operation{judged: j, place: place, sentAt: x.server.now()}
	op.executes = x.executed(j)
	op.start(0)
	x.noteSent(op, -1)
	e := wire.Entry{Kind: wire.Query, Note: op, CopyIn: j.touch.copyIn}
	if j.Send == j.Text {
		x.forward(p, e)
		return nil
	}
	x.sent(e)
	x.toServer = wire.AppendQuery(x.toServer, j.Send)
	return nil
}

// parse judges and sends a Parse.
func (x *session) parse(ctx context.Context, p *wire.Piece) error {
	if p.TooLong {
		x.discard = true
		name, _, _ := cutString(p.Body())
		x.refuseSeries(tooLong(p.Length, x.server.options.Limits.Statement), nil, name)
		return nil
	}
	m, err := wire.DecodeParse(p.Body())
	if err != nil {
		return err
	}
	if refusal := x.badName(m.Name); refusal != nil {
		x.refuseSeries(refusal, nil, refusedName)
		return nil
	}
	j, err := x.judge(ctx, m.Text, m.RawTypes())
	if err != nil || j == nil {
		return err
	}
	name := string(m.Name)
	if j.Refusal != nil {
		x.refuseSeries(j.Refusal, j, name)
		return nil
	}
	if len(x.statements.confirmed)+len(x.statements.sent) >= maxStatements {
		x.refuseSeries(&statement.Refusal{Rule: "statements", SQLSTATE: "53400", Message: "too many prepared statements in this session",
			Hint: "Close those that are no longer needed, or DEALLOCATE ALL."}, nil, refusedName)
		return nil
	}
	stmt := newPrepared(j, 0)
	x.statements.send(name, stmt)
	e := wire.Entry{Kind: wire.Parse, Note: &operation{judged: j, name: name, statement: stmt}}
	if j.Send == j.Text {
		x.forward(p, e)
		return nil
	}
	x.sent(e)
	x.toServer = wire.AppendParse(x.toServer, name, j.Send, m.RawTypes())
	return nil
}

// bind sends a Bind of a statement that is still allowed.
func (x *session) bind(ctx context.Context, p *wire.Piece) error {
	portalName, statementName, err := wire.DecodeBind(p.Body())
	if err != nil {
		return err
	}
	refuse := func(r *statement.Refusal, j *judged) error {
		x.discard = !p.Last
		x.refuseSeries(r, j, refusedName)
		return nil
	}
	if r := x.badName(portalName); r != nil {
		return refuse(r, nil)
	}
	if r := x.badName(statementName); r != nil {
		return refuse(r, nil)
	}
	stmt, r, err := x.current(ctx, statementName)
	if err != nil {
		return err
	}
	if x.flow.Skipping() || x.ended {
		x.discard = true
		return nil
	}
	if r != nil {
		return refuse(r, stmtJudged(stmt))
	}
	if len(portalName) > 0 && x.tooManyPortals() {
		return refuse(manyPortals(), nil)
	}
	place, r := x.admit(ctx, stmt.judged)
	if r != nil {
		return refuse(r, stmt.judged)
	}
	name := string(portalName)
	made := &portal{statement: stmt, meter: stmt.meter(), place: place, bound: x.server.now()}
	x.portals.send(name, made)
	made.number = x.forward(p, wire.Entry{Kind: wire.Bind, Note: &operation{judged: stmt.judged, name: name, statement: stmt, portal: made}})
	return nil
}

func stmtJudged(p *prepared) *judged {
	if p == nil {
		return nil
	}
	return p.judged
}

// describe sends a Describe.
func (x *session) describe(ctx context.Context, p *wire.Piece) error {
	what, name, err := wire.DecodeTarget(p.Body())
	if err != nil {
		return err
	}
	op := &operation{}
	var refusal *statement.Refusal
	if what == 'S' {
		op.statement, refusal, err = x.current(ctx, name)
	} else if held := x.portals.find(string(name)); held != nil {
		op.statement = held.statement
	} else {
		refusal = noPortal(name)
	}
	if err != nil {
		return err
	}
	if x.flow.Skipping() || x.ended {
		return nil
	}
	if refusal != nil {
		x.refuseSeries(refusal, stmtJudged(op.statement), refusedName)
		return nil
	}
	op.judged = op.statement.judged
	op.statement.described = x.view
	x.forward(p, wire.Entry{Kind: wire.Describe, What: what, Note: op})
	return nil
}

// execute sends an Execute of a portal whose statement is still allowed.
func (x *session) execute(ctx context.Context, p *wire.Piece) error {
	name, _, err := wire.DecodeExecute(p.Body())
	if err != nil {
		return err
	}
	held := x.portals.find(string(name))
	if held == nil {
		x.refuseSeries(noPortal(name), nil, refusedName)
		return nil
	}
	refusal, err := x.rejudge(ctx, held.statement)
	if err != nil {
		return err
	}
	if x.flow.Skipping() || x.ended {
		return nil
	}
	if refusal == nil {
		refusal = x.outOfTime(held)
	}
	if refusal == nil {
		refusal = x.occupy()
	}
	if refusal != nil {
		x.refuseSeries(refusal, held.statement.judged, refusedName)
		return nil
	}
	held.meter.tighten(held.statement.meter())
	if err := x.whileInterrupting(); err != nil {
		return err
	}
	if x.agent.Access != policy.Observe && held.statement.described != x.view {
		// the columns are to be known before the first row is let out
		held.statement.described = x.view
		x.sent(wire.Entry{Kind: wire.Describe, What: 'P', Internal: true, Note: &operation{judged: held.statement.judged, statement: held.statement}})
		x.toServer = wire.AppendTarget(x.toServer, wire.Describe, 'P', string(name))
	}
	op := &operation{judged: held.statement.judged, name: string(name), portal: held}
	x.noteSent(op, held.statement.part)
	held.executed = true
	x.forward(p, wire.Entry{Kind: wire.Execute, CopyIn: held.statement.judged.touch.copyIn, Note: op})
	return nil
}

// close sends a Close. Closing what does not exist is no error.
func (x *session) close(p *wire.Piece) error {
	what, name, err := wire.DecodeTarget(p.Body())
	if err != nil {
		return err
	}
	x.forward(p, wire.Entry{Kind: wire.Close, What: what, Note: &operation{name: string(name)}})
	return nil
}

// badName refuses names that the server would compare by their first 63 bytes
// only, names that are the proxy's own, and names that are no text.
func (x *session) badName(name []byte) *statement.Refusal {
	switch {
	case len(name) > wire.NameLimit:
		return &statement.Refusal{Rule: "name", SQLSTATE: "42622", Message: fmt.Sprintf("the name of a statement or portal is %d bytes long, more than %d", len(name), wire.NameLimit)}
	case len(name) >= len(ownPrefix) && string(name[:len(ownPrefix)]) == ownPrefix:
		return &statement.Refusal{Rule: "name", SQLSTATE: "42602", Message: `names that begin with "pgairlock." are the proxy's own`}
	case !utf8.Valid(name):
		return &statement.Refusal{Rule: "name", SQLSTATE: "22021", Message: "the name of a statement or portal is not valid UTF-8"}
	}
	return nil
}

func (x *session) tooManyPortals() bool {
	return len(x.portals.confirmed)+len(x.portals.sent) >= maxPortals
}

func manyPortals() *statement.Refusal {
	return &statement.Refusal{Rule: "portals", SQLSTATE: "53400", Message: fmt.Sprintf("more than %d portals and cursors are open in this session", maxPortals),
		Hint: "Close those that are no longer needed, or end the transaction."}
}

func noPortal(name []byte) *statement.Refusal {
	return &statement.Refusal{Rule: "unresolved-cursor", SQLSTATE: "34000", Message: fmt.Sprintf("portal \"%s\" does not exist", name)}
}

func tooLong(length, limit int) *statement.Refusal {
	return &statement.Refusal{Rule: "too-complex", SQLSTATE: "54001", Message: fmt.Sprintf("the statement is %d bytes long, more than %d", length, limit),
		Hint: "Send values as parameters, or split the statement."}
}
