package statement

import (
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// sameTree compares two parse trees in every field except those that only say
// where in the text something stood. Where it meets the node except in tree a,
// it passes over its limit: that is the one place a rewrite may change.
func sameTree(a, b proto.Message, except *pg_query.SelectStmt) bool {
	c := comparison{}
	if except != nil {
		c.except = except.ProtoReflect()
	}
	return c.messages(a.ProtoReflect(), b.ProtoReflect())
}

type comparison struct{ except protoreflect.Message }

func (c comparison) messages(a, b protoreflect.Message) bool {
	if a.Descriptor() != b.Descriptor() || a.IsValid() != b.IsValid() {
		return false
	}
	passLimit := c.except != nil && a.Interface() == c.except.Interface()
	fields := a.Descriptor().Fields()
	same := true
	a.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if locates(f) || passLimit && limits(f) {
			return true
		}
		same = b.Has(f) && c.values(f, v, b.Get(f))
		return same
	})
	if !same {
		return false
	}
	b.Range(func(f protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		same = locates(f) || passLimit && limits(f) || a.Has(fields.ByNumber(f.Number()))
		return same
	})
	return same
}

func (c comparison) values(f protoreflect.FieldDescriptor, a, b protoreflect.Value) bool {
	switch {
	case f.IsMap():
		return false // no node has one
	case f.IsList():
		x, y := a.List(), b.List()
		if x.Len() != y.Len() {
			return false
		}
		for i := range x.Len() {
			if f.Kind() != protoreflect.MessageKind {
				if !x.Get(i).Equal(y.Get(i)) {
					return false
				}
			} else if !c.messages(x.Get(i).Message(), y.Get(i).Message()) {
				return false
			}
		}
		return true
	case f.Kind() == protoreflect.MessageKind:
		return c.messages(a.Message(), b.Message())
	}
	return a.Equal(b)
}

// locates says whether a field is a place in the text: location,
// name_location, stmt_location, stmt_len and the like.
func locates(f protoreflect.FieldDescriptor) bool {
	return f.Kind() == protoreflect.Int32Kind &&
		(strings.HasSuffix(string(f.Name()), "location") || f.Name() == "stmt_len")
}

func limits(f protoreflect.FieldDescriptor) bool {
	return f.Name() == "limit_count" || f.Name() == "limit_option"
}

// firstLocation is the lowest byte offset that any node at or below n gives,
// -1 if none does.
func firstLocation(n proto.Message) int {
	first := -1
	visitMessages(n.ProtoReflect(), func(m protoreflect.Message) bool {
		f := m.Descriptor().Fields().ByName("location")
		if f != nil && f.Kind() == protoreflect.Int32Kind {
			if at := int(m.Get(f).Int()); at > 0 && (first < 0 || at < first) {
				first = at
			}
		}
		return true
	})
	return first
}

// visitMessages calls f for m and, where f says so, for every message below it.
func visitMessages(m protoreflect.Message, f func(protoreflect.Message) bool) {
	if !m.IsValid() || !f(m) {
		return
	}
	m.Range(func(d protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case d.Kind() != protoreflect.MessageKind || d.IsMap():
		case d.IsList():
			for i := range v.List().Len() {
				visitMessages(v.List().Get(i).Message(), f)
			}
		default:
			visitMessages(v.Message(), f)
		}
		return true
	})
}
