package compat_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pgairlock/pgairlock/internal/pgtest"
)

// The tests in this file are what two other SQL firewalls did wrong.

// TestTransactionAfterRefusal: one answered a refusal inside a transaction with
// the status "idle" while the server stood in the transaction: the next
// statement and COMMIT went through. The other closed the connection.
func TestTransactionAfterRefusal(t *testing.T) {
	l := start(t, pgtest.Options{}, nil)
	p := open(t, l.through("watched"))
	p.write(say(query("BEGIN"), query("INSERT INTO landing VALUES (1)"), query("COPY orders TO PROGRAM 'true'"),
		query("INSERT INTO landing VALUES (2)"), query("COMMIT")))
	want := "C:BEGIN Z:T C:INSERT_0_1 Z:T E:42501 Z:E E:25P02 Z:E C:ROLLBACK Z:I"
	if got := shown(p.take(messagesIn(want))); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	p.inStep("Z:I")
	if n := l.value(t, "SELECT count(*) FROM landing"); n != "0" {
		t.Errorf("%s rows were kept", n)
	}
}

// TestClientGone: a client that vanishes in the middle of a pipeline or of a
// transaction leaves nothing behind. One left its backend, locks and all, for
// minutes.
func TestClientGone(t *testing.T) {
	l := start(t, pgtest.Options{}, nil)
	for name, last := range map[string][]byte{
		"at work":              query("SELECT pg_sleep(60)"),
		"in a pipeline":        say(run("SELECT 1"), run("COPY orders TO PROGRAM 'true'"), run("SELECT 2")),
		"in a series at work":  say(run("SELECT pg_sleep(60)"), flush),
		"in COPY":              say(query("COPY landing FROM STDIN"), copyData("1\tx\n")),
		"with a message begun": query("SELECT 1")[:7],
	} {
		t.Run(name, func(t *testing.T) {
			p := open(t, l.through("watched"))
			p.answer("BEGIN")
			p.answer("LOCK TABLE landing")
			p.write(last)
			time.Sleep(50 * time.Millisecond)
			_ = p.conn.Close()
			eventually(t, "the session has left the server", func() bool {
				return l.value(t, fmt.Sprintf("SELECT count(*) FROM pg_locks WHERE relation = 'landing'::regclass OR pid = %d", p.pid)) == "0"
			})
		})
	}
}

// TestFirstRow: rows go out as they come. One held the whole result: the first
// row came at the end, and a million took 300 to 490 MB.
func TestFirstRow(t *testing.T) {
	l := start(t, pgtest.Options{}, nil)
	p := open(t, l.through("watched"))
	bounded(t, func() {
		p.write(query("SELECT g, pg_sleep(CASE g WHEN 40000 THEN 2 ELSE 0 END)::text, repeat('x', 100) FROM generate_series(1, 1000000) g"))
		if got := shown(p.take(1)); got != "T" {
			t.Fatal(got)
		}
		if first := p.next(); first.kind != 'D' {
			t.Fatal(word(first))
		}
		l.asleep(t, p) // the server has not come to the end
		rows := 1
		for m := p.next(); m.kind == 'D'; m = p.next() {
			rows++
		}
		if rows != 1_000_000 {
			t.Errorf("%d rows", rows)
		}
	})
	if got := shown(p.take(1)); got != "Z:I" {
		t.Error(got)
	}
}

// TestWritesInDisguise: reads that write, and functions that do more than read,
// went through.
func TestWritesInDisguise(t *testing.T) {
	l := start(t, pgtest.Options{}, nil)
	for sql, want := range map[string]string{
		"EXPLAIN ANALYZE DELETE FROM orders":                               "E:25006",
		"EXPLAIN (ANALYZE, COSTS off) DELETE FROM orders":                  "E:25006",
		"SELECT id INTO taken FROM orders":                                 "E:25006",
		"CREATE TABLE taken AS SELECT id FROM orders":                      "E:25006",
		"WITH d AS (DELETE FROM orders RETURNING id) TABLE d":              "E:25006",
		"SELECT id FROM orders FOR UPDATE":                                 "E:25006",
		"SELECT query_to_xml('DELETE FROM orders', true, false, '')":       "E:42501",
		"SELECT pg_ls_dir('.')":                                            "E:42501",
		"SELECT nextval('counter')":                                        "E:42501",
		"SELECT lo_create(0)":                                              "E:42501",
		"SELECT set_config('role', 'postgres', false)":                     "E:42501",
		"SELECT set_config('default_transaction_read_only', 'off', false)": "E:25006",
	} {
		for name, send := range map[string][]byte{"Query": query(sql), "series": say(run(sql), sync)} {
			t.Run(sql+"/"+name, func(t *testing.T) {
				p := open(t, l.through("reading"))
				p.write(send)
				if got := shown(p.take(2)); got != want+" Z:I" {
					t.Errorf("%s, not %s", got, want)
				}
				p.inStep("Z:I")
			})
		}
	}
	if n := l.value(t, "SELECT count(*) FROM orders"); n != "1000" {
		t.Errorf("%s orders are left", n)
	}
}

