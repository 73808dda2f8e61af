package policy_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pgairlock/pgairlock/policy"
)

// agentWith wraps the lines in an agent, from line 7 on.
func agentWith(lines string) string {
	return "version: 1\nagents:\n  a:\n    password: secret:a\n    databases: {shop: reader}\n    access: read_only\n    " +
		strings.ReplaceAll(strings.TrimSpace(lines), "\n", "\n    ") + "\n"
}

func TestLoadFaults(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"other version", "version: 2\nagents: {}\n", "p:1:10: version 2 is not known"},
		{"no version", "agents: {}\n", `p:1:1: key "version" is missing`},
		{"no login", "version: 1\nagents:\n  a:\n    databases: {d: r}\n    access: read_only\n", `p:3:3: agent "a" can't log in`},
		{"two logins", agentWith("certificate: {common_name: a}"), "p:4:15: agent \"a\" has a password and a certificate"},
		{"no database", "version: 1\nagents:\n  a:\n    password: secret:a\n    databases: {}\n    access: observe\n", `agent "a" has no database`},
		{"long name", "version: 1\nagents:\n  " + strings.Repeat("x", 64) + ":\n    password: secret:a\n    databases: {d: r}\n    access: observe\n", "longer than 63 bytes"},
		{"same certificate", "version: 1\nagents:\n  a: {certificate: {common_name: x}, databases: {d: r}, access: observe}\n  b: {certificate: {common_name: x}, databases: {d: r}, access: observe}\n", `p:4:34: agent "a" logs in with that certificate`},
		{"access to come", strings.Replace(agentWith("groups: []"), "read_only", "guarded", 1), "p:6:13: guarded is not supported in this version"},
		{"metadata to come", agentWith("metadata: allowed"), "p:7:15: allowed is not supported in this version"},
		{"passthrough", agentWith("unsafe_passthrough: true"), "unsafe_passthrough is for access: observe only"},
		{"no such group", "version: 1\ngroups: {catalogue: {}}\nagents:\n  a: {password: secret:a, databases: {d: r}, access: observe, groups: [catalog]}\n", `p:4:72: there is no group "catalog": did you mean catalogue?`},
		{"bare table", agentWith("tables: {orders: all}"), `p:7:14: "orders": want schema.name`},
		{"capitals", agentWith("tables: {public.Orders: all}"), `write orders, or "Orders" if the name has capitals`},
		{"star in the middle", agentWith("tables: {public.o*s: all}"), "such a name must be in double quotes"},
		{"any schema", agentWith("tables: {\"*.orders\": all}"), "such a name must be in double quotes"},
		{"system wildcard", agentWith("tables: {pg_catalog.*: all}"), "system catalogs are opened by metadata"},
		{"passwords", agentWith("tables: {pg_catalog.pg_authid: all}"), "no policy opens it: passwords of roles"},
		{"no column", agentWith("tables: {public.orders: []}"), "p:7:29: no column"},
		{"word for columns", agentWith("tables: {public.orders: some}"), "want all or a list of columns"},
		{"write keys", agentWith("tables:\n  public.orders: {read: all, insert: all}"), "p:8:42: insert, update and delete are not supported with access: read_only"},
		{"table key to come", agentWith("tables:\n  public.orders: {read: all, stage_into: public.x}"), `key "stage_into" is not supported in this version`},
		{"limit to come", agentWith("limits: {cost: 100}"), `key "cost" is not supported in this version`},
		{"red line function", agentWith("functions: [pg_catalog.pg_read_file]"), "p:7:17: pg_catalog.pg_read_file: no policy opens it"},
		{"writing function", agentWith("functions: [pg_catalog.nextval(regclass)]"), "no policy opens it: it writes"},
		{"bare function", agentWith("functions: [order_total]"), "want schema.name"},
		{"open parenthesis", agentWith("functions: [\"public.f(int\"]"), "want schema.name(type, type)"},
		{"unvetted extension", agentWith("extensions: [dblink]"), `extension "dblink" has no vetted list`},
		{"misspelt extension", agentWith("extensions: [pg_trgrm]"), "did you mean pg_trgm?"},
		{"unknown setting", agentWith("settings: {free: [work_men]}"), "did you mean work_mem?"},
		{"guarded setting", agentWith("settings: {free: [row_security]}"), "no policy opens row_security"},
		{"limit as setting", agentWith("settings: {free: [statement_timeout]}"), "opened by the agent's limits"},
		{"pg_catalog in the path", agentWith("search_path: [public, pg_catalog]"), "pg_catalog can't be listed"},
		{"secret column", agentWith("groups: []") + "secret_columns: [public.customers]\n", "want schema.table.column"},
		{"rule without effect", agentWith("groups: []") + "rules:\n  - {name: r, match: {commands: [select]}}\n", `p:9:5: rule "r" does nothing`},
		{"rule for everything", agentWith("groups: []") + "rules:\n  - {name: r, match: {}, verdict: deny}\n", "matches everything"},
		{"rule twice", agentWith("groups: []") + "rules:\n  - {name: r, match: {commands: [select]}, verdict: deny}\n  - {name: r, match: {commands: [select]}, verdict: deny}\n", `rule "r" is there twice: first in line 9`},
		{"rule with a built-in's name", agentWith("groups: []") + "rules:\n  - {name: table, match: {commands: [select]}, verdict: deny}\n", "built-in rule's"},
		{"rule that allows", agentWith("groups: []") + "rules:\n  - {name: r, match: {commands: [select]}, verdict: allow}\n", "want one of deny, hold, dry_run"},
		{"verdict to come", agentWith("groups: []") + "rules:\n  - {name: r, match: {commands: [select]}, verdict: hold}\n", "hold is not supported in this version"},
		{"condition to come", agentWith("groups: []") + "rules:\n  - {name: r, match: {rows_changed: {over: 5}}, verdict: deny}\n", `key "rows_changed" is not supported`},
		{"check to come", agentWith("groups: []") + "rules:\n  - {name: r, match: {commands: [select]}, check: a > b}\n", `key "check" is not supported`},
		{"columns without tables", agentWith("groups: []") + "rules:\n  - {name: r, match: {columns: [x]}, verdict: deny}\n", "columns need tables"},
		{"rule for nobody", agentWith("groups: []") + "rules:\n  - {name: r, match: {agents: [b]}, verdict: deny}\n", `there is no agent "b"`},
		{"validators", agentWith("groups: []") + "validators: {m: {url: x}}\n", `key "validators" is not supported`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := policy.Load("p", []byte(c.src))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	src := agentWith(`limits: {rows: unlimited, bytes: 1MiB, statement_timeout: 5s, sessions: 3}
search_path: [sales, "\"Odd Schema\""]
tables: {sales."Odd.Name": all}
metadata: none`)
	set := load(t, src)
	a, _ := set.Agent("a")
	sum := sha256.Sum256([]byte(src))
	switch {
	case set.Digest != hex.EncodeToString(sum[:]), set.Mode != policy.Balanced,
		a.Password != "a", a.Databases["shop"] != "reader", a.Access != policy.ReadOnly, a.Metadata != policy.MetadataNone,
		strings.Join(a.SearchPath, "|") != "sales|Odd Schema",
		a.At.String() != "policy.yaml:3:3",
		a.Limits != policy.Limits{Bytes: 1 << 20, StatementTimeout: 5 * time.Second, LockTimeout: 5 * time.Second,
			IdleInTransaction: time.Minute, Sessions: 3, Concurrent: 10}:
		t.Fatalf("loaded %+v, agent %+v", set, a)
	}
}

