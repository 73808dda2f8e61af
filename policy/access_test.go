package policy_test

import (
	"strings"
	"testing"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/policy/catalog"
)

func TestReadableColumn(t *testing.T) {
	set := load(t, rulesPolicy)
	a, _ := set.Agent("reporting")
	cat := shop(t)
	for _, c := range []struct {
		schema, table string
		num           int16
		want          bool
	}{
		{"public", "customers", 1, true},
		{"public", "customers", 3, false}, // closed by a rule
		{"public", "customers", 5, false},
		{"public", "customers", -1, false},
		{"public", "customers", 99, false},
		{"public", "orders", 1, true},
		{"public", "orders", -6, true},
		{"public", "orders", -7, false},
		{"public", "orders", 0, false},
		{"public", "secrets", 1, false},
		{"public", "products", 2, true}, // its rule is on trial
		{"pg_catalog", "pg_class", 2, true},
		{"pg_catalog", "pg_authid", 3, false},
		{"pg_catalog", "pg_stat_activity", 3, false},
	} {
		rel := cat.Relation(c.schema, c.table)
		if got := policy.ReadableColumn(a, rel, c.num); got != c.want {
			t.Errorf("%s.%d: %v", rel, c.num, got)
		}
		if n := testing.AllocsPerRun(10, func() { policy.ReadableColumn(a, rel, c.num) }); n != 0 {
			t.Errorf("%s.%d allocates %v times", rel, c.num, n)
		}
	}
}

func TestAllowsRelation(t *testing.T) {
	set := load(t, rulesPolicy)
	a, _ := set.Agent("reporting")
	orders, secrets := shop(t).Relation("public", "orders"), shop(t).Relation("public", "secrets")
	sequence := &catalog.Relation{Schema: "reporting", Name: "s", Kind: catalog.Sequence}
	for _, c := range []struct {
		rel   *catalog.Relation
		needs policy.Privilege
		want  bool
	}{
		{orders, policy.Read, true},
		{orders, policy.Read | policy.Insertion, false},
		{secrets, policy.Read, false},
		{sequence, policy.Read, false},
	} {
		if got := a.AllowsRelation(c.rel, c.needs); got != c.want {
			t.Errorf("%s: %v", c.rel, got)
		}
	}
}

func TestSystemRelationOpenedByName(t *testing.T) {
	set := load(t, agentWith("metadata: none\ntables: {pg_catalog.pg_stats: all, pg_catalog.pg_stat_activity: [pid]}"))
	want(t, decide(t, set, "a", reads(t, "pg_catalog", "pg_stats", "most_common_vals")), "")
	want(t, decide(t, set, "a", reads(t, "pg_catalog", "pg_stat_activity", "pid")), "")
	want(t, decide(t, set, "a", reads(t, "pg_catalog", "pg_stat_activity", "query")), "catalog")
	want(t, decide(t, set, "a", reads(t, "pg_catalog", "pg_class", "relname")), "catalog")
}

func TestTheMostExactEntryCounts(t *testing.T) {
	set := load(t, agentWith("tables:\n  public.*: all\n  public.cust*: [id]\n  public.customers: [id, name]"))
	want(t, decide(t, set, "a", reads(t, "public", "customers", "name")), "")
	want(t, decide(t, set, "a", reads(t, "public", "customers", "ssn")), "column")
	want(t, decide(t, set, "a", reads(t, "public", "secrets", "api_key")), "")
}

func TestGroupsAdd(t *testing.T) {
	set := load(t, "version: 1\ngroups:\n  g: {tables: {public.customers: [email]}}\n"+strings.TrimPrefix(agentWith("groups: [g]\ntables: {public.customers: [id]}"), "version: 1\n"))
	want(t, decide(t, set, "a", reads(t, "public", "customers", "id", "email")), "")
	want(t, decide(t, set, "a", reads(t, "public", "customers", "ssn")), "column")
}

