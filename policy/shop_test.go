package policy_test

import (
	"testing"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/policy/catalog"
)

// OIDs of the shop's objects that facts refer to.
const (
	oidText   = 25
	oidInt    = 23
	oidCitext = 9001
)

func table(oid catalog.OID, schema, name string, columns ...string) *catalog.Relation {
	rel := &catalog.Relation{OID: oid, Schema: schema, Name: name, Kind: catalog.Table, RowType: oid + 100000}
	for i, c := range columns {
		rel.Columns = append(rel.Columns, catalog.Column{Num: int16(i + 1), Name: c, Type: oidText})
	}
	return rel
}

func function(oid catalog.OID, schema, name string, volatility catalog.Char, args ...catalog.OID) *catalog.Function {
	return &catalog.Function{OID: oid, Schema: schema, Name: name, Kind: 'f', Args: args, Result: oidText, Volatility: volatility}
}

// shopData is a small database: a shop's tables, some of the server's own
// relations and functions, an extension, and types of every kind.
func shopData() catalog.Data {
	d := catalog.Data{
		Database: "shop", Role: "reader", ServerVersion: 150018, Path: []string{"public"},
		Schemas: []string{"public", "reporting", "audit", "pg_catalog", "information_schema"},
		Relations: []*catalog.Relation{
			table(1, "public", "orders", "id", "customer_id", "total"),
			table(2, "public", "customers", "id", "name", "region", "email", "ssn"),
			table(3, "public", "products", "id", "title"),
			table(4, "public", "secrets", "id", "api_key"),
			table(5, "reporting", "daily", "day", "revenue"),
			table(6, "audit", "log_2026", "id", "at", "detail"),
			table(7, "audit", "other", "id"),
			table(20, "pg_catalog", "pg_class", "oid", "relname"),
			table(21, "pg_catalog", "pg_authid", "oid", "rolname", "rolpassword"),
			table(22, "pg_catalog", "pg_stats", "tablename", "most_common_vals"),
			table(23, "pg_catalog", "pg_stat_activity", "pid", "state", "query"),
			table(24, "pg_catalog", "pg_brand_new", "oid"),
			table(25, "information_schema", "columns", "table_name", "column_name"),
			table(26, "pg_toast", "pg_toast_1", "chunk_data"),
		},
		Functions: []*catalog.Function{
			function(100, "pg_catalog", "lower", 'i', oidText),
			function(101, "pg_catalog", "now", 's'),
			function(102, "pg_catalog", "pg_sleep", 'v', 701),
			function(103, "pg_catalog", "pg_read_file", 'v', oidText),
			function(104, "pg_catalog", "nextval", 'v', 2205),
			function(105, "pg_catalog", "pg_get_viewdef", 's', 26),
			function(106, "pg_catalog", "gen_random_uuid", 'v'),
			function(107, "pg_catalog", "brand_new_volatile", 'v'),
			function(108, "pg_catalog", "query_to_xml", 'v', oidText),
			function(109, "pg_catalog", "pg_advisory_unlock_all", 'v'),
			function(110, "pg_catalog", "pg_stat_get_live_tuples", 's', 26),
			function(111, "pg_catalog", "version", 's'),
			function(112, "pg_catalog", "pg_terminate_backend", 'v', oidInt, 20),
			function(113, "information_schema", "_pg_expandarray", 'i', 1007),
			function(120, "public", "order_total", 's', oidInt),
			function(121, "public", "order_total", 's', oidText),
			function(122, "public", "wipe", 'v'),
			function(123, "public", "lower", 'i', oidCitext),
			function(124, "public", "similarity", 'i', oidText, oidText),
			function(125, "public", "dblink", 'v', oidText),
			function(126, "public", "citext_eq", 'i', oidCitext, oidCitext),
		},
		Operators: []*catalog.Operator{
			{OID: 200, Schema: "pg_catalog", Name: "=", Left: oidText, Right: oidText, Function: 67},
			{OID: 201, Schema: "public", Name: "=", Left: oidCitext, Right: oidCitext, Function: 126, Extension: "citext"},
			{OID: 202, Schema: "public", Name: "===", Left: oidInt, Right: oidInt, Function: 122},
			{OID: 203, Schema: "public", Name: "%", Left: oidText, Right: oidText, Function: 124, Extension: "pg_trgm"},
		},
		Types: []*catalog.Type{
			{OID: oidText, Schema: "pg_catalog", Name: "text", Kind: 'b', Category: 'S'},
			{OID: oidInt, Schema: "pg_catalog", Name: "int4", Kind: 'b', Category: 'N'},
			{OID: 20, Schema: "pg_catalog", Name: "int8", Kind: 'b', Category: 'N'},
			{OID: 26, Schema: "pg_catalog", Name: "oid", Kind: 'b', Category: 'N'},
			{OID: 701, Schema: "pg_catalog", Name: "float8", Kind: 'b', Category: 'N'},
			{OID: 2205, Schema: "pg_catalog", Name: "regclass", Kind: 'b', Category: 'N'},
			{OID: 2210, Schema: "pg_catalog", Name: "_regclass", Kind: 'b', Category: 'A', Element: 2205},
			{OID: oidCitext, Schema: "public", Name: "citext", Kind: 'b', Category: 'S', Extension: "citext"},
			{OID: 9000, Schema: "information_schema", Name: "cardinal_number", Kind: 'd', Category: 'N', Base: oidInt, Checked: true},
			{OID: 9002, Schema: "public", Name: "mood", Kind: 'e', Category: 'E'},
			{OID: 9003, Schema: "public", Name: "plain_domain", Kind: 'd', Category: 'S', Base: oidText},
			{OID: 9004, Schema: "public", Name: "checked_domain", Kind: 'd', Category: 'S', Base: oidText, Checked: true},
			{OID: 9005, Schema: "public", Name: "_checked_domain", Kind: 'b', Category: 'A', Element: 9004},
			{OID: 9006, Schema: "public", Name: "orders", Kind: 'c', Category: 'C', Relation: 1},
			{OID: 9007, Schema: "public", Name: "secrets", Kind: 'c', Category: 'C', Relation: 4},
			{OID: 9008, Schema: "public", Name: "home_made", Kind: 'b', Category: 'U'},
		},
	}
	for _, f := range d.Functions {
		switch f.OID {
		case 123, 126:
			f.Extension = "citext"
		case 124:
			f.Extension = "pg_trgm"
		case 125:
			f.Extension = "dblink"
		}
	}
	return d
}

