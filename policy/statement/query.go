package statement

import (
	"strconv"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/pgairlock/pgairlock/policy"
)

// fieldName is what PostgreSQL calls the i-th field of an anonymous row.
func fieldName(i int) string { return "f" + strconv.Itoa(i+1) }

// subLink reads a sub-select inside an expression.
func (a *analyzer) subLink(s *scope, l *pg_query.SubLink) value {
	a.mark(l)
	pos := int(l.Location)
	var test value
	if l.Testexpr != nil {
		test = a.expr(s, l.Testexpr)
	}
	cols := a.query(s, l.Subselect)
	switch l.SubLinkType {
	case pg_query.SubLinkType_EXISTS_SUBLINK:
		return value{typ: boolOID}
	case pg_query.SubLinkType_EXPR_SUBLINK:
		if len(cols) == 1 {
			return cols[0].value
		}
		return value{typ: recordOID, row: cols} // only as the source of a multi-assignment
	case pg_query.SubLinkType_ARRAY_SUBLINK:
		if len(cols) != 1 {
			return value{}
		}
		if a.element(cols[0].typ) != 0 {
			return value{typ: cols[0].typ}
		}
		return value{typ: a.arrayOf(cols[0].typ)}
	case pg_query.SubLinkType_ANY_SUBLINK, pg_query.SubLinkType_ALL_SUBLINK:
		schema, name, ok := "", "=", true
		if len(l.OperName) > 0 {
			schema, name, ok = a.operatorName(l.OperName, pos)
		}
		if !ok {
			return value{}
		}
		if isRow(l.Testexpr) {
			a.compareRows(schema, name, test.row, cols, pos)
		} else if len(cols) == 1 {
			a.operator(schema, name, []value{test, cols[0].value}, pos)
		}
		return value{typ: boolOID}
	}
	a.unmapped(l.SubLinkType.String(), pos)
	return value{}
}

// maxNesting bounds the recursion over queries; the parser's own limits are
// far below it.
const maxNesting = 10_000

// query reads a statement that stands where a query may: a SELECT, or a
// statement with RETURNING in WITH and COPY. Its output columns come back.
func (a *analyzer) query(outer *scope, n *pg_query.Node) []column {
	if a.nesting++; a.nesting > maxNesting {
		a.unmapped("a query nested that deeply", -1)
		return nil
	}
	defer func() { a.nesting-- }()
	switch q := n.GetNode().(type) {
	case *pg_query.Node_SelectStmt:
		return a.selectStmt(outer, q.SelectStmt, nil)
	case *pg_query.Node_InsertStmt:
		return a.insert(outer, q.InsertStmt)
	case *pg_query.Node_UpdateStmt:
		return a.update(outer, q.UpdateStmt)
	case *pg_query.Node_DeleteStmt:
		return a.delete(outer, q.DeleteStmt)
	case *pg_query.Node_MergeStmt:
		return a.merge(outer, q.MergeStmt)
	}
	a.unmapped("a query made of "+nodeName(n), -1)
	return nil
}

// selectStmt reads SELECT, VALUES, TABLE and set operations. afterLeft is
// called with the first branch's columns before the second one is read: a
// recursive WITH query knows its own columns from there on.
func (a *analyzer) selectStmt(outer *scope, q *pg_query.SelectStmt, afterLeft func([]column)) []column {
	return resolveUnknown(a.selectRaw(outer, q, afterLeft))
}

// selectRaw is selectStmt that leaves unknown literals unknown: a set operation
// gives them the type of the other branch.
func (a *analyzer) selectRaw(outer *scope, q *pg_query.SelectStmt, afterLeft func([]column)) []column {
	a.mark(q)
	s := &scope{parent: outer}
	if q.WithClause != nil {
		a.with(s, q.WithClause)
	}
	if q.IntoClause != nil {
		a.into(q.IntoClause)
	}
	var cols []column
	switch {
	case len(q.ValuesLists) > 0:
		cols = a.values(s, q.ValuesLists)
		a.orderOutput(s, q.SortClause, cols)
	case q.Op == pg_query.SetOperation_SETOP_NONE || q.Op == pg_query.SetOperation_SET_OPERATION_UNDEFINED:
		cols = a.plainSelect(s, q)
	case q.Larg != nil && q.Rarg != nil:
		cols = a.setOperation(s, q, afterLeft)
		a.orderOutput(s, q.SortClause, cols)
	default:
		a.unmapped("a set operation without branches", -1)
	}
	a.limit(s, q)
	if len(q.LockingClause) > 0 {
		a.lockRows(s, q.LockingClause)
	}
	return cols
}

