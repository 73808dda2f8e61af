package compat_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pgairlock/pgairlock/internal/pgtest"
)

// A refusal stands where the server's own error would stand, and leaves what it
// would leave. So each case is had twice: with a text that the policy refuses,
// and directly with one that the server itself can't take; but for the codes the
// answers must be alike.
const (
	refused = "SELECT ssn FROM customers"
	wrong   = "SELECT nothing FROM customers"
)

var codes = regexp.MustCompile("E:(42501|42703)")

// alike has the bytes that say makes of a bad text at both places.
func (l *lab) alike(t *testing.T, name, want string, say func(bad string) []byte) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		for bad, at := range map[string]place{wrong: l.direct("reading"), refused: l.through("reading")} {
			p := open(t, at)
			p.write(say(bad))
			got := codes.ReplaceAllString(shown(p.take(messagesIn(want))), "E")
			if got != want {
				t.Errorf("%s:\n got %s\nwant %s", at.name, got, want)
				continue
			}
			p.inStep(want[strings.LastIndex(want, "Z:"):])
		}
	})
}

// TestRefusalInItsPlace: the order of answers around a refusal. Elsewhere
// ReadyForQuery came early, twice or never (pgcat, ProxySQL), the refusal
// overtook earlier answers, and earlier statements ran twice.
func TestRefusalInItsPlace(t *testing.T) {
	l := start(t, pgtest.Options{}, nil)
	ok := run("SELECT 1")
	l.alike(t, "a Query", "E Z:I", func(bad string) []byte { return query(bad) })
	l.alike(t, "a lone Parse", "E Z:I", func(bad string) []byte { return say(parse("", bad), sync) })
	l.alike(t, "a lone Parse and Sync twice", "E Z:I Z:I", func(bad string) []byte { return say(parse("", bad), sync, sync) })
	l.alike(t, "a series", "E Z:I", func(bad string) []byte { return say(run(bad), sync) })
	l.alike(t, "a series with Flush and Describe", "E Z:I", func(bad string) []byte {
		return say(parse("s", bad), describe('S', "s"), flush, bind("", "s"), describe('P', ""), flush, execute("", 0), closing('S', "s"), flush, sync)
	})
	l.alike(t, "the first of three", "E Z:I", func(bad string) []byte { return say(run(bad), ok, ok, sync) })
	l.alike(t, "the second of three", "1 2 D:1 C:SELECT_1 E Z:I", func(bad string) []byte { return say(ok, run(bad), ok, sync) })
	l.alike(t, "the last of three", "1 2 D:1 C:SELECT_1 1 2 D:1 C:SELECT_1 E Z:I", func(bad string) []byte { return say(ok, ok, run(bad), sync) })
	l.alike(t, "between two Syncs", "1 2 D:1 C:SELECT_1 Z:I E Z:I 1 2 D:1 C:SELECT_1 Z:I",
		func(bad string) []byte { return say(ok, sync, run(bad), sync, ok, sync) })
	l.alike(t, "two, each before its Sync", "E Z:I E Z:I", func(bad string) []byte { return say(run(bad), sync, run(bad), sync) })
	l.alike(t, "three queries queued", "T D:1 C:SELECT_1 Z:I E Z:I T D:2 C:SELECT_1 Z:I",
		func(bad string) []byte { return say(query("SELECT 1"), query(bad), query("SELECT 2")) })
	l.alike(t, "behind a query that takes its time", "T D: C:SELECT_1 Z:I E Z:I",
		func(bad string) []byte { return say(query("SELECT pg_sleep(0.3)"), query(bad)) })
	l.alike(t, "behind a series that takes its time", "1 2 D: C:SELECT_1 E Z:I",
		func(bad string) []byte { return say(run("SELECT pg_sleep(0.3)"), run(bad), sync) })
	l.alike(t, "a Query in front, as Npgsql does", "C:SET Z:I E Z:I", func(bad string) []byte { return say(query("SET work_mem = '5MB'"), run(bad), sync) })
	l.alike(t, "a Query behind a series without Sync", "1 2 D:1 C:SELECT_1 E Z:I", func(bad string) []byte { return say(ok, query(bad)) })

	l.alike(t, "in a transaction", "C:BEGIN Z:T E Z:E E:25P02 Z:E C:ROLLBACK Z:I",
		func(bad string) []byte {
			return say(query("BEGIN"), query(bad), query("SELECT 1"), query("ROLLBACK"))
		})
	l.alike(t, "in a transaction, by a series", "1 2 C:BEGIN Z:T E Z:E E:25P02 Z:E 1 2 C:ROLLBACK Z:I",
		func(bad string) []byte {
			return say(run("BEGIN"), sync, run(bad), sync, ok, sync, run("ROLLBACK"), sync)
		})
	l.alike(t, "COMMIT after it rolls back", "C:BEGIN Z:T E Z:E C:ROLLBACK Z:I", func(bad string) []byte { return say(query("BEGIN"), query(bad), query("COMMIT")) })
	l.alike(t, "a savepoint saves", "C:BEGIN Z:T C:SAVEPOINT Z:T E Z:E C:ROLLBACK Z:T T D:1 C:SELECT_1 Z:T C:COMMIT Z:I",
		func(bad string) []byte {
			return say(query("BEGIN"), query("SAVEPOINT a"), query(bad), query("ROLLBACK TO a"), query("SELECT 1"), query("COMMIT"))
		})
	l.alike(t, "left in a failed transaction", "C:BEGIN Z:T E Z:E", func(bad string) []byte { return say(query("BEGIN"), query(bad)) })
	l.alike(t, "in a block that has failed", "C:BEGIN Z:T E:22012 Z:E E:25P02 Z:E",
		func(string) []byte { return say(query("BEGIN"), query("SELECT 1/0"), query("SELECT 1")) })

	// What a refused text leaves of the unnamed statement is what an error leaves.
	l.alike(t, "a refused Query drops the unnamed statement", "1 Z:I E Z:I E:26000 Z:I",
		func(bad string) []byte {
			return say(parse("", "SELECT 1"), sync, query(bad), bind("", ""), execute("", 0), sync)
		})
	l.alike(t, "a refused Parse of it, too", "1 Z:I E Z:I E:26000 Z:I",
		func(bad string) []byte {
			return say(parse("", "SELECT 1"), sync, parse("", bad), sync, bind("", ""), execute("", 0), sync)
		})
	l.alike(t, "a refused Parse of another name does not", "1 Z:I E Z:I 2 D:1 C:SELECT_1 Z:I",
		func(bad string) []byte {
			return say(parse("", "SELECT 1"), sync, parse("x", bad), sync, bind("", ""), execute("", 0), sync)
		})
}

