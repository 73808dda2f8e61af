package wire_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/pgairlock/pgairlock/proxy/wire"
)

// fromServer decodes one server message with pgproto3, and fails if it is not
// exactly one.
func fromServer(t *testing.T, raw []byte) pgproto3.BackendMessage {
	t.Helper()
	rest := bytes.NewReader(raw)
	m, err := pgproto3.NewFrontend(rest, nil).Receive()
	if err != nil || len(raw) != int(raw[1])<<24+int(raw[2])<<16+int(raw[3])<<8+int(raw[4])+1 {
		t.Fatalf("%q: %v", raw, err)
	}
	return m
}

// fromClient does the same for a client message.
func fromClient(t *testing.T, raw []byte) pgproto3.FrontendMessage {
	t.Helper()
	m, err := pgproto3.NewBackend(bytes.NewReader(raw), nil).Receive()
	if err != nil || len(raw) != int(raw[1])<<24+int(raw[2])<<16+int(raw[3])<<8+int(raw[4])+1 {
		t.Fatalf("%q: %v", raw, err)
	}
	return m
}

func TestAppendReport(t *testing.T) {
	for _, c := range []struct {
		report wire.Report
		want   pgproto3.BackendMessage
	}{
		{wire.Report{Severity: "ERROR", SQLSTATE: "42501", Message: "no", Detail: "why", Hint: "what to do", Position: 8},
			&pgproto3.ErrorResponse{Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: "42501", Message: "no", Detail: "why", Hint: "what to do", Position: 8}},
		{wire.Report{Severity: "FATAL", SQLSTATE: "57P01", Message: "end"},
			&pgproto3.ErrorResponse{Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: "57P01", Message: "end"}},
		{wire.Report{Severity: "NOTICE", SQLSTATE: "00000", Message: "été", Hint: "h"},
			&pgproto3.NoticeResponse{Severity: "NOTICE", SeverityUnlocalized: "NOTICE", Code: "00000", Message: "été", Hint: "h"}},
		{wire.Report{Severity: "WARNING", SQLSTATE: "01000"},
			&pgproto3.NoticeResponse{Severity: "WARNING", SeverityUnlocalized: "WARNING", Code: "01000"}},
		// a zero byte would end the field, and what follows would be a field of its own
		{wire.Report{Severity: "ERROR", SQLSTATE: "42501", Message: "a\x00C00000\x00b", Detail: "\xff\xfe x"},
			&pgproto3.ErrorResponse{Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: "42501", Message: "aC00000b", Detail: "\uFFFD x"}},
	} {
		if got := fromServer(t, wire.AppendReport(nil, c.report)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v\ngot  %+v\nwant %+v", c.report, got, c.want)
		}
	}
}

func TestAppendServerMessages(t *testing.T) {
	for _, c := range []struct {
		raw  []byte
		want pgproto3.BackendMessage
	}{
		{wire.AppendComplete(nil, "SELECT 5"), &pgproto3.CommandComplete{CommandTag: []byte("SELECT 5")}},
		{wire.AppendSetting(nil, "TimeZone", "UTC"), &pgproto3.ParameterStatus{Name: "TimeZone", Value: "UTC"}},
		{wire.AppendReady(nil, 'T'), &pgproto3.ReadyForQuery{TxStatus: 'T'}},
	} {
		if got := fromServer(t, c.raw); !reflect.DeepEqual(got, c.want) {
			t.Errorf("got %+v, not %+v", got, c.want)
		}
	}
}

func TestAppendClientMessages(t *testing.T) {
	types := []byte("\x00\x00\x00\x17\x00\x00\x00\x00")
	for _, c := range []struct {
		raw  []byte
		want pgproto3.FrontendMessage
	}{
		{wire.AppendQuery(nil, "SELECT 'é'"), &pgproto3.Query{String: "SELECT 'é'"}},
		{wire.AppendParse(nil, "s", "SELECT $1, $2", types), &pgproto3.Parse{Name: "s", Query: "SELECT $1, $2", ParameterOIDs: []uint32{23, 0}}},
		{wire.AppendParse(nil, "", "", nil), &pgproto3.Parse{}},
		{wire.AppendBind(nil, "p", "s"), &pgproto3.Bind{DestinationPortal: "p", PreparedStatement: "s", ResultFormatCodes: []int16{}}},
		{wire.AppendTarget(nil, 'D', 'S', "s"), &pgproto3.Describe{ObjectType: 'S', Name: "s"}},
		{wire.AppendTarget(nil, 'D', 'P', ""), &pgproto3.Describe{ObjectType: 'P'}},
		{wire.AppendTarget(nil, 'C', 'P', "p"), &pgproto3.Close{ObjectType: 'P', Name: "p"}},
		{wire.AppendExecute(nil, "p", 1<<31), &pgproto3.Execute{Portal: "p", MaxRows: 1 << 31}},
		{wire.AppendEmpty(nil, 'S'), &pgproto3.Sync{}},
		{wire.AppendEmpty(nil, 'H'), &pgproto3.Flush{}},
		{wire.AppendEmpty(nil, 'X'), &pgproto3.Terminate{}},
	} {
		got := fromClient(t, c.raw)
		if b, ok := got.(*pgproto3.Bind); ok && (len(b.Parameters) != 0 || len(b.ParameterFormatCodes) != 0 || len(b.ResultFormatCodes) != 0 || b.DestinationPortal != "p" || b.PreparedStatement != "s") {
			t.Errorf("got %+v", b)
		} else if !ok && !reflect.DeepEqual(got, c.want) {
			t.Errorf("got %+v, not %+v", got, c.want)
		}
	}
}

