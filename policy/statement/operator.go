package statement

import (
	"slices"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/policy/catalog"
)

// operatorExpr reads an A_Expr: operators and the syntax that stands for some.
func (a *analyzer) operatorExpr(s *scope, e *pg_query.A_Expr) value {
	a.mark(e)
	pos := int(e.Location)
	schema, name, ok := a.operatorName(e.Name, pos)
	if !ok {
		a.optional(s, e.Lexpr)
		return value{}
	}
	switch e.Kind {
	case pg_query.A_Expr_Kind_AEXPR_OP:
		return a.plainOperator(s, e, schema, name)
	case pg_query.A_Expr_Kind_AEXPR_OP_ANY, pg_query.A_Expr_Kind_AEXPR_OP_ALL:
		l, r := a.expr(s, e.Lexpr), a.expr(s, e.Rexpr)
		elem := value{typ: a.element(r.typ), param: 0}
		if r.typ == unknownOID {
			elem = value{typ: unknownOID}
		}
		a.operator(schema, name, []value{l, elem}, pos)
		if r.param != 0 && l.typ != anything && l.typ != unknownOID {
			a.settle(r, a.arrayOf(l.typ))
		}
		return value{typ: boolOID}
	case pg_query.A_Expr_Kind_AEXPR_IN:
		a.in(s, e, schema, name)
		return value{typ: boolOID}
	case pg_query.A_Expr_Kind_AEXPR_BETWEEN, pg_query.A_Expr_Kind_AEXPR_NOT_BETWEEN,
		pg_query.A_Expr_Kind_AEXPR_BETWEEN_SYM, pg_query.A_Expr_Kind_AEXPR_NOT_BETWEEN_SYM:
		a.between(s, e)
		return value{typ: boolOID}
	case pg_query.A_Expr_Kind_AEXPR_NULLIF:
		l, r := a.expr(s, e.Lexpr), a.expr(s, e.Rexpr)
		a.operator(schema, name, []value{l, r}, pos)
		if l.typ == unknownOID {
			l.typ = textOID
		}
		return value{typ: l.typ, row: l.row}
	case pg_query.A_Expr_Kind_AEXPR_DISTINCT, pg_query.A_Expr_Kind_AEXPR_NOT_DISTINCT,
		pg_query.A_Expr_Kind_AEXPR_LIKE, pg_query.A_Expr_Kind_AEXPR_ILIKE, pg_query.A_Expr_Kind_AEXPR_SIMILAR:
		a.compare(schema, name, a.expr(s, e.Lexpr), a.expr(s, e.Rexpr), pos)
		return value{typ: boolOID}
	}
	a.unmapped(e.Kind.String(), pos)
	return value{}
}

// operatorName is the operator's name, with its schema from OPERATOR(s.op).
func (a *analyzer) operatorName(nodes []*pg_query.Node, pos int) (schema, name string, ok bool) {
	if len(nodes) == 1 {
		if n, isName := nodes[0].GetNode().(*pg_query.Node_String_); isName {
			return "", n.String_.Sval, true
		}
	}
	parts := a.nameParts(nodes)
	if len(parts) == 0 {
		a.unmapped("operator without a name", pos)
		return "", "", false
	}
	return a.qualified(parts, pos)
}

func (a *analyzer) plainOperator(s *scope, e *pg_query.A_Expr, schema, name string) value {
	pos := int(e.Location)
	if e.Lexpr == nil {
		return a.operator(schema, name, []value{a.expr(s, e.Rexpr)}, pos)
	}
	l := a.expr(s, e.Lexpr)
	if isRow(e.Lexpr) && isScalarSubLink(e.Rexpr) {
		sub := e.Rexpr.GetSubLink()
		a.mark(sub)
		cols := a.query(s, sub.Subselect)
		a.compareRows(schema, name, l.row, cols, pos)
		return value{typ: boolOID}
	}
	r := a.expr(s, e.Rexpr)
	if isRow(e.Lexpr) && isRow(e.Rexpr) {
		a.compareRows(schema, name, l.row, r.row, pos)
		return value{typ: boolOID}
	}
	return a.operator(schema, name, []value{l, r}, pos)
}

func isRow(n *pg_query.Node) bool {
	_, ok := n.GetNode().(*pg_query.Node_RowExpr)
	return ok
}

func isScalarSubLink(n *pg_query.Node) bool {
	l, ok := n.GetNode().(*pg_query.Node_SubLink)
	return ok && l.SubLink.SubLinkType == pg_query.SubLinkType_EXPR_SUBLINK
}