// TestRefusalAtEveryMessage: what a policy has come to forbid since Parse is
// refused at the next message that would use it: one error, then silence up to
// Sync, one ReadyForQuery with the true status.
func TestRefusalAtEveryMessage(t *testing.T) {
	l := start(t, pgtest.Options{}, nil)
	steps := map[string][]byte{
		"Parse": parse("t", "SELECT total FROM orders"), "Bind": bind("", "s"), "Describe": describe('S', "s"), "Execute": execute("p", 0),
	}
	stricter := strings.Replace(agents, "public.orders: all", "public.orders: [id]", 1)
	for name, message := range steps {
		for _, status := range []string{"I", "T", "E"} {
			t.Run(name+" in "+status, func(t *testing.T) {
				l.proxy.Apply(t, agents)
				p := open(t, l.through("reading"))
				p.write(say(parse("s", "SELECT total FROM orders"), sync))
				if got := shown(p.take(2)); got != "1 Z:I" {
					t.Fatal(got)
				}
				want, end := "E:42501", "Z:I"
				if status != "I" {
					end = "Z:E"
					p.answer("BEGIN")
				}
				p.write(say(bind("p", "s"), flush))
				if got := shown(p.take(1)); got != "2" {
					t.Fatal(got)
				}
				if status == "E" {
					p.write(say(sync, query("SELECT 1/0")))
					if got := shown(p.take(3)); got != "Z:T E:22012 Z:E" {
						t.Fatal(got)
					}
				}
				l.proxy.Apply(t, stricter)
				p.write(say(message, flush))
				if got := shown(p.take(1)); got != want {
					t.Errorf("%s, not %s", got, want)
				}
				p.write(say(bind("", "s"), execute("", 0), run("SELECT 1"), flush))
				p.silent(50 * time.Millisecond)
				p.write(sync)
				if got := shown(p.take(1)); got != end {
					t.Errorf("after Sync: %s, not %s", got, end)
				}
				p.inStep(end)
			})
		}
	}
}