// A Parse keeps the client's parameter types as they were sent.
func TestParseKeepsTypes(t *testing.T) {
	for _, line := range []string{`Parse "s" "SELECT 1" ()`, `Parse "" "SELECT $1" (23)`, `Parse "" "SELECT $1" (0 25 4294967295)`} {
		sent := message(line)
		m, err := wire.DecodeParse(sent[5:])
		if err != nil {
			t.Fatal(err)
		}
		if again := wire.AppendParse(nil, string(m.Name), string(m.Text), m.RawTypes()); !bytes.Equal(again, sent) {
			t.Errorf("%q came out as %q", sent, again)
		}
	}
}

func TestAppendMoved(t *testing.T) {
	add := func(n int) int { return n + 10 }
	for _, c := range []struct{ in, want string }{
		{`ErrorResponse S"ERROR" V"ERROR" C"42703" M"no" P"8" F"f.c" L"1" R"r"`, `ErrorResponse S"ERROR" V"ERROR" C"42703" M"no" P"18" F"f.c" L"1" R"r"`},
		{`NoticeResponse S"NOTICE" M"P" P"1"`, `NoticeResponse S"NOTICE" M"P" P"11"`},
		// a position within a text that the server made itself stays
		{`ErrorResponse M"no" p"8" q"SELECT"`, `ErrorResponse M"no" p"8" q"SELECT"`},
		{`ErrorResponse M"no" D"" P"x"`, `ErrorResponse M"no" D"" P"x"`},
		{`ErrorResponse `, `ErrorResponse `},
	} {
		in := reply(c.in)
		got := wire.AppendMoved([]byte("before"), in[0], in[5:], add)
		if want := "before" + string(reply(c.want)); string(got) != want {
			t.Errorf("%s came out as %q", c.in, got)
		}
		fromServer(t, got[len("before"):])
	}
}

// A body that is cut off still makes a message that is whole.
func TestAppendMovedCutOff(t *testing.T) {
	body := reply(`ErrorResponse S"ERROR" M"no" P"8"`)[5:]
	for n := range body {
		raw := wire.AppendMoved(nil, wire.ErrorResponse, body[:n], func(n int) int { return n })
		fromServer(t, raw)
		if p, _, err := wire.NewBackend(wire.DefaultLimits()).Next(raw); err != nil || !p.Last || len(p.Raw) != len(raw) {
			t.Errorf("of %d bytes: %d of %d bytes, %v", n, len(p.Raw), len(raw), err)
		}
	}
}

// Appending goes on after what is there, and what is encoded is decoded again.
func TestAppendedMessagesAreCut(t *testing.T) {
	out := wire.AppendQuery(nil, "SELECT 1")
	out = wire.AppendParse(out, "s", "SELECT 2", nil)
	out = wire.AppendBind(out, "p", "s")
	out = wire.AppendTarget(out, wire.Describe, 'P', "p")
	out = wire.AppendExecute(out, "p", 7)
	out = wire.AppendTarget(out, wire.Close, 'S', "s")
	out = wire.AppendEmpty(out, wire.Sync)
	s := wire.NewFrontend(wire.DefaultLimits())
	var kinds strings.Builder
	for len(out) > 0 {
		p, _, err := s.Next(out)
		if err != nil || p.Raw == nil {
			t.Fatalf("after %s: %v", kinds.String(), err)
		}
		kinds.WriteByte(p.Type)
		out = out[len(p.Raw):]
	}
	if kinds.String() != "QPBDECS" {
		t.Errorf("cut as %s", kinds.String())
	}
}
