package statement

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/pgairlock/pgairlock/policy/catalog"
)

// jsonExpr reads the SQL/JSON syntax of 16 and 17, which an older server reads
// as calls of functions with those names, or not at all.
func (a *analyzer) jsonExpr(s *scope, n *pg_query.Node) value {
	switch e := n.GetNode().(type) {
	case *pg_query.Node_JsonIsPredicate:
		a.mark(e.JsonIsPredicate)
		a.skew("IS JSON", 160000, int(e.JsonIsPredicate.Location))
		a.expr(s, e.JsonIsPredicate.Expr)
		return value{typ: boolOID}
	case *pg_query.Node_JsonObjectConstructor:
		o := e.JsonObjectConstructor
		a.mark(o)
		a.skew("JSON_OBJECT", 160000, int(o.Location))
		for _, kv := range o.Exprs {
			a.jsonKeyValue(s, kv.GetJsonKeyValue())
		}
		return a.jsonOutput(o.Output, jsonOID)
	case *pg_query.Node_JsonArrayConstructor:
		a.mark(e.JsonArrayConstructor)
		a.skew("JSON_ARRAY", 160000, int(e.JsonArrayConstructor.Location))
		a.exprs(s, e.JsonArrayConstructor.Exprs)
		return a.jsonOutput(e.JsonArrayConstructor.Output, jsonOID)
	case *pg_query.Node_JsonArrayQueryConstructor:
		a.mark(e.JsonArrayQueryConstructor)
		a.skew("JSON_ARRAY", 160000, int(e.JsonArrayQueryConstructor.Location))
		a.query(s, e.JsonArrayQueryConstructor.Query)
		return a.jsonOutput(e.JsonArrayQueryConstructor.Output, jsonOID)
	case *pg_query.Node_JsonObjectAgg:
		a.mark(e.JsonObjectAgg)
		a.skew("JSON_OBJECTAGG", 160000, int(e.JsonObjectAgg.GetConstructor().GetLocation()))
		a.jsonKeyValue(s, e.JsonObjectAgg.Arg)
		return a.jsonAggregate(s, e.JsonObjectAgg.Constructor)
	case *pg_query.Node_JsonArrayAgg:
		a.mark(e.JsonArrayAgg)
		a.skew("JSON_ARRAYAGG", 160000, int(e.JsonArrayAgg.GetConstructor().GetLocation()))
		a.jsonValue(s, e.JsonArrayAgg.Arg)
		return a.jsonAggregate(s, e.JsonArrayAgg.Constructor)
	case *pg_query.Node_JsonValueExpr:
		return a.jsonValue(s, e.JsonValueExpr)
	}
	return a.jsonExpr17(s, n)
}

// jsonExpr17 reads the functions that 17 brought.
func (a *analyzer) jsonExpr17(s *scope, n *pg_query.Node) value {
	switch e := n.GetNode().(type) {
	case *pg_query.Node_JsonParseExpr:
		a.mark(e.JsonParseExpr)
		a.skew("JSON()", 170000, int(e.JsonParseExpr.Location))
		a.jsonValue(s, e.JsonParseExpr.Expr)
		return a.jsonOutput(e.JsonParseExpr.Output, jsonOID)
	case *pg_query.Node_JsonScalarExpr:
		a.mark(e.JsonScalarExpr)
		a.skew("JSON_SCALAR", 170000, int(e.JsonScalarExpr.Location))
		a.expr(s, e.JsonScalarExpr.Expr)
		return a.jsonOutput(e.JsonScalarExpr.Output, jsonOID)
	case *pg_query.Node_JsonSerializeExpr:
		a.mark(e.JsonSerializeExpr)
		a.skew("JSON_SERIALIZE", 170000, int(e.JsonSerializeExpr.Location))
		a.jsonValue(s, e.JsonSerializeExpr.Expr)
		return a.jsonOutput(e.JsonSerializeExpr.Output, textOID)
	case *pg_query.Node_JsonFuncExpr:
		return a.jsonFunc(s, e.JsonFuncExpr)
	}
	a.unmapped("an expression made of "+nodeName(n), -1)
	return value{}
}

