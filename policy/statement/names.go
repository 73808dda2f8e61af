package statement

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// outputName is the name PostgreSQL gives an output column that has none
// (FigureColname).
func (a *analyzer) outputName(n *pg_query.Node) string {
	if name, strength := figureName(n); strength > 0 {
		return name
	}
	return "?column?"
}

// figureName gives a name and how good it is: 0 none, 1 a default, 2 a name.
func figureName(n *pg_query.Node) (string, int) {
	switch e := n.GetNode().(type) {
	case *pg_query.Node_ColumnRef:
		return lastName(e.ColumnRef.Fields)
	case *pg_query.Node_AIndirection:
		if name, strength := lastName(e.AIndirection.Indirection); strength > 0 {
			return name, strength
		}
		return figureName(e.AIndirection.Arg)
	case *pg_query.Node_FuncCall:
		return lastName(e.FuncCall.Funcname)
	case *pg_query.Node_AExpr:
		if e.AExpr.Kind == pg_query.A_Expr_Kind_AEXPR_NULLIF {
			return "nullif", 2
		}
	case *pg_query.Node_TypeCast:
		if name, strength := figureName(e.TypeCast.Arg); strength == 2 {
			return name, strength
		}
		if name, strength := lastName(e.TypeCast.TypeName.GetNames()); strength > 0 {
			return name, 1
		}
	case *pg_query.Node_CollateClause:
		return figureName(e.CollateClause.Arg)
	case *pg_query.Node_SubLink:
		return subLinkName(e.SubLink)
	case *pg_query.Node_CaseExpr:
		if name, strength := figureName(e.CaseExpr.Defresult); strength == 2 {
			return name, strength
		}
		return "case", 1
	case *pg_query.Node_XmlExpr:
		return xmlName(e.XmlExpr.Op)
	case *pg_query.Node_SqlvalueFunction:
		return sqlValueName(e.SqlvalueFunction.Op), 2
	case *pg_query.Node_MinMaxExpr:
		if e.MinMaxExpr.Op == pg_query.MinMaxOp_IS_LEAST {
			return "least", 2
		}
		return "greatest", 2
	}
	if name := fixedName(n); name != "" {
		return name, 2
	}
	return "", 0
}

// fixedName is the name of syntax that has only one.
func fixedName(n *pg_query.Node) string {
	switch n.GetNode().(type) {
	case *pg_query.Node_AArrayExpr:
		return "array"
	case *pg_query.Node_RowExpr:
		return "row"
	case *pg_query.Node_CoalesceExpr:
		return "coalesce"
	case *pg_query.Node_GroupingFunc:
		return "grouping"
	case *pg_query.Node_MergeSupportFunc:
		return "merge_action"
	case *pg_query.Node_XmlSerialize:
		return "xmlserialize"
	case *pg_query.Node_JsonParseExpr:
		return "json"
	case *pg_query.Node_JsonScalarExpr:
		return "json_scalar"
	case *pg_query.Node_JsonSerializeExpr:
		return "json_serialize"
	case *pg_query.Node_JsonObjectConstructor:
		return "json_object"
	case *pg_query.Node_JsonArrayConstructor, *pg_query.Node_JsonArrayQueryConstructor:
		return "json_array"
	case *pg_query.Node_JsonObjectAgg:
		return "json_objectagg"
	case *pg_query.Node_JsonArrayAgg:
		return "json_arrayagg"
	}
	if f := n.GetJsonFuncExpr(); f != nil {
		switch f.Op {
		case pg_query.JsonExprOp_JSON_EXISTS_OP:
			return "json_exists"
		case pg_query.JsonExprOp_JSON_QUERY_OP:
			return "json_query"
		case pg_query.JsonExprOp_JSON_VALUE_OP:
			return "json_value"
		}
	}
	return ""
}

// lastName is the last identifier of a name or an indirection.
func lastName(nodes []*pg_query.Node) (string, int) {
	for i := len(nodes) - 1; i >= 0; i-- {
		if s, ok := nodes[i].GetNode().(*pg_query.Node_String_); ok {
			return s.String_.Sval, 2
		}
	}
	return "", 0
}

