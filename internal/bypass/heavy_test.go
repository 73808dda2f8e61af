package bypass_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pgairlock/pgairlock/internal/bypass"
)

// Texts that kill a parser, or keep it busy: category I of the corpus. They are
// built here, since nobody wants to read them.
var heavy = []struct {
	id, name string
	sqlstate []string
	text     func() string
}{
	{"I001", "plus chain of 24,200", complexity, func() string { return "SELECT 1" + strings.Repeat("+1", 24200) }},
	{"I012", "plus chain of 5,000", complexity, func() string { return "SELECT 1" + strings.Repeat("+1", 5000) }},
	{"I901", "plus chain of 100,000", complexity, func() string { return "SELECT 1" + strings.Repeat("+1", 100000) }},
	{"I005", "cast chain", complexity, func() string { return "SELECT 1" + strings.Repeat("::int", 24200) }},
	{"I006", "is-null chain", complexity, func() string { return "SELECT 1" + strings.Repeat(" IS NULL", 24200) }},
	{"I007", "collate chain", complexity, func() string { return "SELECT 'x'" + strings.Repeat(` COLLATE "C"`, 24200) }},
	{"I008", "concatenation chain", complexity, func() string { return "SELECT 'x'" + strings.Repeat("||'x'", 64000) }},
	{"I010", "union chain", complexity, func() string { return "SELECT 1" + strings.Repeat(" UNION ALL SELECT 1", 48900) }},
	{"I013", "open parentheses", complexity, func() string { return "SELECT " + strings.Repeat("(", 1000000) }},
	{"I014", "nested NOT", complexity, func() string { return "SELECT " + strings.Repeat("NOT ", 8000) + "true" }},
	{"I015", "nested functions", complexity, func() string { return "SELECT " + strings.Repeat("abs(", 8000) + "1" + strings.Repeat(")", 8000) }},
	{"I016", "nested sub-selects", complexity, func() string { return strings.Repeat("SELECT (", 2000) + "SELECT 1" + strings.Repeat(")", 2000) }},
	{"I017", "nested CASE", complexity, func() string {
		return "SELECT " + strings.Repeat("CASE WHEN true THEN ", 2000) + "1" + strings.Repeat(" END", 2000)
	}},
	{"I018", "nested arrays", complexity, func() string { return "SELECT " + strings.Repeat("ARRAY[", 8000) + "1" + strings.Repeat("]", 8000) }},
	{"I019", "nested FROM", complexity, func() string {
		return strings.Repeat("SELECT * FROM (", 2000) + "SELECT 1" + strings.Repeat(") q", 2000)
	}},
	{"I021", "long IN list", complexity, func() string { return "SELECT 1 WHERE 1 IN (1" + strings.Repeat(",1", 200000) + ")" }},
	{"I022", "many statements", complexity, func() string { return strings.Repeat("SELECT 1;", 200000) }},
	{"I023", "AND chain", complexity, func() string { return "SELECT 1 WHERE true" + strings.Repeat(" AND true", 200000) }},
	{"I025", "huge identifier", complexity, func() string { return `SELECT 1 AS "` + strings.Repeat("x", 1<<20) + `"` }},
	{"I026", "huge literal", complexity, func() string { return "SELECT '" + strings.Repeat("x", 100<<20) + "'" }},
	{"I027", "huge comment", complexity, func() string { return "SELECT 1 /*" + strings.Repeat("x", 50<<20) + "*/" }},
}

// complexity is how such texts are refused: too complex, or the parser's own
// word for it.
var complexity = []string{"54001", "42601"}

// testHeavyTexts sends what kills parsers and then asks whether the session
// still lives.
func testHeavyTexts(t *testing.T, f *front) {
	var score score
	for _, h := range heavy {
		score.add(t, h.id+" "+h.name, f.heavy(t, h.text(), h.sqlstate))
	}
	fmt.Printf("category I: %s\n", score)

	client, err := bypass.Dial(t.Context(), f.dsn("ro"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	for name, text := range map[string]string{
		"1,000 items":           "SELECT 1 WHERE 1 IN (1" + strings.Repeat(",1", 999) + ")",
		"500 rows":              "VALUES (-1, '2026-01-01'::date)" + strings.Repeat(", (-1, '2026-01-01'::date)", 499) + " LIMIT 3",
		"a literal of 500 kB":   "SELECT length('" + strings.Repeat("x", 500<<10) + "')",
		"200 additions":         "SELECT 1" + strings.Repeat("+1", 200),
		"an identifier of 5 kB": "SELECT 1 AS " + strings.Repeat("x", 5000),
	} {
		if a, err := client.Query(text); err != nil || len(a.Errors) > 0 || len(a.Results) != 1 {
			t.Errorf("%s are honest: %+v, %v", name, a.Errors, err)
		}
	}
}

func (f *front) heavy(t *testing.T, text string, sqlstate []string) []string {
	t.Helper()
	client, err := bypass.Dial(t.Context(), f.dsn("ro"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }() // it may be closed already
	a, err := client.Query(text)
	switch {
	case err != nil:
		return []string{err.Error()}
	case a.Closed:
		return nil // too long to be read
	case len(a.Errors) != 1 || a.Errors[0].SQLSTATE != sqlstate[0] && a.Errors[0].SQLSTATE != sqlstate[1]:
		return []string{fmt.Sprintf("%+v", a.Errors)}
	}
	if a, err = client.Query("SELECT 1"); err != nil || len(a.Errors) > 0 || a.Closed {
		return []string{fmt.Sprintf("afterwards: %+v, %v", a, err)}
	}
	return nil
}
