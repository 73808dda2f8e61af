package compat_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pgairlock/pgairlock/internal/pgtest"
	"github.com/pgairlock/pgairlock/proxy"
	"github.com/pgairlock/pgairlock/proxy/wire"
)

// TestLargeMessages: one message may be large, in either direction, and is not
// gathered in memory. hoop stopped at 16 MiB.
func TestLargeMessages(t *testing.T) {
	l := start(t, pgtest.Options{}, nil)
	for _, size := range []int{20_000_000, 200_000_000} {
		length := fmt.Sprintf("T D:%d C:SELECT_1 Z:I", size)
		for _, agent := range []string{"reading", "watched"} {
			if size > 20_000_000 && agent == "watched" {
				continue // takes its time, and is no other way
			}
			at := l.through(agent)
			t.Run(fmt.Sprintf("%d bytes/%s/a value to the server", size, agent), func(t *testing.T) {
				p := open(t, at)
				p.write(parse("", "SELECT length($1::text)"))
				bounded(t, func() {
					p.pour('B', words("", ""), binary.BigEndian.AppendUint32([]byte{0, 0, 0, 1}, uint32(size)), size, []byte{0, 0})
					p.write(say(describe('P', ""), execute("", 0), sync))
				})
				if got := shown(p.until('Z')); got != "1 2 "+length {
					t.Error(got)
				}
				p.inStep("Z:I")
			})
			t.Run(fmt.Sprintf("%d bytes/%s/a value from the server", size, agent), func(t *testing.T) {
				p := open(t, at)
				bounded(t, func() {
					p.write(query(fmt.Sprintf("SELECT repeat('x', %d)", size)))
					if got := shown(p.take(1)); got != "T" {
						t.Fatal(got)
					}
					p.drink('D', 4+2+4+size)
				})
				if got := shown(p.until('Z')); got != "C:SELECT_1 Z:I" {
					t.Error(got)
				}
				p.inStep("Z:I")
			})
		}
		t.Run(fmt.Sprintf("%d bytes/watched/COPY data", size), func(t *testing.T) {
			p := open(t, l.through("watched"))
			p.write(query("CREATE TEMP TABLE l(t text); COPY l FROM STDIN"))
			if got := shown(p.take(2)); got != "C:CREATE_TABLE G" {
				t.Fatal(got)
			}
			bounded(t, func() {
				p.pour('d', nil, nil, size, []byte("\n"))
				p.write(copyDone)
			})
			if got := shown(p.until('Z')); got != "C:COPY_1 Z:I" {
				t.Fatal(got)
			}
			bounded(t, func() {
				p.write(query("COPY l TO STDOUT"))
				if got := shown(p.take(1)); got != "H" {
					t.Fatal(got)
				}
				p.drink('d', 4+size+1)
			})
			if got := shown(p.until('Z')); got != "c C:COPY_1 Z:I" {
				t.Error(got)
			}
		})
	}
}

// TestLargeStatements: a text has to be read as a whole before it is sent, so
// it has a limit of its own, which is the operator's to set. What is over it is
// refused, and the session goes on.
func TestLargeStatements(t *testing.T) {
	l := start(t, pgtest.Options{}, func(o *proxy.Options) { o.Limits = wire.Limits{Statement: 32 << 20, Message: 1<<30 - 1} })
	literal := "SELECT length('" + strings.Repeat("x", 20_000_000) + "')"
	for _, agent := range strings.Fields(everyone) {
		t.Run(agent, func(t *testing.T) {
			p := open(t, l.through(agent))
			for _, c := range []struct {
				send []byte
				want string
			}{
				{query(literal), "T D:20000000 C:SELECT_1 Z:I"},
				{say(run(literal), sync), "1 2 D:20000000 C:SELECT_1 Z:I"},
			} {
				p.write(c.send)
				if got := shown(p.until('Z')); got != c.want {
					t.Errorf("%s, not %s", got, c.want)
				}
			}
			if agent != "reading" {
				return // the rest takes its time, and is no other way
			}
			bounded(t, func() {
				p.pour('Q', nil, []byte("SELECT length('"), 200_000_000, []byte("')\x00"))
				if got := shown(p.until('Z')); got != "E:54001 Z:I" {
					t.Error(got)
				}
				p.pour('P', words("s"), []byte("SELECT length('"), 200_000_000, []byte("')\x00\x00\x00"))
				p.write(say(again("s"), sync))
				if got := shown(p.until('Z')); got != "E:54001 Z:I" {
					t.Error(got)
				}
			})
			p.inStep("Z:I")
		})
	}
}

// chunk is what large messages are poured from.
var chunk = bytes.Repeat([]byte("x"), 1<<16)

// pour writes a message whose body is head, second, size times x, and tail.
func (p *peer) pour(kind byte, head, second []byte, size int, tail []byte) {
	p.tb.Helper()
	begin := binary.BigEndian.AppendUint32([]byte{kind}, uint32(4+len(head)+len(second)+size+len(tail)))
	p.write(say(begin, head, second))
	for left := size; left > 0; left -= len(chunk) {
		p.write(chunk[:min(left, len(chunk))])
	}
	p.write(tail)
}

// drink reads a message of that kind and announced length and lets it go.
func (p *peer) drink(kind byte, length int) {
	p.tb.Helper()
	_ = p.conn.SetReadDeadline(time.Now().Add(time.Minute))
	var head [5]byte
	if _, err := io.ReadFull(p.in, head[:]); err != nil {
		p.tb.Fatal(err)
	}
	if got := int(binary.BigEndian.Uint32(head[1:])); head[0] != kind || got != length {
		p.tb.Fatalf("a message %q of %d, not %q of %d", head[0], got, kind, length)
	}
	if _, err := io.CopyN(io.Discard, p.in, int64(length-4)); err != nil {
		p.tb.Fatal(err)
	}
}

// bounded runs work and fails the test if this process, proxy and client, came
// to hold much more memory than before.
func bounded(t *testing.T, work func()) {
	t.Helper()
	const room = 48 << 20
	runtime.GC()
	before := held()
	done := make(chan uint64)
	stop := make(chan struct{})
	go func() {
		peak := uint64(0)
		for {
			select {
			case <-stop:
				done <- peak
				return
			case <-time.After(5 * time.Millisecond):
				peak = max(peak, held())
			}
		}
	}()
	work()
	close(stop)
	if peak := <-done; peak > before+room {
		t.Errorf("%d MB more were held", (peak-before)>>20)
	}
}

func held() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
