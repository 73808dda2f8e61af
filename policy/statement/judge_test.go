package statement_test

import (
	"strings"
	"testing"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/policy/statement"
)

// Statements of one text see what those before them did.
func TestLaterStatementsSeeEarlierOnes(t *testing.T) {
	s := newShop(t, 100)
	for _, c := range []struct{ text, rule string }{
		{"PREPARE p AS SELECT 1; EXECUTE p", ""},
		{"EXECUTE p", "unresolved-statement"},
		{"PREPARE p AS SELECT 1; DEALLOCATE p; EXECUTE p", "unresolved-statement"},
		{"PREPARE p AS SELECT 1; DEALLOCATE ALL; EXECUTE p", "unresolved-statement"},
		{"DECLARE c CURSOR FOR SELECT 1; FETCH c", ""},
		{"FETCH c", "unresolved-cursor"},
		{"DECLARE c CURSOR FOR SELECT 1; CLOSE c; FETCH c", "unresolved-cursor"},
		{"DECLARE c CURSOR FOR SELECT 1; CLOSE ALL; FETCH c", "unresolved-cursor"},

		// archive.orders has no status
		{"SELECT status FROM orders", ""},
		{"SET search_path = archive; SELECT total FROM orders", ""},
		{"SET search_path = archive; SELECT status FROM orders", "unresolved-column"},
		{"SET search_path = archive; SET search_path = public; SELECT status FROM orders", ""},
		{"SET search_path = archive; RESET search_path; SELECT status FROM orders", ""},
		{"SET search_path = archive; RESET ALL; SELECT status FROM orders", ""},
		{"SET search_path = archive; SET search_path TO DEFAULT; SELECT status FROM orders", ""},
		{"SET SCHEMA 'archive'; SELECT status FROM orders", "unresolved-column"},
		{"SET search_path = elsewhere; SELECT 1", "search-path"},

		// what may or may not have happened is judged both ways
		{"SELECT set_config('search_path', 'archive', false); SELECT total FROM orders", ""},
		{"SELECT set_config('search_path', 'archive', false); SELECT status FROM orders", "unresolved-column"},
		{"BEGIN; SET LOCAL search_path = archive; COMMIT; SELECT total FROM orders", ""},
		{"BEGIN; SET LOCAL search_path = archive; COMMIT; SELECT status FROM orders", "unresolved-column"},
		{"PREPARE p AS SELECT set_config('search_path', 'archive', false); EXECUTE p; SELECT status FROM orders", "unresolved-column"},
	} {
		j := s.judge(t, c.text)
		switch {
		case c.rule == "" && j.Refusal != nil:
			t.Errorf("%s\nis refused: %s: %s", c.text, j.Refusal.Rule, j.Refusal.Message)
		case c.rule != "" && !refusedBy(&j, c.rule):
			t.Errorf("%s\nwant %s, got %+v", c.text, c.rule, j.Refusal)
		}
	}
}

// refusedBy says whether a rule is among those that refuse the text.
func refusedBy(j *statement.Judgement, rule string) bool {
	for _, p := range j.Parts {
		for _, r := range p.Decision.Reasons {
			if r.Rule == rule && r.Enforced && r.Verdict == policy.Deny {
				return j.Refusal != nil
			}
		}
	}
	return false
}

func TestSessionsNamesAreKnownUntilTheyGo(t *testing.T) {
	s := newShop(t, 100)
	prepared := s.judge(t, "PREPARE old AS SELECT id FROM orders").Parts[0].Facts
	for _, c := range []struct {
		text string
		pass bool
	}{
		{"EXECUTE old", true},
		{"DEALLOCATE old; EXECUTE old", false},
		{"PREPARE new AS SELECT 1; EXECUTE old", true},
		{"FETCH open", true},
		{"CLOSE open; FETCH open", false},
		{"CLOSE other; FETCH open", true},
	} {
		in := s.input(t, "reader", c.text)
		in.Env.Prepared = func(name string) (*policy.Facts, bool) { return &prepared, name == "old" }
		in.Env.Cursor = func(name string) bool { return name == "open" || name == "other" }
		if j := statement.Judge(in); (j.Refusal == nil) != c.pass {
			t.Errorf("%s: passes is %t, want %t: %+v", c.text, !c.pass, c.pass, j.Refusal)
		}
	}
}

// The end of a transaction can bring back a search_path that was set before
// the text.
func TestPathsThatATransactionCanBringBack(t *testing.T) {
	s := newShop(t, 100)
	in := s.input(t, "reader", "ROLLBACK; SELECT status FROM orders")
	mustPass(t, statement.Judge(in))
	in.OtherPaths = [][]string{{"archive"}}
	if j := statement.Judge(in); j.Refusal == nil || j.Refusal.Rule != "unresolved-column" {
		t.Errorf("%+v", j.Refusal)
	}
	in.Text = "SELECT status FROM orders; ROLLBACK"
	mustPass(t, statement.Judge(in))
}

func TestTooManyTurns(t *testing.T) {
	s := newShop(t, 100)
	text := func(n int) string { return strings.Repeat("PREPARE p AS SELECT 1; DEALLOCATE p;", n) }
	mustPass(t, s.judge(t, text(10)))
	if j := s.judge(t, text(100)); j.Refusal == nil || j.Refusal.SQLSTATE != "54001" {
		t.Errorf("%+v", j.Refusal)
	}
}

