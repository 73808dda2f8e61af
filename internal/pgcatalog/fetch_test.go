package pgcatalog_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pgairlock/pgairlock/internal/pgcatalog"
	"github.com/pgairlock/pgairlock/internal/pgtest"
	"github.com/pgairlock/pgairlock/policy/catalog"
)

// majors the catalogs are read from: the one users have and the one that
// differs most from it.
var majors = []int{15, 18}

func onEachMajor(t *testing.T, o pgtest.Options, test func(*testing.T, *pgtest.Database)) {
	for _, major := range majors {
		t.Run(fmt.Sprint(major), func(t *testing.T) {
			o := o
			o.Major = major
			test(t, pgtest.Start(t, o))
		})
	}
}

func fetch(t *testing.T, dsn string, o pgcatalog.Options) *catalog.Catalog {
	t.Helper()
	c, err := pgcatalog.Fetch(t.Context(), pgtest.Connect(t, dsn), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const shop = `
CREATE SCHEMA hidden; CREATE TABLE hidden.salaries (amount int);
CREATE TYPE public.status AS ENUM ('open', 'paid');
CREATE TYPE public.address AS (street text, city text);
CREATE TABLE public."Orders" (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, gone text, state public.status, ship public.address[]);
ALTER TABLE public."Orders" DROP COLUMN gone;
CREATE VIEW public.open_orders AS SELECT id FROM public."Orders";
CREATE TABLE public.parts (id int, at date) PARTITION BY RANGE (at);
CREATE DOMAIN public.plain AS int;
CREATE DOMAIN public.positive AS public.plain CHECK (VALUE > 0);
CREATE DOMAIN public.small AS public.positive;
CREATE EXTENSION hstore;
CREATE FUNCTION public.sums(VARIADIC numbers int[], OUT total int, OUT n int) LANGUAGE sql SECURITY DEFINER STABLE AS 'SELECT 1, 2';
CREATE FUNCTION public.pairs(a int, b text DEFAULT 'x') RETURNS TABLE (k int, v text) LANGUAGE sql AS 'SELECT 1, ''''';
CREATE FUNCTION public.bare(int, int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 1';
CREATE PROCEDURE public.proc(INOUT a int) LANGUAGE plpgsql AS 'BEGIN END';
CREATE OPERATOR public.<~> (LEFTARG = int, RIGHTARG = int, FUNCTION = public.bare);
CREATE CAST (public.address AS public.status) WITH INOUT AS ASSIGNMENT;
DO $$ BEGIN CREATE ROLE catalog_reader LOGIN; EXCEPTION WHEN duplicate_object THEN END $$;
GRANT SELECT ON public."Orders" TO catalog_reader;
`

func TestRelations(t *testing.T) {
	onEachMajor(t, pgtest.Options{Setup: shop}, func(t *testing.T, db *pgtest.Database) {
		c := fetch(t, db.As("catalog_reader", ""), pgcatalog.Options{})
		if got := c.Data(); got.Role != "catalog_reader" || got.Database != db.Name || got.ServerVersion/10000 != db.Server.Major {
			t.Errorf("of %s in %s on %d", got.Role, got.Database, got.ServerVersion)
		}
		if want := []string{"public"}; !slices.Equal(c.Data().Path, want) {
			t.Errorf("search_path is %q, want %q", c.Data().Path, want)
		}
		if c.HasSchema("hidden") || !c.HasSchema("public") || !c.HasSchema("pg_catalog") {
			t.Errorf("usable schemas are %q", c.Data().Schemas)
		}
		for _, want := range []struct {
			schema, name string
			kind         catalog.Char
			columns      string
		}{
			{"public", "Orders", catalog.Table, "1 id bigint, 3 state public.status, 4 ship public.address[]"},
			{"public", "open_orders", catalog.View, "1 id bigint"},
			{"public", "parts", catalog.PartitionedTable, "1 id integer, 2 at date"},
			{"public", "address", catalog.Composite, "1 street text, 2 city text"},
			{"public", "Orders_pkey", catalog.Index, ""},
			{"public", "Orders_id_seq", catalog.Sequence, "1 last_value bigint, 2 log_cnt bigint, 3 is_called boolean"},
			{"hidden", "salaries", catalog.Table, "1 amount integer"},
			{"information_schema", "schemata", catalog.View, ""},
		} {
			r := c.Relation(want.schema, want.name)
			if r == nil {
				t.Errorf("%s.%s is missing", want.schema, want.name)
				continue
			}
			if got := describe(c, r.Columns); r.Kind != want.kind || want.columns != "" && got != want.columns {
				t.Errorf("%s: %c (%s), want %c (%s)", r, r.Kind, got, want.kind, want.columns)
			}
		}
		if got := c.Relation("public", "Orders"); c.TypeByOID(got.RowType).Relation != got.OID || c.RelationByOID(got.OID) != got {
			t.Error("row type and table do not point at each other")
		}
	})
}

func describe(c *catalog.Catalog, columns []catalog.Column) string {
	var all []string
	for _, col := range columns {
		all = append(all, fmt.Sprintf("%d %s %s", col.Num, col.Name, c.TypeName(col.Type)))
	}
	return strings.Join(all, ", ")
}

func TestFunctions(t *testing.T) {
	onEachMajor(t, pgtest.Options{Setup: shop}, func(t *testing.T, db *pgtest.Database) {
		c := fetch(t, db.DSN(), pgcatalog.Options{})
		const integer, integers, text catalog.OID = 23, 1007, 25
		for _, want := range []catalog.Function{
			{Schema: "public", Name: "sums", Kind: 'f', Args: []catalog.OID{integers}, ArgNames: []string{"numbers"}, Variadic: integer,
				Result: 2249, Out: []catalog.Column{{Num: 1, Name: "total", Type: integer}, {Num: 2, Name: "n", Type: integer}},
				Volatility: 's', Definer: true, Language: "sql"},
			{Schema: "public", Name: "pairs", Kind: 'f', Args: []catalog.OID{integer, text}, ArgNames: []string{"a", "b"}, Defaults: 1,
				Result: 2249, Set: true, Out: []catalog.Column{{Num: 1, Name: "k", Type: integer}, {Num: 2, Name: "v", Type: text}},
				Volatility: 'v', Language: "sql"},
			{Schema: "public", Name: "bare", Kind: 'f', Args: []catalog.OID{integer, integer}, Result: integer, Volatility: 'i', Language: "sql"},
			{Schema: "public", Name: "proc", Kind: 'p', Args: []catalog.OID{integer}, ArgNames: []string{"a"}, Result: 2249,
				Out: []catalog.Column{{Num: 1, Name: "a", Type: integer}}, Volatility: 'v', Language: "plpgsql"},
			{Schema: "pg_catalog", Name: "row_number", Kind: 'w', Result: 20, Volatility: 'i', Language: "internal"},
			{Schema: "public", Name: "akeys", Kind: 'f', Args: []catalog.OID{c.Type("public", "hstore").OID}, Result: 1009,
				Volatility: 'i', Language: "c", Extension: "hstore"},
		} {
			all := c.Functions(want.Name)
			if len(all) != 1 {
				t.Errorf("%s is there %d times", want.Name, len(all))
				continue
			}
			want.OID = all[0].OID
			if got := exported(all[0]); !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		}
	})
}

// exported copies a function without what New derives.
func exported(f *catalog.Function) catalog.Function {
	return catalog.Function{OID: f.OID, Schema: f.Schema, Name: f.Name, Kind: f.Kind, Args: f.Args, ArgNames: f.ArgNames,
		Defaults: f.Defaults, Variadic: f.Variadic, Result: f.Result, Set: f.Set, Out: f.Out, Volatility: f.Volatility,
		Definer: f.Definer, Language: f.Language, Extension: f.Extension}
}

func TestTypesOperatorsCasts(t *testing.T) {
	onEachMajor(t, pgtest.Options{Setup: shop}, func(t *testing.T, db *pgtest.Database) {
		c := fetch(t, db.DSN(), pgcatalog.Options{})
		for name, checked := range map[string]bool{"plain": false, "positive": true, "small": true} {
			if d := c.Type("public", name); d == nil || d.Kind != 'd' || d.Base == 0 || d.Checked != checked {
				t.Errorf("domain %s: %+v, want checked %t", name, d, checked)
			}
		}
		address, array := c.Type("public", "address"), c.Type("public", "_address")
		if address.Array != array.OID || array.Element != address.OID || array.Category != 'A' || address.Kind != 'c' {
			t.Errorf("%+v and %+v", address, array)
		}
		if name := c.Type("pg_catalog", "name"); name.Element != 0 {
			t.Errorf("name counts as an array: %+v", name)
		}
		for _, name := range []string{"hstore", "_hstore"} {
			if got := c.Type("public", name); got.Extension != "hstore" {
				t.Errorf("type %s belongs to extension %q", name, got.Extension)
			}
		}
		op := c.Operators("<~>")
		if len(op) != 1 || op[0].Schema != "public" || op[0].Left != 23 || op[0].Right != 23 || op[0].Function != c.Functions("bare")[0].OID {
			t.Errorf("operator <~> is %+v", op)
		}
		if arrow := c.Operators("#="); len(arrow) != 1 || arrow[0].Extension != "hstore" {
			t.Errorf("operator #= is %+v", arrow)
		}
		if k, ok := c.Cast(address.OID, c.Type("public", "status").OID); !ok || k.Context != 'a' || k.Function != 0 {
			t.Errorf("cast from address to status is %+v (%t)", k, ok)
		}
	})
}

// The catalogs agree with the server's own counts: nothing is lost on the way.
func TestNothingIsLost(t *testing.T) {
	onEachMajor(t, pgtest.Options{Setup: shop}, func(t *testing.T, db *pgtest.Database) {
		d := fetch(t, db.DSN(), pgcatalog.Options{}).Data()
		columns := 0
		for _, r := range d.Relations {
			columns += len(r.Columns)
		}
		for _, c := range []struct {
			got int
			sql string
		}{
			{len(d.Relations), "FROM pg_class WHERE relnamespace <> 99"},
			{columns, "FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid WHERE attnum > 0 AND NOT attisdropped AND relkind NOT IN ('i', 'I', 't')"},
			{len(d.Functions), "FROM pg_proc"},
			{len(d.Types), "FROM pg_type WHERE typnamespace <> 99"},
			{len(d.Operators), "FROM pg_operator WHERE oprcode <> 0"},
			{len(d.Casts), "FROM pg_cast"},
			{len(d.Schemas), "FROM pg_namespace WHERE nspname <> 'pg_toast'"},
		} {
			if want := ask(t, db.DSN(), "SELECT count(*) "+c.sql); fmt.Sprint(c.got) != want {
				t.Errorf("%d were read, there are %s: %s", c.got, want, c.sql)
			}
		}
	})
}

func ask(t *testing.T, dsn, sql string) string {
	t.Helper()
	results, err := pgtest.Connect(t, dsn).Exec(t.Context(), sql).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	last := results[len(results)-1]
	return string(last.Rows[0][0])
}

func TestSystemOnly(t *testing.T) {
	onEachMajor(t, pgtest.Options{Setup: shop}, func(t *testing.T, db *pgtest.Database) {
		withShop := fetch(t, db.DSN(), pgcatalog.Options{SystemOnly: true})
		d := withShop.Data()
		if withShop.Relation("pg_catalog", "pg_class") == nil || withShop.Relation("public", "Orders") != nil {
			t.Error("it has to hold the server's own relations, and those only")
		}
		if len(withShop.Functions("lower")) == 0 || len(withShop.Functions("akeys")) != 0 {
			t.Error("it has to hold the server's own functions, and those only")
		}
		if !slices.Equal(d.Schemas, []string{"information_schema", "pg_catalog"}) {
			t.Errorf("schemas are %q", d.Schemas)
		}
	})
}

func TestEqualCatalogsHaveEqualDigests(t *testing.T) {
	db := pgtest.Start(t, pgtest.Options{Setup: shop})
	before := fetch(t, db.DSN(), pgcatalog.Options{})
	db.Exec(t, "CREATE TABLE late (a int); DROP TABLE late")
	if after := fetch(t, db.DSN(), pgcatalog.Options{}); after.Digest() != before.Digest() {
		t.Error("the digest changed although the content is the same")
	}
	db.Exec(t, `ALTER TABLE public."Orders" ADD COLUMN note text`)
	if after := fetch(t, db.DSN(), pgcatalog.Options{}); after.Digest() == before.Digest() {
		t.Error("the digest is the same although a column was added")
	}
}

// A role that owns a schema can put its own functions and operators in front of
// the server's. What is read must not depend on it.
func TestHostileSearchPath(t *testing.T) {
	const hostile = `
CREATE SCHEMA evil;
CREATE TABLE evil.pg_class (LIKE pg_catalog.pg_class); CREATE TABLE evil.pg_settings (LIKE pg_catalog.pg_settings);
CREATE FUNCTION evil.boom() RETURNS bool LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'hostile code ran'; END $$;
CREATE FUNCTION evil.has_schema_privilege(oid, text) RETURNS bool LANGUAGE sql AS 'SELECT evil.boom()';
CREATE FUNCTION evil.current_database() RETURNS name LANGUAGE sql AS 'SELECT evil.boom()::text::name';
CREATE FUNCTION evil.current_setting(text) RETURNS text LANGUAGE sql AS 'SELECT evil.boom()::text';
CREATE FUNCTION evil.aclexplode(acl aclitem[], OUT grantor oid, OUT grantee oid, OUT privilege_type text, OUT is_grantable bool)
  RETURNS SETOF record LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'hostile code ran'; END $$;
CREATE TYPE evil.regclass AS (a int); CREATE DOMAIN evil.oid AS pg_catalog.oid CHECK (evil.boom()); CREATE DOMAIN evil."char" AS pg_catalog."char" CHECK (evil.boom());
DO $$ DECLARE ty text; op text; BEGIN
  FOREACH ty IN ARRAY ARRAY['oid', '"char"', 'name', 'int2', 'int4', 'int8', 'text', 'bool', 'regproc', 'regclass'] LOOP
    EXECUTE format('CREATE FUNCTION evil.op(pg_catalog.%1$s, pg_catalog.%1$s) RETURNS bool LANGUAGE sql AS ''SELECT evil.boom()''', ty);
    FOREACH op IN ARRAY ARRAY['=', '<>', '>', '<', '>=', '<=', '~~'] LOOP
      EXECUTE format('CREATE OPERATOR evil.%1$s (LEFTARG = pg_catalog.%2$s, RIGHTARG = pg_catalog.%2$s, FUNCTION = evil.op)', op, ty);
    END LOOP;
  END LOOP; END $$;
`
	onEachMajor(t, pgtest.Options{Setup: shop + hostile}, func(t *testing.T, db *pgtest.Database) {
		want := fetch(t, db.DSN(), pgcatalog.Options{})
		conn := pgtest.Connect(t, db.DSN())
		if _, err := conn.Exec(t.Context(), "SET search_path = evil, pg_catalog, public; SET default_transaction_read_only = on").ReadAll(); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(t.Context(), "SELECT 1 WHERE 1::int4 = 1::int4").ReadAll(); err == nil || !strings.Contains(err.Error(), "hostile code ran") {
			t.Fatalf("the trap does not work: %v", err)
		}
		got, err := pgcatalog.Fetch(t.Context(), conn, pgcatalog.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got.Digest() != want.Digest() {
			t.Error("the session's search_path changes what is read")
		}
	})
}

func TestSessionIsLeftAsItWas(t *testing.T) {
	db := pgtest.Start(t, pgtest.Options{Setup: shop})
	conn := pgtest.Connect(t, db.DSN())
	ctx := t.Context()
	if _, err := conn.Prepare(ctx, "", "SELECT 42", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := pgcatalog.Fetch(ctx, conn, pgcatalog.Options{}); err != nil {
		t.Fatal(err)
	}
	result := conn.ExecPrepared(ctx, "", nil, nil, nil).Read()
	if result.Err != nil || string(result.Rows[0][0]) != "42" {
		t.Errorf("the client's unnamed statement is gone: %v", result.Err)
	}
	results, err := conn.Exec(ctx, "SELECT count(*) FROM pg_prepared_statements").ReadAll()
	if err != nil || string(results[0].Rows[0][0]) != "0" {
		t.Errorf("statements are left behind (%v)", err)
	}
}

func TestServerErrorLeavesTheSessionUsable(t *testing.T) {
	db := pgtest.Start(t, pgtest.Options{Setup: shop})
	conn := pgtest.Connect(t, db.DSN())
	ctx := t.Context()
	for _, sql := range []string{
		`PREPARE "pgairlock.catalog.5" AS SELECT 1`, // taken: the exchange fails halfway
		"SET statement_timeout = '1ms'",
	} {
		if _, err := conn.Exec(ctx, sql).ReadAll(); err != nil {
			t.Fatal(err)
		}
		if _, err := pgcatalog.Fetch(ctx, conn, pgcatalog.Options{}); err == nil {
			t.Errorf("%s: no error", sql)
		}
		if _, err := conn.Exec(ctx, "SET statement_timeout = 0").ReadAll(); err != nil {
			t.Fatal(err)
		}
		if _, err := pgcatalog.Fetch(ctx, conn, pgcatalog.Options{}); err != nil {
			t.Errorf("%s: afterwards: %v", sql, err)
		}
	}
}

func TestInsideATransaction(t *testing.T) {
	conn := pgtest.Connect(t, pgtest.Start(t, pgtest.Options{}).DSN())
	if _, err := conn.Exec(t.Context(), "BEGIN").ReadAll(); err != nil {
		t.Fatal(err)
	}
	if _, err := pgcatalog.Fetch(t.Context(), conn, pgcatalog.Options{}); err == nil {
		t.Error("no error")
	}
	if conn.TxStatus() != 'T' {
		t.Errorf("the transaction is now %c", conn.TxStatus())
	}
}