// plainSelect reads the clauses in the order in which the server does: the
// types of parameters depend on it.
func (a *analyzer) plainSelect(s *scope, q *pg_query.SelectStmt) []column {
	a.from(s, q.FromClause)
	cols := a.targets(s, q.TargetList)
	a.settle(a.optional(s, q.WhereClause), boolOID)
	a.settle(a.optional(s, q.HavingClause), boolOID)
	for _, n := range q.SortClause {
		a.sortBy(s, n, cols)
	}
	for _, n := range q.GroupClause {
		a.groupBy(s, n, cols)
	}
	for _, n := range q.DistinctClause {
		if n.GetNode() != nil { // plain DISTINCT is a list with nothing in it
			a.byOutputFirst(s, n, cols)
		}
	}
	for _, n := range q.WindowClause {
		w, ok := n.GetNode().(*pg_query.Node_WindowDef)
		if !ok {
			a.unmapped("WINDOW with "+nodeName(n), -1)
			continue
		}
		a.window(s, w.WindowDef)
	}
	return cols
}

// targets reads a target or RETURNING list and gives the output columns.
func (a *analyzer) targets(s *scope, list []*pg_query.Node) []column {
	out := make([]column, 0, min(len(list), maxTargets))
	for _, n := range list {
		if len(out) > maxTargets {
			break
		}
		t, ok := n.GetNode().(*pg_query.Node_ResTarget)
		if !ok || len(t.ResTarget.Indirection) > 0 {
			a.unmapped("target list with "+nodeName(n), -1)
			continue
		}
		a.mark(t.ResTarget)
		if cols, ok := a.expandStar(s, t.ResTarget.Val); ok {
			for _, c := range cols {
				c.sources = nil // what it is was judged here
				out = append(out, c)
			}
			continue
		}
		c := column{name: t.ResTarget.Name, value: a.expr(s, t.ResTarget.Val)}
		if c.name == "" {
			c.name = a.outputName(t.ResTarget.Val)
		}
		out = append(out, c)
	}
	return a.bounded(out)
}

// resolveUnknown makes the literals among a query's columns text, as the
// server does.
func resolveUnknown(cols []column) []column {
	for i := range cols {
		if cols[i].typ == unknownOID {
			cols[i].typ, cols[i].param = textOID, 0
		}
	}
	return cols
}

// values reads VALUES: column1, column2 …
func (a *analyzer) values(s *scope, lists []*pg_query.Node) []column {
	var rows [][]column
	for _, n := range lists {
		l, ok := n.GetNode().(*pg_query.Node_List)
		if !ok {
			a.unmapped("VALUES with "+nodeName(n), -1)
			continue
		}
		row := a.expandedList(s, l.List.Items)
		if len(rows) > 0 && sameTypes(row, rows[0]) {
			continue // thousands of rows are alike
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return nil
	}
	out := make([]column, len(rows[0]))
	for i := range out {
		column := make([]value, 0, len(rows))
		for _, r := range rows {
			if i < len(r) {
				column = append(column, r[i].value)
			}
		}
		out[i].name = "column" + strconv.Itoa(i+1)
		out[i].value = a.unifyValues(column)
	}
	return out
}

// unifyValues is unify that leaves a column of nothing but unknown literals
// unknown: what it becomes depends on where VALUES stands.
func (a *analyzer) unifyValues(vs []value) value {
	for _, v := range vs {
		if v.typ != unknownOID {
			return a.unify(vs)
		}
	}
	if len(vs) == 1 {
		return vs[0]
	}
	return value{typ: unknownOID}
}

func sameTypes(a, b []column) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].typ != b[i].typ || a[i].param != 0 || b[i].param != 0 {
			return false
		}
	}
	return true
}

