package proxy_test

import (
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	pg "github.com/jackc/pgx/v5/pgproto3"

	"github.com/pgairlock/pgairlock/internal/proxytest"
	"github.com/pgairlock/pgairlock/proxy"
)

const twoSchemas = `
version: 1
agents:
  reporting:
    password: secret:agent
    databases: {shop: reader}
    access: read_only
    search_path: [public, archive]
    tables:
      public.orders: all
      archive.old: all
    limits: {rows: 10, statement_timeout: 2s}
  watched:
    password: secret:agent
    databases: {shop: writer}
    access: observe
`

// TestSearchPath: the path that names are looked up in is the server's own, at
// the moment when the statement is read.
func TestSearchPath(t *testing.T) {
	database, p := startShop(t, twoSchemas, nil)
	database.Exec(t, `CREATE SCHEMA archive; CREATE TABLE archive.old(id int); INSERT INTO archive.old VALUES (7);
		CREATE TABLE archive.secrets(id int); GRANT USAGE ON SCHEMA archive TO shop_reader; GRANT SELECT ON ALL TABLES IN SCHEMA archive TO shop_reader`)
	cases := []struct {
		name  string
		steps []step
	}{
		{"both schemas to begin with", []step{
			{send("SELECT id FROM old"), "T D:7 C:SELECT 1 Z:I"},
			{send("SELECT id FROM orders WHERE id = 2"), "T D:2 C:SELECT 1 Z:I"}}},
		{"SET", []step{
			{send("SET search_path = public"), "C:SET Z:I"},
			{send("SELECT id FROM old"), "E:42P01 Z:I"},
			{send("RESET search_path"), "C:RESET Z:I"},
			{send("SELECT id FROM old"), "T D:7 C:SELECT 1 Z:I"}}},
		{"SET in a pipeline", []step{
			{send(series("SET search_path = public"), series("SELECT id FROM old"), sync_), "1 2 C:SET E:42P01 Z:I"},
			{send(series("SELECT id FROM old"), sync_), "1 2 D:7 C:SELECT 1 Z:I"}}}, // the error took SET back
		{"the end of a series takes it back", []step{
			{send(series("SET search_path = public"), series("SELECT 1/0"), sync_, "SELECT id FROM old"),
				"1 2 C:SET 1 E:22012 Z:I T D:7 C:SELECT 1 Z:I"},
			{send(series("SET search_path = public"), series("SELECT 1/0"), sync_, series("SELECT id FROM old"), sync_),
				"1 2 C:SET 1 E:22012 Z:I 1 2 D:7 C:SELECT 1 Z:I"}}},
		{"SET LOCAL ends with its series", []step{
			{send(series("SELECT set_config('search_path', 'public', true)"), series("SELECT id FROM orders WHERE id = 2"), sync_, "SELECT id FROM old"),
				"1 2 D:public C:SELECT 1 1 2 D:2 C:SELECT 1 Z:I T D:7 C:SELECT 1 Z:I"},
			{send(series("SELECT set_config('search_path', 'public', true)"), series("SELECT id FROM orders WHERE id = 2"), "SELECT 5", "SELECT id FROM old"),
				"1 2 D:public C:SELECT 1 1 2 D:2 C:SELECT 1 T D:5 C:SELECT 1 Z:I T D:7 C:SELECT 1 Z:I"},
			{send(parse("s", "SELECT id FROM old"), sync_), "1 Z:I"},
			{send(series("SELECT set_config('search_path', 'public', true)"), series("SELECT id FROM orders WHERE id = 2"), sync_, bind("", "s"), execute("", 0), sync_),
				"1 2 D:public C:SELECT 1 1 2 D:2 C:SELECT 1 Z:I 2 D:7 C:SELECT 1 Z:I"}}},
		{"ROLLBACK brings the former path back", []step{
			{send("BEGIN", "SET search_path = public"), "C:BEGIN Z:T C:SET Z:T"},
			{send("ROLLBACK", "SELECT id FROM old"), "C:ROLLBACK Z:I T D:7 C:SELECT 1 Z:I"}}},
		{"SET LOCAL ends with its transaction", []step{
			{send("BEGIN", "SET LOCAL search_path = public", "COMMIT", "SELECT id FROM old"),
				"C:BEGIN Z:T C:SET Z:T C:COMMIT Z:I T D:7 C:SELECT 1 Z:I"}}},
		{"a savepoint brings it back", []step{
			{send("BEGIN", "SAVEPOINT s", "SET search_path = public", "ROLLBACK TO s", "SELECT id FROM old", "COMMIT"),
				"C:BEGIN Z:T C:SAVEPOINT Z:T C:SET Z:T C:ROLLBACK Z:T T D:7 C:SELECT 1 Z:T C:COMMIT Z:I"}}},
		{"SET TRANSACTION still comes first", []step{
			{send("SET search_path = public, archive", "BEGIN", "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", "SELECT id FROM old", "COMMIT"),
				"C:SET Z:I C:BEGIN Z:T C:SET Z:T T D:7 C:SELECT 1 Z:T C:COMMIT Z:I"}}},
		{"in a transaction that has failed", []step{
			{send("BEGIN", "SET search_path = public", "SELECT 1/0", "SELECT id FROM orders"), "C:BEGIN Z:T C:SET Z:T E:22012 Z:E E:25P02 Z:E"},
			{send("ROLLBACK", "SELECT id FROM old"), "C:ROLLBACK Z:I T D:7 C:SELECT 1 Z:I"}}},
		{"in a transaction that has failed before the path is known", []step{
			{send("BEGIN", "SET search_path = public; SELECT 1/0"), "C:BEGIN Z:T C:SET E:22012 Z:E"},
			{send(series("SELECT id FROM old"), sync_), "E:25P02 Z:E"},
			{send(series("ROLLBACK"), series("SELECT id FROM old"), sync_), "1 2 C:ROLLBACK 1 2 D:7 C:SELECT 1 Z:I"},
			{send("BEGIN", "SAVEPOINT s", "SET search_path = public; SELECT 1/0"), "C:BEGIN Z:T C:SAVEPOINT Z:T C:SET E:22012 Z:E"},
			{send(series("ROLLBACK TO s"), series("SELECT id FROM old"), series("COMMIT"), sync_), "1 2 C:ROLLBACK 1 2 D:7 C:SELECT 1 1 2 C:COMMIT Z:I"}}},
		{"a schema that is not the agent's", []step{
			{send("SET search_path = pg_temp"), "E:42501 Z:I"},
			{send("SELECT set_config('search_path', 'public', false)"), "T D:public C:SELECT 1 Z:I"},
			{send("SELECT id FROM old"), "E:42P01 Z:I"},
			{send("DISCARD ALL"), "C:DISCARD ALL Z:I"},
			{send("SELECT id FROM old"), "T D:7 C:SELECT 1 Z:I"}}},
		{"a prepared statement is judged anew under another path", []step{
			{send(parse("s", "SELECT count(*) FROM old"), sync_), "1 Z:I"},
			{send("SET search_path = public"), "C:SET Z:I"},
			{send(bind("", "s"), execute("", 0), sync_), "E:42P01 Z:I"}}},
		{"DISCARD ALL forgets statements, and a name made after it stands", []step{
			{send(parse("s", "SELECT 1"), sync_), "1 Z:I"},
			{send(series("DISCARD ALL"), parse("s", "SELECT 2"), bind("", "s"), execute("", 0), sync_), "1 2 C:DISCARD ALL 1 2 D:2 C:SELECT 1 Z:I"},
			{send("DEALLOCATE ALL"), "C:DEALLOCATE ALL Z:I"},
			{send(bind("", "s"), sync_), "E:26000 Z:I"},
			{send(parse("s", "SELECT 3"), bind("", "s"), execute("", 0), sync_), "1 2 D:3 C:SELECT 1 Z:I"}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			raw := proxytest.Dial(t, p.DSN("reporting"))
			for _, s := range c.steps {
				raw.Send(s.send...)
				if got := raw.Read('Z', strings.Count(s.want, "Z:")); got != s.want {
					t.Fatalf("sent %v\n got %s\nwant %s", s.send, got, s.want)
				}
			}
		})
	}
}