func subLinkName(l *pg_query.SubLink) (string, int) {
	switch l.SubLinkType {
	case pg_query.SubLinkType_EXISTS_SUBLINK:
		return "exists", 2
	case pg_query.SubLinkType_ARRAY_SUBLINK:
		return "array", 2
	case pg_query.SubLinkType_EXPR_SUBLINK:
		q := l.Subselect.GetSelectStmt()
		for q.GetLarg() != nil {
			q = q.Larg
		}
		if q == nil {
			return "", 0
		}
		if len(q.ValuesLists) > 0 {
			return "column1", 2
		}
		if len(q.TargetList) == 1 {
			t := q.TargetList[0].GetResTarget()
			if t.GetName() != "" {
				return t.Name, 2
			}
			return figureName(t.GetVal())
		}
	}
	return "", 0
}

func xmlName(op pg_query.XmlExprOp) (string, int) {
	switch op {
	case pg_query.XmlExprOp_IS_XMLCONCAT:
		return "xmlconcat", 2
	case pg_query.XmlExprOp_IS_XMLELEMENT:
		return "xmlelement", 2
	case pg_query.XmlExprOp_IS_XMLFOREST:
		return "xmlforest", 2
	case pg_query.XmlExprOp_IS_XMLPARSE:
		return "xmlparse", 2
	case pg_query.XmlExprOp_IS_XMLPI:
		return "xmlpi", 2
	case pg_query.XmlExprOp_IS_XMLROOT:
		return "xmlroot", 2
	case pg_query.XmlExprOp_IS_XMLSERIALIZE:
		return "xmlserialize", 2
	}
	return "", 0
}

func sqlValueName(op pg_query.SQLValueFunctionOp) string {
	switch op {
	case pg_query.SQLValueFunctionOp_SVFOP_CURRENT_DATE:
		return "current_date"
	case pg_query.SQLValueFunctionOp_SVFOP_CURRENT_TIME, pg_query.SQLValueFunctionOp_SVFOP_CURRENT_TIME_N:
		return "current_time"
	case pg_query.SQLValueFunctionOp_SVFOP_CURRENT_TIMESTAMP, pg_query.SQLValueFunctionOp_SVFOP_CURRENT_TIMESTAMP_N:
		return "current_timestamp"
	case pg_query.SQLValueFunctionOp_SVFOP_LOCALTIME, pg_query.SQLValueFunctionOp_SVFOP_LOCALTIME_N:
		return "localtime"
	case pg_query.SQLValueFunctionOp_SVFOP_LOCALTIMESTAMP, pg_query.SQLValueFunctionOp_SVFOP_LOCALTIMESTAMP_N:
		return "localtimestamp"
	case pg_query.SQLValueFunctionOp_SVFOP_CURRENT_ROLE:
		return "current_role"
	case pg_query.SQLValueFunctionOp_SVFOP_CURRENT_USER:
		return "current_user"
	case pg_query.SQLValueFunctionOp_SVFOP_USER:
		return "user"
	case pg_query.SQLValueFunctionOp_SVFOP_SESSION_USER:
		return "session_user"
	case pg_query.SQLValueFunctionOp_SVFOP_CURRENT_CATALOG:
		return "current_catalog"
	case pg_query.SQLValueFunctionOp_SVFOP_CURRENT_SCHEMA:
		return "current_schema"
	}
	return ""
}

// position is where an expression begins, as far as its node says; -1 if it
// does not.
func position(n *pg_query.Node) int {
	switch e := n.GetNode().(type) {
	case *pg_query.Node_ColumnRef:
		return int(e.ColumnRef.Location)
	case *pg_query.Node_FuncCall:
		return int(e.FuncCall.Location)
	case *pg_query.Node_TypeCast:
		return int(e.TypeCast.Location)
	case *pg_query.Node_SubLink:
		return int(e.SubLink.Location)
	case *pg_query.Node_AConst:
		return int(e.AConst.Location)
	case *pg_query.Node_AExpr:
		return int(e.AExpr.Location)
	case *pg_query.Node_RowExpr:
		return int(e.RowExpr.Location)
	case *pg_query.Node_CaseExpr:
		return int(e.CaseExpr.Location)
	case *pg_query.Node_ParamRef:
		return int(e.ParamRef.Location)
	case *pg_query.Node_AArrayExpr:
		return int(e.AArrayExpr.Location)
	}
	return -1
}
