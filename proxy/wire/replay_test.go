package wire_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pgairlock/pgairlock/proxy/wire"
)

// recorded reads all recordings, by file name.
func recorded(tb testing.TB) map[string][]event {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(recordings, "*.txt"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("no recordings in %s: %v", recordings, err)
	}
	all := map[string][]event{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		events, err := parseRecording(string(text))
		if err != nil {
			tb.Fatalf("%s: %v", file, err)
		}
		all[filepath.Base(file)] = events
	}
	return all
}

// Every session that is recorded is replayed, and none is recorded in vain.
func TestRecordingsAreComplete(t *testing.T) {
	files := recorded(t)
	for _, s := range sessions {
		for _, major := range s.majors {
			name := recordingName(s, major)
			if files[name] == nil {
				t.Errorf("%s is not recorded", name)
			}
			delete(files, name)
		}
	}
	for name := range files {
		t.Errorf("%s is of no session", name)
	}
}

// Whole messages, all neighbours of one direction together, and pieces of every
// size up to 40 bytes come to what the recording says.
func TestReplay(t *testing.T) {
	for name, events := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			want := replay(t, events, events, 0)
			failed := false // since the client's newest Sync
			for i, o := range want {
				line, _ := events[i].line()
				if o.number != events[i].number {
					t.Errorf("%s: is attributed to %d", line, o.number)
				}
				// only what is sent after an error, and to a COPY, may be passed over
				if o.ignore && !failed && strings.IndexByte("dcfSH", o.kind) < 0 {
					t.Errorf("%s: is to be ignored", line)
				}
				failed = o.server && o.kind == wire.ErrorResponse || failed && (o.server || o.kind != wire.Sync)
			}
			joined := join(events)
			for size := range 41 {
				if got := replay(t, events, joined, size); !equal(got, want) {
					t.Errorf("in pieces of %d bytes it comes to something else", size)
				}
			}
		})
	}
}

// join puts neighbouring messages of one direction together.
func join(events []event) []event {
	var joined []event
	for _, e := range events {
		if n := len(joined); n > 0 && joined[n-1].server == e.server {
			joined[n-1].raw = append(joined[n-1].raw, e.raw...)
		} else {
			joined = append(joined, event{server: e.server, raw: slices.Clone(e.raw)})
		}
	}
	return joined
}

// replay feeds a recording in chunks, cut to pieces of a size (0: whole), and
// looks at what does not depend on how it is cut.
func replay(t *testing.T, events, chunks []event, size int) []outcome {
	t.Helper()
	m := newMiddle()
	var outcomes []outcome
	for _, c := range chunks {
		n := size
		if n == 0 {
			n = len(c.raw)
		}
		for piece := range slices.Chunk(c.raw, n) {
			got, err := m.feed(c.server, piece)
			if err != nil {
				t.Fatal(err)
			}
			outcomes = append(outcomes, got...)
		}
	}
	if len(outcomes) != len(events) {
		t.Fatalf("%d messages came out of %d", len(outcomes), len(events))
	}
	for i, e := range events {
		if o := outcomes[i]; o.server != e.server || o.kind != e.kind {
			t.Fatalf("message %d came out as %q", i, o.kind)
		}
	}
	for _, server := range []bool{false, true} {
		var in []byte
		for _, e := range events {
			if e.server == server {
				in = append(in, e.raw...)
			}
		}
		out := m.front.out
		if server {
			out = m.back.out
		}
		if !bytes.Equal(in, out) {
			t.Error("the pieces together are not what came in")
		}
	}
	checkEnd(t, m, events)
	return outcomes
}

// checkEnd looks at the state after a recording.
func checkEnd(t *testing.T, m *middle, events []event) {
	t.Helper()
	last, status := byte(0), byte('I')
	for _, e := range events {
		if e.server {
			last = e.kind
			if e.kind == wire.ReadyForQuery {
				status = e.raw[5]
			}
		}
	}
	if m.flow.Status() != status {
		t.Errorf("the status is %c, not %c", m.flow.Status(), status)
	}
	ended := last == wire.ErrorResponse // FATAL: nothing more comes
	if n := m.flow.Pending(); n > 0 != ended || m.flow.AtRest() == ended || m.flow.Copying() || m.flow.Skipping() {
		t.Errorf("%d are pending, at rest %t, copying %t, skipping %t", n, m.flow.AtRest(), m.flow.Copying(), m.flow.Skipping())
	}
}

// The status is the server's at every ReadyForQuery, and stays between.
func TestStatus(t *testing.T) {
	m := newMiddle()
	want := byte('I')
	for _, e := range recorded(t)["psql-simple.pg15.txt"] {
		if _, err := m.feed(e.server, e.raw); err != nil {
			t.Fatal(err)
		}
		if e.kind == wire.ReadyForQuery {
			want = e.raw[5]
		}
		if got := m.flow.Status(); got != want {
			t.Errorf("after %q the status is %c, not %c", e.kind, got, want)
		}
	}
}

// What can be huge comes in pieces, and nothing is held back: with 32 kB at a
// time, the rest that waits for more bytes stays smaller than a small message.
func TestHugeMessagesComeInPieces(t *testing.T) {
	const size, chunk = 20 << 20, 32 << 10
	value := bytes.Repeat([]byte("x"), size)
	row := binary.BigEndian.AppendUint32([]byte{0, 1}, size)
	bind := append([]byte("p\x00s\x00\x00\x00\x00\x01"), row[2:]...)
	for _, c := range []struct {
		kind   byte
		server bool
		body   []byte
	}{
		{wire.DataRow, true, slices.Concat(row, value)},
		{wire.CopyData, true, value},
		{wire.CopyData, false, value},
		{wire.Bind, false, slices.Concat(bind, value, []byte{0, 0})},
		{wire.Query, false, slices.Concat(value, []byte{0})},
		{wire.Parse, false, slices.Concat([]byte{0}, value, []byte{0, 0, 0})},
		{wire.FunctionCall, false, value},
		{wire.FunctionCallResponse, true, slices.Concat(row[2:], value)},
	} {
		t.Run(fmt.Sprintf("%c server %t", c.kind, c.server), func(t *testing.T) {
			s := wire.NewFrontend(wire.DefaultLimits())
			if c.server {
				s = wire.NewBackend(wire.DefaultLimits())
			}
			in := append(binary.BigEndian.AppendUint32([]byte{c.kind}, uint32(len(c.body)+4)), c.body...)
			var buf []byte
			pieces, held, total := 0, 0, 0
			for part := range slices.Chunk(in, chunk) {
				buf = append(buf, part...)
				for {
					p, _, err := s.Next(buf)
					if err != nil {
						t.Fatal(err)
					}
					if p.Raw == nil {
						break
					}
					wantLong := c.kind == wire.Query || c.kind == wire.Parse
					if p.Type != c.kind || p.Length != len(c.body) || p.First != (pieces == 0) || p.Last != (total+len(p.Raw) == len(in)) || p.TooLong != wantLong {
						t.Fatalf("piece %d is %q of %d bytes, first %t, last %t, too long %t", pieces, p.Type, p.Length, p.First, p.Last, p.TooLong)
					}
					if !bytes.Equal(p.Raw, in[total:total+len(p.Raw)]) {
						t.Fatalf("piece %d is not what came in", pieces)
					}
					pieces++
					total += len(p.Raw)
					buf = buf[len(p.Raw):]
				}
				held = max(held, len(buf))
			}
			if total != len(in) || pieces < size/chunk || held > 10_000 {
				t.Errorf("%d of %d bytes in %d pieces, %d held back", total, len(in), pieces, held)
			}
		})
	}
}
