package wire_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/pgairlock/pgairlock/proxy/wire"
)

// cut is what a splitter made of bytes.
type cut struct {
	starts []start // a message each
	raw    []byte  // all pieces together
	bodies [][]byte
	err    error
}

// start is what a message's first piece says.
type start struct {
	kind    byte
	length  int
	tooLong bool
}

// cutUp feeds data in chunks of the sizes that size returns.
func cutUp(t *testing.T, s *wire.Splitter, data []byte, size func() int) cut {
	t.Helper()
	var c cut
	var buf []byte
	for len(data) > 0 {
		n := min(size(), len(data))
		buf = append(buf, data[:n]...)
		data = data[n:]
		for {
			p, need, err := s.Next(buf)
			if err != nil {
				c.err = err
				return c
			}
			if p.Raw == nil {
				if need <= len(buf) {
					t.Fatalf("%d bytes are there, and %d are asked for", len(buf), need)
				}
				break
			}
			if p.First {
				c.starts = append(c.starts, start{p.Type, p.Length, p.TooLong})
				c.bodies = append(c.bodies, nil)
			}
			last := len(c.bodies) - 1
			c.bodies[last] = append(c.bodies[last], p.Body()...)
			if p.Last != (len(c.bodies[last]) == p.Length) {
				t.Fatalf("%d of %d bytes, last %t", len(c.bodies[last]), p.Length, p.Last)
			}
			c.raw = append(c.raw, p.Raw...)
			buf = buf[len(p.Raw):]
		}
	}
	return c
}

// cutBothWays cuts data whole and in random chunks, which must come to the same,
// and looks at what came out.
func cutBothWays(t *testing.T, server bool, data []byte, r *rand.Rand) cut {
	t.Helper()
	whole := cutUp(t, splitter(server), data, func() int { return len(data) })
	inChunks := cutUp(t, splitter(server), data, func() int { return 1 + r.IntN(20) })
	if !slices.Equal(whole.starts, inChunks.starts) || !bytes.Equal(whole.raw, inChunks.raw) || fmt.Sprint(whole.err) != fmt.Sprint(inChunks.err) {
		t.Fatalf("whole: %v, %v; in chunks: %v, %v", whole.starts, whole.err, inChunks.starts, inChunks.err)
	}
	var broken *wire.Violation
	if whole.err != nil && !errors.As(whole.err, &broken) {
		t.Fatalf("not a violation: %v", whole.err)
	}
	if !bytes.HasPrefix(data, whole.raw) {
		t.Fatal("the pieces together are not what came in")
	}
	return whole
}

// agree holds the messages that are whole against another decoder's, up to the
// first that it does not accept.
func agree[M any](t *testing.T, c cut, receive func() (M, error), kind func(M) byte, same func(M, []byte) error) {
	t.Helper()
	for i, s := range c.starts {
		if len(c.bodies[i]) < s.length {
			return
		}
		m, err := receive()
		if err != nil {
			return
		}
		if got := kind(m); got != s.kind {
			t.Fatalf("message %d is %q here and %q there", i, s.kind, got)
		}
		if s.tooLong {
			continue
		}
		if err := same(m, c.bodies[i]); err != nil {
			t.Fatalf("message %d, %q: %v", i, s.kind, err)
		}
	}
}

// addRecordings adds what was recorded of one direction, in parts of a few
// messages: the fuzzer works on short inputs best.
func addRecordings(f *testing.F, server bool) {
	const most = 300 // bytes
	files := recorded(f)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		var part []byte
		for _, e := range files[name] {
			if e.server != server {
				continue
			}
			if len(part)+len(e.raw) > most && len(part) > 0 {
				f.Add(part, uint64(len(part)))
				part = nil
			}
			part = append(part, e.raw...)
		}
		f.Add(part, uint64(len(part)))
	}
}

