package bypass

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Honest is a statement, or a few over one connection, that no policy here
// forbids.
type Honest struct {
	Shape string
	Steps []Step
}

// Step is one message, or one round of the extended protocol.
type Step struct {
	Text   string // SQL; with Name of a statement that is there already: ""
	Bound  bool   // sent as Parse, Bind, Describe, Execute
	Name   string // of the prepared statement
	Types  []uint32
	Values [][]byte // nil: NULL
	Format int16    // of values and results: 0 text, 1 binary
	Rows   uint32   // Execute's row count; 0: all
}

// Generate writes n honest statements, the same for the same seed, from every
// shape in turn.
func Generate(seed uint64, n int) []Honest {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, seed))}
	all := make([]Honest, n)
	for i := range all {
		s := shapes[i%len(shapes)]
		all[i] = Honest{s.name, s.write(g)}
	}
	return all
}

// shapes are the kinds of statement, by what is special about them.
var shapes = []struct {
	name  string
	write func(*generator) []Step
}{
	{"filter", sql((*generator).filter)},
	{"join", sql((*generator).join)},
	{"outer join", sql((*generator).outerJoin)},
	{"using", sql((*generator).using)},
	{"group", sql((*generator).group)},
	{"grouping sets", sql((*generator).groupingSets)},
	{"ordered aggregate", sql((*generator).orderedAggregate)},
	{"window", sql((*generator).window)},
	{"cte", sql((*generator).cte)},
	{"recursive", sql((*generator).recursive)},
	{"set operation", sql((*generator).setOperation)},
	{"sub-select", sql((*generator).subSelect)},
	{"lateral", sql((*generator).lateral)},
	{"values", sql((*generator).values)},
	{"series", sql((*generator).series)},
	{"json", sql((*generator).jsonTable)},
	{"dates", sql((*generator).dates)},
	{"distinct on", sql((*generator).distinctOn)},
	{"whole row", sql((*generator).wholeRow)},
	{"renamed columns", sql((*generator).renamed)},
	{"comments", sql((*generator).comments)},
	{"over the limit", sql((*generator).overLimit)},
	{"run-time error", sql((*generator).failing)},
	{"xml", sql((*generator).xml)},
	{"table sample", sql((*generator).sample)},
	{"several statements", (*generator).several},
	{"parameters", (*generator).parameters},
	{"binary parameters", (*generator).binary},
	{"prepared again", (*generator).prepared},
	{"sql prepare", (*generator).sqlPrepare},
	{"cursor", (*generator).cursor},
	{"portal", (*generator).portal},
	{"transaction", (*generator).transaction},
	{"settings", (*generator).settings},
	{"explain", (*generator).explain},
}

// sql sends what write writes by the simple protocol, or now and then by the
// extended one.
func sql(write func(*generator) string) func(*generator) []Step {
	return func(g *generator) []Step {
		return []Step{{Text: write(g), Bound: g.IntN(3) == 0, Format: 0}}
	}
}

func queries(texts ...string) []Step {
	steps := make([]Step, len(texts))
	for i, t := range texts {
		steps[i] = Step{Text: t}
	}
	return steps
}

func (g *generator) main() table {
	return g.from(g.pick("orders", "customers", "events", "trg_t", "big"))[0]
}

func (g *generator) filter() string {
	t := g.main()
	return fmt.Sprintf("SELECT %s FROM %s%s AS %s WHERE %s ORDER BY %s.id%s", g.output(2), g.pick("", "public."), t.relation, t.alias,
		g.condition(2), t.alias, g.pick(" LIMIT 20", " LIMIT 10 OFFSET 3", " FETCH FIRST 5 ROWS ONLY", " OFFSET 2 ROWS FETCH NEXT 7 ROWS ONLY", " LIMIT (2 + 3)"))
}

func (g *generator) join() string {
	t := g.from("orders", "customers", "trg_t")
	return fmt.Sprintf("SELECT %s FROM orders %s %sJOIN customers %s ON %s.customer_id = %s.id CROSS JOIN trg_t AS %s WHERE %s.id < 20 AND %s ORDER BY %s.id, %s.id",
		g.output(2), t[0].alias, g.pick("", "INNER "), t[1].alias, t[0].alias, t[1].alias, t[2].alias, t[0].alias, g.condition(1), t[0].alias, t[2].alias)
}

func (g *generator) outerJoin() string {
	t := g.from("customers", "events")
	return fmt.Sprintf("SELECT %s FROM customers AS %s %s JOIN events AS %s ON %s.id = %s.id AND %s ORDER BY %s.id NULLS FIRST, %s.id",
		g.output(2), t[0].alias, g.pick("LEFT", "RIGHT OUTER", "LEFT OUTER"), t[1].alias, t[0].alias, t[1].alias, g.condition(0), t[0].alias, t[1].alias)
}

