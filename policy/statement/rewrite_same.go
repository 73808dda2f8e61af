package statement

import (
	"reflect"
	"strings"
	"sync"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// treeFields are, for each message of the tree, the fields that say what a
// statement means: all but those that only say where in the text it stood.
// They are found once; the trees' own reflection is several times slower.
var treeFields = sync.OnceValue(func() map[reflect.Type]messageFields {
	out := make(map[reflect.Type]messageFields)
	var add func(reflect.Type)
	add = func(t reflect.Type) {
		if _, ok := out[t]; ok {
			return
		}
		m := messageFields{location: -1}
		out[t] = m
		for i := range t.NumField() {
			f := t.Field(i)
			switch {
			case !f.IsExported():
				continue
			case f.Type.Kind() == reflect.Int32 && f.Name == "Location":
				m.location = i
				continue
			case f.Type.Kind() == reflect.Int32 && (strings.HasSuffix(f.Name, "Location") || f.Name == "StmtLen"):
				continue
			}
			m.meaning = append(m.meaning, i)
			if inner := messageOf(f.Type); inner != nil {
				add(inner)
			}
		}
		out[t] = m
	}
	add(nodeStruct)
	for _, t := range nodeWrappers() {
		add(t)
	}
	return out
})

// messageFields are indexes of a message's fields.
type messageFields struct {
	meaning  []int
	location int // of the field Location, -1 if there is none
}

// sameTree compares two parse trees, given as pointers to messages, in every
// field that means something. Where it meets the node except in tree a, it
// passes over its limit: that is the one place a rewrite may change.
func sameTree(a, b any, except *pg_query.SelectStmt) bool {
	c := comparison{fields: treeFields(), except: except}
	return c.same(reflect.ValueOf(a), reflect.ValueOf(b))
}

type comparison struct {
	fields map[reflect.Type]messageFields
	except *pg_query.SelectStmt
}

func (c *comparison) same(a, b reflect.Value) bool {
	if a.Type() != b.Type() {
		return false
	}
	switch a.Kind() {
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() && b.IsNil()
		}
		return c.structs(a, b)
	case reflect.Interface: // a oneof
		if a.IsNil() || b.IsNil() {
			return a.IsNil() && b.IsNil()
		}
		return c.same(a.Elem(), b.Elem())
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !c.same(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Bool, reflect.Int32, reflect.Int64, reflect.Uint32, reflect.Uint64, reflect.Float64, reflect.String:
		return a.Equal(b)
	}
	return false
}

// structs compares what two pointers lead to.
func (c *comparison) structs(a, b reflect.Value) bool {
	passLimit := c.except != nil && a.UnsafePointer() == reflect.ValueOf(c.except).UnsafePointer()
	a, b = a.Elem(), b.Elem()
	t := a.Type()
	m, ok := c.fields[t]
	if !ok { // the struct around a oneof's value
		return t.NumField() == 1 && c.same(a.Field(0), b.Field(0))
	}
	for _, i := range m.meaning {
		if passLimit && isLimit(t.Field(i).Name) {
			continue
		}
		if !c.same(a.Field(i), b.Field(i)) {
			return false
		}
	}
	return true
}

func isLimit(field string) bool { return field == "LimitCount" || field == "LimitOption" }

// firstLocation is the lowest byte offset that any node at or below n gives,
// -1 if none does.
func firstLocation(n *pg_query.Node) int {
	first := -1
	fields := treeFields()
	visitTree(reflect.ValueOf(n), fields, func(v reflect.Value) bool {
		if i := fields[v.Type().Elem()].location; i >= 0 {
			if at := int(v.Elem().Field(i).Int()); at > 0 && (first < 0 || at < first) {
				first = at
			}
		}
		return true
	})
	return first
}

// visitTree calls f with the pointer to v's message and, where f says so, with
// those of all messages below it.
func visitTree(v reflect.Value, fields map[reflect.Type]messageFields, f func(reflect.Value) bool) {
	switch v.Kind() {
	case reflect.Interface:
		visitTree(v.Elem(), fields, f)
	case reflect.Slice:
		if inner := messageOf(v.Type()); inner == nil {
			return
		}
		for i := range v.Len() {
			visitTree(v.Index(i), fields, f)
		}
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		m, ok := fields[v.Type().Elem()]
		if !ok { // the struct around a oneof's value
			visitTree(v.Elem().Field(0), fields, f)
			return
		}
		if !f(v) {
			return
		}
		for _, i := range m.meaning {
			visitTree(v.Elem().Field(i), fields, f)
		}
	}
}