// TestNothingRunsAfterARefusal: what follows in the same series does nothing,
// and what came before has happened once. duckdb's server ran it all the same.
func TestNothingRunsAfterARefusal(t *testing.T) {
	l := start(t, pgtest.Options{}, nil)
	redLine := "COPY orders TO PROGRAM 'true'"
	advance := "SELECT nextval('counter')"
	for _, c := range []struct {
		name  string
		send  []byte
		want  string
		count string // how often the sequence was advanced
		rows  string // in landing
	}{
		{"before and after", say(run(advance), run(redLine), run(advance), run("INSERT INTO landing VALUES (1)"), sync), "1 2 D:1 C:SELECT_1 E:42501 Z:I", "1", "0"},
		{"at Parse alone", say(parse("", redLine), run("INSERT INTO landing VALUES (1)"), sync), "E:42501 Z:I", "0", "0"},
		{"what came before is taken back as by any error", say(run("INSERT INTO landing VALUES (1)"), run(redLine), sync), "1 2 C:INSERT_0_1 E:42501 Z:I", "0", "0"},
		{"after Sync things run", say(run(redLine), sync, run("INSERT INTO landing VALUES (1)"), sync), "E:42501 Z:I 1 2 C:INSERT_0_1 Z:I", "0", "1"},
		{"a Query is refused whole", query("INSERT INTO landing VALUES (1); " + redLine + "; " + advance), "E:42501 Z:I", "0", "0"},
		{"queued queries run on", say(query(advance), query(redLine), query(advance)), "T D:1 C:SELECT_1 Z:I E:42501 Z:I T D:2 C:SELECT_1 Z:I", "2", "0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l.database.Exec(t, "TRUNCATE landing; ALTER SEQUENCE counter RESTART")
			p := open(t, l.through("watched"))
			p.write(c.send)
			if got := shown(p.take(messagesIn(c.want))); got != c.want {
				t.Fatalf("\n got %s\nwant %s", got, c.want)
			}
			p.inStep("Z:I")
			count := l.value(t, "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM counter")
			if rows := l.value(t, "SELECT count(*) FROM landing"); count != c.count || rows != c.rows {
				t.Errorf("the sequence stands at %s, not %s; %s rows, not %s", count, c.count, rows, c.rows)
			}
		})
	}
}

// TestRefusalIsSeenAtOnce: whoever waits without Sync sees the refusal as soon
// as the server's own error. multigres held it back until Sync.
func TestRefusalIsSeenAtOnce(t *testing.T) {
	l := start(t, pgtest.Options{}, nil)
	for name, last := range map[string][]byte{"bare": nil, "Flush": flush} {
		for text, at := range map[string]place{wrong: l.direct("reading"), refused: l.through("reading")} {
			t.Run(name+"/"+at.name, func(t *testing.T) {
				p := open(t, at)
				p.write(say(parse("", text), last))
				if got := codes.ReplaceAllString(shown(p.take(1)), "E"); got != "E" {
					t.Errorf("before Sync: %q", got)
				}
				p.write(say(run("SELECT 1"), flush))
				p.silent(50 * time.Millisecond)
				p.write(sync)
				if got := shown(p.take(1)); got != "Z:I" {
					t.Error(got)
				}
				p.inStep("Z:I")
			})
		}
	}
}

// TestFatalIsTheLastWord: when the server ends a session in the middle of a
// pipeline, its FATAL comes once, and then the end. Odyssey added an error of
// its own, on which libpq's pipeline loops for ever.
func TestFatalIsTheLastWord(t *testing.T) {
	l := start(t, pgtest.Options{}, nil)
	for _, agent := range strings.Fields(everyone) {
		for _, at := range []place{l.direct(agent), l.through(agent)} {
			t.Run(at.name, func(t *testing.T) {
				p := open(t, at)
				p.write(say(run("SELECT 1"), flush, run("SELECT pg_sleep(60)"), run("SELECT 2"), sync, run("SELECT 3"), sync))
				if got, want := shown(p.take(4)), "1 2 D:1 C:SELECT_1"; got != want {
					t.Fatalf("%s, not %s", got, want)
				}
				l.database.Exec(t, fmt.Sprintf("SELECT pg_terminate_backend(%d)", p.pid))
				all := p.until(0)
				if got := shown(all[max(0, len(all)-2):]); got != "E:57P01 EOF" || strings.Count(shown(all), "E:") != 1 {
					t.Errorf("%s", shown(all))
				}
			})
			t.Run(at.name+", idle", func(t *testing.T) {
				p := open(t, at)
				l.database.Exec(t, fmt.Sprintf("SELECT pg_terminate_backend(%d)", p.pid))
				if got := shown(p.until(0)); got != "E:57P01 EOF" {
					t.Errorf("%s", got)
				}
			})
		}
	}
}
