package statement

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/pgairlock/pgairlock/policy"
)

// insert reads an INSERT; the columns of its RETURNING come back.
func (a *analyzer) insert(outer *scope, i *pg_query.InsertStmt) []column {
	a.mark(i)
	a.command(policy.Insert)
	a.risk(policy.L1Append)
	s := &scope{parent: outer}
	if i.WithClause != nil {
		a.with(s, i.WithClause)
	}
	target := a.baseItem(i.Relation, policy.Insertion)
	var source []column
	if i.SelectStmt != nil {
		source = a.insertSource(s, i.SelectStmt)
	}
	cols := a.insertColumns(s, target, i.Cols, len(source))
	a.assignAll(source, cols)
	if i.OnConflictClause != nil {
		a.onConflict(s, i.OnConflictClause, target)
	}
	s.items = []*item{target}
	return a.returning(s, i.ReturningList, target)
}

// insertSource reads the query of an INSERT; literals in it become what the
// target's columns are.
func (a *analyzer) insertSource(s *scope, n *pg_query.Node) []column {
	if sel := n.GetSelectStmt(); sel != nil {
		return a.selectRaw(s, sel, nil)
	}
	return a.query(s, n)
}

// insertColumns records the columns that an INSERT fills: those of its list,
// or as many as it has values.
func (a *analyzer) insertColumns(s *scope, target *item, list []*pg_query.Node, values int) []column {
	if len(list) > 0 {
		return a.assigned(s, target, list, policy.Insertion)
	}
	if target.relation == nil {
		return nil
	}
	all := (&item{relation: target.relation, use: target.use}).columns()
	all = all[:min(values, len(all))]
	for _, c := range all {
		a.useColumn(c.sources[0], policy.Insertion, policy.ByName, -1)
	}
	return all
}

// assigned reads the targets of an assignment list and their values.
func (a *analyzer) assigned(s *scope, target *item, list []*pg_query.Node, needs policy.Privilege) []column {
	out := make([]column, 0, len(list))
	for _, n := range list {
		r, ok := n.GetNode().(*pg_query.Node_ResTarget)
		if !ok {
			a.unmapped("an assignment to "+nodeName(n), -1)
			continue
		}
		out = append(out, a.assignedColumn(s, target, r.ResTarget, needs))
	}
	return out
}

func (a *analyzer) assignedColumn(s *scope, target *item, r *pg_query.ResTarget, needs policy.Privilege) column {
	a.mark(r)
	pos := int(r.Location)
	var c column
	if target.relation != nil {
		col, ok := target.relation.Column(r.Name)
		if !ok {
			a.fail("unresolved-column", "42703", r.Name, pos, "column %q of relation %q does not exist", r.Name, target.relation.Name)
		} else {
			c = target.baseColumn(col)
			a.useColumn(c.sources[0], needs, policy.ByName, pos)
		}
	}
	whole := true
	for _, step := range r.Indirection { // col.field or col[1]: their names are of the column's type
		switch st := step.GetNode().(type) {
		case *pg_query.Node_String_:
			whole = false
		case *pg_query.Node_AIndices:
			whole = false
			a.optional(s, st.AIndices.Lidx)
			a.optional(s, st.AIndices.Uidx)
		default:
			a.unmapped("an assignment to "+nodeName(step), pos)
		}
	}
	if r.Val != nil {
		v := a.expr(s, r.Val)
		if m := r.Val.GetMultiAssignRef(); m != nil {
			v = value{}
		}
		if whole && c.typ != anything {
			a.settle(v, c.typ)
			a.coerce(v, c.typ, assignment)
		}
	}
	return c
}

// onConflict reads ON CONFLICT: the columns of the index it infers, and what
// DO UPDATE sets. The row that was to be inserted is called excluded.
func (a *analyzer) onConflict(s *scope, c *pg_query.OnConflictClause, target *item) {
	a.mark(c)
	s.items = []*item{target}
	if c.Infer != nil {
		a.mark(c.Infer)
		for _, n := range c.Infer.IndexElems {
			a.indexElem(s, target, n)
		}
		a.settle(a.optional(s, c.Infer.WhereClause), boolOID)
		if c.Infer.Conname != "" { // which columns a constraint has is not known here: it could be any
			a.readColumns(target.columns(), policy.ByName, int(c.Infer.Location))
		}
	}
	if c.Action != pg_query.OnConflictAction_ONCONFLICT_UPDATE {
		return
	}
	a.risk(policy.L2Modify)
	if target.use >= 0 {
		a.f.Relations[target.use].Needs |= policy.Updating
	}
	s.items = []*item{target, excluded(target)}
	a.assigned(s, target, c.TargetList, policy.Updating)
	a.settle(a.optional(s, c.WhereClause), boolOID)
}

// excluded is the row that was to be inserted. The server asks for the right
// to read the columns of the table that are named through it.
func excluded(target *item) *item {
	it := *target
	it.name, it.aliased, it.bare = "excluded", true, false
	return &it
}

// indexElem reads an element of ON CONFLICT (…).
func (a *analyzer) indexElem(s *scope, target *item, n *pg_query.Node) {
	e, ok := n.GetNode().(*pg_query.Node_IndexElem)
	if !ok {
		a.unmapped("ON CONFLICT with "+nodeName(n), -1)
		return
	}
	a.mark(e.IndexElem)
	a.nameParts(e.IndexElem.Collation)
	a.nameParts(e.IndexElem.Opclass)
	a.optional(s, e.IndexElem.Expr)
	if e.IndexElem.Name == "" || target.relation == nil {
		return
	}
	col, ok := target.relation.Column(e.IndexElem.Name)
	if !ok {
		a.fail("unresolved-column", "42703", e.IndexElem.Name, -1, "column %q does not exist", e.IndexElem.Name)
		return
	}
	a.readColumn(target.baseColumn(col), policy.ByName, -1)
}

