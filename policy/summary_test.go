package policy_test

import (
	"testing"

	"github.com/pgairlock/pgairlock/policy"
)

func TestSummary(t *testing.T) {
	set, err := policy.Load("policy.yaml", []byte(`
version: 1
groups:
  catalogue:
    tables: {reporting.*: all, public.orders: [id]}
agents:
  reporting:
    password: secret:reporting
    databases: {shop: reader}
    access: read_only
    groups: [catalogue]
    search_path: [public]
    tables:
      public.orders: [total]
      public.customers: all
    limits: {rows: 50, bytes: 1MiB, statement_timeout: 5s}
`))
	if err != nil {
		t.Fatal(err)
	}
	agent, _ := set.Agent("reporting")
	const want = `access: read_only
metadata: all
search_path: public
tables:
  public.customers: all columns
  public.orders: id, total
  reporting.*: all columns
rows: 50 for each statement
bytes: 1048576 for each statement
statement_timeout: 5s`
	if got := agent.Summary(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