func (g *generator) using() string {
	t := g.from("orders", "trg_t")
	return fmt.Sprintf("SELECT id, %s.v, %s FROM orders %s %s JOIN trg_t %s USING (id) WHERE id <= 5 ORDER BY id",
		t[1].alias, g.text(1), t[0].alias, g.pick("", "LEFT", "FULL"), t[1].alias)
}

func (g *generator) group() string {
	t := g.from("orders")[0].alias
	return fmt.Sprintf("SELECT %[1]s.status, count(*), %[2]s(%[3]s), sum(%[4]s) FILTER (WHERE %[5]s), bool_or(%[5]s) FROM orders %[1]s GROUP BY 1 HAVING count(*) > %[6]d ORDER BY 1",
		t, g.pick("min", "max", "avg", "sum", "stddev"), g.decimal(1), g.number(1), g.condition(1), g.IntN(3))
}

func (g *generator) groupingSets() string {
	t := g.from("orders")[0].alias
	return fmt.Sprintf("SELECT %[1]s.status, %[1]s.customer_id %% 3 AS k, grouping(%[1]s.status), count(%[2]s) FROM orders %[1]s GROUP BY %[3]s ORDER BY 1 NULLS LAST, 2 NULLS LAST, 3",
		t, g.text(1), g.pick("ROLLUP (1, 2)", "CUBE (1, 2)", "GROUPING SETS ((1), (2), ())"))
}

func (g *generator) orderedAggregate() string {
	t := g.from("orders")[0].alias
	return fmt.Sprintf("SELECT %s FROM orders AS %s WHERE %s.id < 15", g.pick(
		"string_agg("+g.text(1)+", ',' ORDER BY "+t+".id DESC)",
		"array_agg("+g.number(1)+" ORDER BY "+t+".id)",
		"jsonb_agg("+g.json(1)+" ORDER BY "+t+".id)",
		"jsonb_object_agg("+t+".id, "+g.text(1)+")",
		"percentile_cont(0.5) WITHIN GROUP (ORDER BY "+t+".total)",
		"mode() WITHIN GROUP (ORDER BY "+g.number(1)+")",
		"count(DISTINCT "+g.text(1)+")",
		"every("+g.condition(1)+"), corr("+t+".id, "+t+".customer_id)"), t, t)
}

func (g *generator) window() string {
	t := g.from("orders")[0].alias
	return fmt.Sprintf("SELECT %[1]s.id, %[2]s OVER (PARTITION BY %[1]s.status ORDER BY %[1]s.id%[3]s), %[4]s OVER w FROM orders %[1]s WHERE %[1]s.id < 30 WINDOW w AS (ORDER BY %[1]s.id DESC) ORDER BY %[1]s.id",
		t, g.pick("row_number()", "rank()", "dense_rank()", "ntile(3)", "sum("+g.number(1)+")", "count(*)"),
		g.pick("", " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW", " RANGE UNBOUNDED PRECEDING"),
		g.pick("lag("+g.text(1)+", 1)", "lead("+g.number(1)+")", "first_value("+g.text(0)+"::text)", "nth_value("+t+".id, 2)"))
}

func (g *generator) cte() string {
	t := g.from("orders")[0].alias
	name := g.pick("secrets", "customers", `"W"`, "x", "pg_class")
	return fmt.Sprintf("WITH %[1]s(k, w) AS %[2]s (SELECT %[3]s.id, %[4]s FROM orders AS %[3]s WHERE %[5]s), z AS (SELECT k, count(*) AS n FROM %[1]s GROUP BY k) SELECT z.*, %[1]s.w FROM z JOIN %[1]s USING (k) ORDER BY k LIMIT 12",
		name, g.pick("", "MATERIALIZED", "NOT MATERIALIZED"), t, g.text(1), g.condition(1))
}

func (g *generator) recursive() string {
	return fmt.Sprintf("WITH RECURSIVE r(n, path) AS (SELECT 1, %s::text UNION ALL SELECT n + 1, path || '.' FROM r WHERE n < %d) SELECT n, length(path) FROM r ORDER BY n",
		g.pick(strange...), 2+g.IntN(40))
}

