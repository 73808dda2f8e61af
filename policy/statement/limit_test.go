package statement_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/policy/statement"
)

// unchanged stands for a text that is sent as it came.
const unchanged = ""

// Limits with a cap of 100 rows: what comes in, and what is sent.
var limits = []struct{ text, sent string }{
	// no limit yet
	{"SELECT * FROM orders", "SELECT * FROM orders LIMIT 101"},
	{"SELECT id FROM orders ORDER BY total", "SELECT id FROM orders ORDER BY total LIMIT 101"},
	{"TABLE orders", "TABLE orders LIMIT 101"},
	{"SELECT status, count(*) FROM orders GROUP BY status HAVING count(*) > 1", "SELECT status, count(*) FROM orders GROUP BY status HAVING count(*) > 1 LIMIT 101"},
	{"SELECT 'LIMIT 1', id FROM orders", "SELECT 'LIMIT 1', id FROM orders LIMIT 101"},
	{"SELECT 'née', id AS limit FROM orders;", "SELECT 'née', id AS limit FROM orders LIMIT 101;"},

	// what stands behind the query
	{"SELECT * FROM orders -- LIMIT 10", "SELECT * FROM orders LIMIT 101 -- LIMIT 10"},
	{"SELECT * FROM orders /* LIMIT 10 */", "SELECT * FROM orders LIMIT 101 /* LIMIT 10 */"},
	{"SELECT * FROM orders; -- done", "SELECT * FROM orders LIMIT 101; -- done"},
	{"SELECT * FROM orders\n\t;;", "SELECT * FROM orders LIMIT 101\n\t;;"},

	// limits that are small enough
	{"SELECT * FROM orders LIMIT 100", unchanged},
	{"SELECT * FROM orders LIMIT 5 OFFSET 100000", unchanged},
	{"SELECT * FROM orders FETCH FIRST ROW ONLY", unchanged},
	{"SELECT * FROM orders FETCH NEXT 100 ROWS ONLY", unchanged},
	{"SELECT * FROM orders LIMIT -1", unchanged},
	{"SELECT * FROM orders LIMIT 1e1", unchanged},
	{"(SELECT * FROM orders LIMIT 7) ORDER BY id", unchanged},

	// constants that are not
	{"SELECT * FROM orders LIMIT 5000", "SELECT * FROM orders LIMIT 101"},
	{"SELECT * FROM orders LIMIT (5000) OFFSET 3", "SELECT * FROM orders LIMIT 101 OFFSET 3"},
	{"SELECT * FROM orders LIMIT -(-5000)", "SELECT * FROM orders LIMIT 101"},
	{"SELECT * FROM orders LIMIT ALL", "SELECT * FROM orders LIMIT 101"},
	{"SELECT * FROM orders LIMIT NULL", "SELECT * FROM orders LIMIT 101"},
	{"SELECT * FROM orders LIMIT 1e5", "SELECT * FROM orders LIMIT 101"},
	{"SELECT * FROM orders LIMIT 9223372036854775807", "SELECT * FROM orders LIMIT 101"},
	{"SELECT * FROM orders LIMIT 99999999999999999999", "SELECT * FROM orders LIMIT 101"},
	{"SELECT * FROM orders FETCH FIRST 500 ROWS ONLY", "SELECT * FROM orders FETCH FIRST 101 ROWS ONLY"},
	{"SELECT * FROM orders OFFSET 2 FETCH FIRST 500 ROWS ONLY", "SELECT * FROM orders OFFSET 2 FETCH FIRST 101 ROWS ONLY"},

	// expressions
	{"SELECT * FROM orders LIMIT 10*1000", "SELECT * FROM orders LIMIT least((10*1000)::pg_catalog.int8, 101)"},
	{"SELECT * FROM orders LIMIT 10 * 1000 -- many\n OFFSET 5", "SELECT * FROM orders LIMIT least((10 * 1000)::pg_catalog.int8, 101) -- many\n OFFSET 5"},
	{"SELECT * FROM orders OFFSET $2 LIMIT $1", "SELECT * FROM orders OFFSET $2 LIMIT least(($1)::pg_catalog.int8, 101)"},
	{"SELECT * FROM orders LIMIT '100000'", "SELECT * FROM orders LIMIT least(('100000')::pg_catalog.int8, 101)"},
	{"SELECT * FROM orders LIMIT NULL::bigint", "SELECT * FROM orders LIMIT least((NULL::bigint)::pg_catalog.int8, 101)"},
	{"SELECT * FROM orders LIMIT (SELECT count(*) FROM orders LIMIT 3)", "SELECT * FROM orders LIMIT least(((SELECT count(*) FROM orders LIMIT 3))::pg_catalog.int8, 101)"},
	{"SELECT * FROM orders LIMIT CASE WHEN true THEN 5000 END", "SELECT * FROM orders LIMIT least((CASE WHEN true THEN 5000 END)::pg_catalog.int8, 101)"},
	{"SELECT * FROM orders LIMIT length(substring('abc' FOR 2))*90", "SELECT * FROM orders LIMIT least((length(substring('abc' FOR 2))*90)::pg_catalog.int8, 101)"},
	{"SELECT * FROM orders FETCH FIRST $1 ROWS ONLY", "SELECT * FROM orders FETCH FIRST least(($1)::pg_catalog.int8, 101) ROWS ONLY"},
	{"SELECT * FROM orders FETCH FIRST (10*20) ROWS ONLY", "SELECT * FROM orders FETCH FIRST least(((10*20))::pg_catalog.int8, 101) ROWS ONLY"},
	{"SELECT * FROM orders LIMIT least(($1)::pg_catalog.int8, 500)", "SELECT * FROM orders LIMIT least((least(($1)::pg_catalog.int8, 500))::pg_catalog.int8, 101)"},
	{"SELECT * FROM orders LIMIT least($1, 10)", "SELECT * FROM orders LIMIT least((least($1, 10))::pg_catalog.int8, 101)"},

	// text can't hold ties to a number
	{"SELECT * FROM orders ORDER BY id FETCH FIRST 500 ROWS WITH TIES", unchanged},

	// OFFSET, which a limit may follow only directly
	{"SELECT * FROM orders OFFSET 0", "SELECT * FROM orders LIMIT 101 OFFSET 0"},
	{"SELECT * FROM orders OFFSET (SELECT 1 OFFSET 0) ROWS", "SELECT * FROM orders LIMIT 101 OFFSET (SELECT 1 OFFSET 0) ROWS"},
	{"SELECT * FROM orders FOR READ ONLY", "SELECT * FROM orders FOR READ ONLY LIMIT 101"},
	{"SELECT * FROM orders OFFSET 5 FOR READ ONLY", "SELECT * FROM orders LIMIT 101 OFFSET 5 FOR READ ONLY"},

	// brackets and set operations: the limit is the whole query's
	{"(SELECT id FROM orders)", "(SELECT id FROM orders) LIMIT 101"},
	{"((SELECT id FROM orders LIMIT 1000))", "((SELECT id FROM orders LIMIT 101))"},
	{"(SELECT id FROM orders OFFSET 3) ORDER BY id", "(SELECT id FROM orders LIMIT 101 OFFSET 3) ORDER BY id"},
	{"(SELECT id FROM orders LIMIT 1) UNION ALL (SELECT id FROM orders)", "(SELECT id FROM orders LIMIT 1) UNION ALL (SELECT id FROM orders) LIMIT 101"},
	{"SELECT id FROM orders UNION ALL SELECT id FROM orders LIMIT 100000", "SELECT id FROM orders UNION ALL SELECT id FROM orders LIMIT 101"},
	{"SELECT id FROM orders UNION SELECT id FROM parts ORDER BY 1", "SELECT id FROM orders UNION SELECT id FROM parts ORDER BY 1 LIMIT 101"},
	{"WITH x AS (SELECT id FROM orders LIMIT 1) SELECT o.id FROM orders o, x", "WITH x AS (SELECT id FROM orders LIMIT 1) SELECT o.id FROM orders o, x LIMIT 101"},
	{"WITH x AS (SELECT 1 AS a) (SELECT * FROM x LIMIT 500)", "WITH x AS (SELECT 1 AS a) (SELECT * FROM x LIMIT 101)"},

	// queries that can't have more rows than that
	{"SELECT 1", unchanged},
	{"SELECT now(), 'a' || 'b'", unchanged},
	{"SELECT count(*), max(total) FROM orders", unchanged},
	{"SELECT round(avg(total), 2) FROM orders, generate_series(1, 10)", unchanged},
	{"SELECT 1 FROM orders HAVING count(*) > 3", unchanged},
	{"WITH n AS (SELECT generate_series(1, 9) AS i) SELECT sum(i) FROM n", unchanged},
	{"VALUES (1, 'a'), (2, 'b')", unchanged},
	{"SELECT 1 UNION ALL SELECT 2", unchanged},
	{"SELECT count(*) FROM orders UNION ALL SELECT count(*) FROM parts", unchanged},
	{"SELECT 1 INTERSECT SELECT id FROM orders", unchanged},

	// those that can
	{"SELECT generate_series(1, 1000)", "SELECT generate_series(1, 1000) LIMIT 101"},
	{"SELECT generate_series(1, 9), count(*) FROM generate_series(1, 9)", "SELECT generate_series(1, 9), count(*) FROM generate_series(1, 9) LIMIT 101"},
	{"SELECT pairs(1)", "SELECT pairs(1) LIMIT 101"},
	{"SELECT 1 ORDER BY generate_series(1, 1000)", "SELECT 1 ORDER BY generate_series(1, 1000) LIMIT 101"},
	{"SELECT unnest(array_agg(id)) FROM orders", "SELECT unnest(array_agg(id)) FROM orders LIMIT 101"},
	{"SELECT count(*) OVER () FROM orders", "SELECT count(*) OVER () FROM orders LIMIT 101"},
	{"SELECT (SELECT count(*) FROM orders) FROM orders", "SELECT (SELECT count(*) FROM orders) FROM orders LIMIT 101"},
	{"SELECT count(*) FROM orders GROUP BY ()", "SELECT count(*) FROM orders GROUP BY () LIMIT 101"},
	{"SELECT 1 UNION ALL SELECT id FROM orders", "SELECT 1 UNION ALL SELECT id FROM orders LIMIT 101"},

	// statements around a query
	{"EXPLAIN SELECT * FROM orders", unchanged},
	{"PREPARE p (int) AS SELECT * FROM orders WHERE id > $1", "PREPARE p (int) AS SELECT * FROM orders WHERE id > $1 LIMIT 101"},
	{"PREPARE p AS SELECT * FROM orders LIMIT $1; EXECUTE p (5)", "PREPARE p AS SELECT * FROM orders LIMIT least(($1)::pg_catalog.int8, 101); EXECUTE p (5)"},
	{"DECLARE c CURSOR FOR SELECT * FROM orders", "DECLARE c CURSOR FOR SELECT * FROM orders LIMIT 100"},
	{"DECLARE c SCROLL CURSOR FOR SELECT * FROM orders LIMIT 101", "DECLARE c SCROLL CURSOR FOR SELECT * FROM orders LIMIT 100"},
	{"SELECT 1; TABLE orders; SELECT id FROM orders LIMIT 500", "SELECT 1; TABLE orders LIMIT 101; SELECT id FROM orders LIMIT 101"},

	// COPY
	{"COPY (SELECT id FROM orders -- all\n) TO STDOUT WITH (FORMAT csv)", "COPY (SELECT id FROM orders LIMIT 101 -- all\n) TO STDOUT WITH (FORMAT csv)"},
	{"COPY ((TABLE orders)) TO STDOUT", "COPY ((TABLE orders) LIMIT 101) TO STDOUT"},
	{"COPY (SELECT id FROM orders LIMIT 5) TO STDOUT", unchanged},
	{"COPY orders TO STDOUT", "COPY (SELECT * FROM ONLY orders LIMIT 101) TO STDOUT"},
	{`COPY "public" . orders ("id", /* and */ total) TO STDOUT (FORMAT csv, HEADER)`, `COPY (SELECT "id", /* and */ total FROM ONLY "public" . orders LIMIT 101) TO STDOUT (FORMAT csv, HEADER)`},
	{"COPY orders (id) TO STDOUT CSV HEADER", "COPY (SELECT id FROM ONLY orders LIMIT 101) TO STDOUT CSV HEADER"},
	{"COPY events TO STDOUT", unchanged},      // the server refuses a partitioned table
	{"COPY open_orders TO STDOUT", unchanged}, // and a view
}