// compare applies an operator that may stand between two rows.
func (a *analyzer) compare(schema, name string, l, r value, pos int) {
	if l.typ == recordOID && r.typ == recordOID && l.row != nil && r.row != nil {
		a.compareRows(schema, name, l.row, r.row, pos)
		return
	}
	a.operator(schema, name, []value{l, r}, pos)
}

// compareRows applies an operator field by field.
func (a *analyzer) compareRows(schema, name string, l, r []column, pos int) {
	for i := range min(len(l), len(r)) {
		a.operator(schema, name, []value{l[i].value, r[i].value}, pos)
	}
}

// in is x IN (list): "=" with each element, and with the type that the server
// may give all of them together.
func (a *analyzer) in(s *scope, e *pg_query.A_Expr, schema, name string) {
	pos := int(e.Location)
	l := a.expr(s, e.Lexpr)
	list, ok := e.Rexpr.GetNode().(*pg_query.Node_List)
	if !ok {
		a.unmapped("IN with "+nodeName(e.Rexpr), pos)
		return
	}
	types := []catalog.OID{l.typ}
	for _, n := range list.List.Items {
		r := a.expr(s, n)
		if isRow(e.Lexpr) && isRow(n) {
			a.compareRows(schema, name, l.row, r.row, pos)
			continue
		}
		if r.param != 0 && l.typ != anything && l.typ != unknownOID {
			a.settle(r, l.typ)
		}
		if slices.Contains(types[1:], r.typ) {
			continue
		}
		types = append(types, r.typ)
		a.operator(schema, name, []value{l, r}, pos)
	}
	if len(types) > 2 {
		if t, ok := a.common(types); ok && t != anything && !slices.Contains(types[1:], t) {
			a.operator(schema, name, []value{l, {typ: t}}, pos)
		}
	}
}

// between is x BETWEEN a AND b; it compares by the unqualified operators.
func (a *analyzer) between(s *scope, e *pg_query.A_Expr) {
	pos := int(e.Location)
	x := a.expr(s, e.Lexpr)
	list, ok := e.Rexpr.GetNode().(*pg_query.Node_List)
	if !ok || len(list.List.Items) != 2 {
		a.unmapped("BETWEEN with "+nodeName(e.Rexpr), pos)
		return
	}
	lo, hi := a.expr(s, list.List.Items[0]), a.expr(s, list.List.Items[1])
	ops := [2]string{">=", "<="}
	symmetric := false
	switch e.Kind {
	case pg_query.A_Expr_Kind_AEXPR_NOT_BETWEEN:
		ops = [2]string{"<", ">"}
	case pg_query.A_Expr_Kind_AEXPR_BETWEEN_SYM:
		symmetric = true
	case pg_query.A_Expr_Kind_AEXPR_NOT_BETWEEN_SYM:
		ops = [2]string{"<", ">"}
		symmetric = true
	}
	a.compare("", ops[0], x, lo, pos)
	a.compare("", ops[1], x, hi, pos)
	if symmetric {
		a.compare("", ops[0], x, hi, pos)
		a.compare("", ops[1], x, lo, pos)
	}
}

// operator resolves an operator for one or two operands. Those that could be
// chosen and lie outside pg_catalog are recorded. The value is the result's.
func (a *analyzer) operator(schema, name string, operands []value, pos int) value {
	in := make([]catalog.OID, len(operands))
	for i, v := range operands {
		in[i] = v.typ
	}
	var chosen, all []candidate
	if op := a.exactOperator(schema, name, in); op != nil {
		chosen = []candidate{{args: operandTypes(op, len(in)), op: op}}
	} else {
		all = a.operatorCandidates(schema, name, len(in))
		if len(all) == 0 {
			a.fail("unresolved-operator", "42883", name, pos, "operator does not exist: %s", a.operatorText(schema, name, in))
			return value{}
		}
		chosen = a.chooseOperator(in, all)
	}
	if len(chosen) == 0 {
		// The server refuses this, unless a type was inferred wrongly here. It
		// may have the last word, as long as no operator of a user's could be
		// the one.
		if !allBuiltIn(all) {
			a.fail("unresolved-operator", "42883", name, pos, "operator does not exist: %s", a.operatorText(schema, name, in))
		}
		return value{}
	}
	var foreign []*catalog.Operator
	result := chosen[0].op.Result
	for _, c := range chosen {
		if c.op.Schema != "pg_catalog" {
			foreign = append(foreign, c.op)
		}
		if c.op.Result != result {
			result = anything
		}
	}
	if len(foreign) > 0 {
		a.f.Operators = append(a.f.Operators, policy.OperatorUse{Name: name, Candidates: foreign, Pos: pos})
	}
	if len(chosen) == 1 {
		for i, t := range chosen[0].args {
			a.settle(operands[i], t)
			a.coerce(operands[i], t, implicit)
		}
	}
	if polymorphic(result) {
		result = a.actual(result, in, chosen[0].args)
	}
	return value{typ: result}
}

