package bypass

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// generator writes honest SQL over the tables that policy.yaml allows. The same
// seed writes the same SQL.
type generator struct {
	*rand.Rand
	scope []table // what the expressions may refer to
}

// table is a relation under an alias, with its columns by type.
type table struct {
	relation, alias string
	columns         map[string][]string
}

var relations = map[string]map[string][]string{
	"orders": {"int": {"id", "customer_id"}, "numeric": {"total"}, "text": {"status", "note"}, "time": {"update_at"},
		"bool": {`"delete"`}, "array": {"tags"}, "json": {"doc"}},
	"customers":  {"int": {"id"}, "text": {"name", "email"}},
	"events":     {"int": {"id"}, "text": {"payload"}, "date": {"at"}},
	"inv_parent": {"int": {"id"}, "text": {"v"}},
	"trg_t":      {"int": {"id", "v"}},
	"big":        {"int": {"id"}, "text": {"t"}},
}

// aliases are names that stumble over quoting, case, keywords and encodings.
var aliases = []string{"o", "t", `"O"`, `"select"`, `"a b"`, `"naïve"`, "漢字", `"x""y"`, "update_at", `"drop"`, "truncate", `"; --"`, "überschrift", "_1", `"pg_catalog"`}

var strange = []string{"'it''s'", "'DROP TABLE orders; --'", "$q$ ; DELETE FROM orders $q$", `E'a\\b\'c'`, "'/* no */'", "'漢字 🙂'",
	"''", "U&'d\\0061t\\+000061'", "'%_'", "'a' \n 'b'", "'SSN'", "'null'"}

// pick is one of the choices.
func (g *generator) pick(choices ...string) string { return choices[g.IntN(len(choices))] }

// from brings relations into scope under aliases of their own and returns them.
func (g *generator) from(names ...string) []table {
	g.scope = nil
	order := g.Perm(len(aliases))
	for i, name := range names {
		g.scope = append(g.scope, table{name, aliases[order[i]], relations[name]})
	}
	return g.scope
}