func TestLimit(t *testing.T) {
	s := newShop(t, 100)
	for _, c := range limits {
		j := s.judge(t, c.text)
		mustPass(t, j)
		want, verdict := c.sent, policy.Rewrite
		if want == unchanged {
			want, verdict = c.text, policy.Allow
		}
		if j.Send != want || j.Verdict != verdict {
			t.Errorf("%s\nsent %s\nwant %s\nverdict %s, want %s", c.text, j.Send, want, j.Verdict, verdict)
		}
		if again := s.judge(t, j.Send); again.Send != j.Send {
			t.Errorf("%s\nis rewritten twice: %s", j.Send, again.Send)
		}
	}
}

// What a rewritten text touches is what the original does.
func TestRewritingKeepsTheFacts(t *testing.T) {
	s := newShop(t, 100)
	for _, c := range limits {
		was := s.judge(t, c.text)
		is := s.judge(t, was.Send)
		for i := range was.Parts {
			a, b := touched(&was.Parts[i].Facts), touched(&is.Parts[i].Facts)
			if a != b {
				t.Errorf("%s\ntouches %s\n%s\ntouches %s", was.Text, a, was.Send, b)
			}
		}
	}
}

// touched is what facts say about the database.
func touched(f *policy.Facts) string {
	var b strings.Builder
	for _, r := range f.Relations {
		fmt.Fprintf(&b, "%s/%d ", r.Relation, r.Needs)
	}
	for _, c := range f.Columns {
		fmt.Fprintf(&b, "%s.%s/%d ", c.Relation, c.Column, c.Needs)
	}
	for _, u := range f.Functions {
		fmt.Fprintf(&b, "%s ", u.Name)
	}
	return b.String()
}

