package policy_test

import (
	"strings"
	"testing"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/policy/catalog"
)

// shopPolicy is the policy most tests judge by.
const shopPolicy = `
version: 1
groups:
  catalogue:
    tables:
      public.products: all
      reporting.*: all
    functions: [public.order_total(int)]
    extensions: [citext]
agents:
  reporting:
    password: secret:reporting
    databases: {shop: reader}
    access: read_only
    groups: [catalogue]
    tables:
      public.orders: all
      public.customers: [id, name, region]
      audit.log_*: [id, at]
    copy: {to_stdout: limited}
    limits: {rows: 100, statement_timeout: 5s}
  blind:
    password: secret:reporting
    databases: {shop: reader}
    access: read_only
    metadata: none
    tables: {public.orders: all}
  watched:
    certificate: {common_name: watched}
    databases: {shop: reader}
    access: observe
  unsafe:
    password: secret:reporting
    databases: {shop: reader}
    access: observe
    unsafe_passthrough: true
`

func load(t testing.TB, src string) *policy.Set {
	t.Helper()
	set, err := policy.Load("policy.yaml", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func decide(t testing.TB, set *policy.Set, agent string, f *policy.Facts) policy.Decision {
	t.Helper()
	a, ok := set.Agent(agent)
	if !ok {
		t.Fatalf("no agent %s", agent)
	}
	return policy.Decide(set, policy.Request{Agent: a, Facts: f, Catalog: shop(t)})
}

// want holds a decision against one expected rule; "" expects it to be allowed.
func want(t *testing.T, d policy.Decision, rule string) {
	t.Helper()
	r := d.Refusal()
	switch {
	case rule == "" && r != nil:
		t.Fatalf("refused by %s: %s (%s)", r.Rule, r.Message, r.Hint)
	case rule == "" && d.Verdict != policy.Allow:
		t.Fatalf("verdict %s, want allow", d.Verdict)
	case rule != "" && r == nil:
		t.Fatalf("allowed, want refused by %s", rule)
	case rule != "" && r.Rule != rule:
		t.Fatalf("refused by %s (%s), want %s", r.Rule, r.Message, rule)
	case rule != "" && (r.Message == "" || len(r.SQLSTATE) != 5):
		t.Fatalf("an incomplete reason: %+v", *r)
	}
}

func TestLoadReportsAllFaultsAtOnce(t *testing.T) {
	_, err := policy.Load("p.yaml", []byte("version: 1\nagents:\n  a:\n    password: hunter2\n    databases: {shop: reader}\n    access: read_onyl\n    brekaer: {}\n    breaker: {after: 5}\n"))
	if err == nil {
		t.Fatal("loaded")
	}
	for _, part := range []string{"p.yaml:4:15: a secret in clear", "p.yaml:6:13: want one of", "did you mean read_only?", `p.yaml:7:5: unknown key "brekaer": did you mean breaker?`, `p.yaml:8:5: key "breaker" is not supported in this version`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v\nlacks %q", err, part)
		}
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("repeats the secret: %v", err)
	}
}

func shop(t testing.TB) *catalog.Catalog {
	t.Helper()
	cat, err := catalog.New(shopData())
	if err != nil {
		t.Fatal(err)
	}
	return cat
}
