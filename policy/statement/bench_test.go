package statement_test

import (
	"testing"

	"github.com/pgairlock/pgairlock/policy/statement"
)

// BenchmarkAnalyze tells what establishing the facts costs on top of parsing.
func BenchmarkAnalyze(b *testing.B) {
	env := statement.Env{Catalog: libraryCatalog(b, 150000), Path: []string{"public"}}
	for _, c := range []struct{ name, text string }{
		{"point", "SELECT id, title, price FROM books WHERE id = 1"},
		{"join", `SELECT b.title, m.name, count(*) AS n FROM books b JOIN loans l ON l.book_id = b.id LEFT JOIN members m ON m.id = l.member_id
			WHERE b.price > 10 AND l.due < now() AND lower(m.name) LIKE 'a%' GROUP BY b.title, m.name ORDER BY n DESC LIMIT 10`},
	} {
		tree, err := statement.Parse(c.text, statement.Limits{})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if f := statement.Analyze(tree, env); len(f[0].Problems) > 0 {
					b.Fatal(f[0].Problems)
				}
			}
		})
		b.Run(c.name+"/parse", func(b *testing.B) {
			for b.Loop() {
				if _, err := statement.Parse(c.text, statement.Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
