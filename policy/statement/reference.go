package statement

import (
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/policy/catalog"
)

// columnRef resolves a name used as a value: a column, a whole row, or a
// function in attribute notation.
func (a *analyzer) columnRef(s *scope, ref *pg_query.ColumnRef) value {
	a.mark(ref)
	pos := int(ref.Location)
	parts, star := a.refParts(ref)
	switch {
	case len(parts) == 0 && star: // only FROM-less contexts: the grammar or the server refuses
		a.fail("syntax", "42601", "*", pos, "invalid use of *")
		return value{}
	case len(parts) == 0:
		return value{}
	case star: // t.* inside an expression is the whole row
		it := a.itemFor(s, parts, pos)
		if it == nil {
			return value{}
		}
		return a.wholeRow(it, pos)
	case len(parts) == 1:
		return a.bareName(s, parts[0], pos)
	}
	last := parts[len(parts)-1]
	it := a.itemFor(s, parts[:len(parts)-1], pos)
	if it == nil {
		return value{}
	}
	return a.itemColumn(s, it, parts[len(parts)-2], last, pos)
}

// refParts are the names of a reference and whether it ends in `*`.
func (a *analyzer) refParts(ref *pg_query.ColumnRef) (parts []string, star bool) {
	fields := ref.Fields
	if n := len(fields); n > 0 {
		if _, ok := fields[n-1].GetNode().(*pg_query.Node_AStar); ok {
			star = true
			fields = fields[:n-1]
		}
	}
	return a.nameParts(fields), star
}

// bareName resolves a name of one part: the column of that name of the
// innermost level that has one, else the row of the item of that name.
func (a *analyzer) bareName(s *scope, name string, pos int) value {
	c, level, n, system := s.columnByName(name)
	switch {
	case n == 1:
		level.refs++
		via := policy.ByName
		if system {
			via = policy.BySystem
		}
		a.readColumn(c, via, pos)
		return c.value
	case n > 1:
		a.fail("ambiguous-column", "42702", name, pos, "column reference %q is ambiguous", name)
		return value{}
	}
	it, level, ambiguous := s.itemByName(name)
	switch {
	case ambiguous:
		a.fail("ambiguous-column", "42P09", name, pos, "table reference %q is ambiguous", name)
	case it == nil:
		a.fail("unresolved-column", "42703", name, pos, "column %q does not exist", name)
	default:
		level.refs++
		return a.wholeRow(it, pos)
	}
	return value{}
}

// itemFor finds the item that the qualifier of a reference names.
func (a *analyzer) itemFor(s *scope, parts []string, pos int) *item {
	var it *item
	var level *scope
	var ambiguous bool
	name := parts[len(parts)-1]
	if len(parts) == 1 {
		it, level, ambiguous = s.itemByName(name)
	} else {
		schema, name, ok := a.qualified(parts, pos)
		if !ok {
			return nil
		}
		if rel := a.cat.Relation(schema, name); rel != nil {
			it, level, ambiguous = s.itemByRelation(rel)
		}
	}
	switch {
	case ambiguous:
		a.fail("ambiguous-column", "42P09", name, pos, "table reference %q is ambiguous", name)
	case it == nil:
		why := "missing FROM-clause entry for table %q"
		if s.hides(name) {
			why = "invalid reference to FROM-clause entry for table %q"
		}
		a.fail("unresolved-relation", "42P01", strings.Join(parts, "."), pos, why, name)
	default:
		level.refs++
		return it
	}
	return nil
}

// itemColumn resolves qualifier.name: a column, a system column, or the
// function name(qualifier).
func (a *analyzer) itemColumn(s *scope, it *item, qualifier, name string, pos int) value {
	c, n := it.find(name)
	switch {
	case n == 1:
		a.readColumn(c, policy.ByName, pos)
		return c.value
	case n > 1:
		a.fail("ambiguous-column", "42702", name, pos, "column reference %q is ambiguous", name)
		return value{}
	case it.open:
		return value{}
	}
	if c, ok := it.system(name); ok {
		a.readColumn(c, policy.BySystem, pos)
		return c.value
	}
	row := a.peekWhole(it)
	if res, ok := a.attribute(row, name, pos); ok {
		a.wholeRow(it, pos)
		return res
	}
	a.problem(policy.Problem{
		Rule: "unresolved-column", SQLSTATE: "42703", Name: name, Server: true, Pos: pos,
		Message: "column " + qualifier + "." + name + " does not exist",
	})
	return value{}
}

