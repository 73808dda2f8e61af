package main

import (
	"strings"
	"testing"
)

// The commands that look at a database agree with what serve does on it.
func TestCommandsOnADatabase(t *testing.T) {
	h := newHouse(t, nil)
	t.Chdir(h.dir)
	t.Setenv("PGPASSWORD", h.secrets["reader"])
	dsn := "'host=127.0.0.1 port=" + portOf(h) + " dbname=" + h.db.Name + " user=" + h.role + " sslmode=disable'"

	dump := execute(t, "catalog dump --dsn "+dsn)
	if !strings.HasPrefix(dump, "{") || !strings.Contains(dump, `"name":"payments"`) {
		t.Fatalf("catalog dump gives %.200s", dump)
	}
	write(t, "shop.json", dump)
	for _, from := range []string{"--dsn " + dsn, "--catalog shop.json"} {
		if got := execute(t, "explain --agent reporting "+from+" 'SELECT * FROM payments'"); !strings.HasPrefix(got, "DENY") || !strings.HasSuffix(got, "[exit 1]\n") {
			t.Errorf("explain %s gives\n%s", from, got)
		}
		if got := execute(t, "explain --agent reporting "+from+" 'SELECT * FROM orders'"); !strings.HasPrefix(got, "REWRITE") || strings.Contains(got, "[exit") {
			t.Errorf("explain %s gives\n%s", from, got)
		}
		if got := execute(t, "check policy.yaml "+from); got != "policy.yaml: ok\n" {
			t.Errorf("check %s gives\n%s", from, got)
		}
	}

	if got := execute(t, "doctor --dsn "+dsn); !strings.Contains(got, "can't change tables or other objects; the warnings") || strings.Count(got, "built-ins that write large objects") != 1 || strings.Contains(got, "[exit") {
		t.Errorf("doctor of a reader gives\n%s", got)
	}
	h.db.Exec(t, "GRANT UPDATE ON orders TO "+h.role)
	got := execute(t, "doctor --dsn "+dsn)
	if !strings.Contains(got, "writes   may UPDATE on 1 table of schema public (orders)") || !strings.Contains(got, "mend: REVOKE UPDATE ON ALL TABLES") || !strings.HasSuffix(got, "[exit 1]\n") {
		t.Errorf("doctor of a writer gives\n%s", got)
	}
	if got := execute(t, "doctor --json --dsn "+dsn); !strings.Contains(got, `{"severity":"writes","kind":"tables","object":"public"`) || !strings.HasSuffix(got, "[exit 1]\n") {
		t.Errorf("doctor --json gives\n%s", got)
	}
	if got := execute(t, "doctor --dsn 'host=127.0.0.1 port=1 user=nobody'"); strings.Count(got, "\n") != 2 || !strings.HasSuffix(got, "[exit 1]\n") {
		t.Errorf("an unreachable server gives\n%s", got)
	}
}

func TestVersion(t *testing.T) {
	if got := execute(t, "version"); !strings.HasPrefix(got, "pgairlock ") || !strings.Contains(got, "(GO, ") {
		t.Errorf("version prints %q", got)
	}
	if got := execute(t, "version --json"); !strings.HasPrefix(got, `{"version":"`) {
		t.Errorf("version --json prints %q", got)
	}
}
