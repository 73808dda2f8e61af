package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/policy/catalog"
)

const (
	manyAgents = 1000
	manyTables = 10000
)

// largePolicy has a thousand agents in fifty groups, over the tables of
// largeCatalog.
func largePolicy() string {
	var b strings.Builder
	b.WriteString("version: 1\ngroups:\n")
	for g := range 50 {
		fmt.Fprintf(&b, "  g%d:\n    tables:\n      s%d.*: all\n      s%d.t1*: [id, a]\n", g, g, g+50)
		for i := range 100 {
			fmt.Fprintf(&b, "      s%d.t%d: [id, b]\n", g+50, 20+i)
		}
		fmt.Fprintf(&b, "    functions: [s%d.f(integer)]\n    extensions: [citext, pgvector]\n", g)
	}
	b.WriteString("agents:\n")
	for a := range manyAgents {
		fmt.Fprintf(&b, "  agent%d:\n    password: secret:a\n    databases: {shop: reader}\n    access: read_only\n    groups: [g%d, g%d, g%d, g%d]\n    tables:\n      s99.t%d: all\n",
			a, a%50, (a+1)%50, (a+2)%50, (a+3)%50, a%100)
	}
	return b.String()
}

func largeCatalog(tb testing.TB) *catalog.Catalog {
	tb.Helper()
	d := shopData()
	for i := range manyTables {
		d.Relations = append(d.Relations, table(catalog.OID(1000+i), fmt.Sprintf("s%d", i%100), fmt.Sprintf("t%d", i/100), "id", "a", "b"))
	}
	cat, err := catalog.New(d)
	if err != nil {
		tb.Fatal(err)
	}
	return cat
}

func BenchmarkLoadLarge(b *testing.B) {
	src := []byte(largePolicy())
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		if _, err := policy.Load("p", src); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWarningsLarge(b *testing.B) {
	set, cat := load(b, largePolicy()), largeCatalog(b)
	for b.Loop() {
		set.Warnings(cat)
	}
}

// benchmarkDecide judges a join of two tables that are allowed.
func benchmarkDecide(b *testing.B, src, agent string, cat *catalog.Catalog, tables ...catalog.Name) {
	set := load(b, src)
	a, ok := set.Agent(agent)
	if !ok {
		b.Fatal(agent)
	}
	f := &policy.Facts{Kind: policy.KindSelect, Commands: []policy.Command{policy.Select}, ReturnsRows: true}
	for _, n := range tables {
		rel := cat.Relation(n.Schema, n.Name)
		f.Relations = append(f.Relations, policy.RelationUse{Relation: rel, Needs: policy.Read})
		f.Columns = append(f.Columns, policy.ColumnUse{Relation: rel, Column: "id", Needs: policy.Read})
	}
	b.ReportAllocs()
	for b.Loop() {
		if d := policy.Decide(set, policy.Request{Agent: a, Facts: f, Catalog: cat}); d.Verdict != policy.Allow {
			b.Fatal(d.Reasons)
		}
	}
}

func BenchmarkDecideSmall(b *testing.B) {
	benchmarkDecide(b, shopPolicy, "reporting", shop(b), catalog.Name{Schema: "public", Name: "orders"}, catalog.Name{Schema: "public", Name: "customers"})
}

func BenchmarkDecideLarge(b *testing.B) {
	benchmarkDecide(b, largePolicy(), "agent500", largeCatalog(b), catalog.Name{Schema: "s3", Name: "t77"}, catalog.Name{Schema: "s53", Name: "t44"})
}

func BenchmarkRefusalLarge(b *testing.B) {
	set, cat := load(b, largePolicy()), largeCatalog(b)
	a, _ := set.Agent("agent500")
	f := &policy.Facts{Kind: policy.KindSelect, Relations: []policy.RelationUse{{Relation: cat.Relation("s40", "t1"), Needs: policy.Read}}}
	for b.Loop() {
		if d := policy.Decide(set, policy.Request{Agent: a, Facts: f, Catalog: cat}); d.Verdict != policy.Deny {
			b.Fatal("allowed")
		}
	}
}

func BenchmarkReadableColumn(b *testing.B) {
	set, cat := load(b, largePolicy()), largeCatalog(b)
	a, _ := set.Agent("agent500")
	rel := cat.Relation("s3", "t77")
	b.ReportAllocs()
	for b.Loop() {
		if !policy.ReadableColumn(a, rel, 2) {
			b.Fatal("not readable")
		}
	}
}