// returning reads RETURNING. From 18 on, old and new are the row before and
// after, unless the statement uses the names itself.
func (a *analyzer) returning(s *scope, list []*pg_query.Node, target *item) []column {
	if len(list) == 0 {
		return nil
	}
	if a.cat.ServerVersion() >= 180000 {
		below := &scope{items: s.items, parent: s.parent, ctes: s.ctes}
		for _, name := range [2]string{"old", "new"} {
			if it, _, _ := (&scope{items: s.items}).itemByName(name); it == nil {
				row := *target
				row.name, row.aliased, row.bare = name, true, false
				below.items = append(below.items[:len(below.items):len(below.items)], &row)
			}
		}
		s = below
	}
	return a.targets(s, list)
}

// update reads an UPDATE.
func (a *analyzer) update(outer *scope, u *pg_query.UpdateStmt) []column {
	a.mark(u)
	a.command(policy.Update)
	a.risk(policy.L2Modify)
	s := &scope{parent: outer}
	if u.WithClause != nil {
		a.with(s, u.WithClause)
	}
	target := a.baseItem(u.Relation, policy.Updating)
	a.fromBeside(s, target, u.FromClause)
	a.assigned(s, target, u.TargetList, policy.Updating)
	a.where(s, u.WhereClause)
	return a.returning(s, u.ReturningList, target)
}

// delete reads a DELETE.
func (a *analyzer) delete(outer *scope, d *pg_query.DeleteStmt) []column {
	a.mark(d)
	a.command(policy.Delete)
	a.risk(policy.L4Irreversible)
	s := &scope{parent: outer}
	if d.WithClause != nil {
		a.with(s, d.WithClause)
	}
	target := a.baseItem(d.Relation, policy.Deletion)
	a.fromBeside(s, target, d.UsingClause)
	a.where(s, d.WhereClause)
	return a.returning(s, d.ReturningList, target)
}

// fromBeside reads the FROM or USING of an UPDATE or DELETE; the target is an
// item beside its items, which LATERAL ones see too.
func (a *analyzer) fromBeside(s *scope, target *item, list []*pg_query.Node) {
	s.items = []*item{target}
	a.from(s, list)
}

// where reads the condition of an UPDATE or DELETE. One that refers to no
// column of the statement selects all rows or none: that is no condition.
func (a *analyzer) where(s *scope, cond *pg_query.Node) {
	before := s.refs
	a.settle(a.optional(s, cond), boolOID)
	if cond == nil || s.refs == before {
		a.f.WithoutWhere = true
		a.risk(policy.L3Critical)
	}
}

// merge reads a MERGE.
func (a *analyzer) merge(outer *scope, m *pg_query.MergeStmt) []column {
	a.mark(m)
	a.skew("MERGE", 150000, -1)
	a.command(policy.Merge)
	a.risk(policy.L2Modify)
	s := &scope{parent: outer}
	if m.WithClause != nil {
		a.with(s, m.WithClause)
	}
	target := a.baseItem(m.Relation, 0)
	s.inFrom = true
	source := a.fromItem(s, m.SourceRelation)
	s.inFrom = false
	both := append([]*item{target}, source...)
	s.items = both
	a.settle(a.optional(s, m.JoinCondition), boolOID)
	for _, n := range m.MergeWhenClauses {
		w, ok := n.GetNode().(*pg_query.Node_MergeWhenClause)
		if !ok {
			a.unmapped("MERGE with "+nodeName(n), -1)
			continue
		}
		a.mergeWhen(s, w.MergeWhenClause, target, source)
	}
	s.items = both
	if len(m.ReturningList) > 0 {
		a.skew("MERGE with RETURNING", 170000, -1)
	}
	return a.returning(s, m.ReturningList, target)
}

// mergeWhen reads one WHEN of a MERGE. It sees the rows that there are in its
// case.
func (a *analyzer) mergeWhen(s *scope, w *pg_query.MergeWhenClause, target *item, source []*item) {
	a.mark(w)
	switch w.MatchKind {
	case pg_query.MergeMatchKind_MERGE_WHEN_MATCHED:
		s.items = append([]*item{target}, source...)
	case pg_query.MergeMatchKind_MERGE_WHEN_NOT_MATCHED_BY_SOURCE:
		a.skew("WHEN NOT MATCHED BY SOURCE", 170000, -1)
		s.items = []*item{target}
	default:
		s.items = source
	}
	a.settle(a.optional(s, w.Condition), boolOID)
	need := func(p policy.Privilege) {
		if target.use >= 0 {
			a.f.Relations[target.use].Needs |= p
		}
	}
	switch w.CommandType {
	case pg_query.CmdType_CMD_INSERT:
		need(policy.Insertion)
		values := a.expandedList(s, w.Values)
		cols := a.insertColumns(s, target, w.TargetList, len(values))
		a.assignAll(values, cols)
	case pg_query.CmdType_CMD_UPDATE:
		need(policy.Updating)
		a.assigned(s, target, w.TargetList, policy.Updating)
	case pg_query.CmdType_CMD_DELETE:
		need(policy.Deletion)
		a.risk(policy.L4Irreversible)
	case pg_query.CmdType_CMD_NOTHING:
	default:
		a.unmapped("MERGE with "+w.CommandType.String(), -1)
	}
}

// assignAll records the conversions of values to columns.
func (a *analyzer) assignAll(values, cols []column) {
	for i := range min(len(values), len(cols)) {
		t := cols[i].typ
		a.settle(values[i].value, t)
		a.coerce(values[i].value, t, assignment)
	}
}