// wholeRow is the row of an item as a value: all of its columns are read.
func (a *analyzer) wholeRow(it *item, pos int) value {
	a.readColumns(it.columns(), policy.ByWholeRow, pos)
	return it.whole()
}

// peekWhole is the row's value without a use of it.
func (a *analyzer) peekWhole(it *item) value { return it.whole() }

// star expands `*` (no parts) or `t.*` to columns, each of them read.
func (a *analyzer) star(s *scope, ref *pg_query.ColumnRef) []column {
	a.mark(ref)
	pos := int(ref.Location)
	parts, _ := a.refParts(ref)
	var out []column
	if len(parts) > 0 {
		it := a.itemFor(s, parts, pos)
		if it == nil {
			return nil
		}
		out = it.columns()
	} else {
		if len(s.items) == 0 {
			a.fail("syntax", "42601", "*", pos, "SELECT * with no tables specified is not valid")
		}
		for _, it := range s.items {
			if it.bare {
				out = append(out, it.shown()...)
			}
		}
		s.refs++
	}
	a.readColumns(out, policy.ByStar, pos)
	return out
}

// indirection resolves (expr).f, (expr)[i] and chains of them. Subscripts that
// follow each other belong together: they lead to one element of the array.
func (a *analyzer) indirection(s *scope, n *pg_query.A_Indirection) value {
	a.mark(n)
	v := a.expr(s, n.Arg)
	pos := position(n.Arg)
	subscripted := false
	for _, step := range n.Indirection {
		switch st := step.GetNode().(type) {
		case *pg_query.Node_String_:
			v = a.field(v, st.String_.Sval, pos)
			subscripted = false
		case *pg_query.Node_AIndices:
			next := a.subscript(s, v, st.AIndices)
			if !subscripted || st.AIndices.IsSlice {
				v = next
			}
			subscripted = true
		case *pg_query.Node_AStar:
			a.fail("syntax", "0A000", "*", pos, "row expansion via \"*\" is not supported here")
			return value{}
		default:
			a.unmapped("indirection with "+nodeName(step), pos)
			return value{}
		}
	}
	return v
}

// field is (v).name: a field of a composite value, or the function name(v).
func (a *analyzer) field(v value, name string, pos int) value {
	if cols, known := a.fields(v); known {
		for _, c := range cols {
			if c.name == name {
				return c.value
			}
		}
	}
	if res, ok := a.attribute(v, name, pos); ok {
		return res
	}
	switch {
	case v.typ == recordOID && v.row == nil || v.typ == anything:
		// what fields it has is not known, and a function of that name does
		// not exist: it can only be a field
		return value{}
	case a.composite(v.typ) || v.typ == recordOID:
		a.fail("unresolved-column", "42703", name, pos, "column %q not found in data type %s", name, a.typeText(v.typ))
	default:
		a.fail("unresolved-column", "42809", name, pos, "column notation .%s applied to type %s, which is not a composite type", name, a.typeText(v.typ))
	}
	return value{}
}

// fields are the fields of a composite or record value, if they are known.
func (a *analyzer) fields(v value) ([]column, bool) {
	if v.row != nil {
		return v.row, true
	}
	ty := a.cat.TypeByOID(a.base(v.typ))
	if ty == nil || ty.Kind != 'c' {
		return nil, false
	}
	rel := a.cat.RelationByOID(ty.Relation)
	if rel == nil {
		return nil, false
	}
	out := make([]column, len(rel.Columns))
	for i, c := range rel.Columns {
		out[i] = column{name: c.Name, value: value{typ: c.Type}}
	}
	return out, true
}

// subscript is v[i] or v[i:j].
func (a *analyzer) subscript(s *scope, v value, idx *pg_query.A_Indices) value {
	a.optional(s, idx.Lidx)
	a.optional(s, idx.Uidx)
	if v.typ == anything {
		return value{}
	}
	b := a.base(v.typ)
	e := a.element(b)
	switch {
	case e != 0 && idx.IsSlice:
		return value{typ: b}
	case e != 0:
		return value{typ: e}
	case b == jsonbOID:
		return value{typ: jsonbOID}
	}
	return value{} // a type with a subscripting handler of its own
}

// typeText is a type's name for messages.
func (a *analyzer) typeText(t catalog.OID) string {
	switch t {
	case anything, unknownOID:
		return "unknown"
	case recordOID:
		return "record"
	}
	if ty := a.cat.TypeByOID(t); ty != nil && ty.Element == 0 && ty.Schema != "pg_catalog" && a.findType("", ty.Name) == ty {
		return ty.Name
	}
	return a.cat.TypeName(t)
}
