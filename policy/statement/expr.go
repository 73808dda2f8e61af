package statement

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/pgairlock/pgairlock/policy/catalog"
)

// optional reads an expression that may be missing.
func (a *analyzer) optional(s *scope, n *pg_query.Node) value {
	if n == nil || n.Node == nil {
		return value{}
	}
	return a.expr(s, n)
}

// exprs reads a list of expressions.
func (a *analyzer) exprs(s *scope, nodes []*pg_query.Node) []value {
	if len(nodes) == 0 {
		return nil
	}
	out := make([]value, len(nodes))
	for i, n := range nodes {
		out[i] = a.expr(s, n)
	}
	return out
}

// expr reads one expression: everything it uses is recorded, and what is known
// about its value returned. It is the closed switch over all expression nodes:
// what is not here is refused.
func (a *analyzer) expr(s *scope, n *pg_query.Node) value {
	switch e := n.GetNode().(type) {
	case *pg_query.Node_ColumnRef:
		return a.columnRef(s, e.ColumnRef)
	case *pg_query.Node_AConst:
		return constant(e.AConst)
	case *pg_query.Node_ParamRef:
		return a.param(e.ParamRef)
	case *pg_query.Node_AExpr:
		return a.operatorExpr(s, e.AExpr)
	case *pg_query.Node_BoolExpr:
		a.mark(e.BoolExpr)
		for _, v := range a.exprs(s, e.BoolExpr.Args) {
			a.settle(v, boolOID)
		}
		return value{typ: boolOID}
	case *pg_query.Node_FuncCall:
		return a.funcCall(s, e.FuncCall)
	case *pg_query.Node_TypeCast:
		return a.typeCast(s, e.TypeCast)
	case *pg_query.Node_SubLink:
		return a.subLink(s, e.SubLink)
	case *pg_query.Node_AIndirection:
		return a.indirection(s, e.AIndirection)
	case *pg_query.Node_NullTest:
		a.mark(e.NullTest)
		a.expr(s, e.NullTest.Arg)
		return value{typ: boolOID}
	case *pg_query.Node_BooleanTest:
		a.mark(e.BooleanTest)
		a.settle(a.expr(s, e.BooleanTest.Arg), boolOID)
		return value{typ: boolOID}
	case *pg_query.Node_CaseExpr:
		return a.caseExpr(s, e.CaseExpr)
	case *pg_query.Node_CoalesceExpr:
		a.mark(e.CoalesceExpr)
		return a.unify(a.exprs(s, e.CoalesceExpr.Args))
	case *pg_query.Node_MinMaxExpr:
		a.mark(e.MinMaxExpr)
		return a.unify(a.exprs(s, e.MinMaxExpr.Args))
	case *pg_query.Node_AArrayExpr:
		return a.arrayExpr(s, e.AArrayExpr)
	case *pg_query.Node_RowExpr:
		return a.rowExpr(s, e.RowExpr)
	case *pg_query.Node_CollateClause:
		a.mark(e.CollateClause)
		a.nameParts(e.CollateClause.Collname)
		v := a.optional(s, e.CollateClause.Arg)
		if v.typ == unknownOID {
			v.typ = textOID
		}
		return v
	case *pg_query.Node_SqlvalueFunction:
		return a.sqlValue(e.SqlvalueFunction)
	}
	return a.rareExpr(s, n)
}

