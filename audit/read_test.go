package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pgairlock/pgairlock/audit"
)

func TestShow(t *testing.T) {
	now := &clock{now: noon}
	opt := options(t)
	opt.Now = now.Now
	log := open(t, opt)
	add := func(agent, session, verdict, table string) {
		put(t, log, &audit.Statement{
			Actor: audit.Actor{Session: session, Agent: agent}, Verdict: verdict, Operation: agent + session + verdict,
			Relations: []audit.Relation{{Name: "public.other"}, {Name: table}},
		})
		now.turn(time.Minute)
	}
	add("a", "s1", "allow", "public.orders")
	add("a", "s2", "deny", "public.customers")
	add("b", "s3", "allow", "sales.orders")
	add("b", "s3", "deny", "public.reorders")
	closeLog(t, log)

	for _, tt := range []struct {
		name   string
		filter audit.Filter
		want   string
	}{
		{"agent", audit.Filter{Agent: "a"}, "as1allow as2deny"},
		{"session", audit.Filter{Session: "s3"}, "bs3allow bs3deny"},
		{"verdict", audit.Filter{Verdict: "deny"}, "as2deny bs3deny"},
		{"table with schema", audit.Filter{Table: "public.orders"}, "as1allow"},
		{"table without", audit.Filter{Table: "orders"}, "as1allow bs3allow"},
		{"since", audit.Filter{Since: noon.Add(2 * time.Minute), Types: []string{"statement"}}, "bs3allow bs3deny"},
		{"until", audit.Filter{Until: noon.Add(time.Minute), Types: []string{"statement"}}, "as1allow"},
		{"all together", audit.Filter{Agent: "a", Verdict: "deny", Table: "customers"}, "as2deny"},
		{"none", audit.Filter{Agent: "c"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, r := range records(t, tt.filter, opt.Path) {
				got = append(got, r.Operation)
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	stop := errors.New("stop")
	if err := audit.Show(audit.Filter{}, func(*audit.Record) error { return stop }, opt.Path); !errors.Is(err, stop) {
		t.Errorf("the callback's error: %v", err)
	}
	rewrite(t, opt.Path, []string{"{}"})
	if err := audit.Show(audit.Filter{}, func(*audit.Record) error { return nil }, opt.Path); err == nil || !strings.Contains(err.Error(), opt.Path+":1:") {
		t.Errorf("a line that is no record: %v", err)
	}
}

// Tail starts with the last records and follows over rotations, without a gap.
func TestTail(t *testing.T) {
	opt := options(t)
	opt.MaxSize = 2000
	log := open(t, opt)
	put(t, log, statement(1), statement(2), statement(3))
	sync1(t, log)

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	seen := make(chan int64, 100)
	ended := make(chan error, 1)
	go func() {
		ended <- audit.Tail(ctx, opt.Path, 2, audit.Filter{Types: []string{"statement"}}, func(r *audit.Record) error {
			seen <- r.Sequence
			return nil
		})
	}()
	want := []int64{2, 3}
	var got []int64
	for i := range 40 {
		if i < 2 {
			got = append(got, <-seen) // Tail has begun before more comes
			continue
		}
		want = append(want, int64(i+2))
		put(t, log, statement(i+2))
		sync1(t, log)
	}
	for len(got) < len(want) {
		select {
		case n := <-seen:
			got = append(got, n)
		case err := <-ended:
			t.Fatalf("Tail ended: %v", err)
		case <-time.After(10 * time.Second):
			t.Fatalf("got only %v", got)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if log.Stats().Rotations < 3 {
		t.Errorf("only %d rotations", log.Stats().Rotations)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Tail returns %v when its context ends", err)
	}
	closeLog(t, log)
}

func TestRender(t *testing.T) {
	for _, tt := range []struct {
		name  string
		event audit.Event
		want  string
	}{
		{"allowed", &audit.Statement{Actor: audit.Actor{Session: "0192-12345678", Agent: "reporting"}, Text: "SELECT 1\n  FROM  t", Verdict: "allow", Risk: "l0_read", Rows: 1, Duration: 1500 * time.Microsecond},
			"allow    l0_read  reporting  12345678  SELECT 1 FROM t  1 row  1.5ms"},
		{"refused", &audit.Statement{Actor: audit.Actor{Agent: "reporting", Claimed: "alice"}, Text: "SELECT email FROM c", Verdict: "deny", SQLSTATE: "42501", Rules: []audit.Rule{{ID: "column", Verdict: "deny", Enforced: true, Source: "policy.yaml:12"}}},
			"deny     reporting for alice?  SELECT email FROM c  42501  [column (policy.yaml:12)]"},
		{"would have", &audit.Statement{Actor: audit.Actor{Agent: "x", Proved: "bob"}, Text: "DELETE FROM t", Verdict: "allow", WouldHave: "deny", Rows: 3, Limited: true, Rules: []audit.Rule{{ID: "table"}}},
			"allow (would have: deny)  x for bob  DELETE FROM t  3 rows (limited)  [table not enforced]"},
		{"session", &audit.SessionStart{Actor: audit.Actor{Session: "s", Agent: "a"}, Client: "1.2.3.4:5", Application: "psql", Database: "shop"},
			"session_start  a  s  client=1.2.3.4:5  application=psql  database=shop"},
		{"what a terminal would act on", &audit.Statement{Actor: audit.Actor{Agent: "a\x1b[2J"}, Text: "SELECT '\x1b]0;x\x07\u202eabc\u200b'", Verdict: "deny"},
			"deny     a<U+001B>[2J  SELECT '<U+001B>]0;x<U+0007><U+202E>abc<U+200B>'"},
		{"a long statement", &audit.Statement{Text: strings.Repeat("x", 500), Verdict: "deny"},
			"deny     " + strings.Repeat("x", 160) + " …"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			opt := options(t)
			opt.Now = (&clock{now: noon}).Now
			log := open(t, opt)
			put(t, log, tt.event)
			closeLog(t, log)
			r, err := audit.ParseRecord([]byte(lines(t, opt.Path)[1]))
			if err != nil {
				t.Fatal(err)
			}
			if got := audit.Render(r, false); got != "2026-11-30 12:00:00.000Z  "+tt.want {
				t.Errorf("\ngot  %q\nwant %q", got, "2026-11-30 12:00:00.000Z  "+tt.want)
			}
			coloured := audit.Render(r, true)
			if r.Verdict == "deny" && !strings.Contains(coloured, "\x1b[31mdeny") {
				t.Errorf("not red: %q", coloured)
			}
		})
	}
}

// The oracle is encoding/json: what ParseRecord takes is JSON with the frame's
// values in it, and no line whatever makes it or Verify fail to end.
func FuzzParseRecord(f *testing.F) {
	const zeros = "0000000000000000000000000000000000000000000000000000000000000000"
	for _, line := range []string{
		`{"v":1,"n":1,"time":"2026-11-30T12:00:00Z","type":"statement","statement":"x","prev":"` + zeros + `","hash":"` + zeros + `"}`,
		`{"v":1,"n":2,"time":"2026-11-30T12:00:00Z","type":"checkpoint","count":1,"head":"","signature":"","prev":"` + zeros + `","hash":"` + zeros + `"}`,
		`{"v":1,"n":1,"time":"`, `{"v":1,"n":99999999999999999999,"time":""`, "", "\n", `{"v":1,"prev":"` + zeros + `","hash":"` + zeros + `"}`,
	} {
		f.Add([]byte(line))
	}
	path := f.TempDir() + "/fuzz.jsonl"
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := audit.ParseRecord(line)
		if err == nil {
			var raw struct {
				N    int64
				Type string
			}
			if json.Unmarshal(line, &raw) != nil || raw.N != r.N || raw.Type != r.Type {
				t.Errorf("%s read as %+v", line, r)
			}
			_ = audit.Render(r, true)
		}
		if err := os.WriteFile(path, append(bytes.Clone(line), '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
		report, err := audit.Verify(audit.VerifyOptions{}, path)
		if err == nil && report.OK() && report.Last == 0 {
			t.Errorf("%q: nothing verified, and OK", line)
		}
	})
}