// exactOperator finds the operator whose operand types are just those of the
// call, without a list of candidates: the usual case.
func (a *analyzer) exactOperator(schema, name string, in []catalog.OID) *catalog.Operator {
	left, right := catalog.OID(0), in[len(in)-1]
	if len(in) == 2 {
		left = in[0]
	}
	if right == anything || len(in) == 2 && left == anything {
		return nil
	}
	if left == unknownOID {
		left = right
	} else if right == unknownOID && len(in) == 2 {
		right = left
	}
	var found *catalog.Operator
	first := len(a.path)
	for _, op := range a.cat.Operators(name) {
		if op.Left != left || op.Right != right {
			continue
		}
		if schema != "" {
			if op.Schema == schema {
				return op
			}
			continue
		}
		if at := slices.Index(a.path, op.Schema); at >= 0 && at < first {
			found, first = op, at
		}
	}
	return found
}

// operandTypes are the types that an operator takes.
func operandTypes(op *catalog.Operator, operands int) []catalog.OID {
	if operands == 1 {
		return []catalog.OID{op.Right}
	}
	return []catalog.OID{op.Left, op.Right}
}

// operatorCandidates are the operators of that name and arity that the path or
// the schema offers; of two with the same types the earlier one hides the other.
func (a *analyzer) operatorCandidates(schema, name string, operands int) []candidate {
	ops := a.cat.Operators(name)
	out := make([]candidate, 0, len(ops))
	types := make([]catalog.OID, 0, 2*len(ops))
	for _, op := range ops {
		at := 0
		if schema != "" {
			if op.Schema != schema {
				continue
			}
		} else if at = slices.Index(a.path, op.Schema); at < 0 {
			continue
		}
		types = append(types, op.Left, op.Right)
		args := types[len(types)-2 : len(types) : len(types)]
		switch {
		case operands == 1 && op.Left == 0:
			args = args[1:]
		case operands != 2 || op.Left == 0:
			continue
		}
		out = append(out, candidate{args: args, op: op, at: at})
	}
	return hideLater(out)
}

// chooseOperator is oper() and left_oper() where there is no exact match: a
// domain's base type is tried for an unknown operand, then the best of what
// the operands can be coerced to.
func (a *analyzer) chooseOperator(in []catalog.OID, cands []candidate) []candidate {
	if len(in) == 2 && (in[0] == unknownOID) != (in[1] == unknownOID) {
		known := in[0]
		if known == unknownOID {
			known = in[1]
		}
		if b := a.base(known); b != known {
			if c, ok := exact([]catalog.OID{b, b}, cands); ok {
				return []candidate{c}
			}
		}
	}
	return a.choose(in, a.feasible(in, cands))
}

// hideLater drops candidates whose argument types an earlier schema offers too,
// and of one schema those that had to spread a variadic argument for them.
func hideLater(cands []candidate) []candidate {
	alike := true
	for _, c := range cands {
		alike = alike && c.at == cands[0].at && !c.variadic
	}
	if alike {
		return cands
	}
	out := cands[:0:0]
	for _, c := range cands {
		if !slices.ContainsFunc(cands, func(o candidate) bool { return o.hides(c) }) {
			out = append(out, c)
		}
	}
	return out
}

func (c candidate) hides(o candidate) bool {
	return (c.at < o.at || c.at == o.at && o.variadic && !c.variadic) && slices.Equal(c.args, o.args)
}

// allBuiltIn says whether all candidates are in pg_catalog.
func allBuiltIn(cands []candidate) bool {
	return !slices.ContainsFunc(cands, func(c candidate) bool {
		return c.op != nil && c.op.Schema != "pg_catalog" || c.fn != nil && c.fn.Schema != "pg_catalog"
	})
}

// operatorText writes an operator with its operands' types, as PostgreSQL's
// messages do.
func (a *analyzer) operatorText(schema, name string, in []catalog.OID) string {
	if schema != "" {
		name = schema + "." + name
	}
	parts := make([]string, 0, 3)
	if len(in) == 2 {
		parts = append(parts, a.typeText(in[0]))
		in = in[1:]
	}
	return strings.Join(append(parts, name, a.typeText(in[0])), " ")
}