func TestOneRefusalRefusesTheText(t *testing.T) {
	s := newShop(t, 100)
	const text = "SELECT 'é'; DELETE FROM orders; SELECT email FROM customers"
	j := s.judge(t, text)
	if j.Verdict != policy.Deny || j.Risk < policy.L3Critical || j.Send != text || len(j.Parts) != 3 {
		t.Errorf("verdict %s, risk %s, sent %q, %d parts", j.Verdict, j.Risk, j.Send, len(j.Parts))
	}
	if !strings.Contains(j.Refusal.Detail, "statement 2 of 3") || j.Refusal.SQLSTATE != "25006" {
		t.Errorf("%+v", j.Refusal)
	}
	j = s.judge(t, "SELECT 'é'; SELECT email FROM customers")
	want := statement.Refusal{Rule: "column", SQLSTATE: "42501", Position: 20}
	if got := *j.Refusal; got.Rule != want.Rule || got.SQLSTATE != want.SQLSTATE || got.Position != want.Position ||
		!strings.Contains(got.Message, "email") || got.Hint == "" {
		t.Errorf("%+v", got)
	}
}

func TestUnparsedTexts(t *testing.T) {
	s := newShop(t, 100)
	for _, c := range []struct{ text, rule, state string }{
		{"SELEC 1", "syntax", "42601"},
		{"SELECT '\x00'", "encoding", "22021"},
		{"SELECT " + strings.Repeat("1+", 100000) + "1", "too-complex", "54001"},
	} {
		for _, agent := range []string{"reader", "watched"} {
			j := statement.Judge(s.input(t, agent, c.text))
			if r := j.Refusal; r == nil || r.Rule != c.rule || r.SQLSTATE != c.state || len(j.Parts) != 1 {
				t.Errorf("%s: %.20q: %+v", agent, c.text, r)
			}
		}
		j := statement.Judge(s.input(t, "unbound", c.text))
		if j.Refusal != nil || j.Send != c.text || len(j.Parts) != 1 || j.Parts[0].Decision.Reasons[0].Rule != c.rule {
			t.Errorf("unbound: %.20q: %+v", c.text, j.Refusal)
		}
	}
}

func TestObservedAgents(t *testing.T) {
	s := newShop(t, 100)
	for _, c := range []struct {
		text, wouldDeny string
	}{
		{"SELECT id FROM orders", ""},
		{"SELECT id FROM parts", "table"},
		{"SELECT id FROM nowhere", "unresolved-relation"},
	} {
		j := statement.Judge(s.input(t, "watched", c.text))
		mustPass(t, j)
		got := ""
		if reasons := j.Parts[0].Decision.Reasons; len(reasons) > 0 {
			got = reasons[0].Rule
		}
		if got != c.wouldDeny || j.Verdict != policy.Allow {
			t.Errorf("%s: verdict %s, would deny by %q, want %q", c.text, j.Verdict, got, c.wouldDeny)
		}
	}
	if j := statement.Judge(s.input(t, "watched", "SELECT pg_read_file('/etc/passwd')")); j.Refusal == nil {
		t.Error("a red line let an observed agent pass")
	}
}

func TestNothingIsJudgedWithoutAPolicy(t *testing.T) {
	s := newShop(t, 100)
	for _, strip := range []func(*statement.Input){
		func(in *statement.Input) {},
		func(in *statement.Input) { in.Set = nil },
		func(in *statement.Input) { in.Agent = nil },
		func(in *statement.Input) { in.Env.Catalog = nil },
		func(in *statement.Input) { in.Agent = &policy.Agent{Name: "stranger"} },
	} {
		in := s.input(t, "reader", "SELECT 1")
		whole := in
		strip(&in)
		j := statement.Judge(in)
		if complete := in.Set == whole.Set && in.Agent == whole.Agent && in.Env.Catalog == whole.Env.Catalog; (j.Refusal == nil) != complete {
			t.Errorf("complete: %t, refusal: %+v", complete, j.Refusal)
		}
	}
}

func TestEmptyTexts(t *testing.T) {
	s := newShop(t, 100)
	for _, text := range []string{"", " ", ";", "-- nothing", "/* nothing */;"} {
		j := s.judge(t, text)
		mustPass(t, j)
		if j.Send != text || len(j.Parts) != 0 {
			t.Errorf("%q: sent %q, %d parts", text, j.Send, len(j.Parts))
		}
	}
}

// Whatever comes in, Judge answers, and what it lets pass is not judged
// differently the second time.
func FuzzJudge(f *testing.F) {
	s := newShop(f, 100)
	for _, c := range limits {
		f.Add(c.text)
	}
	for _, text := range []string{"", ";;", "SELECT 'é' LIMIT 'ü'", "SET search_path = archive; TABLE orders", "COPY orders TO STDOUT; ROLLBACK"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		j := s.judge(t, text)
		if j.Refusal != nil {
			if j.Send != j.Text || j.Verdict < policy.Hold {
				t.Fatalf("refused with %s, sent %q", j.Verdict, j.Send)
			}
			return
		}
		again := s.judge(t, j.Send)
		if again.Refusal != nil || again.Send != j.Send {
			t.Fatalf("%q\nwas sent as %q\nwhich is judged %s and sent as %q", text, j.Send, again.Verdict, again.Send)
		}
	})
}
