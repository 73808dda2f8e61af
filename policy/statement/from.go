package statement

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/policy/catalog"
)

// from reads a FROM list: its items become the scope's.
func (a *analyzer) from(s *scope, list []*pg_query.Node) {
	s.inFrom = true
	for _, n := range list {
		s.items = append(s.items, a.fromItem(s, n)...)
		if len(s.items) > maxItems {
			break
		}
	}
	s.items = a.boundedItems(s.items)
	s.inFrom = false
}

// fromItem reads one item of FROM. While it is read, the scope's items are
// those that a LATERAL item may see. A join gives the items of both sides.
func (a *analyzer) fromItem(s *scope, n *pg_query.Node) []*item {
	switch f := n.GetNode().(type) {
	case *pg_query.Node_RangeVar:
		return []*item{a.rangeVar(s, f.RangeVar)}
	case *pg_query.Node_JoinExpr:
		return a.join(s, f.JoinExpr)
	case *pg_query.Node_RangeSubselect:
		return []*item{a.rangeSubselect(s, f.RangeSubselect)}
	case *pg_query.Node_RangeFunction:
		return []*item{a.rangeFunction(s, f.RangeFunction)}
	case *pg_query.Node_RangeTableFunc:
		return []*item{a.xmlTable(s, f.RangeTableFunc)}
	case *pg_query.Node_JsonTable:
		return []*item{a.jsonTable(s, f.JsonTable)}
	case *pg_query.Node_RangeTableSample:
		return a.tableSample(s, f.RangeTableSample)
	}
	a.unmapped("FROM with "+nodeName(n), -1)
	return nil
}

// rangeVar is a relation or WITH query named in FROM.
func (a *analyzer) rangeVar(s *scope, rv *pg_query.RangeVar) *item {
	if rv.Schemaname == "" && rv.Catalogname == "" {
		if c := s.cte(rv.Relname); c != nil {
			a.mark(rv)
			return a.cteItem(c, rv)
		}
	}
	return a.baseItem(rv, policy.Read)
}

// baseItem is a relation of the catalog, never a WITH query: what is needed of
// it is recorded.
func (a *analyzer) baseItem(rv *pg_query.RangeVar, needs policy.Privilege) *item {
	a.mark(rv)
	it := &item{name: rv.Relname, bare: true, use: -1}
	rel := a.relation(rv)
	if rel == nil {
		it.open = true
	} else {
		it.relation, it.rowType = rel, rel.RowType
		it.use = len(a.f.Relations)
		a.f.Relations = append(a.f.Relations, policy.RelationUse{Relation: rel, Needs: needs, Pos: int(rv.Location)})
	}
	a.alias(it, rv.Alias)
	return it
}

// relation resolves a relation's name; nil if a Problem was reported.
func (a *analyzer) relation(rv *pg_query.RangeVar) *catalog.Relation {
	pos := int(rv.Location)
	if rv.Catalogname != "" && rv.Catalogname != a.cat.Data().Database {
		a.crossDatabase([]string{rv.Catalogname, rv.Schemaname, rv.Relname}, pos)
		return nil
	}
	name := rv.Relname
	if rv.Schemaname != "" {
		name = rv.Schemaname + "." + rv.Relname
		if rel := a.cat.Relation(rv.Schemaname, rv.Relname); rel != nil {
			return rel
		}
	} else if rel := a.findRelation(rv.Relname); rel != nil {
		return rel
	}
	a.fail("unresolved-relation", "42P01", name, pos, "relation %q does not exist", name)
	return nil
}

// findRelation looks an unqualified relation up. Temporary ones come first,
// whatever the search path says.
func (a *analyzer) findRelation(name string) *catalog.Relation {
	if rel := a.cat.Relation("pg_temp", name); rel != nil {
		return rel
	}
	for _, s := range a.path {
		if rel := a.cat.Relation(s, name); rel != nil {
			return rel
		}
	}
	return nil
}

// alias lays an alias over an item.
func (a *analyzer) alias(it *item, al *pg_query.Alias) {
	if al == nil {
		return
	}
	it.name, it.aliased = al.Aliasname, true
	if names := a.nameParts(al.Colnames); !it.rename(names) {
		a.fail("syntax", "42P10", it.name, -1, "table %q has %d columns available but %d columns specified", it.name, len(it.columns()), len(names))
	}
}

// rangeSubselect is a sub-select in FROM.
func (a *analyzer) rangeSubselect(s *scope, r *pg_query.RangeSubselect) *item {
	a.mark(r)
	if r.Alias == nil {
		a.skew("a sub-select in FROM without an alias", 160000, -1)
	}
	it := &item{bare: true, use: -1, from: len(a.f.Relations)}
	it.cols = a.lateralQuery(s, r.Subquery, r.Lateral)
	it.to = len(a.f.Relations)
	if it.cols == nil {
		it.cols = []column{}
	}
	a.alias(it, r.Alias)
	return it
}

// lateralQuery reads a sub-select that sees the items before it only if it is
// LATERAL.
func (a *analyzer) lateralQuery(s *scope, n *pg_query.Node, lateral bool) []column {
	defer func(before bool) { s.lateral = before }(s.lateral)
	s.lateral = lateral
	return a.query(s, n)
}

