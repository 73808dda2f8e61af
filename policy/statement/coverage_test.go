package statement

import (
	"maps"
	"slices"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// messages are all message types that a tree can hold, by name.
func messages() map[string]protoreflect.MessageDescriptor {
	out := make(map[string]protoreflect.MessageDescriptor)
	var add func(m protoreflect.MessageDescriptor)
	add = func(m protoreflect.MessageDescriptor) {
		name := string(m.Name())
		if out[name] != nil {
			return
		}
		out[name] = m
		for i := range m.Fields().Len() {
			if sub := m.Fields().Get(i).Message(); sub != nil {
				add(sub)
			}
		}
	}
	add((*pg_query.Node)(nil).ProtoReflect().Descriptor())
	delete(out, "Node")
	return out
}

// A parser with a node or a field that nobody has thought about fails here,
// and at run time its use is refused.
func TestEveryNodeAndFieldIsMapped(t *testing.T) {
	table, err := parseCoverage(coverageText)
	if err != nil {
		t.Fatal(err)
	}
	all := messages()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		nt, ok := table[name]
		if !ok {
			t.Errorf("%s is not in coverage.txt", name)
			continue
		}
		if nt.handling == active || nt.handling == passive {
			checkFields(t, all[name], nt)
		}
	}
	for name := range table {
		if all[name] == nil {
			t.Errorf("coverage.txt has %s, which the parser does not", name)
		}
	}
}

func checkFields(t *testing.T, m protoreflect.MessageDescriptor, nt nodeType) {
	t.Helper()
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		role, ok := nt.fields[string(f.Name())]
		switch {
		case !ok:
			t.Errorf("%s.%s is not in coverage.txt", m.Name(), f.Name())
		case role == enter && f.Message() == nil:
			t.Errorf("%s.%s is a scalar: nothing is there to be entered", m.Name(), f.Name())
		case role == plain && f.Message() != nil && m.Name() != "A_Const":
			t.Errorf("%s.%s holds messages: they have to be entered", m.Name(), f.Name())
		}
	}
	for name := range nt.fields {
		if m.Fields().ByName(protoreflect.Name(name)) == nil {
			t.Errorf("coverage.txt has %s.%s, which the parser does not", m.Name(), name)
		}
	}
}

// Every type of statement is known: as a query, or by its kind.
func TestEveryStatementHasATag(t *testing.T) {
	table, err := parseCoverage(coverageText)
	if err != nil {
		t.Fatal(err)
	}
	statements := 0
	for name := range descriptions {
		if table[name].handling != opaque {
			t.Errorf("%s is described by its kind alone but not opaque in coverage.txt", name)
		}
		statements++
	}
	if statements < 50 {
		t.Errorf("only %d statements are described", statements)
	}
}

func TestCoverageTableIsStrict(t *testing.T) {
	for _, text := range []string{"activ X a | b", "active", "active X |\nactive X |"} {
		if _, err := parseCoverage(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

// The sweep finds what a handler has not read, and fields that only later
// stages of the server fill.
func TestSweepReportsWhatNobodyRead(t *testing.T) {
	column := &pg_query.Node{Node: &pg_query.Node_ColumnRef{ColumnRef: &pg_query.ColumnRef{}}}
	aggref := &pg_query.Node{Node: &pg_query.Node_Aggref{Aggref: &pg_query.Aggref{}}}
	typed := &pg_query.CaseExpr{Casetype: 23}
	for _, c := range []struct {
		what string
		node *pg_query.Node
		read []any
		want []string
	}{
		{"unread", column, nil, []string{"ColumnRef"}},
		{"read", column, []any{column.GetColumnRef()}, nil},
		{"internal", aggref, []any{aggref.GetAggref()}, []string{"Aggref"}},
		{"filled later", &pg_query.Node{Node: &pg_query.Node_CaseExpr{CaseExpr: typed}}, []any{typed}, []string{"CaseExpr.casetype"}},
		{"empty", &pg_query.Node{}, nil, nil},
	} {
		var got []string
		a := &analyzer{f: nil, read: map[any]struct{}{}}
		for _, n := range c.read {
			a.mark(n)
		}
		sweepTree(c.node, a.read, func(what string) { got = append(got, what) })
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.what, got, c.want)
		}
	}
}
