package bypass

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// replyLimit is how long a client waits for one answer. It is far beyond the
// agents' statement timeouts: a silent connection is a failure, not a wait.
const replyLimit = time.Minute

// Client is a bare client: it sends what it is told and keeps every byte that
// comes back.
type Client struct {
	conn     net.Conn
	frontend *pgproto3.Frontend
	received *tee
}

// tee keeps what is read from a connection.
type tee struct {
	net.Conn
	bytes bytes.Buffer
}

func (t *tee) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	t.bytes.Write(p[:n])
	return n, err
}

// Dial logs in by a connection string, with startup parameters on top of its
// own.
func Dial(ctx context.Context, dsn string, startup map[string]string) (*Client, error) {
	config, err := pgconn.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	maps.Copy(config.RuntimeParams, startup)
	var t *tee
	config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		t = &tee{Conn: conn}
		return t, nil
	}
	pg, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	h, err := pg.Hijack()
	if err != nil {
		return nil, err
	}
	return &Client{conn: h.Conn, frontend: h.Frontend, received: t}, nil
}

// Received is every byte that came from the server so far.
func (c *Client) Received() []byte { return c.received.bytes.Bytes() }

// Close says goodbye and hangs up.
func (c *Client) Close() error {
	c.frontend.Send(&pgproto3.Terminate{})
	return errors.Join(c.frontend.Flush(), c.conn.Close())
}

// Answer is what came back for one message of a case.
type Answer struct {
	Results []Result
	Notices []Report
	Errors  []Report
	Status  byte // of the last ReadyForQuery
	Closed  bool // the connection ended instead
}

// Result is the answer to one statement.
type Result struct {
	Columns []Column
	Rows    []string // each row's values, with lengths, as one comparable string
	Tag     string   // "" if a portal was suspended
	Empty   bool     // EmptyQueryResponse
}

// Column is a field of a RowDescription.
type Column struct {
	Name     string
	Type     uint32
	Modifier int32
	Table    uint32
	Number   uint16
	Format   int16
}

// Report is an error or a notice.
type Report struct {
	Severity, SQLSTATE, Message, Detail, Hint string
	Position                                  int32
}

// Query sends text as a simple Query and reads to ReadyForQuery.
func (c *Client) Query(text string) (Answer, error) {
	c.frontend.Send(&pgproto3.Query{String: text})
	return c.collect(1)
}

// collect flushes what was sent and reads until so many ReadyForQuery came.
func (c *Client) collect(syncs int) (Answer, error) {
	var a Answer
	if err := c.conn.SetDeadline(time.Now().Add(replyLimit)); err != nil {
		return a, err
	}
	if err := c.frontend.Flush(); err != nil {
		a.Closed = true // it may hang up on what it has read so far
		return a, nil
	}
	var columns []Column
	var current *Result
	for syncs > 0 {
		m, err := c.frontend.Receive()
		if err != nil {
			var late net.Error
			if errors.As(err, &late) && late.Timeout() {
				return a, fmt.Errorf("no answer within %s: %w", replyLimit, err)
			}
			a.Closed = true
			return a, nil
		}
		switch m := m.(type) {
		case *pgproto3.RowDescription:
			columns = described(m)
		case *pgproto3.CopyOutResponse:
			current = a.open(current, nil)
		case *pgproto3.CopyInResponse: // a refusal was due; the script may have sent data
			c.frontend.Send(&pgproto3.CopyFail{Message: "no data"})
			if err := c.frontend.Flush(); err != nil {
				return a, err
			}
		case *pgproto3.DataRow:
			current = a.open(current, columns)
			current.Rows = append(current.Rows, flat(m.Values))
		case *pgproto3.CopyData:
			current = a.open(current, nil)
			current.Rows = append(current.Rows, string(m.Data))
		case *pgproto3.CommandComplete:
			current = a.open(current, columns)
			current.Tag = string(m.CommandTag)
			current, columns = nil, nil
		case *pgproto3.PortalSuspended:
			a.open(current, columns)
			current = nil
		case *pgproto3.FunctionCallResponse:
			a.Results = append(a.Results, Result{Rows: []string{string(m.Result)}})
		case *pgproto3.EmptyQueryResponse:
			a.Results = append(a.Results, Result{Empty: true})
		case *pgproto3.NoticeResponse:
			a.Notices = append(a.Notices, report((*pgproto3.ErrorResponse)(m)))
		case *pgproto3.ErrorResponse:
			a.Errors = append(a.Errors, report(m))
			current, columns = nil, nil
		case *pgproto3.ReadyForQuery:
			a.Status = m.TxStatus
			syncs--
		}
	}
	return a, nil
}

// open starts a result if none is being read.
func (a *Answer) open(current *Result, columns []Column) *Result {
	if current != nil {
		return current
	}
	a.Results = append(a.Results, Result{Columns: columns})
	return &a.Results[len(a.Results)-1]
}

func described(m *pgproto3.RowDescription) []Column {
	columns := make([]Column, len(m.Fields))
	for i, f := range m.Fields {
		columns[i] = Column{string(f.Name), f.DataTypeOID, f.TypeModifier, f.TableOID, f.TableAttributeNumber, f.Format}
	}
	return columns
}

func report(m *pgproto3.ErrorResponse) Report {
	return Report{m.Severity, m.Code, m.Message, m.Detail, m.Hint, m.Position}
}

// flat writes a row's values so that different rows never look alike.
func flat(values [][]byte) string {
	var b []byte
	for _, v := range values {
		if v == nil {
			b = append(b, "null "...)
			continue
		}
		b = strconv.AppendInt(b, int64(len(v)), 10)
		b = append(append(append(b, ':'), v...), ' ')
	}
	return string(b)
}