// withLong puts a message before data that is longer than what is held whole, for
// some seeds. A fuzzer would hardly come to one by itself.
func withLong(data []byte, r *rand.Rand, messages ...string) []byte {
	if r.IntN(8) > 0 {
		return data
	}
	return append([]byte(messages[r.IntN(len(messages))]), data...)
}

// FuzzFrontend cuts what a client may send. Its oracle is pgproto3, which must
// see the same messages as far as it accepts them, with the same content
// wherever both read it; and the same bytes in other chunks.
func FuzzFrontend(f *testing.F) {
	addRecordings(f, false)
	long := strings.Repeat("x", 12_000)
	query, parse, bind, copied := of('Q', long+"\x00"), of('P', "s\x00"+long+"\x00\x00\x00"), of('B', "p\x00s\x00\x00\x00\x00\x01\x00\x00\x2e\xe0"+long+"\x00\x00"), of('d', long)
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		data = withLong(data, r, query, parse, bind, copied)
		c := cutBothWays(t, false, data, r)
		there := pgproto3.NewBackend(bytes.NewReader(data), nil)
		there.SetMaxBodyLen(limits.Message)
		agree(t, c, there.Receive, clientKind, sameClient)
		p := &fuzzPlayer{flow: wire.NewFlow('I'), Rand: r}
		for i, s := range c.starts {
			p.client(t, s.kind, c.bodies[i])
			for range r.IntN(4) {
				p.server(t, serverKinds[r.IntN(len(serverKinds))], nil)
			}
		}
	})
}

// FuzzBackend does the same with what a server may send.
func FuzzBackend(f *testing.F) {
	addRecordings(f, true)
	long := strings.Repeat("x", 12_000)
	row, copied, notice := of('D', "\x00\x01\x00\x00\x2e\xe0"+long), of('d', long), of('N', "M"+long+"\x00\x00")
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		data = withLong(data, r, row, copied, notice)
		c := cutBothWays(t, true, data, r)
		there := pgproto3.NewFrontend(bytes.NewReader(data), nil)
		there.SetMaxBodyLen(limits.Message)
		agree(t, c, there.Receive, serverKind, sameServer)
		p := &fuzzPlayer{flow: wire.NewFlow('I'), Rand: r}
		for i, s := range c.starts {
			for range r.IntN(4) {
				p.client(t, clientKinds[r.IntN(len(clientKinds))], nil)
			}
			p.server(t, s.kind, c.bodies[i])
		}
	})
}

const (
	clientKinds = "QPBDECSHXFdcfQPBDESS"
	serverKinds = "123ACDEGHINSTVZcdnst1TDCZZ"
)

// fuzzPlayer plays any sequence at all through a flow.
type fuzzPlayer struct {
	*rand.Rand
	flow *wire.Flow
	last uint64 // number of the newest message sent
}

func (p *fuzzPlayer) client(t *testing.T, kind byte, body []byte) {
	t.Helper()
	before, atRest := p.flow.Pending(), p.flow.AtRest()
	a, err := p.flow.Admit(kind)
	var broken *wire.Violation
	if err != nil && (!errors.As(err, &broken) || !p.flow.Copying()) {
		t.Fatalf("%q: %v", kind, err)
	}
	if p.flow.Pending() != before || p.flow.AtRest() != atRest {
		t.Fatal("what is only admitted is counted")
	}
	if a == wire.Ignore {
		return
	}
	e := wire.Entry{Kind: kind, CopyIn: (kind == 'Q' || kind == 'E') && p.IntN(2) == 0, Note: p.last + 1}
	if kind == 'D' {
		e.What = "SP"[p.IntN(2)]
		if what, _, err := wire.DecodeTarget(body); err == nil {
			e.What = what
		}
	}
	n := p.flow.Sent(e)
	if n > 0 {
		if p.last++; n != p.last || p.flow.Pending() != before+1 || p.flow.AtRest() {
			t.Fatalf("message %d has number %d, %d are pending after %d", p.last, n, p.flow.Pending(), before)
		}
	}
	p.check(t)
}