// column is a column of a type that is in scope, "" if there is none.
func (g *generator) column(kind string) string {
	var all []string
	for _, t := range g.scope {
		for _, c := range t.columns[kind] {
			all = append(all, t.alias+"."+c)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return g.pick(all...)
}

// leaf is a column of the type or, now and then, a literal.
func (g *generator) leaf(kind string, literals ...string) string {
	if c := g.column(kind); c != "" && g.IntN(4) > 0 {
		return c
	}
	return g.pick(literals...)
}

func (g *generator) number(depth int) string {
	if depth == 0 {
		return g.leaf("int", "1", "0", "42", "-7", "1000")
	}
	n, d := g.number, depth-1
	switch g.IntN(14) {
	case 0:
		return fmt.Sprintf("(%s %s %s)", n(d), g.pick("+", "-"), n(d))
	case 1:
		return fmt.Sprintf("(%s %% 10) * %d", n(d), g.IntN(9))
	case 2:
		return fmt.Sprintf("length(%s)", g.text(d))
	case 3:
		return fmt.Sprintf("extract(%s FROM %s)::int", g.pick("day", "month", "year", "dow"), g.time(d))
	case 4:
		return fmt.Sprintf("coalesce(%s, %s, 0)", n(d), n(d))
	case 5:
		return fmt.Sprintf("CASE WHEN %s THEN %s ELSE %s END", g.condition(d), n(d), n(d))
	case 6:
		return fmt.Sprintf("%s(%s, %s)", g.pick("greatest", "least"), n(d), n(d))
	case 7:
		return fmt.Sprintf("abs(%s)", n(d))
	case 8:
		return fmt.Sprintf("nullif(%s, %s)", n(d), n(d))
	case 9:
		return fmt.Sprintf("position(%s IN %s)", g.pick("'a'", "'e'"), g.text(d))
	case 10:
		return fmt.Sprintf("(SELECT count(*)::int FROM trg_t sub WHERE sub.id <= %s)", n(d))
	case 11:
		return fmt.Sprintf("(%s::numeric / 3)::int", n(d))
	case 12:
		return fmt.Sprintf("cardinality(string_to_array(%s, 'o'))", g.text(d))
	}
	return fmt.Sprintf("ascii(%s)", g.text(d))
}

func (g *generator) decimal(depth int) string {
	if depth == 0 {
		return g.leaf("numeric", "1.5", "0.01", "1e3", "-2.25")
	}
	d := depth - 1
	switch g.IntN(6) {
	case 0:
		return fmt.Sprintf("round(%s, 2)", g.decimal(d))
	case 1:
		return fmt.Sprintf("%s * 1.19", g.decimal(d))
	case 2:
		return fmt.Sprintf("%s::numeric(12,3)", g.number(d))
	case 3:
		return fmt.Sprintf("%s(%s)", g.pick("ceil", "floor", "trunc", "sign"), g.decimal(d))
	case 4:
		return fmt.Sprintf("coalesce(%s, 0)", g.decimal(d))
	}
	return fmt.Sprintf("(%s - %s)", g.decimal(d), g.number(d))
}

func (g *generator) text(depth int) string {
	if depth == 0 {
		return g.leaf("text", strange...)
	}
	s, d := g.text, depth-1
	switch g.IntN(18) {
	case 0:
		return fmt.Sprintf("%s(%s)", g.pick("upper", "lower", "initcap", "reverse", "btrim", "md5"), s(d))
	case 1:
		return fmt.Sprintf("%s || %s", s(d), s(d))
	case 2:
		return fmt.Sprintf("substr(%s, 1, %d)", s(d), 1+g.IntN(9))
	case 3:
		return fmt.Sprintf("%s(%s, %d)", g.pick("left", "right"), s(d), g.IntN(5))
	case 4:
		return fmt.Sprintf("lpad(%s, 12, '.')", s(d))
	case 5:
		return fmt.Sprintf("replace(%s, 'o', '0')", s(d))
	case 6:
		return fmt.Sprintf("format('%%s/%%s', %s, %s)", s(d), g.number(d))
	case 7:
		return fmt.Sprintf("to_char(%s, %s)", g.time(d), g.pick("'YYYY-MM-DD'", "'Day DD Mon HH24:MI'", `'IYYY-"W"IW'`))
	case 8:
		return fmt.Sprintf("to_char(%s, 'FM999999990.00')", g.decimal(d))
	case 9:
		return fmt.Sprintf("concat_ws(', ', %s, NULL, %s)", s(d), s(d))
	case 10:
		return fmt.Sprintf("coalesce(%s, '-')", s(d))
	case 11:
		return fmt.Sprintf("(%s)::text", g.number(d))
	case 12:
		return fmt.Sprintf("split_part(%s, ' ', 1)", s(d))
	case 13:
		return fmt.Sprintf("regexp_replace(%s, '[0-9]+', '#', 'g')", s(d))
	case 14:
		return fmt.Sprintf("overlay(%s placing 'xx' from 2 for 1)", s(d))
	case 15:
		return fmt.Sprintf("substring(%s from 2 for 3)", s(d))
	case 16:
		return fmt.Sprintf("trim(both ' ' from %s) COLLATE \"C\"", s(d))
	}
	return fmt.Sprintf("array_to_string(%s, '+')", g.array(d))
}

func (g *generator) array(depth int) string {
	if c := g.column("array"); c != "" && g.IntN(2) == 0 {
		return c
	}
	if depth == 0 {
		return g.pick("ARRAY['a','c']", "'{x,y}'::text[]", "array[]::text[]")
	}
	return fmt.Sprintf("ARRAY[%s, %s]", g.text(depth-1), g.text(depth-1))
}

func (g *generator) time(depth int) string {
	if depth == 0 {
		return g.leaf("time", "timestamptz '2026-02-03 04:05:06+00'", "'2026-01-31'::date::timestamptz", "make_timestamptz(2026,1,2,3,4,5,'UTC')")
	}
	d := depth - 1
	switch g.IntN(5) {
	case 0:
		return fmt.Sprintf("date_trunc('%s', %s)", g.pick("day", "month", "hour"), g.time(d))
	case 1:
		return fmt.Sprintf("(%s + interval '%s')", g.time(d), g.pick("1 day", "-2 hours", "1 month 3 days"))
	case 2:
		return fmt.Sprintf("((%s) AT TIME ZONE 'Europe/Berlin') AT TIME ZONE 'UTC'", g.time(d))
	case 3:
		return fmt.Sprintf("to_timestamp(%s)", g.number(0))
	}
	return fmt.Sprintf("greatest(%s, %s)", g.time(d), g.time(d))
}

func (g *generator) json(depth int) string {
	if depth == 0 {
		return g.leaf("json", `'{"a":[1,2],"b":null}'::jsonb`, "jsonb_build_object('k', 1)")
	}
	d := depth - 1
	switch g.IntN(7) {
	case 0:
		return fmt.Sprintf("%s -> 'a'", g.json(d))
	case 1:
		return fmt.Sprintf("jsonb_build_object('delete', %s, 'v', %s)", g.number(d), g.text(d))
	case 2:
		return fmt.Sprintf("(%s || '{\"z\":1}')", g.json(0))
	case 3:
		return fmt.Sprintf("to_jsonb(%s)", g.text(d))
	case 4:
		return fmt.Sprintf("jsonb_build_array(%s, %s)", g.number(d), g.text(d))
	case 5:
		return fmt.Sprintf("jsonb_path_query_first(%s, '$.a[0]')", g.json(0))
	}
	return fmt.Sprintf("jsonb_strip_nulls(%s #> '{a,0}')", g.json(0))
}

func (g *generator) condition(depth int) string {
	if depth == 0 {
		return g.leaf("bool", "true", "1 < 2")
	}
	d := depth - 1
	switch g.IntN(16) {
	case 0:
		return fmt.Sprintf("%s %s %s", g.number(d), g.pick("<", "<=", "=", ">=", ">", "<>", "!="), g.number(d))
	case 1:
		return fmt.Sprintf("(%s %s %s)", g.condition(d), g.pick("AND", "OR"), g.condition(d))
	case 2:
		return fmt.Sprintf("NOT (%s)", g.condition(d))
	case 3:
		return fmt.Sprintf("%s %s (1, 2, %s)", g.number(d), g.pick("IN", "NOT IN"), g.number(d))
	case 4:
		return fmt.Sprintf("%s BETWEEN %s 1 AND 200", g.number(d), g.pick("", "SYMMETRIC"))
	case 5:
		return fmt.Sprintf("%s %s '%%%s%%'", g.text(d), g.pick("LIKE", "ILIKE", "NOT LIKE"), g.pick("1", "o", "C"))
	case 6:
		return fmt.Sprintf("%s %s '^.*[0-9]$'", g.text(d), g.pick("~", "~*", "!~"))
	case 7:
		return fmt.Sprintf("%s IS %s", g.text(d), g.pick("NULL", "NOT NULL"))
	case 8:
		return fmt.Sprintf("%s IS %s DISTINCT FROM %s", g.number(d), g.pick("", "NOT"), g.number(d))
	case 9:
		return fmt.Sprintf("EXISTS (SELECT FROM events ev WHERE ev.id < %s)", g.number(d))
	case 10:
		return fmt.Sprintf("%s = ANY (%s)", g.text(d), g.array(d))
	case 11:
		return fmt.Sprintf("%s @> '{\"a\":[1]}'", g.json(0))
	case 12:
		return fmt.Sprintf("%s %s %s", g.array(d), g.pick("&&", "@>", "<@"), g.array(d))
	case 13:
		return fmt.Sprintf("(%s, %s) %s (%s, %s)", g.number(d), g.text(d), g.pick("=", "<", "IS DISTINCT FROM"), g.number(d), g.text(d))
	case 14:
		return fmt.Sprintf("(%s) IS %s", g.condition(d), g.pick("TRUE", "NOT FALSE", "NOT UNKNOWN"))
	}
	return fmt.Sprintf("%s IN (SELECT c.id FROM customers c WHERE %s)", g.number(d), g.pick("true", "c.name > 'cust5'", "c.email LIKE 'c1%'"))
}

// output is a select list under strange names.
func (g *generator) output(depth int) string {
	kinds := []func(int) string{g.number, g.decimal, g.text, g.time, g.json, g.condition, g.array}
	var items []string
	for range 1 + g.IntN(4) {
		item := kinds[g.IntN(len(kinds))](depth)
		if g.IntN(2) == 0 {
			item += " AS " + g.pick(aliases...)
		}
		items = append(items, item)
	}
	return strings.Join(items, ", ")
}
