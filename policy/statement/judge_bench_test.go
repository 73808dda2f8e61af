package statement_test

import (
	"testing"

	"github.com/pgairlock/pgairlock/policy/statement"
)

const (
	pointSelect = "SELECT id, total, status FROM orders WHERE id = $1 LIMIT 1"
	threeJoin   = `SELECT c.name, o.id, p.qty, sum(o.total) AS spent
FROM orders o JOIN customers c ON c.id = o.customer_id JOIN parts p ON p.id = o.id
WHERE o.status = 'open' AND c.name LIKE 'a%' AND p.qty BETWEEN 1 AND 100
GROUP BY c.name, o.id, p.qty ORDER BY spent DESC`
)

func BenchmarkJudge(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"point select", pointSelect},
		{"point select rewritten", "SELECT id, total, status FROM orders WHERE id = $1"},
		{"three-way join rewritten", threeJoin},
		{"three-way join", threeJoin + " LIMIT 10"},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := newShop(b, 100)
			in := s.input(b, "reader", c.text)
			mustPass(b, statement.Judge(in))
			b.ReportAllocs()
			for b.Loop() {
				statement.Judge(in)
			}
		})
	}
}