func (p *fuzzPlayer) server(t *testing.T, kind byte, body []byte) {
	t.Helper()
	if kind == wire.ReadyForQuery && body == nil {
		body = []byte{"ITE"[p.IntN(3)]}
	}
	before := p.flow.Pending()
	r, err := p.flow.Reply(kind, body)
	var broken *wire.Violation
	switch {
	case err != nil && !errors.As(err, &broken):
		t.Fatalf("%q: %v", kind, err)
	case err != nil && (r.Entry != nil || r.Done || r.Lost != nil):
		t.Fatalf("%q breaks the protocol, and means %+v", kind, r)
	case err == nil && r.Entry != nil && (r.Entry.Number == 0 || r.Entry.Number > p.last || r.Entry.Note != r.Entry.Number):
		t.Fatalf("%q is attributed to %+v, which was not sent", kind, r.Entry)
	case p.flow.Pending() > before:
		t.Fatalf("%q makes more messages wait", kind)
	}
	p.check(t)
}

func (p *fuzzPlayer) check(t *testing.T) {
	t.Helper()
	n, e := p.flow.Pending(), p.flow.Oldest()
	if n < 0 || (n == 0) != (e == nil) || p.flow.AtRest() && n > 0 || p.flow.Skipping() && n > 0 || p.flow.Copying() && n == 0 {
		t.Fatalf("%d are pending, the oldest is %+v, at rest %t, skipping %t, copying %t", n, e, p.flow.AtRest(), p.flow.Skipping(), p.flow.Copying())
	}
}

func clientKind(m pgproto3.FrontendMessage) byte {
	switch m.(type) {
	case *pgproto3.Bind:
		return wire.Bind
	case *pgproto3.Close:
		return wire.Close
	case *pgproto3.CopyData:
		return wire.CopyData
	case *pgproto3.CopyDone:
		return wire.CopyDone
	case *pgproto3.CopyFail:
		return wire.CopyFail
	case *pgproto3.Describe:
		return wire.Describe
	case *pgproto3.Execute:
		return wire.Execute
	case *pgproto3.Flush:
		return wire.Flush
	case *pgproto3.FunctionCall:
		return wire.FunctionCall
	case *pgproto3.Parse:
		return wire.Parse
	case *pgproto3.Query:
		return wire.Query
	case *pgproto3.Sync:
		return wire.Sync
	case *pgproto3.Terminate:
		return wire.Terminate
	}
	return 0
}

func serverKind(m pgproto3.BackendMessage) byte {
	switch m.(type) {
	case *pgproto3.BindComplete:
		return wire.BindComplete
	case *pgproto3.CloseComplete:
		return wire.CloseComplete
	case *pgproto3.CommandComplete:
		return wire.CommandComplete
	case *pgproto3.CopyData:
		return wire.CopyData
	case *pgproto3.CopyDone:
		return wire.CopyDone
	case *pgproto3.CopyInResponse:
		return wire.CopyInResponse
	case *pgproto3.CopyOutResponse:
		return wire.CopyOutResponse
	case *pgproto3.DataRow:
		return wire.DataRow
	case *pgproto3.EmptyQueryResponse:
		return wire.EmptyQueryResponse
	case *pgproto3.ErrorResponse:
		return wire.ErrorResponse
	case *pgproto3.FunctionCallResponse:
		return wire.FunctionCallResponse
	case *pgproto3.NoData:
		return wire.NoData
	case *pgproto3.NoticeResponse:
		return wire.NoticeResponse
	case *pgproto3.NotificationResponse:
		return wire.NotificationResponse
	case *pgproto3.ParameterDescription:
		return wire.ParameterDescription
	case *pgproto3.ParameterStatus:
		return wire.ParameterStatus
	case *pgproto3.ParseComplete:
		return wire.ParseComplete
	case *pgproto3.PortalSuspended:
		return wire.PortalSuspended
	case *pgproto3.ReadyForQuery:
		return wire.ReadyForQuery
	case *pgproto3.RowDescription:
		return wire.RowDescription
	}
	return 0
}

