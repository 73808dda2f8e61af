package wire_test

import (
	"strings"
	"testing"

	"github.com/pgairlock/pgairlock/proxy/wire"
)

// BenchmarkMessages carries whole exchanges, in both directions, through
// splitters and flow. Its unit is one message: bytes in, meaning out.
func BenchmarkMessages(b *testing.B) {
	for _, c := range []struct{ name, client, server string }{
		{"simple", "Query \"SELECT 1\"", "RowDescription (\"a\" 0 0 23 4 4294967295 0)\nDataRow (\"1\")\nCommandComplete \"SELECT 1\"\nReadyForQuery I"},
		{"prepared", "Bind \"\" \"s\" () (\"1\") ()\nExecute \"\" 0\nSync", "BindComplete\nDataRow (\"1\")\nCommandComplete \"SELECT 1\"\nReadyForQuery I"},
		{"rows", "Query \"SELECT 1\"", "RowDescription (\"a\" 0 0 23 4 4294967295 0)\n" +
			strings.Repeat("DataRow (\"some text\" \"1\" NULL)\n", 200) + "CommandComplete \"SELECT 200\"\nReadyForQuery I"},
		{"pipeline", strings.Repeat("Bind \"\" \"s\" () () ()\nExecute \"\" 0\n", 50) + "Sync",
			strings.Repeat("BindComplete\nCommandComplete \"SELECT 0\"\n", 50) + "ReadyForQuery I"},
	} {
		b.Run(c.name, func(b *testing.B) {
			sent, n := stream(c.client, message)
			answered, m := stream(c.server, reply)
			front, back, flow := wire.NewFrontend(wire.DefaultLimits()), wire.NewBackend(wire.DefaultLimits()), wire.NewFlow('I')
			b.ReportAllocs()
			b.SetBytes(int64(len(sent)+len(answered)) / int64(n+m))
			for i := 0; i < b.N; i += n + m {
				for rest := sent; len(rest) > 0; {
					p, _, err := front.Next(rest)
					if err != nil || p.Raw == nil {
						b.Fatal(err)
					}
					rest = rest[len(p.Raw):]
					if a, err := flow.Admit(p.Type); err != nil || a != wire.Take {
						b.Fatal(err)
					}
					flow.Sent(wire.Entry{Kind: p.Type})
				}
				for rest := answered; len(rest) > 0; {
					p, _, err := back.Next(rest)
					if err != nil || p.Raw == nil {
						b.Fatal(err)
					}
					rest = rest[len(p.Raw):]
					if _, err := flow.Reply(p.Type, p.Body()); err != nil {
						b.Fatal(err)
					}
				}
			}
			if flow.Pending() > 0 {
				b.Fatalf("%d are pending", flow.Pending())
			}
		})
	}
}

// stream makes messages of lines, and counts them.
func stream(lines string, make func(string) []byte) ([]byte, int) {
	var out []byte
	n := 0
	for line := range strings.Lines(lines) {
		out = append(out, make(strings.TrimSuffix(line, "\n"))...)
		n++
	}
	return out, n
}

// Between messages nothing is allocated.
func TestMessagesDoNotAllocate(t *testing.T) {
	const script = "> Q < T D D C Z > P B E S < 1 2 D C Z > Qc d c < G C Z"
	p := newPlayer()
	play := func() {
		server := false
		for i := 0; i < len(script); i++ {
			kind := script[i]
			switch {
			case kind == '>' || kind == '<':
				server = kind == '<'
			case kind == ' ' || kind == 'c' && script[i-1] == 'Q':
			case server:
				if _, err := p.flow.Reply(kind, []byte{'I'}); err != nil {
					t.Fatal(err)
				}
			default:
				if a, err := p.flow.Admit(kind); err != nil || a != wire.Take {
					t.Fatalf("%q: %d, %v", kind, a, err)
				}
				p.flow.Sent(wire.Entry{Kind: kind, CopyIn: script[i:min(i+2, len(script))] == "Qc"})
			}
		}
	}
	play()
	if n := testing.AllocsPerRun(1000, play); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