func TestDefaults(t *testing.T) {
	set := load(t, agentWith("groups: []"))
	a, _ := set.Agent("a")
	if a.Limits != (policy.Limits{Rows: 1000, Bytes: 16 << 20, StatementTimeout: 30 * time.Second, LockTimeout: 5 * time.Second,
		IdleInTransaction: time.Minute, Sessions: 20, Concurrent: 10}) {
		t.Errorf("limits %+v", a.Limits)
	}
	if a.Metadata != policy.MetadataAll || len(a.SearchPath) != 1 || a.SearchPath[0] != "public" || a.CopyToStdout {
		t.Errorf("agent %+v", a)
	}
	watched, _ := load(t, shopPolicy).Agent("watched")
	if watched.Limits != (policy.Limits{Sessions: 20, Concurrent: 10}) {
		t.Errorf("an observed agent is limited: %+v", watched.Limits)
	}
}

func TestAgentsAreSorted(t *testing.T) {
	var names []string
	for _, a := range load(t, shopPolicy).Agents() {
		names = append(names, a.Name)
	}
	if strings.Join(names, " ") != "blind reporting unsafe watched" {
		t.Fatal(names)
	}
}

func TestWarnings(t *testing.T) {
	set := load(t, agentWith(`tables:
  public.orders: [id, totl]
  public.custmers: all
  public.*: all
  nowhere.*: all
  reporting.d*: all
  pg_catalog.pg_class: all`)+`secret_columns: [public.customers.email, public.customers.phone]
rules:
  - {name: r, match: {tables: [public.payments]}, verdict: deny}
`)
	var got []string
	for _, w := range set.Warnings(shop(t)) {
		got = append(got, w.String())
	}
	want := []string{
		"policy.yaml:8:27: public.orders has no column totl",
		"policy.yaml:9:7: public.custmers matches no table of database shop: did you mean public.customers?",
		"policy.yaml:11:7: nowhere.* matches no table of database shop",
		"policy.yaml:14:42: public.customers has no column phone",
		"policy.yaml:16:32: public.payments matches no table of database shop",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestDefaultPath: an agent that is held to a policy looks names up in public
// unless told otherwise; one that is only observed keeps its login's path.
func TestDefaultPath(t *testing.T) {
	set, err := policy.Load("policy.yaml", []byte(`
version: 1
agents:
  held: {password: secret:a, databases: {shop: reader}, access: read_only}
  watched: {password: secret:a, databases: {shop: writer}, access: observe}
  told: {password: secret:a, databases: {shop: writer}, access: observe, search_path: [app]}
`))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"held": "[public]", "watched": "[]", "told": "[app]"} {
		agent, _ := set.Agent(name)
		if got := fmt.Sprint(agent.SearchPath); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}
