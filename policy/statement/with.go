package statement

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// cte is a WITH query.
type cte struct {
	name  string
	node  *pg_query.CommonTableExpr
	level *scope // whose WITH it is in
	state cteState
	cols  []column
	known bool // cols may be used, though the query may not be read to its end
}

type cteState uint8

const (
	unread cteState = iota
	reading
	done
)

// with reads a WITH clause. Without RECURSIVE a query sees the ones before it;
// with it, all of them and itself.
func (a *analyzer) with(s *scope, w *pg_query.WithClause) {
	queries := make([]*cte, 0, len(w.Ctes))
	for _, n := range w.Ctes {
		c, ok := n.GetNode().(*pg_query.Node_CommonTableExpr)
		if !ok {
			a.unmapped("WITH with "+nodeName(n), int(w.Location))
			continue
		}
		a.mark(c.CommonTableExpr)
		queries = append(queries, &cte{name: c.CommonTableExpr.Ctename, node: c.CommonTableExpr, level: s})
	}
	if w.Recursive {
		s.ctes = queries
	}
	for i, c := range queries {
		a.readCTE(c)
		if !w.Recursive {
			s.ctes = queries[:i+1]
		}
	}
}

// readCTE reads a WITH query, once.
func (a *analyzer) readCTE(c *cte) {
	if c.state != unread {
		return
	}
	c.state = reading
	var cols []column
	if sel := c.node.Ctequery.GetSelectStmt(); sel != nil {
		cols = a.selectStmt(c.level, sel, func(left []column) { a.nameCTE(c, left) })
	} else {
		cols = resolveUnknown(a.query(c.level, c.node.Ctequery))
	}
	a.nameCTE(c, cols)
	c.state = done
}

// nameCTE gives the query's columns their names, types and the columns of
// SEARCH and CYCLE. Of a recursive query, this is called with the first
// branch's columns before the second is read.
func (a *analyzer) nameCTE(c *cte, cols []column) {
	out := make([]column, 0, len(cols)+3)
	for _, col := range cols {
		out = append(out, column{name: col.name, value: col.value})
	}
	out = resolveUnknown(out)
	names := a.nameParts(c.node.Aliascolnames)
	for i := range min(len(names), len(out)) {
		out[i].name = names[i]
	}
	if sc := c.node.SearchClause; sc != nil {
		a.nameParts(sc.SearchColList)
		out = append(out, column{name: sc.SearchSeqColumn})
	}
	if cc := c.node.CycleClause; cc != nil {
		a.nameParts(cc.CycleColList)
		mark := a.unify([]value{a.optional(c.level, cc.CycleMarkValue), a.optional(c.level, cc.CycleMarkDefault)})
		out = append(out, column{name: cc.CycleMarkColumn, value: mark}, column{name: cc.CyclePathColumn})
	}
	c.cols, c.known = out, true
}

// cteItem is a WITH query named in FROM.
func (a *analyzer) cteItem(c *cte, rv *pg_query.RangeVar) *item {
	a.readCTE(c)
	it := &item{name: c.name, bare: true, use: -1, cols: c.cols}
	if !c.known {
		a.fail("unresolved-relation", "42P19", c.name, int(rv.Location),
			"recursive reference to query %q must not appear within its non-recursive term", c.name)
		it.open = true
	}
	if it.cols == nil {
		it.cols = []column{}
	}
	a.alias(it, rv.Alias)
	return it
}