// TestHonestTwins: what reads is answered as directly. One refused every SELECT
// without a table, SELECT 1 included, and lower().
func TestHonestTwins(t *testing.T) {
	l := start(t, pgtest.Options{}, nil)
	one := func(sql, want string) exchange {
		return exchange{sql, "", []step{{query(sql), want}, {say(run(sql), sync), "1 2 " + strings.TrimPrefix(want, "T ")}}}
	}
	l.same(t, []exchange{
		one("SELECT 1", "T D:1 C:SELECT_1 Z:I"),
		one("SELECT lower('ABC')", "T D:abc C:SELECT_1 Z:I"),
		one("VALUES (1), (2)", "T D:1 D:2 C:SELECT_2 Z:I"),
		one("SELECT name FROM customers WHERE lower(name) = 'name 3'", "T D:name_3 C:SELECT_1 Z:I"),
		one("SHOW transaction_isolation", "T D:read_committed C:SHOW Z:I"),
		one("SELECT set_config('application_name', '', false)", "T D: C:SELECT_1 Z:I"),
	})
	p := open(t, l.through("reading"))
	for _, sql := range []string{"EXPLAIN SELECT id FROM orders", "EXPLAIN ANALYZE SELECT id FROM orders"} {
		if rows := p.answer(sql); len(rows) == 0 {
			t.Errorf("%s: no plan", sql)
		}
	}
}

// TestLexer: a setting that moves the ends of strings turned a harmless text
// into two statements, one of which deleted the rows.
func TestLexer(t *testing.T) {
	l := start(t, pgtest.Options{}, nil)
	attack := `SELECT '\'' FROM orders; DELETE FROM orders; --' FROM orders`
	for _, agent := range []string{"reading", "watched"} {
		at := l.through(agent)
		for name, settings := range map[string][]string{
			"options":           {"options", "-c standard_conforming_strings=off"},
			"options, long":     {"options", "--standard-conforming-strings=off"},
			"a start-up key":    {"standard_conforming_strings", "off"},
			"in capitals":       {"STANDARD_CONFORMING_STRINGS", "off"},
			"client_encoding":   {"client_encoding", "SJIS"},
			"backslash_quote's": {"options", "-c standard_conforming_strings=off -c backslash_quote=on"},
		} {
			t.Run(agent+"/"+name, func(t *testing.T) {
				p := dial(t, at.address)
				p.write(at.startup(version3, settings...))
				if last := p.login(at); word(last) != "E:42501" || errorField(last.body, 'S') != "FATAL" {
					t.Errorf("%s", word(last))
				}
			})
		}
		for _, sql := range []string{
			"SELECT set_config('standard_conforming_strings', 'off', false)", "SET standard_conforming_strings = off",
			"SET client_encoding = 'SJIS'", "SET NAMES 'SJIS'",
		} {
			t.Run(agent+"/"+sql, func(t *testing.T) {
				p := open(t, at)
				p.write(query(sql))
				if got := shown(p.take(2)); got != "E:42501 Z:I" {
					t.Errorf("%s", got)
				}
			})
		}
	}
	p := open(t, l.through("reading"))
	if rows := p.answer(attack); len(rows) != 1000 { // to the server it is one string, too
		t.Errorf("the text was answered with %d rows", len(rows))
	}
	if n := l.value(t, "SELECT count(*) FROM orders"); n != "1000" {
		t.Errorf("%s orders are left", n)
	}
}

// TestLongSums: 60 kB of 1+1+… killed the process.
func TestLongSums(t *testing.T) {
	l := start(t, pgtest.Options{}, nil)
	p := open(t, l.through("reading"))
	for _, terms := range []int{30_000, 100_000} {
		p.write(query("SELECT 1" + strings.Repeat("+1", terms)))
		if got := shown(p.take(2)); got != "E:54001 Z:I" {
			t.Errorf("%d terms: %s", terms, got)
		}
		p.inStep("Z:I")
	}
	if got := p.answer("SELECT 1" + strings.Repeat("+1", 100)); got[0] != "101" {
		t.Errorf("a short one: %v", got)
	}
}