// join reads a join. Its items are those of both sides, or a single one if it
// has an alias.
func (a *analyzer) join(s *scope, j *pg_query.JoinExpr) []*item {
	a.mark(j)
	outside := s.items
	left := a.fromItem(s, j.Larg)
	s.items = slices.Concat(outside, left) // the right side may refer to the left by LATERAL
	right := a.fromItem(s, j.Rarg)

	merged := a.mergedColumns(j, left, right)
	s.items, s.inFrom = slices.Concat(left, right), false // ON sees both sides and nothing beside them
	a.settle(a.optional(s, j.Quals), boolOID)
	s.items, s.inFrom = outside, true

	items := make([]*item, 0, len(left)+len(right)+2)
	if len(merged) > 0 {
		hide(left, merged)
		hide(right, merged)
		items = append(items, &item{cols: merged, bare: true, use: -1})
	}
	items = a.boundedItems(append(append(items, left...), right...))
	for _, it := range items {
		it.joined = true
	}
	if j.Alias != nil {
		return []*item{a.joinAlias(j, items)}
	}
	if j.JoinUsingAlias != nil { // names the merged columns only
		items = append(items, &item{name: j.JoinUsingAlias.Aliasname, aliased: true, cols: merged, use: -1})
	}
	return items
}

// joinAlias makes a join with an alias one item: what is in it is hidden.
func (a *analyzer) joinAlias(j *pg_query.JoinExpr, items []*item) *item {
	out := &item{bare: true, use: -1, cols: []column{}}
	for _, it := range items {
		if it.bare {
			out.cols = append(out.cols, it.shown()...)
		}
		out.cols = a.boundedJoin(out.cols)
		out.open = out.open || it.open
	}
	a.alias(out, j.Alias)
	return out
}

// hide takes merged columns out of what bare names see in the items.
func hide(items []*item, merged []column) {
	for _, it := range items {
		for _, c := range merged {
			if !slices.Contains(it.hidden, c.name) {
				it.hidden = append(it.hidden, c.name)
			}
		}
	}
}

// mergedColumns are the columns that USING or NATURAL merges: both sides'
// columns are read and compared.
func (a *analyzer) mergedColumns(j *pg_query.JoinExpr, left, right []*item) []column {
	names := a.nameParts(j.UsingClause)
	if j.IsNatural {
		names = commonNames(left, right)
	}
	var out []column
	for _, name := range names {
		l, okL := a.joinColumn(left, name, "left")
		if !okL {
			continue
		}
		r, okR := a.joinColumn(right, name, "right")
		if !okR {
			continue
		}
		a.readColumn(l, policy.ByJoin, -1)
		a.readColumn(r, policy.ByJoin, -1)
		a.operator("", "=", []value{l.value, r.value}, -1)
		c := column{name: name, sources: slices.Concat(l.sources, r.sources)}
		c.typ, _ = a.common([]catalog.OID{l.typ, r.typ})
		out = append(out, c)
	}
	return out
}

// joinColumn finds a column of one side of a join by its bare name.
func (a *analyzer) joinColumn(items []*item, name, side string) (column, bool) {
	sc := &scope{items: items}
	c, _, n, system := sc.columnByName(name)
	switch {
	case n == 1 && !system:
		return c, true
	case n > 1:
		a.fail("ambiguous-column", "42702", name, -1, "common column name %q appears more than once in %s table", name, side)
	default:
		a.fail("unresolved-column", "42703", name, -1, "column %q specified in USING clause does not exist in %s table", name, side)
	}
	return column{}, false
}

// commonNames are the columns that both sides show, in the left's order.
func commonNames(left, right []*item) []string {
	there := make(map[string]bool)
	for _, it := range right {
		if it.bare {
			for _, c := range it.shown() {
				there[c.name] = true
			}
		}
	}
	var out []string
	for _, it := range left {
		if !it.bare {
			continue
		}
		for _, c := range it.shown() {
			if there[c.name] {
				out = append(out, c.name)
				delete(there, c.name)
			}
		}
	}
	return out
}

// tableSample is TABLESAMPLE method(args): the method is a function.
func (a *analyzer) tableSample(s *scope, t *pg_query.RangeTableSample) []*item {
	a.mark(t)
	items := a.fromItem(s, t.Relation)
	a.exprs(s, t.Args)
	a.optional(s, t.Repeatable)
	pos := int(t.Location)
	parts := a.nameParts(t.Method)
	if len(parts) == 0 {
		return items
	}
	schema, name, ok := a.qualified(parts, pos)
	if !ok {
		return items
	}
	c := call{schema: schema, name: name, in: []catalog.OID{internalOID}, pos: pos}
	if cands := a.functionCandidates(&c); len(cands) > 0 {
		if m, ok := exact(c.in, cands); ok {
			a.useFunctions(name, []*catalog.Function{m.fn}, "sample", pos)
			return items
		}
	}
	a.fail("unresolved-function", "42704", name, pos, "tablesample method %s does not exist", name)
	return items
}