func (g *generator) setOperation() string {
	t := g.from("orders")[0]
	first := fmt.Sprintf("SELECT %s.id, %s AS v FROM orders AS %s WHERE %s.id < 9", t.alias, g.text(1), t.alias, t.alias)
	c := g.from("customers")[0]
	second := fmt.Sprintf("SELECT %s.id, %s FROM customers AS %s", c.alias, g.text(1), c.alias)
	return fmt.Sprintf("%s %s %s ORDER BY 1, 2%s", g.pick(first, "("+first+")"), g.pick("UNION", "UNION ALL", "INTERSECT", "EXCEPT", "EXCEPT ALL"),
		g.pick(second, "("+second+" ORDER BY 1 LIMIT 4)", "VALUES (1, 'a'), (2, NULL)"), g.pick("", " LIMIT 9", " OFFSET 1"))
}

func (g *generator) subSelect() string {
	t := g.from("orders")[0]
	inner := fmt.Sprintf("SELECT %s.id, %s, %s FROM orders %s WHERE %s", t.alias, g.number(2), g.text(2), t.alias, g.condition(1))
	return fmt.Sprintf("SELECT q.a, (SELECT max(m.v) FROM trg_t m WHERE m.id > q.b), q.c FROM (%s) AS q(a, b, c) WHERE q.b IS NOT NULL ORDER BY q.a LIMIT %d", inner, 1+g.IntN(20))
}

func (g *generator) lateral() string {
	t := g.from("customers")[0].alias
	join, on, _ := strings.Cut(g.pick("CROSS JOIN LATERAL|", "JOIN LATERAL|ON true", "LEFT JOIN LATERAL|ON true", ", LATERAL|"), "|")
	return fmt.Sprintf("SELECT %[1]s.name, l.* FROM customers %[1]s %[2]s (SELECT o2.id, o2.note FROM orders o2 WHERE o2.customer_id = %[1]s.id AND %[3]s ORDER BY o2.id LIMIT 2) l %[4]s ORDER BY %[1]s.id, l.id",
		t, join, g.condition(1), on)
}

func (g *generator) values() string {
	return fmt.Sprintf("SELECT * FROM (VALUES (%d, %s::text, %s), (2, NULL, NULL)) AS %s(i, \"Ü\", \"select\") WHERE i > 0", g.IntN(9), g.pick(strange...), g.pick("1.5", "NULL::numeric"), g.pick(aliases...))
}

func (g *generator) series() string {
	return g.pick(
		fmt.Sprintf("SELECT d::date, to_char(d, 'Dy') FROM generate_series(timestamptz '2026-01-01', '2026-02-01', '%d days') AS d", 1+g.IntN(6)),
		fmt.Sprintf("SELECT i, i * i FROM generate_series(%d, 30, 3) AS s(i)", g.IntN(10)),
		"SELECT u.tag, u.n FROM orders, unnest(tags) WITH ORDINALITY AS u(tag, n) WHERE id = "+g.pick("1", "7")+" ORDER BY n",
		"SELECT * FROM ROWS FROM (generate_series(1, 3), unnest(ARRAY['a','b'])) AS r(x, y)",
		fmt.Sprintf("SELECT generate_series(1, %d) AS g, regexp_split_to_table('a,b', ',')", 1+g.IntN(9)),
		"SELECT regexp_matches('a1b2', '[a-z]([0-9])', 'g')")
}

func (g *generator) jsonTable() string {
	return g.pick(
		"SELECT e.key, e.value FROM orders, jsonb_each(doc) AS e WHERE id = "+g.pick("1", "2", "3"),
		"SELECT x.v, x.ordinality FROM orders, jsonb_array_elements_text(doc -> 'a') WITH ORDINALITY AS x(v) WHERE id < 4 ORDER BY id, 2",
		`SELECT r.a, r.b FROM jsonb_to_recordset('[{"a":1,"b":"x"},{"a":2}]') AS r(a int, b text)`,
		"SELECT doc #>> '{a,1}', doc ? 'a', doc -> 'a' -> 0, jsonb_typeof(doc) FROM orders WHERE id = 5",
		"SELECT jsonb_path_query(doc, '$.a[*] ? (@ > 1)') FROM orders WHERE id < 4 ORDER BY id",
		"SELECT row_to_json(q) FROM (SELECT id, status FROM orders ORDER BY id LIMIT 3) q",
		"SELECT jsonb_pretty(jsonb_build_object('id', id, 'tags', to_jsonb(tags))) FROM orders WHERE id = 9")
}

func (g *generator) dates() string {
	t := g.from("orders", "events")
	return fmt.Sprintf("SELECT %s, date_part('week', %s), age(timestamptz '2027-01-01', %s) < interval '2 years', %s.at - date '2026-01-01', extract(epoch FROM %s), (%s.at, interval '1 day') OVERLAPS (date '2026-05-05', date '2026-05-06') FROM orders AS %s CROSS JOIN events AS %s WHERE %s.id = 1 ORDER BY %s.id",
		g.time(2), g.time(1), g.time(1), t[1].alias, g.time(1), t[1].alias, t[0].alias, t[1].alias, t[0].alias, t[1].alias)
}

