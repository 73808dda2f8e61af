package policy_test

import (
	"testing"

	"github.com/pgairlock/pgairlock/policy"
)

const rulesPolicy = shopPolicy + `
rules:
  - name: no regions
    match: {tables: [public.customers], columns: [region]}
    verdict: deny
  - name: no products at night
    match: {agents: [reporting], tables: ["public.prod*"], commands: [select]}
    verdict: deny
    enforce: false
  - name: no sweeping writes
    match: {commands: [update, delete], without_where: true}
    verdict: deny
  - name: money is critical
    match: {tables: [public.orders]}
    risk: l3_critical
  - name: daily is a risk on trial
    match: {tables: [reporting.daily]}
    risk: l4_irreversible
    enforce: false
  - name: no totals of orders
    match: {tables: [public.orders], functions: [public.order_total(int)]}
    verdict: deny
`

func TestRules(t *testing.T) {
	set := load(t, rulesPolicy)
	both := reads(t, "public", "orders", "id")
	both.Functions = calls(t, 120).Functions
	sweep := &policy.Facts{Kind: policy.KindUpdate, Commands: []policy.Command{policy.Update}, WithoutWhere: true, Risk: policy.L3Critical}
	aimed := &policy.Facts{Kind: policy.KindUpdate, Commands: []policy.Command{policy.Update}, Risk: policy.L2Modify}
	for _, c := range []struct {
		name     string
		f        *policy.Facts
		rule     string
		recorded string // a rule that matches without refusing
		risk     policy.Risk
	}{
		{"column of a rule", reads(t, "public", "customers", "id", "region"), "no regions", "", policy.L0Read},
		{"beside it", reads(t, "public", "customers", "id", "name"), "", "", policy.L0Read},
		{"on trial", reads(t, "public", "products", "title"), "", "no products at night", policy.L0Read},
		{"raised risk", reads(t, "public", "orders", "id"), "", "money is critical", policy.L3Critical},
		{"raised risk on trial", reads(t, "reporting", "daily", "day"), "", "daily is a risk on trial", policy.L0Read},
		{"table and function", both, "no totals of orders", "money is critical", policy.L3Critical},
		{"function alone", calls(t, 120), "", "", policy.L0Read},
		{"without WHERE", sweep, "read-only", "no sweeping writes", policy.L3Critical},
		{"with WHERE", aimed, "read-only", "", policy.L2Modify},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := decide(t, set, "reporting", c.f)
			want(t, d, c.rule)
			if d.Risk != c.risk {
				t.Errorf("risk %s, want %s", d.Risk, c.risk)
			}
			if c.recorded == "" {
				return
			}
			for _, r := range d.Reasons {
				if r.Rule == c.recorded {
					if r.Source == "" {
						t.Errorf("without its place in the file: %+v", r)
					}
					return
				}
			}
			t.Errorf("%q is not recorded: %+v", c.recorded, d.Reasons)
		})
	}
}

func TestRiskIsNeverLowered(t *testing.T) {
	set := load(t, agentWith("groups: []")+"rules:\n  - {name: r, match: {commands: [delete]}, risk: l1_append}\n")
	d := decide(t, set, "a", &policy.Facts{Kind: policy.KindDelete, Commands: []policy.Command{policy.Delete}, Risk: policy.L4Irreversible})
	if d.Risk != policy.L4Irreversible {
		t.Fatal(d.Risk)
	}
}

func TestOrderOfRulesDoesNotMatter(t *testing.T) {
	const head = "rules:\n"
	const deny = "  - {name: deny, match: {tables: [public.orders], commands: [select]}, verdict: deny}\n"
	const risk = "  - {name: risk, match: {tables: [public.orders]}, risk: l3_critical}\n"
	for _, rules := range []string{head + deny + risk, head + risk + deny} {
		d := decide(t, load(t, agentWith("tables: {public.orders: all}")+rules), "a", reads(t, "public", "orders", "id"))
		if d.Verdict != policy.Deny || d.Risk != policy.L3Critical || d.Reasons[0].Verdict != policy.Deny {
			t.Errorf("%+v", d)
		}
	}
}

func TestRulesAreRecordedForObservedAgents(t *testing.T) {
	set := load(t, rulesPolicy)
	d := decide(t, set, "watched", reads(t, "public", "customers", "region"))
	want(t, d, "")
	for _, r := range d.Reasons {
		if r.Enforced {
			t.Errorf("enforced: %+v", r)
		}
		if r.Rule == "no regions" {
			return
		}
	}
	t.Errorf("not recorded: %+v", d.Reasons)
}
