package statement

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// rangeFunction is a function, or ROWS FROM (…), in FROM. Its arguments may
// refer to the items before it without LATERAL.
func (a *analyzer) rangeFunction(s *scope, r *pg_query.RangeFunction) *item {
	a.mark(r)
	defer func(before bool) { s.lateral = before }(s.lateral)
	s.lateral = true
	it := &item{bare: true, use: -1, cols: []column{}}
	calls := make([]fromCall, 0, len(r.Functions))
	for _, n := range r.Functions {
		calls = append(calls, a.fromCalls(s, n)...)
	}
	if len(r.Coldeflist) > 0 && len(calls) == 1 {
		calls[0].defined = a.columnDefs(r.Coldeflist)
	}
	for _, c := range calls {
		cols, scalar := a.fromColumns(c, r.Alias, len(calls))
		it.cols = append(it.cols, cols...)
		it.scalar = scalar && len(calls) == 1 && !r.Ordinality
		if len(calls) == 1 && !scalar && !r.Ordinality && a.composite(c.typ) {
			it.rowType = a.base(c.typ)
		}
	}
	if len(calls) > 0 {
		it.name = calls[0].name
	}
	if r.Ordinality {
		it.cols = append(it.cols, column{name: "ordinality", value: value{typ: int8OID}})
	}
	a.alias(it, r.Alias)
	return it
}

// fromCall is one function of FROM, its call resolved.
type fromCall struct {
	outcome
	name    string
	defined []column // a column definition list
}

// fromCalls reads one entry of a function list: the call and its column
// definitions. unnest with several arrays stands for several calls.
func (a *analyzer) fromCalls(s *scope, n *pg_query.Node) []fromCall {
	l, ok := n.GetNode().(*pg_query.Node_List)
	if !ok || len(l.List.Items) == 0 {
		a.unmapped("a function list with "+nodeName(n), -1)
		return nil
	}
	var defined []column
	for _, extra := range l.List.Items[1:] {
		switch d := extra.GetNode().(type) {
		case nil:
		case *pg_query.Node_List:
			defined = append(defined, a.columnDefs(d.List.Items)...)
		default:
			a.unmapped("a function list with "+nodeName(extra), -1)
		}
	}
	first := l.List.Items[0]
	f, ok := first.GetNode().(*pg_query.Node_FuncCall)
	if !ok { // CURRENT_DATE and its like
		return []fromCall{{outcome: outcome{value: a.expr(s, first)}, name: a.outputName(first), defined: defined}}
	}
	if len(f.FuncCall.Args) > 1 && isUnnest(f.FuncCall) && len(f.FuncCall.AggOrder) == 0 {
		return a.unnestMany(s, f.FuncCall)
	}
	out := a.invoke(s, f.FuncCall, 0)
	name, _ := lastName(f.FuncCall.Funcname)
	return []fromCall{{outcome: out, name: name, defined: defined}}
}

func isUnnest(f *pg_query.FuncCall) bool {
	return len(f.Funcname) == 1 && f.Funcname[0].GetString_().GetSval() == "unnest" && !f.FuncVariadic
}

// unnestMany is unnest(a, b …) in FROM: one unnest for each array.
func (a *analyzer) unnestMany(s *scope, f *pg_query.FuncCall) []fromCall {
	a.mark(f)
	out := make([]fromCall, 0, len(f.Args))
	for _, arg := range f.Args {
		one := &pg_query.FuncCall{Funcname: f.Funcname, Args: []*pg_query.Node{arg}, Funcformat: f.Funcformat, Location: f.Location}
		out = append(out, fromCall{outcome: a.invoke(s, one, 0), name: "unnest"})
	}
	return out
}

// fromColumns are the columns a function's result has in FROM. A scalar
// result has one, named after its OUT parameter, the alias or the function.
func (a *analyzer) fromColumns(c fromCall, alias *pg_query.Alias, calls int) (cols []column, scalar bool) {
	if c.defined != nil {
		return c.defined, false
	}
	if len(c.columns) > 1 {
		return slices.Clone(c.columns), false
	}
	if a.composite(c.typ) {
		if fields, ok := a.fields(c.value); ok {
			return slices.Clone(fields), false
		}
	}
	name := c.name
	switch {
	case len(c.columns) == 1 && c.columns[0].name != "":
		name = c.columns[0].name
	case calls == 1 && alias != nil:
		name = alias.Aliasname
	}
	v := c.value
	if len(c.columns) == 1 {
		v = c.columns[0].value
	}
	return []column{{name: name, value: v}}, true
}

// columnDefs reads a column definition list: AS t(a int, b text).
func (a *analyzer) columnDefs(list []*pg_query.Node) []column {
	out := make([]column, 0, len(list))
	for _, n := range list {
		d, ok := n.GetNode().(*pg_query.Node_ColumnDef)
		if !ok {
			a.unmapped("a column definition list with "+nodeName(n), -1)
			continue
		}
		a.mark(d.ColumnDef)
		if c := d.ColumnDef.CollClause; c != nil {
			a.mark(c)
			a.nameParts(c.Collname)
		}
		out = append(out, column{name: d.ColumnDef.Colname, value: value{typ: a.typeName(d.ColumnDef.TypeName)}})
	}
	return out
}

// xmlTable is XMLTABLE(…) in FROM.
func (a *analyzer) xmlTable(s *scope, t *pg_query.RangeTableFunc) *item {
	a.mark(t)
	defer func(before bool) { s.lateral = before }(s.lateral)
	s.lateral = true
	a.optional(s, t.Docexpr)
	a.optional(s, t.Rowexpr)
	for _, n := range t.Namespaces {
		r, ok := n.GetNode().(*pg_query.Node_ResTarget)
		if !ok {
			a.unmapped("XMLNAMESPACES with "+nodeName(n), int(t.Location))
			continue
		}
		a.mark(r.ResTarget)
		a.expr(s, r.ResTarget.Val)
	}
	it := &item{name: "xmltable", bare: true, use: -1, cols: []column{}}
	for _, n := range t.Columns {
		c, ok := n.GetNode().(*pg_query.Node_RangeTableFuncCol)
		if !ok {
			a.unmapped("XMLTABLE with "+nodeName(n), int(t.Location))
			continue
		}
		a.mark(c.RangeTableFuncCol)
		v := value{typ: int4OID}
		if c.RangeTableFuncCol.TypeName != nil {
			v.typ = a.typeName(c.RangeTableFuncCol.TypeName)
		}
		a.optional(s, c.RangeTableFuncCol.Colexpr)
		a.optional(s, c.RangeTableFuncCol.Coldefexpr)
		it.cols = append(it.cols, column{name: c.RangeTableFuncCol.Colname, value: v})
	}
	a.alias(it, t.Alias)
	return it
}