// rareExpr is expr for the less common nodes.
func (a *analyzer) rareExpr(s *scope, n *pg_query.Node) value {
	switch e := n.GetNode().(type) {
	case *pg_query.Node_GroupingFunc:
		a.mark(e.GroupingFunc)
		a.exprs(s, e.GroupingFunc.Args)
		return value{typ: int4OID}
	case *pg_query.Node_SetToDefault:
		a.mark(e.SetToDefault)
		return value{typ: unknownOID}
	case *pg_query.Node_MergeSupportFunc:
		a.mark(e.MergeSupportFunc)
		a.skew("merge_action()", 170000, int(e.MergeSupportFunc.Location))
		return value{typ: textOID}
	case *pg_query.Node_CurrentOfExpr:
		a.mark(e.CurrentOfExpr)
		a.cursor(e.CurrentOfExpr.CursorName)
		s.refs++
		return value{typ: boolOID}
	case *pg_query.Node_MultiAssignRef:
		a.mark(e.MultiAssignRef)
		return a.expr(s, e.MultiAssignRef.Source)
	case *pg_query.Node_XmlExpr:
		return a.xmlExpr(s, e.XmlExpr)
	case *pg_query.Node_XmlSerialize:
		a.mark(e.XmlSerialize)
		a.expr(s, e.XmlSerialize.Expr)
		if e.XmlSerialize.Indent {
			a.skew("XMLSERIALIZE INDENT", 160000, int(e.XmlSerialize.Location))
		}
		return value{typ: a.typeName(e.XmlSerialize.TypeName)}
	}
	return a.jsonExpr(s, n)
}

// constant is the type PostgreSQL gives a literal.
func constant(c *pg_query.A_Const) value {
	switch v := c.Val.(type) {
	case *pg_query.A_Const_Ival:
		return value{typ: int4OID}
	case *pg_query.A_Const_Fval:
		if isInt8(v.Fval.GetFval()) {
			return value{typ: int8OID}
		}
		return value{typ: numericOID}
	case *pg_query.A_Const_Boolval:
		return value{typ: boolOID}
	case *pg_query.A_Const_Bsval:
		return value{typ: bitOID}
	}
	return value{typ: unknownOID}
}

// isInt8 says whether a literal too large for an integer is a bigint: digits
// only, within range.
func isInt8(text string) bool {
	if len(text) > 0 && text[0] == '-' {
		text = text[1:]
	}
	const largest = "9223372036854775807"
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return len(text) > 0 && (len(text) < len(largest) || len(text) == len(largest) && text <= largest)
}

// param is $n. A parameter without a given type gets it by its first use that
// decides one; until then it is like a literal of unknown type, and a second
// time not known at all.
func (a *analyzer) param(p *pg_query.ParamRef) value {
	a.mark(p)
	n := p.Number
	a.f.Params = max(a.f.Params, int(n))
	if i := int(n) - 1; i >= 0 && i < len(a.env.ParamTypes) && a.env.ParamTypes[i] != 0 && a.env.ParamTypes[i] != unknownOID {
		return value{typ: a.env.ParamTypes[i]}
	}
	if t, used := a.params[n]; used {
		return value{typ: t}
	}
	if a.params == nil {
		a.params = make(map[int32]catalog.OID)
	}
	a.params[n] = anything
	return value{typ: unknownOID, param: n}
}

// settle records the type that an open parameter gets.
func (a *analyzer) settle(v value, t catalog.OID) {
	if v.param != 0 && t != unknownOID && !polymorphic(t) && t != anyOID {
		a.params[v.param] = t
	}
}

// unify gives values their common type.
func (a *analyzer) unify(vs []value) value {
	types := make([]catalog.OID, len(vs))
	for i, v := range vs {
		types[i] = v.typ
	}
	t, _ := a.common(types)
	for _, v := range vs {
		a.settle(v, t)
		a.coerce(v, t, implicit)
	}
	out := value{typ: t}
	if len(vs) > 0 && t == recordOID {
		out.row = vs[0].row
	}
	return out
}

// coerce records the functions outside pg_catalog, and the domains with
// checks, that turning v into t may run.
func (a *analyzer) coerce(v value, t catalog.OID, ctx catalog.Char) {
	if t == anything || v.typ == t {
		return
	}
	if fns := a.castFunctions(v.typ, t, ctx); len(fns) > 0 {
		a.useFunctions("cast", fns, "cast", -1)
	}
}

