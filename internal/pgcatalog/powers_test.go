package pgcatalog_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pgairlock/pgairlock/internal/pgcatalog"
	"github.com/pgairlock/pgairlock/internal/pgtest"
)

func powers(t *testing.T, dsn string) []pgcatalog.Power {
	t.Helper()
	all, err := pgcatalog.Powers(t.Context(), pgtest.Connect(t, dsn))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

const powersSetup = `
CREATE TABLE public.orders (id int, note text); CREATE TABLE public.payments (amount int); CREATE SEQUENCE public.numbers;
CREATE SCHEMA "Odd Schema"; CREATE TABLE "Odd Schema"."T" (a int);
CREATE FUNCTION public.guarded(a int, b text[]) RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 1';
REVOKE EXECUTE ON FUNCTION public.guarded FROM PUBLIC;
CREATE FUNCTION public.on_change() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN RETURN NEW; END';
CREATE FUNCTION public.plain() RETURNS int LANGUAGE sql AS 'SELECT 1';
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
`

// Every power is seen, and is gone when its Mend was run. A role that may only
// read has none of them: it is each case's other half.
func TestPowers(t *testing.T) {
	cases := []struct {
		name string
		give string
		want pgcatalog.Power // AGENT, TEAM and DB stand for the names
	}{
		{"superuser", `ALTER ROLE AGENT SUPERUSER`,
			pgcatalog.Power{Kind: "attribute", Object: "SUPERUSER", Writes: true, Text: "may do anything, and no grant holds it back", Mend: `ALTER ROLE "AGENT" NOSUPERUSER;`}},
		{"bypassrls", `ALTER ROLE AGENT BYPASSRLS`,
			pgcatalog.Power{Kind: "attribute", Object: "BYPASSRLS", Text: "sees every row, whatever the row security policies say", Mend: `ALTER ROLE "AGENT" NOBYPASSRLS;`}},
		{"createrole by a role", `CREATE ROLE TEAM CREATEROLE; GRANT TEAM TO AGENT`,
			pgcatalog.Power{Kind: "attribute", Object: "CREATEROLE", Writes: true, Text: "may make and change roles, and so give itself what it lacks, through role TEAM", Mend: `REVOKE "TEAM" FROM "AGENT";`}},
		{"replication", `ALTER ROLE AGENT REPLICATION`,
			pgcatalog.Power{Kind: "attribute", Object: "REPLICATION", Writes: true, Text: "may copy the whole server and hold back its clean-up with slots", Mend: `ALTER ROLE "AGENT" NOREPLICATION;`}},
		{"write all data", `GRANT pg_write_all_data TO AGENT`,
			pgcatalog.Power{Kind: "membership", Object: "pg_write_all_data", Writes: true, Text: "may do what pg_write_all_data is for", Mend: `REVOKE "pg_write_all_data" FROM "AGENT";`}},
		{"read all data", `GRANT pg_read_all_data TO AGENT`,
			pgcatalog.Power{Kind: "membership", Object: "pg_read_all_data", Text: "reads every table, so that grants no longer say what it may read", Mend: `REVOKE "pg_read_all_data" FROM "AGENT";`}},
		{"ownership", `ALTER TABLE public.orders OWNER TO AGENT`,
			pgcatalog.Power{Kind: "ownership", Object: "AGENT", Writes: true, Text: "owns 1 object (table orders)", Mend: `REASSIGN OWNED BY "AGENT" TO "postgres";`}},
		{"ownership by a role without inheritance", `CREATE ROLE TEAM; ALTER ROLE AGENT NOINHERIT; GRANT TEAM TO AGENT; ALTER TABLE public.orders OWNER TO TEAM; ALTER TABLE public.payments OWNER TO TEAM`,
			pgcatalog.Power{Kind: "ownership", Object: "TEAM", Writes: true, Text: "owns 2 objects (table orders), through role TEAM", Mend: `REVOKE "TEAM" FROM "AGENT";`}},
		{"tables and columns", `GRANT INSERT, TRUNCATE ON public.orders TO AGENT; GRANT UPDATE (amount) ON public.payments TO AGENT`,
			pgcatalog.Power{Kind: "tables", Object: "public", Writes: true, Text: "may INSERT, TRUNCATE, UPDATE on 2 tables of schema public (orders)", Mend: `REVOKE INSERT, TRUNCATE, UPDATE ON ALL TABLES IN SCHEMA "public" FROM "AGENT";`}},
		{"tables of an odd schema for everyone", `GRANT DELETE ON "Odd Schema"."T" TO PUBLIC`,
			pgcatalog.Power{Kind: "tables", Object: "Odd Schema", Writes: true, Text: "may DELETE on 1 table of schema Odd Schema (T), as everyone may (PUBLIC)", Mend: `REVOKE DELETE ON ALL TABLES IN SCHEMA "Odd Schema" FROM PUBLIC;`}},
		{"sequences", `GRANT USAGE ON SEQUENCE public.numbers TO AGENT`,
			pgcatalog.Power{Kind: "sequences", Object: "public", Writes: true, Text: "may USAGE on 1 sequence of schema public (numbers)", Mend: `REVOKE USAGE ON ALL SEQUENCES IN SCHEMA "public" FROM "AGENT";`}},
		{"create in a schema", `GRANT CREATE ON SCHEMA "Odd Schema" TO AGENT`,
			pgcatalog.Power{Kind: "schema", Object: "Odd Schema", Writes: true, Text: "may create objects in schema Odd Schema", Mend: `REVOKE CREATE ON SCHEMA "Odd Schema" FROM "AGENT";`}},
		{"create in the database", `GRANT CREATE ON DATABASE DB TO AGENT`,
			pgcatalog.Power{Kind: "database", Object: "DB", Writes: true, Text: "may create schemas in database DB", Mend: `REVOKE CREATE ON DATABASE "DB" FROM "AGENT";`}},
		{"temporary tables", `GRANT TEMPORARY ON DATABASE DB TO PUBLIC`,
			pgcatalog.Power{Kind: "database", Object: "DB", Text: "may create temporary tables in database DB, as everyone may (PUBLIC)", Mend: `REVOKE TEMPORARY ON DATABASE "DB" FROM PUBLIC;`}},
		{"security definer", `GRANT EXECUTE ON FUNCTION public.guarded TO AGENT`,
			pgcatalog.Power{Kind: "definer", Object: "public.guarded(a integer, b text[])", Text: "may call public.guarded(a integer, b text[]), which runs with the rights of postgres", Mend: `REVOKE EXECUTE ON ROUTINE public.guarded(a integer, b text[]) FROM "AGENT";`}},
		{"built-in opened", `GRANT EXECUTE ON FUNCTION pg_catalog.pg_reload_conf() TO AGENT`,
			pgcatalog.Power{Kind: "function", Object: "pg_catalog.pg_reload_conf()", Writes: true, Text: "may call pg_catalog.pg_reload_conf(), which is a superuser's by default", Mend: `REVOKE EXECUTE ON ROUTINE pg_catalog.pg_reload_conf() FROM "AGENT";`}},
		{"setting", `GRANT SET ON PARAMETER session_replication_role TO AGENT`,
			pgcatalog.Power{Kind: "setting", Object: "session_replication_role", Writes: true, Text: "may SET the superuser's setting session_replication_role", Mend: `REVOKE SET ON PARAMETER "session_replication_role" FROM "AGENT";`}},
	}
	onEachMajor(t, pgtest.Options{Setup: powersSetup}, func(t *testing.T, db *pgtest.Database) {
		db.Exec(t, "REVOKE TEMPORARY ON DATABASE "+db.Name+" FROM PUBLIC")
		for i, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				agent := fmt.Sprintf("agent_%d_%s", i, db.Name)
				names := strings.NewReplacer("AGENT", agent, "TEAM", "team_of_"+agent, "DB", db.Name)
				db.Exec(t, names.Replace(`CREATE USER AGENT; GRANT SELECT ON public.orders TO AGENT`))
				dsn := db.As(agent, "")
				if all := beyondDefault(powers(t, dsn)); len(all) != 0 {
					t.Fatalf("a role that may only read has %+v", all)
				}
				db.Exec(t, names.Replace(c.give))
				want := c.want
				want.Object, want.Text, want.Mend = names.Replace(want.Object), names.Replace(want.Text), names.Replace(want.Mend)
				if all := beyondDefault(powers(t, dsn)); !slices.Equal(all, []pgcatalog.Power{want}) {
					t.Fatalf("got  %+v\nwant [%+v]", all, want)
				}
				db.Exec(t, want.Mend)
				if all := beyondDefault(powers(t, dsn)); len(all) != 0 {
					t.Errorf("after %s it still has %+v", want.Mend, all)
				}
			})
		}
	})
}

// beyondDefault leaves out what initdb gives to everyone.
func beyondDefault(all []pgcatalog.Power) []pgcatalog.Power {
	return slices.DeleteFunc(all, func(p pgcatalog.Power) bool { return p.Kind == pgcatalog.PowerBuiltin })
}

func TestBuiltinsOpenToEveryone(t *testing.T) {
	onEachMajor(t, pgtest.Options{Setup: powersSetup}, func(t *testing.T, db *pgtest.Database) {
		name := "agent_" + db.Name
		db.Exec(t, "CREATE USER "+name)
		open := func() (found []pgcatalog.Power) {
			for _, p := range powers(t, db.As(name, "")) {
				if p.Kind == pgcatalog.PowerBuiltin {
					found = append(found, p)
				}
			}
			return found
		}
		all := open()
		if !slices.ContainsFunc(all, func(p pgcatalog.Power) bool { return p.Object == "pg_catalog.lo_creat(integer)" && !p.Writes }) {
			t.Errorf("lo_creat is not among %+v", all)
		}
		for _, p := range all {
			db.Exec(t, p.Mend)
		}
		if all := open(); len(all) != 0 {
			t.Errorf("after mending there are %+v", all)
		}
	})
}