// reads gives the facts of a SELECT of the columns of one table.
func reads(t testing.TB, schema, name string, columns ...string) *policy.Facts {
	t.Helper()
	rel := shop(t).Relation(schema, name)
	if rel == nil {
		t.Fatalf("the shop has no %s.%s", schema, name)
	}
	f := &policy.Facts{Kind: policy.KindSelect, Tag: "SELECT", Commands: []policy.Command{policy.Select}, ReturnsRows: true,
		Relations: []policy.RelationUse{{Relation: rel, Needs: policy.Read, Pos: 14}}}
	for _, c := range columns {
		f.Columns = append(f.Columns, policy.ColumnUse{Relation: rel, Column: c, Needs: policy.Read, Pos: 7})
	}
	return f
}

// calls gives the facts of a SELECT that calls one function.
func calls(t testing.TB, oids ...catalog.OID) *policy.Facts {
	t.Helper()
	f := &policy.Facts{Kind: policy.KindSelect, Tag: "SELECT", Commands: []policy.Command{policy.Select}, ReturnsRows: true}
	u := policy.FunctionUse{Via: "call", Pos: 7}
	for _, oid := range oids {
		fn := shop(t).FunctionByOID(oid)
		if fn == nil {
			t.Fatalf("the shop has no function %d", oid)
		}
		u.Name, u.Candidates = fn.Name, append(u.Candidates, fn)
	}
	f.Functions = []policy.FunctionUse{u}
	return f
}
