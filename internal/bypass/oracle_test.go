package bypass_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pgairlock/pgairlock/internal/bypass"
)

// The oracles are worth something only if they notice: attacks are run without
// a proxy, and each must be seen by the oracle that is there for it.
func testOraclesNotice(t *testing.T, l *lab) {
	r := &bypass.Runner{Watch: l.watch, Leaks: l.leaks, Expand: l.expand, Direct: l.direct}
	r.Proxied = func(profile string) string { // nothing in between, not even read-only transactions
		return strings.Replace(l.direct(profile), "default_transaction_read_only=on", "default_transaction_read_only=off", 1)
	}
	for _, c := range []struct{ profile, sql, want string }{
		{"ro", "UPDATE orders SET note = 'x' WHERE id = 1", "a transaction wrote"},
		{"ro", "BEGIN; DELETE FROM orders; ROLLBACK", "a transaction wrote"},
		{"ro", "SELECT id FROM orders WHERE id = 1 FOR UPDATE", "a transaction wrote"},
		{"ro", "SELECT nextval('probe_seq')", "a transaction wrote"},
		{"ro", "SELECT f_lie()", "a transaction wrote"},
		{"ro", "EXPLAIN ANALYZE CREATE TABLE evil.c AS SELECT 1", "a transaction wrote"},
		{"ro", "NOTIFY chan, 'x'", "a transaction wrote"},
		{"ro", "SELECT lo_create(0)", "a transaction wrote"},
		{"ro+superuser", "COPY orders TO '@PROBE@/pwned'", "files written"},
		{"ro+superuser", "SELECT pg_create_physical_replication_slot('leak', true)", "left on the server"},
		{"ro", "SELECT ssn FROM customers LIMIT 1", "public.customers.ssn is described"},
		{"ro", "SELECT left(ssn, 7) FROM customers", `a row holds "SSN-1"`},
		{"ro", "SELECT count(api_key::int) FROM secrets", `"LEAK" came to the client`},
		{"ro", "SELECT id FROM events_2026", "public.events_2026.id is described"},
		{"ro", "SELECT convert_to(api_key, 'UTF8') FROM secrets", `a row holds "LEAK"`},
		{"ro", "SELECT relname FROM pg_class LIMIT 1", "pg_catalog.pg_class.relname is described"},
	} {
		t.Run(c.sql, func(t *testing.T) {
			wrong, err := r.Run(t.Context(), &bypass.Case{
				ID: "X001", Profile: c.profile, Expect: bypass.Expectation{Outcome: bypass.Deny}, Messages: []string{c.sql},
				Reasons: []bypass.Reason{{Any: true}},
			})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(wrong, func(w string) bool { return strings.Contains(w, c.want) }) {
				t.Errorf("noticed %q, not %q", wrong, c.want)
			}
		})
	}
}

// What the agents may do leaves no trace, whatever it is.
func testOraclesLeaveReadsAlone(t *testing.T, l *lab) {
	r := &bypass.Runner{Watch: l.watch, Leaks: l.leaks, Expand: l.expand, Direct: l.direct, Proxied: l.direct}
	before, err := l.watch.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range bypass.Generate(7, 100) {
		if h.Shape == "over the limit" || h.Shape == "parameters" || h.Shape == "sql prepare" || h.Shape == "binary parameters" {
			continue
		}
		wrong, err := r.RunHonest(t.Context(), "ro", &h)
		if err != nil || len(wrong) > 0 {
			t.Errorf("%s: %+v: %v, %v", h.Shape, h.Steps, wrong, err)
		}
	}
	after, err := l.watch.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if changed := before.Changes(after); changed != nil {
		t.Errorf("changed by reading: %v", changed)
	}
}

func testStateNotices(t *testing.T, l *lab) {
	before, err := l.watch.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ sql, want string }{
		{"UPDATE orders SET note = note WHERE id = 1", "orders has changed"},
		{"SELECT setval('probe_seq', 7)", "probe_seq has changed"},
		{"CREATE TABLE evil.t ()", "evil.t is new"},
		{"DROP TABLE evil.t", "evil.t is gone"},
		{"ALTER ROLE app SET search_path = evil", "pg_db_role_setting has changed"},
		{"ALTER SYSTEM SET work_mem = '9MB'", "configuration files has changed"},
		{"VACUUM FULL trg_t", "pg_class has changed"},
		{"SELECT lo_create(0)", "pg_largeobject_metadata has changed"},
	} {
		if err := l.watch.Exec(t.Context(), c.sql); err != nil {
			t.Fatal(err)
		}
		after, err := l.watch.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if changes := before.Changes(after); !slices.Contains(changes, c.want) {
			t.Errorf("%s: %q, not %q", c.sql, changes, c.want)
		}
		before = after
	}
}
