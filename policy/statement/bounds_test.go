package statement_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/policy/statement"
)

// wide are texts that ask for far more work than they have bytes.
func wide() []struct{ name, text string } {
	r := strings.Repeat
	return []struct{ name, text string }{
		{"stars", "SELECT *" + r(",*", 15_000) + " FROM books"},
		{"stars in rows", "SELECT ROW(b.*" + r(",b.*", 10_000) + ") FROM books b"},
		{"doubling", "WITH a000 AS (SELECT * FROM books)" + doubling(200) + " SELECT 1"},
		{"items", "SELECT " + r("stock,", 8_000) + "stock FROM books b" + r(", books b", 5_000)},
		{"joins", "SELECT " + r("grade,", 15_000) + "grade FROM books a" + r(" JOIN books b USING (id)", 900)},
		{"unknown names", "SELECT " + r("nope,", 5_000) + "nope FROM books"},
		{"unknown functions", "SELECT " + r("nope(1),", 8_000) + "nope() FROM books"},
		{"operators", "SELECT " + r("stock + price,", 10_000) + "1 FROM books"},
		{"casts", "SELECT " + r("stock::text,", 10_000) + "1 FROM books"},
		{"sort", "SELECT id" + r(", id", 10_000) + " FROM books ORDER BY nope" + r(", nope", 40_000)},
		{"rows", "INSERT INTO books (id, title) VALUES (1, 'x')" + r(", (2, lower('y'))", 5_000)},
		{"whole rows", "SELECT " + r("row_to_json(b),", 8_000) + "1 FROM books b"},
	}
}

// TestWorkIsBounded: such texts are analysed to an end, and tell of no more
// problems than anybody reads. BenchmarkWide shows how long each takes.
func TestWorkIsBounded(t *testing.T) {
	env := statement.Env{Catalog: libraryCatalog(t, 150000), Path: []string{"public"}}
	for _, c := range wide() {
		tree, err := statement.Parse(c.text, statement.Limits{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if f := statement.Analyze(tree, env)[0]; len(f.Problems) > 50 {
			t.Errorf("%s: %d problems", c.name, len(f.Problems))
		}
	}
}

func BenchmarkWide(b *testing.B) {
	env := statement.Env{Catalog: libraryCatalog(b, 150000), Path: []string{"public"}}
	for _, c := range wide() {
		tree, err := statement.Parse(c.text, statement.Limits{})
		if err != nil {
			b.Fatalf("%s: %v", c.name, err)
		}
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				statement.Analyze(tree, env)
			}
		})
	}
}

// doubling is a chain of WITH queries, each with twice the columns of the one
// before.
func doubling(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.NewReplacer("NEXT", name(i+1), "LAST", name(i)).Replace(", NEXT AS (SELECT * FROM LAST x, LAST y)"))
	}
	return b.String()
}

func name(i int) string {
	return "a" + string(rune('0'+i/100)) + string(rune('0'+i/10%10)) + string(rune('0'+i%10))
}

// At the limits themselves nothing is cut off unseen.
func TestLimitsCutNothingOffUnseen(t *testing.T) {
	env := statement.Env{Catalog: libraryCatalog(t, 150000), Path: []string{"public"}}
	for _, c := range []struct {
		text string
		pass bool
	}{
		{"SELECT 1" + strings.Repeat(",1", 1663), true},
		{"SELECT 1" + strings.Repeat(",1", 1664) + ",nope", false},
		{"SELECT 1" + strings.Repeat(",1", 1663) + ",stamp()", false},
		{"SELECT 1 FROM books" + strings.Repeat(",books", 499), true},
		{"SELECT 1 FROM books" + strings.Repeat(",books", 499) + ",nowhere", false},
		{"SELECT ROW(1" + strings.Repeat(",1", 1663) + ")", true},
		{"SELECT ROW(1" + strings.Repeat(",1", 1663) + ",nope)", false},
	} {
		tree, err := statement.Parse(c.text, statement.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		problems := statement.Analyze(tree, env)[0].Problems
		tooComplex := slices.ContainsFunc(problems, func(p policy.Problem) bool { return p.Rule == "too-complex" })
		if c.pass && len(problems) > 0 || !c.pass && !tooComplex {
			t.Errorf("%.40s… (%d bytes): %v", c.text, len(c.text), problems)
		}
	}
}