// typeCast is CAST(x AS t), x::t and t 'x'.
func (a *analyzer) typeCast(s *scope, c *pg_query.TypeCast) value {
	a.mark(c)
	t := a.typeName(c.TypeName)
	v := a.castArg(s, c.Arg, t)
	a.settle(v, t)
	if v.typ != unknownOID {
		a.coerce(v, t, explicit)
	}
	out := value{typ: t}
	if t == recordOID {
		out.row = v.row
	}
	return out
}

// castArg reads a cast's operand; ARRAY[…]::t[] hands the type down to the
// elements.
func (a *analyzer) castArg(s *scope, arg *pg_query.Node, t catalog.OID) value {
	arr, ok := arg.GetNode().(*pg_query.Node_AArrayExpr)
	if !ok || a.element(t) == 0 {
		return a.expr(s, arg)
	}
	a.mark(arr.AArrayExpr)
	e := a.element(t)
	for _, n := range arr.AArrayExpr.Elements {
		inner := e
		if _, nested := n.GetNode().(*pg_query.Node_AArrayExpr); nested {
			inner = t
		}
		v := a.castArg(s, n, inner)
		a.settle(v, inner)
		a.coerce(v, inner, explicit)
	}
	return value{typ: t}
}

// arrayExpr is ARRAY[…].
func (a *analyzer) arrayExpr(s *scope, e *pg_query.A_ArrayExpr) value {
	a.mark(e)
	if len(e.Elements) == 0 {
		return value{}
	}
	v := a.unify(a.exprs(s, e.Elements))
	if a.element(v.typ) != 0 && isArrayExpr(e.Elements[0]) {
		return v // ARRAY[ARRAY[1]] is an array of the same type
	}
	return value{typ: a.arrayOf(v.typ)}
}

func isArrayExpr(n *pg_query.Node) bool {
	_, ok := n.GetNode().(*pg_query.Node_AArrayExpr)
	return ok
}

// rowExpr is ROW(…) and (a, b); `t.*` in it is expanded.
func (a *analyzer) rowExpr(s *scope, e *pg_query.RowExpr) value {
	a.mark(e)
	a.nameParts(e.Colnames)
	return value{typ: recordOID, row: a.expandedList(s, e.Args)}
}

// expandedList reads a list in which `*`, `t.*` and `(x).*` stand for several
// values, as in ROW and VALUES.
func (a *analyzer) expandedList(s *scope, nodes []*pg_query.Node) []column {
	out := make([]column, 0, min(len(nodes), maxTargets))
	for _, n := range nodes {
		if len(out) > maxTargets {
			break
		}
		if cols, ok := a.expandStar(s, n); ok {
			out = append(out, cols...)
			continue
		}
		out = append(out, column{value: a.expr(s, n)})
	}
	out = a.bounded(out)
	for i := range out {
		out[i].name = fieldName(i)
		out[i].sources = nil
	}
	return out
}

// expandStar expands `*`, `t.*` and `(x).*`; ok is false for other nodes.
func (a *analyzer) expandStar(s *scope, n *pg_query.Node) ([]column, bool) {
	switch e := n.GetNode().(type) {
	case *pg_query.Node_ColumnRef:
		if f := e.ColumnRef.Fields; len(f) > 0 {
			if _, ok := f[len(f)-1].GetNode().(*pg_query.Node_AStar); ok {
				return a.star(s, e.ColumnRef), true
			}
		}
	case *pg_query.Node_AIndirection:
		ind := e.AIndirection.Indirection
		if len(ind) == 0 {
			return nil, false
		}
		if _, ok := ind[len(ind)-1].GetNode().(*pg_query.Node_AStar); !ok {
			return nil, false
		}
		a.mark(e.AIndirection)
		v := a.indirection(s, &pg_query.A_Indirection{Arg: e.AIndirection.Arg, Indirection: ind[:len(ind)-1]})
		cols, known := a.fields(v)
		if !known {
			return []column{{}}, true
		}
		return cols, true
	}
	return nil, false
}

