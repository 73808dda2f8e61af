package statement_test

import (
	"fmt"
	"testing"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/policy/catalog"
	"github.com/pgairlock/pgairlock/policy/policytest"
	"github.com/pgairlock/pgairlock/policy/statement"
)

const shopTables = `
public.orders: id int8, customer_id int4, total numeric, status text
public.customers: id int4, name text, email text
public.parts: id int4, qty int4
archive.orders: id int8, total numeric
public.payments: id int8, amount numeric
function public.secret_total(int4) returns numeric
partitioned table public.events: id int8, at date
view public.open_orders: id int8
function public.pairs(int4) returns setof int4
`

const shopPolicy = `
version: 1
agents:
  reader:
    password: secret:reader
    databases: {shop: reader}
    access: read_only
    search_path: [public, archive]
    limits: {rows: %d}
    copy: {to_stdout: limited}
    functions: [public.pairs(integer)]
    tables:
      public.orders: all
      public.parts: all
      public.events: all
      public.open_orders: all
      public.customers: [id, name]
      archive.orders: [id, total]
  nocopy:
    password: secret:nocopy
    databases: {shop: reader}
    access: read_only
    tables:
      public.orders: all
  watched:
    password: secret:watched
    databases: {shop: writer}
    access: observe
    limits: {rows: unlimited}
    tables:
      public.orders: all
  unbound:
    password: secret:unbound
    databases: {shop: writer}
    access: observe
    unsafe_passthrough: true
    tables:
      public.orders: all
`

// shop is what statements are judged with in these tests.
type shop struct {
	catalog *catalog.Catalog
	set     *policy.Set
}

func newShop(tb testing.TB, rows int) *shop {
	tb.Helper()
	cat, err := policytest.Catalog(shopTables)
	if err != nil {
		tb.Fatal(err)
	}
	set, err := policy.Load("policy.yaml", fmt.Appendf(nil, shopPolicy, rows))
	if err != nil {
		tb.Fatal(err)
	}
	return &shop{catalog: cat, set: set}
}

func (s *shop) input(tb testing.TB, agent, text string) statement.Input {
	tb.Helper()
	a, ok := s.set.Agent(agent)
	if !ok {
		tb.Fatalf("no agent %s", agent)
	}
	return statement.Input{
		Text: text, Set: s.set, Agent: a,
		Env:       statement.Env{Catalog: s.catalog, Path: []string{"public"}},
		ResetPath: []string{"public"},
	}
}

func (s *shop) judge(tb testing.TB, text string) statement.Judgement {
	tb.Helper()
	return statement.Judge(s.input(tb, "reader", text))
}

// mustPass fails the test where the text is refused.
func mustPass(tb testing.TB, j statement.Judgement) {
	tb.Helper()
	if j.Refusal != nil {
		tb.Fatalf("%s\nis refused: %s: %s", j.Text, j.Refusal.Rule, j.Refusal.Message)
	}
}