func (g *generator) distinctOn() string {
	t := g.from("orders")[0].alias
	return fmt.Sprintf("SELECT DISTINCT ON (%[1]s.status) %[1]s.status, %[1]s.id, %[2]s FROM orders %[1]s WHERE %[3]s ORDER BY %[1]s.status, %[1]s.id", t, g.text(1), g.condition(1))
}

func (g *generator) wholeRow() string {
	return g.pick(
		"SELECT t FROM trg_t t ORDER BY t.id",
		"SELECT t.*, (t).id, t::text FROM trg_t t ORDER BY t",
		"SELECT row_to_json(e), to_jsonb(e) ->> 'payload' FROM events e ORDER BY e.id",
		"TABLE trg_t ORDER BY id",
		"SELECT count(b), count(DISTINCT b.t), array_agg(t ORDER BY t) FROM big b, trg_t t WHERE b.id < 5",
		"SELECT (SELECT o FROM orders o WHERE o.id = 3).note",
		"SELECT o.* FROM orders o WHERE o.id BETWEEN 2 AND 6 ORDER BY o.id",
		"SELECT * FROM orders NATURAL JOIN trg_t ORDER BY id")
}

func (g *generator) renamed() string {
	return fmt.Sprintf("SELECT a.%[1]s, a.z FROM events AS a(%[1]s, y, z) WHERE a.y > '2026-01-01' AND %[2]s > 0 ORDER BY 1", g.pick(`"id "`, "k", `"from"`, "ä"), g.pick("1", "length(a.z)"))
}

func (g *generator) comments() string {
	t := g.main()
	return fmt.Sprintf("%s SELECT/**/%s -- %s\n FROM %s /* %s */ %s WHERE %s.id = 1 %s", g.pick("", "/* app:agent */", "-- first\n"), g.output(1),
		g.pick("no ; DELETE", "LIMIT 5", "'"), t.relation, g.pick("/* nested */", "; DROP TABLE x", "$$"), t.alias, t.alias, g.pick("", ";", "; -- bye", "/* LIMIT 1 */"))
}

func (g *generator) overLimit() string {
	return g.pick(
		"SELECT id, status FROM orders",
		"SELECT id FROM orders ORDER BY id DESC",
		"SELECT o.id, c.name FROM orders o JOIN customers c ON c.id = o.customer_id ORDER BY o.id",
		"SELECT id FROM big LIMIT 4000 -- all",
		"TABLE big",
		"SELECT id FROM orders UNION ALL SELECT id FROM big ORDER BY 1",
		"VALUES "+strings.TrimSuffix(strings.Repeat("(1, 'x'), ", 130), ", "),
		"WITH o AS (SELECT * FROM orders) SELECT id FROM o ORDER BY total OFFSET 5",
		"SELECT generate_series(1, 500);",
		"(SELECT id FROM big ORDER BY id) LIMIT ALL",
		"SELECT DISTINCT id FROM big ORDER BY id FETCH FIRST 150 ROWS ONLY")
}

func (g *generator) failing() string {
	return g.pick(
		"SELECT id, 1 / (id - 3) FROM orders WHERE id < 6 ORDER BY id",
		"SELECT note::int FROM orders WHERE id = 1",
		"SELECT 'x'::date",
		"SELECT sqrt(-1)",
		"SELECT (SELECT id FROM trg_t)",
		"SELECT '{'::jsonb",
		"SELECT 99999999999::int",
		"SELECT to_char(1, 'x')::numeric")
}

func (g *generator) xml() string {
	return g.pick(
		"SELECT xpath('/r/v/text()', x)::text FROM orders WHERE id = 1",
		"SELECT xmlelement(name order, xmlattributes(id AS no), note)::text FROM orders WHERE id < 4 ORDER BY id",
		"SELECT xmlforest(id, status AS \"state of it\")::text FROM orders WHERE id = 2",
		"SELECT t.v FROM orders, XMLTABLE('/r/v' PASSING x COLUMNS v int PATH '.') AS t WHERE id = 1",
		"SELECT xmlserialize(CONTENT xmlconcat('<a/>'::xml, '<b/>') AS text), x IS DOCUMENT FROM orders WHERE id = 1")
}

func (g *generator) sample() string {
	return fmt.Sprintf("SELECT count(*) FROM %s TABLESAMPLE %s (%d) REPEATABLE (%d)", g.pick("orders", "big"), g.pick("SYSTEM", "BERNOULLI"), 20+g.IntN(70), g.IntN(100))
}
