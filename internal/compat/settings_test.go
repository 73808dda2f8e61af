package compat_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pgairlock/pgairlock/internal/pgtest"
)

// TestSettingsAreReported: ParameterStatus comes when the server says it, once,
// and where it says it. yugabyte missed the one at the end of SET LOCAL,
// pgbouncer did not expect one during login.
func TestSettingsAreReported(t *testing.T) {
	l := start(t, pgtest.Options{}, nil)
	l.same(t, []exchange{
		{"SET", "", []step{
			{query("SET application_name = 'a'"), "C:SET S:application_name=a Z:I"},
			{query("SET application_name = 'a'"), "C:SET Z:I"},
			{query("RESET application_name"), "C:RESET S:application_name= Z:I"}}},
		{"SET LOCAL and its end", "", []step{
			{query("BEGIN"), "C:BEGIN Z:T"},
			{query("SET LOCAL application_name = 'q'"), "C:SET S:application_name=q Z:T"},
			{query("ROLLBACK"), "C:ROLLBACK S:application_name= Z:I"}}},
		{"SET by a series", "", []step{
			{say(run("SET TimeZone = 'Europe/Zurich'"), run("SELECT 1"), sync), "1 2 C:SET 1 2 D:1 C:SELECT_1 S:TimeZone=Europe/Zurich Z:I"}}},
		{"an error takes SET back", "", []step{
			{say(run("SET application_name = 'x'"), run("SELECT 1/0"), sync), "1 2 C:SET 1 E:22012 Z:I"},
			{query("SHOW application_name"), "T D: C:SHOW Z:I"}}},
		{"RESET ALL and DISCARD ALL", "", []step{
			{query("SET application_name = 'a'"), "C:SET S:application_name=a Z:I"},
			{query("RESET ALL"), "C:RESET S:application_name= Z:I"},
			{query("SET application_name = 'a'"), "C:SET S:application_name=a Z:I"},
			{query("DISCARD ALL"), "C:DISCARD_ALL S:application_name= Z:I"}}},
		{"by a function", "", []step{
			{query("SELECT set_config('application_name', 'f', false)"), "T D:f C:SELECT_1 S:application_name=f Z:I"},
			{query("SELECT set_config('search_path', '', false)"), "T D: C:SELECT_1 Z:I"},
			{query("SELECT id FROM public.orders WHERE id = 1"), "T D:1 C:SELECT_1 Z:I"}}},

		// Npgsql puts a Query (BEGIN, SET, its reset batch) before the next series, in
		// one write; pgbouncer took the two for one.
		{"a Query and a series in one write", "", []step{
			{say(query("SET work_mem = '5MB'"), run("SELECT 1"), sync), "C:SET Z:I 1 2 D:1 C:SELECT_1 Z:I"},
			{say(query("BEGIN"), parse("", "SELECT 1"), bind("", ""), describe('P', ""), execute("", 0), sync), "C:BEGIN Z:T 1 2 T D:1 C:SELECT_1 Z:T"},
			{say(query("ROLLBACK"), query("DISCARD ALL"), run("SELECT 2"), sync), "C:ROLLBACK Z:I C:DISCARD_ALL Z:I 1 2 D:2 C:SELECT_1 Z:I"}}},
		{"Npgsql's reset batch", "", []step{
			{query("SET SESSION AUTHORIZATION DEFAULT;RESET ALL;CLOSE ALL;UNLISTEN *;SELECT pg_advisory_unlock_all();DISCARD SEQUENCES;DISCARD TEMP"),
				"C:SET C:RESET C:CLOSE_CURSOR_ALL C:UNLISTEN T D: C:SELECT_1 C:DISCARD_SEQUENCES C:DISCARD_TEMP Z:I"}}},
		{"several statements that load", "", []step{
			{query("SELECT version() <> '';\n\nSELECT count(*) > 0 FROM pg_catalog.pg_type;SELECT 1/0;SELECT 3"), "T D:t C:SELECT_1 T D:t C:SELECT_1 E:22012 Z:I"},
			{query(";;"), "I Z:I"}}},
		{"psqlODBC's first words", "", []step{
			{query("SET DateStyle = 'ISO';SET extra_float_digits = 2;show transaction_isolation"), "C:SET C:SET T D:read_committed C:SHOW Z:I"}}},
		{"BEGIN that fails on its way", "", []step{
			{query("BEGIN; SELECT 1/0"), "C:BEGIN E:22012 Z:E"},
			{query("ROLLBACK"), "C:ROLLBACK Z:I"}}},

		// Pings. A parser that finds no statement must find no error either.
		{"nothing, a comment, a semicolon", "", []step{
			{query(""), "I Z:I"}, {query("-- ping"), "I Z:I"}, {query(";"), "I Z:I"}, {query("/* DBD::Pg ping test v3.16 */"), "I Z:I"},
			{say(parse("", ""), bind("", ""), execute("", 0), sync), "1 2 I Z:I"},
			{say(parse("", "-- x"), bind("", ""), describe('P', ""), execute("", 0), sync), "1 2 n I Z:I"}}},
	})
}