func TestOperators(t *testing.T) {
	cat := shop(t)
	use := func(name string, oids ...catalog.OID) *policy.Facts {
		u := policy.OperatorUse{Name: name}
		for _, o := range cat.Operators(name) {
			for _, oid := range oids {
				if o.OID == oid {
					u.Candidates = append(u.Candidates, o)
				}
			}
		}
		return &policy.Facts{Kind: policy.KindSelect, Operators: []policy.OperatorUse{u}}
	}
	evil := use("===", 202)
	evil.Functions = []policy.FunctionUse{{Name: "wipe", Candidates: []*catalog.Function{cat.FunctionByOID(122)}, Via: "operator"}}
	set := load(t, shopPolicy)
	listed := load(t, agentWith("operators: [\"public.===(int, int)\"]\nextensions: [pg_trgm]"))
	for _, c := range []struct {
		name         string
		f            *policy.Facts
		shop, listed string
	}{
		{"extension beside built-in", use("=", 201), "", ""},
		{"extension", use("%", 203), "operator", ""},
		{"home-made", use("===", 202), "operator", ""},
		{"home-made with its function", evil, "function", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := decide(t, set, "blind", c.f)
			if c.shop == "" {
				want(t, d, "")
			} else if d.Verdict != policy.Deny {
				t.Errorf("allowed")
			}
			want(t, decide(t, listed, "a", c.f), c.listed)
		})
	}
}

func TestTypes(t *testing.T) {
	set := load(t, shopPolicy)
	listed := load(t, agentWith("types: [public.checked_domain, public.home_made]"))
	for _, c := range []struct {
		oid                     catalog.OID
		reporting, blind, lists string
	}{
		{oidText, "", "", ""},
		{2205, "", "type", ""}, // regclass
		{2210, "", "type", ""}, // regclass[]
		{oidCitext, "", "type", "type"},
		{9000, "", "", ""},         // a domain of the server's own
		{9002, "", "", ""},         // enum
		{9003, "", "", ""},         // domain
		{9004, "type", "type", ""}, // domain with CHECK
		{9005, "type", "type", ""}, // an array of them
		{9006, "", "", "type"},     // row of orders
		{9007, "type", "type", "type"},
		{9008, "type", "type", ""},
	} {
		typ := shop(t).TypeByOID(c.oid)
		f := &policy.Facts{Kind: policy.KindSelect, Types: []policy.TypeUse{{Type: typ, Pos: 9}}}
		t.Run(typ.String(), func(t *testing.T) {
			want(t, decide(t, set, "reporting", f), c.reporting)
			want(t, decide(t, set, "blind", f), c.blind)
			want(t, decide(t, listed, "a", f), c.lists)
		})
	}
}

func TestHints(t *testing.T) {
	set := load(t, shopPolicy)
	star := reads(t, "public", "customers", "id", "name", "region", "email", "ssn")
	for i := range star.Columns {
		star.Columns[i].Via = policy.ByStar
	}
	misspelt := &policy.Facts{Kind: policy.KindSelect, Problems: []policy.Problem{{Rule: "unresolved-relation", SQLSTATE: "42P01",
		Message: `relation "ordres" does not exist`, Name: "ordres", Server: true}}}
	column := reads(t, "public", "customers")
	column.Problems = []policy.Problem{{Rule: "unresolved-column", SQLSTATE: "42703", Message: `column "nme" does not exist`, Name: "nme", Server: true}}
	for _, c := range []struct {
		name          string
		f             *policy.Facts
		message, hint string
	}{
		{"table", reads(t, "public", "secrets", "id"), `agent "reporting" may not read public.secrets`,
			"Open to this agent: audit.log_2026, public.customers, public.orders, public.products, reporting.daily."},
		{"star", star, `agent "reporting" may not read columns email, ssn of public.customers`, "Write the columns instead of *: id, name, region."},
		{"column", reads(t, "public", "customers", "ssn"), `agent "reporting" may not read column ssn of public.customers`,
			"Open columns of public.customers: id, name, region."},
		{"no such table", misspelt, `relation "ordres" does not exist`, "Did you mean public.orders?"},
		{"no such column", column, `column "nme" does not exist`, "Did you mean name?"},
		{"function", calls(t, 122), `agent "reporting" may not call public.wipe(): not among the agent's functions`,
			"Open to this agent are the server's own functions and public.order_total."},
		{"sleep", calls(t, 102), `agent "reporting" may not call pg_sleep(double precision): it only waits`, "Wait on the client's side."},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := decide(t, set, "reporting", c.f)
			r := d.Refusal()
			if r == nil || r.Message != c.message || r.Hint != c.hint {
				t.Errorf("%+v", r)
			}
		})
	}
}
