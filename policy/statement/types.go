package statement

import (
	"fmt"
	"slices"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/policy/catalog"
)

// nameParts are the parts of a qualified name. A part that is no identifier
// makes it unmapped.
func (a *analyzer) nameParts(nodes []*pg_query.Node) []string {
	out := make([]string, 0, len(nodes))
	for _, n := range nodes {
		s, ok := n.GetNode().(*pg_query.Node_String_)
		if !ok {
			a.unmapped("a name with "+nodeName(n), -1)
			return nil
		}
		out = append(out, s.String_.Sval)
	}
	return out
}

// qualified splits a name into schema and name; a leading database name must
// be the current one. ok is false if a Problem was reported.
func (a *analyzer) qualified(parts []string, pos int) (schema, name string, ok bool) {
	switch len(parts) {
	case 1:
		return "", parts[0], true
	case 2:
		return parts[0], parts[1], true
	case 3:
		if parts[0] != a.cat.Data().Database {
			a.crossDatabase(parts, pos)
			return "", "", false
		}
		return parts[1], parts[2], true
	}
	a.fail("syntax", "42601", strings.Join(parts, "."), pos, "improper qualified name (too many dotted names): %s", strings.Join(parts, "."))
	return "", "", false
}

func (a *analyzer) crossDatabase(parts []string, pos int) {
	full := strings.Join(parts, ".")
	a.fail("unresolved-relation", "0A000", full, pos, "cross-database references are not implemented: %s", full)
}

// typeName resolves a type that the statement names and records its use.
func (a *analyzer) typeName(t *pg_query.TypeName) catalog.OID {
	if t == nil {
		return anything
	}
	a.mark(t)
	a.typeModifiers(t)
	pos := int(t.Location)
	if t.PctType {
		a.unmapped("%TYPE", pos)
		return anything
	}
	parts := a.nameParts(t.Names)
	if len(parts) == 0 {
		return anything
	}
	if a.plainJSON(parts, pos) {
		parts = parts[1:]
	}
	schema, name, ok := a.qualified(parts, pos)
	if !ok {
		return anything
	}
	ty := a.findType(schema, name)
	if ty == nil {
		full := strings.Join(parts, ".")
		a.fail("unresolved-type", "42704", full, pos, "type %q does not exist", full)
		return anything
	}
	a.useType(ty, pos)
	if len(t.ArrayBounds) > 0 {
		return a.arrayOf(ty.OID)
	}
	return ty.OID
}

// plainJSON says whether pg_catalog.json was written as json: a keyword to this
// parser, but before 17 a name like any other, which the search path decides.
func (a *analyzer) plainJSON(parts []string, pos int) bool {
	return len(parts) == 2 && parts[0] == "pg_catalog" && parts[1] == "json" && a.cat.ServerVersion() < 170000 &&
		pos >= 0 && pos+4 <= len(a.text) && strings.EqualFold(a.text[pos:pos+4], "json")
}

// typeModifiers reads (10,2) or (Point,4326): constants and bare words.
func (a *analyzer) typeModifiers(t *pg_query.TypeName) {
	for _, m := range t.Typmods {
		switch n := m.GetNode().(type) {
		case *pg_query.Node_AConst:
		case *pg_query.Node_ColumnRef:
			a.mark(n.ColumnRef)
			if len(n.ColumnRef.Fields) != 1 || a.nameParts(n.ColumnRef.Fields) == nil {
				a.unmapped("type modifier", int(n.ColumnRef.Location))
			}
		default:
			a.fail("syntax", "42601", "", int(t.Location), "type modifiers must be simple constants or identifiers")
		}
	}
	for _, b := range t.ArrayBounds {
		if _, ok := b.GetNode().(*pg_query.Node_Integer); !ok {
			a.unmapped("array bound", int(t.Location))
		}
	}
}

// findType looks a type up, through the search path if schema is "".
func (a *analyzer) findType(schema, name string) *catalog.Type {
	if schema != "" {
		return a.cat.Type(schema, name)
	}
	if ty := a.cat.Type("pg_temp", name); ty != nil {
		return ty
	}
	for _, s := range a.path {
		if ty := a.cat.Type(s, name); ty != nil {
			return ty
		}
	}
	return nil
}

// useType records a named type; of an array it is the element that matters.
func (a *analyzer) useType(ty *catalog.Type, pos int) {
	for ty.Category == 'A' && ty.Element != 0 {
		e := a.cat.TypeByOID(ty.Element)
		if e == nil {
			break
		}
		ty = e
	}
	if !slices.ContainsFunc(a.f.Types, func(u policy.TypeUse) bool { return u.Type == ty }) {
		a.f.Types = append(a.f.Types, policy.TypeUse{Type: ty, Pos: pos})
	}
}

// givenTypes records the types that a Parse message gives its parameters, like
// those that PREPARE names: Bind makes a value of each, also of a parameter that
// the text doesn't use, and that runs a domain's CHECK and looks a regclass up.
func (a *analyzer) givenTypes() {
	for i, oid := range a.env.ParamTypes {
		if oid == 0 || oid == unknownOID {
			continue
		}
		ty := a.cat.TypeByOID(oid)
		if ty == nil {
			a.fail("unresolved-type", "42704", fmt.Sprint(oid), -1, "the type of parameter $%d, with OID %d, does not exist", i+1, oid)
			continue
		}
		a.useType(ty, -1)
	}
}

// nodeName is the name of what a Node holds, for messages.
func nodeName(n *pg_query.Node) string {
	if n == nil || n.Node == nil {
		return "nothing"
	}
	m := n.ProtoReflect()
	fd := m.WhichOneof(m.Descriptor().Oneofs().Get(0))
	return string(fd.Message().Name())
}
