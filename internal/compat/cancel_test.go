package compat_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pgairlock/pgairlock/internal/pgtest"
)

// TestCancelHitsOne: of two sessions at work the one whose key is used is
// stopped. pgbouncer mapped keys to wrong backends, and process ids that were
// invented came out negative, so that pgjdbc never cancelled.
func TestCancelHitsOne(t *testing.T) {
	l := start(t, pgtest.Options{}, nil)
	for _, agent := range strings.Fields(everyone) {
		t.Run(agent, func(t *testing.T) {
			at := l.through(agent)
			one, other := open(t, at), open(t, at)
			for _, p := range []*peer{one, other} {
				if int32(p.pid) <= 0 {
					t.Errorf("process id %d", int32(p.pid))
				}
				if pid := l.value(t, fmt.Sprintf("SELECT count(*) FROM pg_stat_activity WHERE pid = %d", p.pid)); pid != "1" {
					t.Errorf("process id %d is not the server's", p.pid)
				}
				p.write(query("SELECT pg_sleep(1.5), 'slept'"))
			}
			l.asleep(t, one)
			one.cancel(t, at)
			if got := shown(one.until('Z')); got != "T E:57014 Z:I" {
				t.Errorf("the one: %s", got)
			}
			if got := shown(other.until('Z')); got != "T D:,slept C:SELECT_1 Z:I" {
				t.Errorf("the other: %s", got)
			}
			one.inStep("Z:I")
			// a key that is nobody's does nothing
			other.write(query("SELECT pg_sleep(0.3), 'slept'"))
			stranger := &peer{pid: other.pid, key: []byte{1, 2, 3, 4}}
			stranger.cancel(t, at)
			if got := shown(other.until('Z')); got != "T D:,slept C:SELECT_1 Z:I" {
				t.Errorf("after a wrong key: %s", got)
			}
		})
	}
}

// TestCancelInAPipeline: what stands behind the cancelled statement is passed
// over up to Sync, and runs after it.
func TestCancelInAPipeline(t *testing.T) {
	l := start(t, pgtest.Options{}, nil)
	for _, at := range []place{l.direct("reading"), l.through("reading"), l.direct("watched"), l.through("watched")} {
		p := open(t, at)
		p.write(say(run("SELECT 1"), run("SELECT pg_sleep(60)"), run("SELECT 2"), sync, run("SELECT 3"), sync))
		l.asleep(t, p)
		p.cancel(t, at)
		want := "1 2 D:1 C:SELECT_1 1 2 E:57014 Z:I 1 2 D:3 C:SELECT_1 Z:I"
		if got := shown(p.take(messagesIn(want))); got != want {
			t.Errorf("%s:\n got %s\nwant %s", at.name, got, want)
		}
		p.inStep("Z:I")
	}
}

// TestLateCancel: cancel requests race with the ends of queries; every answer is
// still the answer to its own question. In pgbouncer a late one left a
// ReadyForQuery too many, and all that followed was shifted by one.
func TestLateCancel(t *testing.T) {
	l := start(t, pgtest.Options{}, nil)
	const sessions, rounds = 4, 250
	for n := range sessions {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			raceCancels(t, l.through("reading"), rounds)
		})
	}
}

func raceCancels(t *testing.T, at place, rounds int) {
	t.Helper()
	p := open(t, at)
	for i := range rounds {
		nonce := fmt.Sprintf("n%d", i)
		p.write(query("SELECT pg_sleep(0.0005), '" + nonce + "'"))
		p.cancel(t, at)
		switch got := shown(p.until('Z')); got {
		case "T D:," + nonce + " C:SELECT_1 Z:I", "T D:," + nonce + " E:57014 Z:I", "T E:57014 Z:I", "E:57014 Z:I":
		default:
			t.Fatalf("round %d: %s", i, got)
		}
		if got := p.answer("SELECT 'next " + nonce + "'"); len(got) != 1 || got[0] != "next "+nonce {
			t.Fatalf("round %d: the next query got %v", i, got)
		}
	}
}
