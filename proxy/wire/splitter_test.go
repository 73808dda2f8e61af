package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/pgairlock/pgairlock/proxy/wire"
)

// head is a message's type and length word, which counts itself.
func head(kind byte, length uint32) string {
	return string(binary.BigEndian.AppendUint32([]byte{kind}, length))
}

// of is a message of a type with a body.
func of(kind byte, body string) string { return head(kind, uint32(len(body)+4)) + body }

var limits = wire.Limits{Statement: 1000, Message: 100_000}

func splitter(server bool) *wire.Splitter {
	if server {
		return wire.NewBackend(limits)
	}
	return wire.NewFrontend(limits)
}

// Lengths and types are refused before anything is read for them: the header
// is enough. Each twin is as near as can be and passes.
func TestSplitterRefuses(t *testing.T) {
	const client, server = false, true
	for _, c := range []struct {
		name   string
		server bool
		bad    string
		twin   string
	}{
		{"length below its own size", client, head('Q', 3), of('Q', "\x00")},
		{"length zero", client, head('Q', 0), of('Q', "\x00")},
		{"negative length", client, head('Q', 1<<31), of('Q', "\x00")},
		{"length of all ones", client, head('d', 1<<32-1), of('d', "")},
		{"negative length", server, head('D', 1<<31+5), of('D', "\x00\x00")},
		{"length below its own size", server, head('Z', 3), of('Z', "I")},
		{"more than the limit", client, head('d', 100_005), of('d', strings.Repeat("x", 100_000))},
		{"more than the limit", server, head('D', 100_005), of('D', strings.Repeat("x", 100_000))},
		{"a statement over the limit of any message", client, head('Q', 100_005), of('Q', strings.Repeat("x", 99_999)+"\x00")},

		{"unknown type", client, head('y', 4), of('S', "")},
		{"type zero", client, head(0, 4), of('S', "")},
		{"password after start-up", client, head('p', 4), of('H', "")},
		{"a server's message from a client", client, head('Z', 5), of('S', "")},
		{"unknown type", server, head('y', 4), of('n', "")},
		{"authentication after start-up", server, head('R', 8), of('S', "a\x00b\x00")},
		{"a key after start-up", server, head('K', 12), of('A', "\x00\x00\x00\x01a\x00\x00")},
		{"COPY of both ways, which is for replication", server, head('W', 7), of('H', "\x00\x00\x00")},

		{"Sync with a body", client, head('S', 5), of('S', "")},
		{"Flush with a body", client, head('H', 8), of('H', "")},
		{"Terminate with a body", client, head('X', 5), of('X', "")},
		{"CopyDone with a body", client, head('c', 5), of('c', "")},
		{"CopyDone with a body", server, head('c', 5), of('c', "")},
		{"ParseComplete with a body", server, head('1', 5), of('1', "")},
		{"BindComplete with a body", server, head('2', 5), of('2', "")},
		{"CloseComplete with a body", server, head('3', 5), of('3', "")},
		{"NoData with a body", server, head('n', 5), of('n', "")},
		{"PortalSuspended with a body", server, head('s', 5), of('s', "")},
		{"EmptyQueryResponse with a body", server, head('I', 5), of('I', "")},
		{"ReadyForQuery without a status", server, head('Z', 4), of('Z', "T")},
		{"ReadyForQuery with more than a status", server, head('Z', 6), of('Z', "E")},

		{"a long Describe", client, head('D', 10_005), of('D', "S"+strings.Repeat("x", 9_998)+"\x00")},
		{"a long Close", client, head('C', 10_005), of('C', "P"+strings.Repeat("x", 9_998)+"\x00")},
		{"a long Execute", client, head('E', 10_005), of('E', strings.Repeat("x", 9_995)+"\x00\x00\x00\x00\x00")},
		{"a long CopyFail", client, head('f', 10_005), of('f', strings.Repeat("x", 9_999)+"\x00")},
	} {
		side := "client: "
		if c.server {
			side = "server: "
		}
		t.Run(side+c.name, func(t *testing.T) {
			var broken *wire.Violation
			p, _, err := splitter(c.server).Next([]byte(c.bad))
			if !errors.As(err, &broken) || p.Raw != nil {
				t.Errorf("passed as %q, %v", p.Raw, err)
			}
			p, need, err := splitter(c.server).Next([]byte(c.twin))
			if err != nil || string(p.Raw) != c.twin || !p.First || !p.Last || need != 0 || string(p.Body()) != c.twin[5:] || p.Length != len(c.twin)-5 {
				t.Errorf("its twin came out as %d bytes, %v", len(p.Raw), err)
			}
		})
	}
}