// caseExpr is CASE; the form with an operand compares it by "=".
func (a *analyzer) caseExpr(s *scope, e *pg_query.CaseExpr) value {
	a.mark(e)
	arg := a.optional(s, e.Arg)
	if e.Arg != nil && arg.typ == unknownOID {
		arg = value{typ: textOID}
	}
	results := make([]value, 0, len(e.Args)+1)
	// the order is the server's: the default counts first for the common type
	for _, n := range e.Args {
		w, ok := n.GetNode().(*pg_query.Node_CaseWhen)
		if !ok {
			a.unmapped("CASE with "+nodeName(n), int(e.Location))
			continue
		}
		a.mark(w.CaseWhen)
		cond := a.expr(s, w.CaseWhen.Expr)
		if e.Arg != nil {
			a.operator("", "=", []value{arg, cond}, int(w.CaseWhen.Location))
		} else {
			a.settle(cond, boolOID)
		}
		results = append(results, a.expr(s, w.CaseWhen.Result))
	}
	if e.Defresult != nil {
		results = append([]value{a.expr(s, e.Defresult)}, results...)
	}
	return a.unify(results)
}

// sqlValue is CURRENT_DATE and its like.
func (a *analyzer) sqlValue(f *pg_query.SQLValueFunction) value {
	a.mark(f)
	switch f.Op {
	case pg_query.SQLValueFunctionOp_SVFOP_CURRENT_DATE:
		return value{typ: dateOID}
	case pg_query.SQLValueFunctionOp_SVFOP_CURRENT_TIME, pg_query.SQLValueFunctionOp_SVFOP_CURRENT_TIME_N:
		return value{typ: timetzOID}
	case pg_query.SQLValueFunctionOp_SVFOP_CURRENT_TIMESTAMP, pg_query.SQLValueFunctionOp_SVFOP_CURRENT_TIMESTAMP_N:
		return value{typ: timestamptzOID}
	case pg_query.SQLValueFunctionOp_SVFOP_LOCALTIME, pg_query.SQLValueFunctionOp_SVFOP_LOCALTIME_N:
		return value{typ: timeOID}
	case pg_query.SQLValueFunctionOp_SVFOP_LOCALTIMESTAMP, pg_query.SQLValueFunctionOp_SVFOP_LOCALTIMESTAMP_N:
		return value{typ: timestampOID}
	case pg_query.SQLValueFunctionOp_SVFOP_CURRENT_ROLE, pg_query.SQLValueFunctionOp_SVFOP_CURRENT_USER,
		pg_query.SQLValueFunctionOp_SVFOP_USER, pg_query.SQLValueFunctionOp_SVFOP_SESSION_USER,
		pg_query.SQLValueFunctionOp_SVFOP_CURRENT_CATALOG, pg_query.SQLValueFunctionOp_SVFOP_CURRENT_SCHEMA:
		return value{typ: nameOID}
	}
	a.unmapped(f.Op.String(), int(f.Location))
	return value{}
}

// xmlExpr is XMLELEMENT, XMLCONCAT and the other functions of SQL/XML.
func (a *analyzer) xmlExpr(s *scope, e *pg_query.XmlExpr) value {
	a.mark(e)
	for _, n := range e.NamedArgs {
		r, ok := n.GetNode().(*pg_query.Node_ResTarget)
		if !ok {
			a.unmapped("SQL/XML with "+nodeName(n), int(e.Location))
			continue
		}
		a.mark(r.ResTarget)
		a.expr(s, r.ResTarget.Val)
	}
	for _, n := range e.Args {
		if n.GetNode() != nil {
			a.expr(s, n)
		}
	}
	if e.Op == pg_query.XmlExprOp_IS_DOCUMENT {
		return value{typ: boolOID}
	}
	return value{typ: xmlOID}
}
