package policy_test

import (
	"testing"

	"github.com/pgairlock/pgairlock/policy"
)

func TestTablesAndColumns(t *testing.T) {
	set := load(t, shopPolicy)
	for _, c := range []struct {
		schema, table string
		columns       []string
		rule          string
	}{
		{"public", "orders", []string{"id", "total", "ctid"}, ""},
		{"public", "customers", []string{"id", "region"}, ""},
		{"public", "customers", []string{"id", "ssn"}, "column"},
		{"public", "customers", []string{"ctid"}, "column"},
		{"public", "products", []string{"title"}, ""},
		{"public", "secrets", []string{"id"}, "table"},
		{"public", "secrets", nil, "table"},
		{"reporting", "daily", []string{"revenue"}, ""},
		{"audit", "log_2026", []string{"at"}, ""},
		{"audit", "log_2026", []string{"detail"}, "column"},
		{"audit", "other", []string{"id"}, "table"},
	} {
		want(t, decide(t, set, "reporting", reads(t, c.schema, c.table, c.columns...)), c.rule)
	}
}

func TestSystemCatalogs(t *testing.T) {
	set := load(t, shopPolicy)
	for _, c := range []struct {
		schema, table, column string
		all, none             string
	}{
		{"pg_catalog", "pg_class", "relname", "", "catalog"},
		{"information_schema", "columns", "column_name", "", "catalog"},
		{"pg_catalog", "pg_authid", "rolname", "catalog", "catalog"},
		{"pg_catalog", "pg_stats", "most_common_vals", "catalog", "catalog"},
		{"pg_catalog", "pg_stat_activity", "state", "", "catalog"},
		{"pg_catalog", "pg_stat_activity", "query", "catalog", "catalog"},
		{"pg_catalog", "pg_brand_new", "oid", "catalog", "catalog"},
		{"pg_toast", "pg_toast_1", "chunk_data", "catalog", "catalog"},
	} {
		want(t, decide(t, set, "reporting", reads(t, c.schema, c.table, c.column)), c.all)
		want(t, decide(t, set, "blind", reads(t, c.schema, c.table, c.column)), c.none)
	}
}

func TestFunctions(t *testing.T) {
	set := load(t, shopPolicy)
	for _, c := range []struct {
		name      string
		f         *policy.Facts
		all, none string
	}{
		{"immutable", calls(t, 100), "", ""},
		{"stable", calls(t, 101), "", ""},
		{"listed volatile", calls(t, 106), "", ""},
		{"unknown volatile", calls(t, 107), "function", "function"},
		{"sleep", calls(t, 102), "function", "function"},
		{"file", calls(t, 103), "red-line", "red-line"},
		{"sequence", calls(t, 104), "function", "function"},
		{"SQL text", calls(t, 108), "red-line", "red-line"},
		{"signal", calls(t, 112), "red-line", "red-line"},
		{"definition", calls(t, 105), "", "function"},
		{"statistics", calls(t, 110), "", "function"},
		{"information schema", calls(t, 113), "", "function"},
		{"driver probe", calls(t, 111), "", ""},
		{"session reset", calls(t, 109), "", ""},
		{"listed", calls(t, 120), "", "function"},
		{"other overload", calls(t, 121), "function", "function"},
		{"either overload", calls(t, 120, 121), "function", "function"},
		{"not listed", calls(t, 122), "function", "function"},
		{"listed extension", calls(t, 123), "", "function"},
		{"extension beside built-in", calls(t, 100, 123), "", ""},
		{"extension not listed", calls(t, 124), "function", "function"},
		{"network extension", calls(t, 125), "red-line", "red-line"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want(t, decide(t, set, "reporting", c.f), c.all)
			want(t, decide(t, set, "blind", c.f), c.none)
		})
	}
}

func TestRedLines(t *testing.T) {
	set := load(t, shopPolicy)
	for _, c := range []struct{ id, tag, message, hint string }{
		{"set-role", "SET ROLE", "SET ROLE is never open: it changes who the session is", "SET ROLE NONE and RESET ROLE are open."},
		{"copy-program", "COPY", "COPY is never open: it runs a program on the server", "Use COPY … TO STDOUT, or SELECT."},
		{"made-up", "MAKE UP", "MAKE UP is never open: made-up", ""},
	} {
		for _, agent := range []string{"reporting", "watched"} {
			d := decide(t, set, agent, &policy.Facts{Kind: policy.KindDDL, Tag: c.tag, RedLine: c.id})
			want(t, d, "red-line")
			if r := d.Refusal(); r.Message != c.message || r.Hint != c.hint {
				t.Errorf("%+v", *r)
			}
		}
	}
}
