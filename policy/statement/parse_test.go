package statement_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pgairlock/pgairlock/policy/statement"
)

// refusal is the syntax error that a text gives, nil if it parses.
func refusal(t *testing.T, text string, lim statement.Limits) *statement.SyntaxError {
	t.Helper()
	_, err := statement.Parse(text, lim)
	if err == nil {
		return nil
	}
	var se *statement.SyntaxError
	if !errors.As(err, &se) {
		t.Fatalf("not a SyntaxError: %v", err)
	}
	return se
}

func TestStatementsAreWhereTheyStand(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"  \n-- nothing\n/* at /* all */ */ ;;", nil},
		{"SELECT 1", []string{"SELECT 1"}},
		{" SELECT 1 ; ", []string{"SELECT 1"}},
		{"SELECT 1;;SELECT 'é; x';", []string{"SELECT 1", "SELECT 'é; x'"}},
		{"/* a */ SELECT 1 /* b */; -- c\n SELECT 2 -- d", []string{"SELECT 1 /* b */", "SELECT 2 -- d"}},
		{"/* /* SELECT 0; */ */\tDELETE FROM t", []string{"DELETE FROM t"}},
		{"SELECT $a$ ; DELETE FROM t; $b$ $a$", []string{"SELECT $a$ ; DELETE FROM t; $b$ $a$"}},
	} {
		tree, err := statement.Parse(c.text, statement.Limits{})
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		var got []string
		for _, s := range tree.Stmts {
			got = append(got, c.text[s.Start:s.End])
		}
		if strings.Join(got, "|") != strings.Join(c.want, "|") {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}

func TestTextsThatDoNotParse(t *testing.T) {
	for _, c := range []struct {
		text, code, rule string
		pos              int
	}{
		{"SELEC 1", "42601", "syntax", 0},
		{"SELECT 'é' FROM é WHERE é é", "42601", "syntax", 29},
		{"SELECT 1 /* x", "42601", "syntax", 9},
		{"SELECT 'x", "42601", "syntax", 7},
		{"SELECT 'a' '; DELETE FROM t; --'", "42601", "syntax", 11},
		{"SELECT 1\x00", "22021", "encoding", 8},
		{"SELECT '\xc3\x28'", "22021", "encoding", 8},
		{"SELECT '\xff'", "22021", "encoding", 8},
	} {
		got := refusal(t, c.text, statement.Limits{})
		if got == nil || got.SQLSTATE != c.code || got.Rule != c.rule || got.Pos != c.pos {
			t.Errorf("%q: got %+v, want %s at %d", c.text, got, c.code, c.pos)
		}
	}
}

func TestMessagesAreShort(t *testing.T) {
	got := refusal(t, "SELECT /*"+strings.Repeat("é", 5000), statement.Limits{})
	if got == nil || len(got.Message) > 600 {
		t.Errorf("a message of %d bytes", len(got.Message))
	}
}

// chain is a text that repeats something.
type chain struct {
	name                       string
	head, before, middle, tail string // head before… middle tail…
}

func (c chain) text(n int) string {
	return c.head + strings.Repeat(c.before, n) + c.middle + strings.Repeat(c.tail, n)
}

// deep are the ways to build a deep tree; 900 of each are fine where a level
// takes one token that counts, 3,000 are not.
var deep = []chain{
	{"operators", "SELECT 1", "+1", "", ""},
	{"casts", "SELECT 1", "::int", "", ""},
	{"IS NULL", "SELECT 1", " IS NULL", "", ""},
	{"NOTNULL", "SELECT 1", " NOTNULL", "", ""},
	{"NOT", "SELECT ", "NOT ", "true", ""},
	{"minus", "SELECT ", "- ", "1", ""},
	{"prefix operators", "SELECT ", "~ ", "1", ""},
	{"UNION", "SELECT 1", " UNION SELECT 1", "", ""},
	{"JOIN", "SELECT 1 FROM a", " JOIN a ON true", "", ""},
	{"nested JOIN", "SELECT 1 FROM ", "a JOIN ", "a", " ON true"},
	{"parentheses", "SELECT ", "(", "1", ")"},
	{"calls", "SELECT ", "f(", "1", ")"},
	{"CASE", "SELECT ", "CASE WHEN true THEN ", "1", " END"},
	{"CASE ELSE", "SELECT ", "CASE WHEN true THEN 1 ELSE ", "1", " END"},
	{"names", "SELECT a", ".a", "", ""},
	{"subscripts", "SELECT a", "[1]", "", ""},
	{"nested subscripts", "SELECT ", "a[", "1", "]"},
	{"ARRAY", "SELECT ", "ARRAY[", "1", "]"},
	{"sub-selects", "SELECT ", "(SELECT ", "1", ")"},
	{"FROM", "SELECT * FROM ", "(SELECT * FROM ", "a", ") x"},
	{"COLLATE", "SELECT a", ` COLLATE "C"`, "", ""},
	{"AT TIME ZONE", "SELECT a", " AT TIME ZONE 'x'", "", ""},
	{"DEFAULT", "CREATE TABLE a(a int DEFAULT 1", "+1", ")", ""},
}

func TestDeepTextsNeverReachTheParser(t *testing.T) {
	for _, c := range deep {
		if got := refusal(t, c.text(900), statement.Limits{}); got != nil {
			t.Errorf("%s: 900 are refused: %v", c.name, got)
		}
		if got := refusal(t, c.text(3000), statement.Limits{}); got == nil || got.SQLSTATE != "54001" || got.Rule != "too-complex" {
			t.Errorf("%s: 3,000 give %v", c.name, got)
		}
	}
	sum := chain{"operators", "SELECT 1", "+1", "", ""}
	if got := refusal(t, sum.text(100_000), statement.Limits{}); got == nil || got.SQLSTATE != "54001" {
		t.Errorf("100,000 operators give %v", got)
	}
}

// The scanner's time is quadratic in the length of a run of operator
// characters: without a bound this would take hours.
func TestRunsOfOperatorCharacters(t *testing.T) {
	for _, c := range []chain{
		{"mixed", "SELECT ", "+-", "1", ""},
		{"comments", "", "/**/", "SELECT 1", ""},
		{"open comments", "", "/*", "", ""},
		{"many short runs", "SELECT ", strings.Repeat("-+", 500) + "1 ", "1", ""},
	} {
		text := c.text(500_000 / len(c.before))
		if got := refusal(t, text, statement.Limits{}); got == nil || got.SQLSTATE != "54001" {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	banners := strings.Repeat("-- "+strings.Repeat("=", 76)+"\n", 300) + "SELECT 1"
	if got := refusal(t, banners, statement.Limits{}); got != nil {
		t.Errorf("honest comments are refused: %v", got)
	}
}

func TestLargeHonestTextsPass(t *testing.T) {
	for _, c := range []chain{
		{"rows", "INSERT INTO t (a, b, c, d) VALUES (1, 2, 3, 4)", ",(-5, 'x', '2026-01-01'::date, 1 + 1)", "", ""},
		{"IN", "SELECT 1 WHERE a IN (1", ", 2", ")", ""},
		{"columns", "SELECT a.b", ", a.b::int", " FROM a", ""},
	} {
		if got := refusal(t, c.text(9_999), statement.Limits{}); got != nil {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	for _, c := range []chain{
		{"AND", "SELECT 1 WHERE a = 1", " AND b.c <> -2", "", ""},
		{"OR", "SELECT 1 WHERE a = 1", " OR b LIKE 'x%' AND c IS NOT NULL", "", ""},
		{"WHEN", "SELECT CASE", " WHEN a = 1 + 2 THEN b || c", " END", ""},
		{"UNION", "SELECT 1", " UNION ALL SELECT a + 1 FROM b JOIN c ON true WHERE d = 3", "", ""},
	} {
		if got := refusal(t, c.text(500), statement.Limits{}); got != nil {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestLimitsCanBeSet(t *testing.T) {
	for _, c := range []struct {
		text string
		lim  statement.Limits
		pass bool
	}{
		{"SELECT 1", statement.Limits{Bytes: 8}, true},
		{"SELECT 12", statement.Limits{Bytes: 8}, false},
		{"SELECT 1+1+1+1+1+1+1", statement.Limits{Depth: 8}, true},
		{"SELECT 1+1+1+1+1+1+1+1+1+1", statement.Limits{Depth: 8}, false},
		{"SELECT 1" + strings.Repeat(",1", 2000), statement.Limits{Tokens: 5000}, true},
		{"SELECT 1" + strings.Repeat(",1", 3000), statement.Limits{Tokens: 5000}, false},
	} {
		if got := refusal(t, c.text, c.lim); (got == nil) != c.pass {
			t.Errorf("%.40s with %+v: %v", c.text, c.lim, got)
		}
	}
}