// setOperation reads UNION, INTERSECT and EXCEPT.
func (a *analyzer) setOperation(s *scope, q *pg_query.SelectStmt, afterLeft func([]column)) []column {
	left := a.branch(s, q.Larg)
	if afterLeft != nil {
		afterLeft(left)
	}
	right := a.branch(s, q.Rarg)
	out := make([]column, len(left))
	for i := range left {
		out[i] = column{name: left[i].name, value: left[i].value}
		if i < len(right) {
			out[i].value = a.unifyValues([]value{left[i].value, right[i].value})
		}
	}
	return out
}

// branch reads one side of a set operation. A chain of them leans to the left.
func (a *analyzer) branch(s *scope, q *pg_query.SelectStmt) []column {
	if a.nesting++; a.nesting > maxNesting {
		a.unmapped("a query nested that deeply", -1)
		return nil
	}
	defer func() { a.nesting-- }()
	return a.selectRaw(s, q, nil)
}

// limit reads LIMIT and OFFSET.
func (a *analyzer) limit(s *scope, q *pg_query.SelectStmt) {
	blind := &scope{parent: s.parent, ctes: s.ctes} // columns of the query itself are not seen there
	a.settle(a.optional(blind, q.LimitOffset), int8OID)
	a.settle(a.optional(blind, q.LimitCount), int8OID)
}

// sortBy reads one element of ORDER BY. cols are the output columns that a bare
// name or a position may mean, nil where there are none (aggregates, windows).
func (a *analyzer) sortBy(s *scope, n *pg_query.Node, cols []column) value {
	sb, ok := n.GetNode().(*pg_query.Node_SortBy)
	if !ok {
		a.unmapped("ORDER BY with "+nodeName(n), -1)
		return value{}
	}
	a.mark(sb.SortBy)
	var v value
	if cols != nil {
		v = a.byOutputFirst(s, sb.SortBy.Node, cols)
	} else {
		v = a.expr(s, sb.SortBy.Node)
	}
	if len(sb.SortBy.UseOp) > 0 {
		if schema, name, ok := a.operatorName(sb.SortBy.UseOp, int(sb.SortBy.Location)); ok {
			a.operator(schema, name, []value{v, v}, int(sb.SortBy.Location))
		}
	}
	return v
}

// byOutputFirst resolves an element of ORDER BY or DISTINCT ON: a bare name is
// an output column's if there is one, an integer a position.
func (a *analyzer) byOutputFirst(s *scope, n *pg_query.Node, cols []column) value {
	if name, ref := bareRef(n); ref != nil {
		if v, ok := outputColumn(cols, name); ok {
			a.mark(ref)
			return v
		}
	}
	if v, ok := position1(n, cols); ok {
		return v
	}
	return a.expr(s, n)
}

// bareRef is the name of a reference of one part.
func bareRef(n *pg_query.Node) (string, *pg_query.ColumnRef) {
	ref, ok := n.GetNode().(*pg_query.Node_ColumnRef)
	if !ok || len(ref.ColumnRef.Fields) != 1 {
		return "", nil
	}
	name, ok := ref.ColumnRef.Fields[0].GetNode().(*pg_query.Node_String_)
	if !ok {
		return "", nil
	}
	return name.String_.Sval, ref.ColumnRef
}

func outputColumn(cols []column, name string) (value, bool) {
	for _, c := range cols {
		if c.name == name {
			return c.value, true
		}
	}
	return value{}, false
}

// position1 is an output column by its 1-based position.
func position1(n *pg_query.Node, cols []column) (value, bool) {
	c, ok := n.GetNode().(*pg_query.Node_AConst)
	if !ok {
		return value{}, false
	}
	i, ok := c.AConst.Val.(*pg_query.A_Const_Ival)
	if !ok || i.Ival.Ival < 1 || int(i.Ival.Ival) > len(cols) {
		return value{}, false
	}
	return cols[i.Ival.Ival-1].value, true
}