// TestReloadOfTheServer: a setting that changes while a session is idle is
// reported with its next answer, right before ReadyForQuery.
func TestReloadOfTheServer(t *testing.T) {
	l := start(t, pgtest.Options{Settings: map[string]string{}}, nil)
	for _, at := range []place{l.direct("reading"), l.through("reading"), l.through("watched")} {
		t.Run(at.name, func(t *testing.T) {
			p := open(t, at)
			l.database.Exec(t, "ALTER SYSTEM SET datestyle = 'SQL, DMY'")
			l.database.Exec(t, "SELECT pg_reload_conf()")
			p.silent(300 * time.Millisecond)
			p.write(query("SELECT 1"))
			if got, want := shown(p.take(5)), "T D:1 C:SELECT_1 S:DateStyle=SQL,_DMY Z:I"; got != want {
				t.Errorf("%s, not %s", got, want)
			}
			l.database.Exec(t, "ALTER SYSTEM RESET datestyle")
			l.database.Exec(t, "SELECT pg_reload_conf()")
			time.Sleep(300 * time.Millisecond)
			// an error is answered at once, the setting with the Sync
			p.write(parse("", "SELEC 1"))
			if got := shown(p.take(1)); got != "E:42601" {
				t.Error(got)
			}
			p.write(sync)
			if got, want := shown(p.take(2)), "S:DateStyle=ISO,_MDY Z:I"; got != want {
				t.Errorf("%s, not %s", got, want)
			}
		})
	}
}

// TestLoginTrigger: a notice between authentication and ReadyForQuery reaches
// the client. Gel took it for a breach of the protocol.
func TestLoginTrigger(t *testing.T) {
	l := start(t, pgtest.Options{Major: 17, Settings: map[string]string{}}, nil)
	l.database.Exec(t, `CREATE FUNCTION greet() RETURNS event_trigger LANGUAGE plpgsql AS $$BEGIN RAISE NOTICE 'welcome'; END$$;
		CREATE EVENT TRIGGER greeting ON login EXECUTE FUNCTION greet(); ALTER EVENT TRIGGER greeting ENABLE ALWAYS`)
	for _, at := range []place{l.direct("watched"), l.through("watched"), l.through("reading")} {
		t.Run(at.name, func(t *testing.T) {
			p := open(t, at)
			var heard []string
			for _, m := range p.greeting {
				if m.kind == 'N' {
					heard = append(heard, errorField(m.body, 'M'))
				}
			}
			if fmt.Sprint(heard) != "[welcome]" {
				t.Errorf("heard %v", heard)
			}
		})
	}
	l.database.Exec(t, "DROP EVENT TRIGGER greeting")
}

// TestServerUpgrade: a proxy that lives on while the server behind it is
// replaced reports the new one's version. supavisor and others had cached it.
func TestServerUpgrade(t *testing.T) {
	own := map[string]string{} // servers of their own: their databases have one name
	old, newer := start(t, pgtest.Options{Major: 15, Settings: own}, nil), start(t, pgtest.Options{Major: 17, Settings: own}, nil)
	servers := make(chan string, 1)
	servers <- old.serverAddress()
	address := switched(t, servers, nil, nil)
	proxy := old.front(t, old.relayed(t, address), nil)
	at := through(proxy, "reading") // its login has one password on both
	if got := open(t, at).parameter("server_version"); !strings.HasPrefix(got, "15.") {
		t.Fatal(got)
	}
	<-servers
	servers <- newer.serverAddress()
	p := open(t, at)
	if got := p.parameter("server_version"); !strings.HasPrefix(got, "17.") {
		t.Errorf("the new server's version is reported as %s", got)
	}
	p.inStep("Z:I")
}

// TestNotifications: a session that listens hears at once, also while it is
// idle. pgpool held the message back until the client next spoke.
func TestNotifications(t *testing.T) {
	l := start(t, pgtest.Options{}, nil)
	for _, at := range []place{l.direct("watched"), l.through("watched"), l.through("suite")} {
		t.Run(at.name, func(t *testing.T) {
			p := open(t, at)
			p.answer("LISTEN news")
			for i := range 3 {
				l.database.Exec(t, fmt.Sprintf("SELECT pg_notify('news', '%d')", i))
				if got, want := shown(p.take(1)), fmt.Sprintf("A:news,%d", i); got != want {
					t.Errorf("%s, not %s", got, want)
				}
			}
			// one's own comes with the end of the transaction, before ReadyForQuery
			p.write(say(query("BEGIN"), query("NOTIFY news, 'mine'"), query("SELECT 1"), query("COMMIT")))
			if got, want := shown(p.take(9)), "C:BEGIN Z:T C:NOTIFY Z:T T D:1 C:SELECT_1 Z:T C:COMMIT"; got != want {
				t.Errorf("%s, not %s", got, want)
			}
			if got := shown(p.take(2)); got != "A:news,mine Z:I" {
				t.Error(got)
			}
		})
	}
}