// jsonFunc is JSON_EXISTS, JSON_QUERY and JSON_VALUE.
func (a *analyzer) jsonFunc(s *scope, f *pg_query.JsonFuncExpr) value {
	a.mark(f)
	result, name := anything, ""
	switch f.Op {
	case pg_query.JsonExprOp_JSON_EXISTS_OP:
		result, name = boolOID, "JSON_EXISTS"
	case pg_query.JsonExprOp_JSON_QUERY_OP:
		result, name = jsonbOID, "JSON_QUERY"
	case pg_query.JsonExprOp_JSON_VALUE_OP:
		result, name = textOID, "JSON_VALUE"
	default:
		a.unmapped(f.Op.String(), int(f.Location))
	}
	a.skew(name, 170000, int(f.Location))
	a.jsonValue(s, f.ContextItem)
	a.optional(s, f.Pathspec)
	a.jsonPassing(s, f.Passing)
	a.jsonBehavior(s, f.OnEmpty)
	a.jsonBehavior(s, f.OnError)
	return a.jsonOutput(f.Output, result)
}

func (a *analyzer) jsonValue(s *scope, v *pg_query.JsonValueExpr) value {
	if v == nil {
		return value{}
	}
	a.mark(v)
	return a.optional(s, v.RawExpr)
}

func (a *analyzer) jsonKeyValue(s *scope, kv *pg_query.JsonKeyValue) {
	if kv == nil {
		a.unmapped("a JSON object without key", -1)
		return
	}
	a.optional(s, kv.Key)
	a.jsonValue(s, kv.Value)
}

func (a *analyzer) jsonBehavior(s *scope, b *pg_query.JsonBehavior) {
	if b == nil {
		return
	}
	a.mark(b)
	a.optional(s, b.Expr)
}

func (a *analyzer) jsonPassing(s *scope, list []*pg_query.Node) {
	for _, n := range list {
		arg, ok := n.GetNode().(*pg_query.Node_JsonArgument)
		if !ok {
			a.unmapped("PASSING with "+nodeName(n), -1)
			continue
		}
		a.jsonValue(s, arg.JsonArgument.Val)
	}
}

// jsonOutput is RETURNING type, or the function's own result type.
func (a *analyzer) jsonOutput(o *pg_query.JsonOutput, otherwise catalog.OID) value {
	if o == nil {
		return value{typ: otherwise}
	}
	a.mark(o)
	return value{typ: a.typeName(o.TypeName)}
}

func (a *analyzer) jsonAggregate(s *scope, c *pg_query.JsonAggConstructor) value {
	if c == nil {
		return value{typ: jsonOID}
	}
	for _, n := range c.AggOrder {
		a.sortBy(s, n, nil)
	}
	a.settle(a.optional(s, c.AggFilter), boolOID)
	if c.Over != nil {
		a.window(s, c.Over)
	}
	return a.jsonOutput(c.Output, jsonOID)
}

// jsonTable is JSON_TABLE(…) in FROM.
func (a *analyzer) jsonTable(s *scope, t *pg_query.JsonTable) *item {
	a.mark(t)
	a.skew("JSON_TABLE", 170000, int(t.Location))
	defer func(before bool) { s.lateral = before }(s.lateral)
	s.lateral = true
	a.jsonValue(s, t.ContextItem)
	a.jsonPath(s, t.Pathspec)
	a.jsonPassing(s, t.Passing)
	a.jsonBehavior(s, t.OnError)
	it := &item{name: "json_table", bare: true, use: -1, cols: a.jsonColumns(s, t.Columns)}
	a.alias(it, t.Alias)
	return it
}

func (a *analyzer) jsonPath(s *scope, p *pg_query.JsonTablePathSpec) {
	if p != nil {
		a.optional(s, p.String_)
	}
}

// jsonColumns reads the COLUMNS of a JSON_TABLE; nested ones count as its own.
func (a *analyzer) jsonColumns(s *scope, list []*pg_query.Node) []column {
	out := []column{}
	for _, n := range list {
		c := n.GetJsonTableColumn()
		if c == nil {
			a.unmapped("JSON_TABLE with "+nodeName(n), -1)
			continue
		}
		a.mark(c)
		a.jsonPath(s, c.Pathspec)
		a.jsonBehavior(s, c.OnEmpty)
		a.jsonBehavior(s, c.OnError)
		switch c.Coltype {
		case pg_query.JsonTableColumnType_JTC_NESTED:
			out = append(out, a.jsonColumns(s, c.Columns)...)
		case pg_query.JsonTableColumnType_JTC_FOR_ORDINALITY:
			out = append(out, column{name: c.Name, value: value{typ: int4OID}})
		case pg_query.JsonTableColumnType_JTC_REGULAR, pg_query.JsonTableColumnType_JTC_EXISTS,
			pg_query.JsonTableColumnType_JTC_FORMATTED:
			out = append(out, column{name: c.Name, value: value{typ: a.typeName(c.TypeName)}})
		default:
			a.unmapped(c.Coltype.String(), int(c.Location))
		}
	}
	return out
}