// A server's message that has to be held whole has a limit of its own.
func TestWholeServerMessagesAreBounded(t *testing.T) {
	for _, kind := range []byte("ACEGHNSTt") {
		s := wire.NewBackend(wire.DefaultLimits())
		if _, need, err := s.Next([]byte(head(kind, 64<<20+4))); err != nil || need != 64<<20+5 {
			t.Errorf("%c of 64 MiB: %d bytes are asked for, %v", kind, need, err)
		}
		if _, _, err := s.Next([]byte(head(kind, 64<<20+5))); err == nil {
			t.Errorf("%c over 64 MiB passed", kind)
		}
	}
}

// Until a piece can be handed out, Next says how many bytes it takes.
func TestNeed(t *testing.T) {
	name := strings.Repeat("n", 63) + "\x00"
	for _, c := range []struct {
		server bool
		in     string
		steps  []int // needs on the way, asked at 0 bytes and then at each need
	}{
		{false, of('Q', "SELECT 1\x00"), []int{5, 14}},
		{false, of('S', ""), []int{5}},
		{false, of('B', name+name+strings.Repeat("v", 9_872)), []int{5, 10_005}},
		{false, of('B', name+name+strings.Repeat("v", 9_873)), []int{5, 133}}, // two names of 63 bytes
		{false, of('d', "data"), []int{5}},
		{false, of('F', "\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00"), []int{5, 9}}, // the function's OID
		{false, of('F', "\x00\x00"), []int{5, 7}},
		{false, of('P', "p\x00"+strings.Repeat("x", 12_000)), []int{5, 69}}, // too long: a name of 63 bytes
		{true, of('D', "data"), []int{5}},
		{true, of('T', "\x00\x00"), []int{5, 7}},
		{true, of('Z', "I"), []int{5, 6}},
	} {
		s := splitter(c.server)
		var steps []int
		for n := 0; ; {
			p, need, err := s.Next([]byte(c.in)[:n])
			if err != nil {
				t.Fatal(err)
			}
			if p.Raw != nil {
				break
			}
			steps = append(steps, need)
			n = need
		}
		if len(steps) != len(c.steps) || steps[len(steps)-1] != c.steps[len(steps)-1] || steps[0] != 5 {
			t.Errorf("%.10q: it asks for %v bytes, not %v", c.in, steps, c.steps)
		}
	}
}

// A statement over the limit is passed over to its end, and the next message is
// found. Statements up to the limit are whole.
func TestTooLong(t *testing.T) {
	long, short := strings.Repeat("x", 1000+10_001), strings.Repeat("x", 1000)
	for _, c := range []struct {
		in      string
		tooLong bool
	}{
		{of('Q', long+"\x00"), true},
		{of('Q', short+"\x00"), false},
		// the limit leaves room for a Parse's name and types
		{of('Q', strings.Repeat("x", 1000+9_999)+"\x00"), false},
		{of('Q', strings.Repeat("x", 1000+10_000)+"\x00"), true},
		{of('P', "name\x00"+long+"\x00\x00\x00"), true},
		{of('P', "name\x00"+short+"\x00\x00\x00"), false},
		{of('P', "name\x00"+short+"\x00\x00\x02\x00\x00\x00\x17\x00\x00\x00\x19"), false},
		{of('B', "\x00\x00"+long), false},
		{of('d', long), false},
	} {
		s := splitter(false)
		in := []byte(c.in + of('S', ""))
		var kinds []byte
		var whole []byte
		for len(in) > 0 {
			p, _, err := s.Next(in[:min(len(in), 700+len(whole))])
			if err != nil {
				t.Fatal(err)
			}
			if p.Raw == nil {
				p, _, err = s.Next(in)
				if err != nil || p.Raw == nil {
					t.Fatalf("%.10q: nothing came out of all there is, %v", c.in, err)
				}
			}
			if p.First {
				kinds = append(kinds, p.Type)
			}
			if p.Type != 'S' && p.TooLong != c.tooLong {
				t.Errorf("%.10q: too long is %t", c.in, p.TooLong)
			}
			if c.tooLong && p.First && p.Type == 'P' && !bytes.HasPrefix(p.Body(), []byte("name\x00")) {
				t.Errorf("%.10q: the name is not in its first piece", c.in)
			}
			whole = append(whole, p.Raw...)
			in = in[len(p.Raw):]
		}
		if string(kinds) != c.in[:1]+"S" || string(whole) != c.in+of('S', "") {
			t.Errorf("%.10q: came out as %q", c.in, kinds)
		}
	}
}