// differ is an error unless two readings are the same. Where the package refuses
// to read what pgproto3 lets pass, they need not be.
func differ(here, there any, err error) error {
	if err == nil && fmt.Sprint(here) != fmt.Sprint(there) {
		return fmt.Errorf("%v here, %v there", here, there)
	}
	return nil
}

func sameClient(m pgproto3.FrontendMessage, body []byte) error {
	switch m := m.(type) {
	case *pgproto3.Query:
		text, err := wire.QueryText(body)
		return differ([]string{string(text)}, []string{m.String}, err)
	case *pgproto3.Parse:
		p, err := wire.DecodeParse(body)
		types := []uint32{}
		for i := range p.Types() {
			types = append(types, p.Type(i))
		}
		return differ([]any{string(p.Name), string(p.Text), types}, []any{m.Name, m.Query, m.ParameterOIDs}, err)
	case *pgproto3.Bind:
		portal, statement, err := wire.DecodeBind(body)
		if err != nil {
			return fmt.Errorf("only pgproto3 reads it: %w", err)
		}
		return differ([]string{string(portal), string(statement)}, []string{m.DestinationPortal, m.PreparedStatement}, err)
	case *pgproto3.Describe:
		kind, name, err := wire.DecodeTarget(body)
		return differ([]any{kind, string(name)}, []any{m.ObjectType, m.Name}, err)
	case *pgproto3.Close:
		kind, name, err := wire.DecodeTarget(body)
		return differ([]any{kind, string(name)}, []any{m.ObjectType, m.Name}, err)
	case *pgproto3.Execute:
		portal, rows, err := wire.DecodeExecute(body)
		return differ([]any{string(portal), rows}, []any{m.Portal, m.MaxRows}, err)
	case *pgproto3.FunctionCall:
		function, err := wire.DecodeFunctionCall(body)
		return differ(function, m.Function, err)
	case *pgproto3.CopyData:
		return differ(body, m.Data, nil)
	}
	return nil
}

func sameServer(m pgproto3.BackendMessage, body []byte) error {
	switch m := m.(type) {
	case *pgproto3.CommandComplete:
		tag, err := wire.Tag(body)
		return differ(tag, m.CommandTag, err)
	case *pgproto3.ParameterStatus:
		name, value, err := wire.Setting(body)
		return differ([]string{string(name), string(value)}, []string{m.Name, m.Value}, err)
	case *pgproto3.RowDescription:
		var here, there []wire.Field
		err := wire.EachField(body, func(f wire.Field) bool { here = append(here, f); return true })
		for _, f := range m.Fields {
			there = append(there, wire.Field{Name: f.Name, Table: f.TableOID, Column: int16(f.TableAttributeNumber), TypeOID: f.DataTypeOID,
				Size: f.DataTypeSize, Modifier: f.TypeModifier, Format: f.Format})
		}
		return differ(here, there, err)
	case *pgproto3.ErrorResponse:
		return sameReport(body, wire.ErrorResponse, m.Severity, m.SeverityUnlocalized, m.Code, m.Message)
	case *pgproto3.NoticeResponse:
		return sameReport(body, wire.NoticeResponse, m.Severity, m.SeverityUnlocalized, m.Code, m.Message)
	case *pgproto3.CopyData:
		return differ(body, m.Data, nil)
	}
	return nil
}

// sameReport compares the fields of a report that has none of them twice, and
// has it written again with nothing moved.
func sameReport(body []byte, kind byte, severity, unlocalized, code, message string) error {
	again := wire.AppendMoved(nil, kind, body, func(n int) int { return n })[5:]
	for i, want := range []string{severity, unlocalized, code, message} {
		field := "SVCM"[i]
		if bytes.Count(body, []byte{field}) > 1 {
			continue
		}
		for _, b := range [][]byte{body, again} {
			if got := wire.ErrorField(b, field); string(got) != want {
				return fmt.Errorf("field %c is %q here, %q there", field, got, want)
			}
		}
	}
	return nil
}