func TestRowsOfParts(t *testing.T) {
	s := newShop(t, 100)
	for _, c := range []struct {
		text        string
		rows, asked int64
	}{
		{"SELECT * FROM orders", 100, 101},
		{"SELECT * FROM orders LIMIT 5", 100, 0},
		{"SELECT * FROM orders ORDER BY id FETCH FIRST 500 ROWS WITH TIES", 100, 0},
		{"DECLARE c CURSOR FOR SELECT * FROM orders", 0, 100},
		{"PREPARE p AS SELECT * FROM orders", 0, 101},
		{"COPY orders TO STDOUT", 100, 101},
		{"EXPLAIN SELECT * FROM orders", 0, 0},
		{"SHOW TimeZone", 0, 0},
		{"BEGIN", 0, 0},
	} {
		j := s.judge(t, c.text)
		mustPass(t, j)
		if p := j.Parts[0]; p.Rows != c.rows || p.Asked != c.asked {
			t.Errorf("%s: %d rows may pass and %d are asked for, want %d and %d", c.text, p.Rows, p.Asked, c.rows, c.asked)
		}
	}
}

func TestWithoutACapNothingIsRewritten(t *testing.T) {
	s := newShop(t, 100)
	j := statement.Judge(s.input(t, "watched", "SELECT * FROM orders"))
	mustPass(t, j)
	if j.Send != j.Text || j.Parts[0].Rows != 0 {
		t.Errorf("sent %s, %d rows", j.Send, j.Parts[0].Rows)
	}
}

func TestCopyThatCantBeLimited(t *testing.T) {
	s := newShop(t, 100)
	for _, text := range []string{"COPY BINARY orders TO STDOUT", "COPY orders TO STDOUT USING DELIMITERS '|'"} {
		j := s.judge(t, text)
		if j.Refusal == nil || j.Refusal.Rule != "rewrite" || j.Refusal.SQLSTATE != "0A000" || j.Send != text {
			t.Errorf("%s: %+v, sent %s", text, j.Refusal, j.Send)
		}
	}
	mustPass(t, s.judge(t, "COPY orders TO STDOUT WITH (FORMAT binary)"))
}