// TestNewTable: what did not exist when the catalog was taken is found when it
// is first asked for, without disturbing the client's unnamed statement.
func TestNewTable(t *testing.T) {
	database, p := startShop(t, strings.Replace(twoSchemas, "archive.old: all", "public.fresh: all", 1), nil)
	raw := proxytest.Dial(t, p.DSN("reporting"))
	raw.Send(send(parse("", "SELECT 5"), sync_)...)
	if got := raw.Read('Z', 1); got != "1 Z:I" {
		t.Fatal(got)
	}
	database.Exec(t, "CREATE TABLE fresh(id int); INSERT INTO fresh VALUES (1); GRANT SELECT ON fresh TO shop_reader; CREATE TABLE unlisted(id int)")
	time.Sleep(2100 * time.Millisecond) // a picture of the catalog is kept for two seconds at least
	raw.Send(send(parse("a", "SELECT id FROM fresh"), bind("", "a"), execute("", 0), sync_)...)
	if got, want := raw.Read('Z', 1), "1 2 D:1 C:SELECT 1 Z:I"; got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	raw.Send(send(bind("", ""), execute("", 0), sync_)...)
	if got, want := raw.Read('Z', 1), "2 D:5 C:SELECT 1 Z:I"; got != want {
		t.Errorf("the unnamed statement: got %s, want %s", got, want)
	}
	raw.Send(send("SELECT id FROM unlisted", "SELECT id FROM missing")...)
	if got, want := raw.Read('Z', 2), "E:42501 Z:I E:42P01 Z:I"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestAnswerBarrier: a column that has come to be called like an allowed one
// since the catalog was taken does not get out.
func TestAnswerBarrier(t *testing.T) {
	for _, described := range []bool{true, false} {
		t.Run(fmt.Sprintf("described by the client: %v", described), func(t *testing.T) {
			database, p := startShop(t, shopPolicy, nil)
			raw := proxytest.Dial(t, p.DSN("reporting"))
			database.Exec(t, "ALTER TABLE customers RENAME name TO was_name; ALTER TABLE customers RENAME ssn TO name")
			messages := send(parse("", "SELECT name FROM customers"), bind("", ""))
			if described {
				messages = append(messages, describe('P', ""))
			}
			raw.Send(append(messages, execute("", 0), sync_)...)
			got := raw.Read('E', 1)
			if got != "1 2 E:42501" || strings.Contains(got, "SSN") {
				t.Errorf("got %s", got)
			}
			if kind, _ := raw.Next(time.Second); kind != 0 {
				t.Errorf("the session went on with message %q", kind)
			}
		})
	}
}

// TestAuditFull: without a place in the record nothing runs.
func TestAuditFull(t *testing.T) {
	database, p := startShop(t, twoSchemas, nil)
	database.Exec(t, "CREATE SEQUENCE counter")
	raw := proxytest.Dial(t, p.DSN("watched"))
	p.Records.Fill(errors.New("queue full"))
	raw.Send(send("SELECT nextval('counter')")...)
	if got := raw.Read('Z', 1); got != "E:53400 Z:I" {
		t.Errorf("got %s", got)
	}
	raw.Send(send(series("SELECT nextval('counter')"), sync_)...)
	if got := raw.Read('Z', 1); got != "1 E:53400 Z:I" {
		t.Errorf("got %s", got)
	}
	p.Records.Fill(nil)
	raw.Send(send("SELECT nextval('counter')")...)
	if got := raw.Read('Z', 1); got != "T D:1 C:SELECT 1 Z:I" {
		t.Errorf("got %s", got)
	}
}

// TestObserve: an observed agent does what it likes, on the record; red lines
// hold all the same.
func TestObserve(t *testing.T) {
	_, p := startShop(t, twoSchemas, nil)
	raw := proxytest.Dial(t, p.DSN("watched"))
	for _, s := range []step{
		{send("INSERT INTO orders VALUES (1000, 1, 'new')"), "C:INSERT 0 1 Z:I"},
		{send("SELECT api_key FROM secrets"), "T D:key C:SELECT 1 Z:I"},
		{send("CREATE TEMP TABLE t(a int)", "INSERT INTO t VALUES (1)", "SELECT a FROM t"), "C:CREATE TABLE Z:I C:INSERT 0 1 Z:I T D:1 C:SELECT 1 Z:I"},
		{send("COPY t FROM STDIN", &pg.CopyData{Data: []byte("2\n3\n")}, &pg.CopyDone{}), "G C:COPY 2 Z:I"},
		{send("COPY t FROM STDIN", &pg.CopyData{Data: []byte("x\n")}, &pg.CopyDone{}, "SELECT 1"), "G E:22P02 Z:I T D:1 C:SELECT 1 Z:I"},
		{send(series("COPY t FROM STDIN"), sync_, &pg.CopyData{Data: []byte("4\n")}, &pg.CopyDone{}, sync_), "1 2 G C:COPY 1 Z:I"},
		{send("COPY t TO PROGRAM 'true'"), "E:42501 Z:I"},
		{send("no such syntax"), "E:42601 Z:I"},
	} {
		raw.Send(s.send...)
		if got := raw.Read('Z', strings.Count(s.want, "Z:")); got != s.want {
			t.Fatalf("sent %v\n got %s\nwant %s", s.send, got, s.want)
		}
	}
}

// TestIntents: a statement that may write is announced before it is sent.
func TestIntents(t *testing.T) {
	_, p := startShop(t, twoSchemas, nil)
	raw := proxytest.Dial(t, p.DSN("watched"))
	raw.Send(send("SELECT 1", "DELETE FROM orders WHERE id = 1", series("UPDATE orders SET total = 0 WHERE id = 2"), sync_)...)
	raw.Read('Z', 3)
	var texts []string
	for _, r := range p.Records.Intents() {
		texts = append(texts, r.Judgement.Text)
	}
	if got, want := strings.Join(texts, "; "), "DELETE FROM orders WHERE id = 1; UPDATE orders SET total = 0 WHERE id = 2"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestCopyOut: COPY TO STDOUT is limited to as many rows as a SELECT.
func TestCopyOut(t *testing.T) {
	_, p := startShop(t, strings.Replace(shopPolicy, "limits:", "copy: {to_stdout: limited}\n    limits:", 1), nil)
	for _, c := range []struct{ sql, want string }{
		{"COPY (SELECT id FROM orders ORDER BY id) TO STDOUT", "H" + strings.Repeat(" d", 10) + " c N:01000 C:COPY 10 Z:I"},
		{"COPY orders TO STDOUT (FORMAT csv, HEADER)", "H" + strings.Repeat(" d", 11) + " c N:01000 C:COPY 10 Z:I"},
		{"COPY orders TO STDOUT (FORMAT binary)", "H" + strings.Repeat(" d", 11) + " c N:01000 C:COPY 10 Z:I"},
		{"COPY (SELECT id FROM orders WHERE id <= 10) TO STDOUT", "H" + strings.Repeat(" d", 10) + " c C:COPY 10 Z:I"},
		{"COPY customers TO STDOUT", "E:42501 Z:I"},
		{"COPY customers(id, name) TO STDOUT", "H" + strings.Repeat(" d", 10) + " c C:COPY 10 Z:I"},
	} {
		t.Run(c.sql, func(t *testing.T) {
			raw := proxytest.Dial(t, p.DSN("reporting"))
			raw.Send(send(c.sql)...)
			if got := raw.Read('Z', 1); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestParserLives: a text that would kill the parser is refused before it.
func TestParserLives(t *testing.T) {
	_, p := startShop(t, shopPolicy, nil)
	raw := proxytest.Dial(t, p.DSN("reporting"))
	for _, s := range []step{
		{send("SELECT 1" + strings.Repeat("+1", 100_000)), "E:54001 Z:I"},
		{send("SELECT 1" + strings.Repeat("+1", 200)), "T D:201 C:SELECT 1 Z:I"},
		{send("SELECT '" + strings.Repeat("x", 2<<20) + "'"), "E:54001 Z:I"},
		{send(parse("", "SELECT '"+strings.Repeat("x", 2<<20)+"'"), sync_), "E:54001 Z:I"},
		{send("SELECT length('" + strings.Repeat("x", 500_000) + "')"), "T D:500000 C:SELECT 1 Z:I"},
	} {
		raw.Send(s.send...)
		if got := raw.Read('Z', 1); got != s.want {
			t.Fatalf("got %s, want %s", got, s.want)
		}
	}
}

// TestStreaming: the first row of a long answer comes when the server sends it,
// and the proxy's memory does not grow with the answer.
func TestStreaming(t *testing.T) {
	_, p := startShop(t, strings.Replace(shopPolicy, "rows: 10, bytes: 64KiB, statement_timeout: 2s", "rows: unlimited, bytes: unlimited, statement_timeout: 60s", 1), nil)
	raw := proxytest.Dial(t, p.DSN("reporting"))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	// the second half of the rows takes a second to compute: the first must not wait for it
	raw.Send(send("SELECT g, repeat('x', 100) FROM generate_series(1, 1000000) g")...)
	began := time.Now()
	if kind, _ := raw.Next(5 * time.Second); kind != 'T' {
		t.Fatalf("message %q", kind)
	}
	if kind, _ := raw.Next(5 * time.Second); kind != 'D' {
		t.Fatalf("message %q", kind)
	}
	first := time.Since(began)
	rows, peak := 1, uint64(0)
	for {
		kind, _ := raw.Next(10 * time.Second)
		if kind != 'D' {
			break
		}
		if rows++; rows%200_000 == 0 {
			runtime.ReadMemStats(&after)
			peak = max(peak, after.HeapInuse)
		}
	}
	if rows != 1_000_000 {
		t.Errorf("%d rows", rows)
	}
	if total := time.Since(began); first > total/2 {
		t.Errorf("the first row came after %s of %s", first, total)
	}
	if grown := int64(peak) - int64(before.HeapInuse); grown > 32<<20 {
		t.Errorf("memory grew by %d MiB over an answer of 120 MB", grown>>20)
	}
}

// TestConcurrent: an agent runs as many statements at a time as it may.
func TestConcurrent(t *testing.T) {
	_, p := startShop(t, strings.Replace(shopPolicy, "rows: 10,", "rows: 10, concurrent: 1, sessions: 2,", 1), nil)
	busy, idle := proxytest.Dial(t, p.DSN("reporting")), proxytest.Dial(t, p.DSN("reporting"))
	busy.Send(send("SELECT count(*) FROM orders a, orders b, orders c, orders d")...)
	time.Sleep(100 * time.Millisecond)
	idle.Send(send("SELECT 1")...)
	if got := idle.Read('Z', 1); got != "E:53400 Z:I" {
		t.Errorf("got %s", got)
	}
	if got := busy.Read('Z', 1); got != "T E:57014 Z:I" && got != "E:57014 Z:I" {
		t.Errorf("got %s", got)
	}
	idle.Send(send("SELECT 1")...)
	if got := idle.Read('Z', 1); got != "T D:1 C:SELECT 1 Z:I" {
		t.Errorf("got %s", got)
	}
	config, err := parseConfig(p.DSN("reporting"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := connectConfig(t, config); sqlstate(err) != "53300" {
		t.Errorf("a third session: %v", err)
	}
}

// TestRecords: one record a statement, with what came of it.
func TestRecords(t *testing.T) {
	_, p := startShop(t, shopPolicy, nil)
	raw := proxytest.Dial(t, p.DSN("reporting")+" options='-c pgairlock.on_behalf_of=alice'")
	raw.Send(send("SELECT id FROM orders", "SELECT ssn FROM customers",
		parse("s", "SELECT id FROM orders WHERE id < 4"), bind("p", "s"), execute("p", 2), execute("p", 2), sync_,
		"SET pgairlock.on_behalf_of = 'bob'", "SELECT 1/0")...)
	raw.Read('Z', 5)
	want := []string{
		"alice SELECT id FROM orders: rewrite 10 rows, withheld 1, ''",
		"alice SELECT ssn FROM customers: deny 0 rows, withheld 0, '42501'",
		"alice SELECT id FROM orders WHERE id < 4: rewrite 3 rows, withheld 0, ''",
		"bob SET pgairlock.on_behalf_of = 'bob': allow 0 rows, withheld 0, ''",
		"bob SELECT 1/0: allow 0 rows, withheld 0, '22012'",
	}
	waitFor(t, func() bool { return len(p.Records.Statements()) >= len(want) })
	for i, r := range p.Records.Statements() {
		got := fmt.Sprintf("%s %s: %s %d rows, withheld %d, '%s'", r.OnBehalfOf, r.Judgement.Text, r.Judgement.Verdict, r.Rows, r.Withheld, r.SQLSTATE)
		if i >= len(want) || got != want[i] {
			t.Errorf("record %d: %s", i, got)
		}
	}
	if n := p.Records.Open(); n != 0 {
		t.Errorf("%d places are still reserved", n)
	}
	_ = raw.Conn.Close()
	waitFor(t, func() bool { return len(p.Records.Sessions()) == 2 })
	if s := p.Records.Sessions(); s[0].Event != "session_start" || s[1].Event != "session_end" || s[0].OnBehalfOf != "alice" {
		t.Errorf("sessions: %+v", s)
	}
}

// TestDrain: when the proxy stops, a session that is at work may come to the end
// of its transaction; one that is not ends at once.
func TestDrain(t *testing.T) {
	_, p := startShop(t, shopPolicy, func(o *proxy.Options) { o.DrainTimeout = 5 * time.Second })
	idle, busy := proxytest.Dial(t, p.DSN("reporting")), proxytest.Dial(t, p.DSN("reporting"))
	busy.Send(send("BEGIN", "SELECT 1")...)
	if got := busy.Read('Z', 2); got != "C:BEGIN Z:T T D:1 C:SELECT 1 Z:T" {
		t.Fatal(got)
	}
	p.Stop()
	if got := idle.Read('E', 1); got != "E:57P01" {
		t.Errorf("the idle session: %s", got)
	}
	busy.Send(send("SELECT 2")...)
	if got := busy.Read('Z', 1); got != "T D:2 C:SELECT 1 Z:T" {
		t.Errorf("the session at work: %s", got)
	}
	busy.Send(send("COMMIT")...)
	if got := busy.Read('E', 1); got != "C:COMMIT Z:I E:57P01" {
		t.Errorf("the session at work, at its end: %s", got)
	}
	if _, err := net.Dial("tcp", p.Address); err == nil {
		t.Error("the listener still accepts")
	}
}

// TestShowPolicy: an agent can ask what it may do, in either protocol.
func TestShowPolicy(t *testing.T) {
	_, p := startShop(t, shopPolicy, nil)
	conn := connect(t, p.DSN("reporting"))
	for name, want := range map[string]string{
		"pgairlock.policy":  "public.customers: email, id, name",
		"pgairlock.session": "agent: reporting",
	} {
		rows, err := run(conn, "SHOW "+name)
		if err != nil || len(rows) != 1 || !strings.Contains(rows[0], want) {
			t.Errorf("SHOW %s: %q %v", name, rows, err)
		}
		result := conn.ExecParams(t.Context(), "SHOW "+name, nil, nil, nil, nil).Read()
		if result.Err != nil || len(result.Rows) != 1 || string(result.Rows[0][0]) != rows[0] || string(result.FieldDescriptions[0].Name) != name {
			t.Errorf("SHOW %s, extended: %q %v", name, result.Rows, result.Err)
		}
		if _, err := run(conn, "SET "+name+" = 'x'"); sqlstate(err) != "42501" {
			t.Errorf("SET %s: %v", name, err)
		}
	}
	if _, err := run(conn, "SHOW pgairlock.other"); err == nil {
		t.Error("SHOW pgairlock.other was answered")
	}
}

// TestRoleThatCanWrite: an agent that only reads is not served on a login that
// can write, unless the configuration says so.
func TestRoleThatCanWrite(t *testing.T) {
	for _, accept := range []bool{false, true} {
		t.Run(fmt.Sprintf("accepted: %v", accept), func(t *testing.T) {
			_, p := startShop(t, strings.Replace(shopPolicy, "{shop: reader}", "{shop: admin}", 1), func(o *proxy.Options) {
				o.Databases["shop"].Roles["admin"] = proxy.Role{User: "postgres", Password: func() string { return "" }, AcceptWrites: accept}
			})
			config, err := parseConfig(p.DSN("reporting"))
			if err != nil {
				t.Fatal(err)
			}
			conn, err := connectConfig(t, config)
			if (err == nil) != accept || err != nil && sqlstate(err) != "42501" {
				t.Fatalf("connect: %v", err)
			}
			if conn == nil {
				return
			}
			if _, err := run(conn, "DELETE FROM orders"); sqlstate(err) != "25006" {
				t.Errorf("DELETE: %v", err)
			}
		})
	}
}