// groupBy resolves an element of GROUP BY: a bare name is a column of FROM if
// there is one, else an output column's.
func (a *analyzer) groupBy(s *scope, n *pg_query.Node, cols []column) {
	switch g := n.GetNode().(type) {
	case *pg_query.Node_GroupingSet:
		a.mark(g.GroupingSet)
		for _, c := range g.GroupingSet.Content {
			a.groupBy(s, c, cols)
		}
		return
	case *pg_query.Node_RowExpr: // (a, b) groups by both
		if g.RowExpr.RowFormat == pg_query.CoercionForm_COERCE_IMPLICIT_CAST {
			a.mark(g.RowExpr)
			for _, c := range g.RowExpr.Args {
				a.groupBy(s, c, cols)
			}
			return
		}
	}
	if name, ref := bareRef(n); ref != nil {
		local := &scope{items: s.items}
		if _, _, n, _ := local.columnByName(name); n == 0 {
			if _, ok := outputColumn(cols, name); ok {
				a.mark(ref)
				return
			}
		}
	}
	if _, ok := position1(n, cols); !ok {
		a.expr(s, n)
	}
}

// orderOutput reads the ORDER BY of VALUES and set operations: only output
// columns are there.
func (a *analyzer) orderOutput(s *scope, list []*pg_query.Node, cols []column) {
	if len(list) == 0 {
		return
	}
	below := &scope{parent: s, items: []*item{{cols: cols, bare: true, use: -1}}}
	for _, n := range list {
		a.sortBy(below, n, cols)
	}
}

// window reads a window definition.
func (a *analyzer) window(s *scope, w *pg_query.WindowDef) {
	a.mark(w)
	a.exprs(s, w.PartitionClause)
	for _, n := range w.OrderClause {
		a.sortBy(s, n, nil)
	}
	a.optional(s, w.StartOffset)
	a.optional(s, w.EndOffset)
}

// lockRows reads FOR UPDATE and its like.
func (a *analyzer) lockRows(s *scope, clauses []*pg_query.Node) {
	for _, n := range clauses {
		l, ok := n.GetNode().(*pg_query.Node_LockingClause)
		if !ok {
			a.unmapped("row locks with "+nodeName(n), -1)
			continue
		}
		if len(l.LockingClause.LockedRels) == 0 {
			for _, it := range s.items {
				a.lockItem(it)
			}
			continue
		}
		for _, rel := range l.LockingClause.LockedRels {
			a.lockNamed(s, rel)
		}
	}
}

func (a *analyzer) lockNamed(s *scope, n *pg_query.Node) {
	rv, ok := n.GetNode().(*pg_query.Node_RangeVar)
	if !ok {
		a.unmapped("row locks of "+nodeName(n), -1)
		return
	}
	a.mark(rv.RangeVar)
	found := false
	for _, it := range s.items {
		if it.name == rv.RangeVar.Relname {
			a.lockItem(it)
			found = true
		}
	}
	if !found {
		a.fail("unresolved-relation", "42P01", rv.RangeVar.Relname, int(rv.RangeVar.Location),
			"relation %q in FOR UPDATE clause not found in FROM clause", rv.RangeVar.Relname)
	}
}

// lockItem locks a relation, or all relations of a sub-select.
func (a *analyzer) lockItem(it *item) {
	if it.use >= 0 {
		a.f.Relations[it.use].Needs |= policy.Locking
	}
	for i := it.from; i < it.to; i++ {
		a.f.Relations[i].Needs |= policy.Locking
	}
}

// into reads SELECT INTO's and CREATE TABLE AS's target. It makes any
// statement one that defines data.
func (a *analyzer) into(i *pg_query.IntoClause) {
	a.mark(i)
	a.nameParts(i.ColNames)
	a.defElems(i.Options, nil)
	if i.Rel != nil {
		a.mark(i.Rel)
	}
	a.risk(policy.L4Irreversible)
	a.f.Kind, a.f.Tag = policy.KindDDL, "SELECT INTO"
}
