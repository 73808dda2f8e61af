package proxy_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	pg "github.com/jackc/pgx/v5/pgproto3"

	"github.com/pgairlock/pgairlock/internal/pgtest"
	"github.com/pgairlock/pgairlock/internal/proxytest"
	"github.com/pgairlock/pgairlock/proxy"
)

// shop is the database behind the proxy in these tests.
const shop = `
CREATE TABLE orders(id int PRIMARY KEY, total numeric, status text);
INSERT INTO orders SELECT g, g * 1.5, 'open' FROM generate_series(1, 300) g;
CREATE TABLE customers(id int PRIMARY KEY, name text, email text, ssn text);
INSERT INTO customers SELECT g, 'name ' || g, g || '@example.com', 'SSN-' || g FROM generate_series(1, 10) g;
CREATE TABLE secrets(id int, api_key text);
INSERT INTO secrets VALUES (1, 'key');
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'shop_reader') THEN
    CREATE ROLE shop_reader LOGIN;
  END IF;
END $$;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO shop_reader;
`

const shopPolicy = `
version: 1
agents:
  reporting:
    password: secret:agent
    databases: {shop: reader}
    access: read_only
    search_path: [public]
    tables:
      public.orders: all
      public.customers: [id, name, email]
    limits: {rows: 10, bytes: 64KiB, statement_timeout: 2s}
`

// startShop runs a proxy before a fresh copy of the shop.
func startShop(t *testing.T, policy string, tweak func(*proxy.Options)) (*pgtest.Database, *proxytest.Proxy) {
	t.Helper()
	database := pgtest.Start(t, pgtest.Options{Setup: shop})
	p := proxytest.Start(t, proxytest.Options{Policy: policy, Server: database.DSN(), Tweak: tweak,
		Roles: map[string]proxy.Role{
			"reader": {User: "shop_reader", Password: func() string { return "" }},
			"writer": {User: "postgres", Password: func() string { return "" }, AcceptWrites: true},
		}})
	return database, p
}

func query(text string) pg.FrontendMessage { return &pg.Query{String: text} }

func parse(name, text string) pg.FrontendMessage { return &pg.Parse{Name: name, Query: text} }

func bind(portal, statement string) pg.FrontendMessage {
	return &pg.Bind{DestinationPortal: portal, PreparedStatement: statement}
}

func execute(portal string, max uint32) pg.FrontendMessage {
	return &pg.Execute{Portal: portal, MaxRows: max}
}

func describe(kind byte, name string) pg.FrontendMessage {
	return &pg.Describe{ObjectType: kind, Name: name}
}

func series(text string) []pg.FrontendMessage {
	return []pg.FrontendMessage{parse("", text), bind("", ""), execute("", 0)}
}

var (
	sync_ = &pg.Sync{}
	flush = &pg.Flush{}
)

// step is what the client sends at once, and what it then reads.
type step struct {
	send []pg.FrontendMessage
	want string
}

func send(messages ...any) []pg.FrontendMessage {
	var all []pg.FrontendMessage
	for _, m := range messages {
		switch m := m.(type) {
		case pg.FrontendMessage:
			all = append(all, m)
		case []pg.FrontendMessage:
			all = append(all, m...)
		case string:
			all = append(all, query(m))
		}
	}
	return all
}

// TestRefusals shows what a refusal leaves behind, wherever it happens: the
// server's own order, transaction status and skip to Sync.
func TestRefusals(t *testing.T) {
	_, p := startShop(t, shopPolicy, nil)
	const forbidden = "SELECT ssn FROM customers"
	cases := []struct {
		name  string
		steps []step
	}{
		{"outside a transaction", []step{
			{send(forbidden), "E:42501 Z:I"},
			{send("SELECT 1"), "T D:1 C:SELECT 1 Z:I"},
		}},
		{"inside a transaction", []step{
			{send("BEGIN"), "C:BEGIN Z:T"},
			{send("SELECT id FROM orders WHERE id = 1"), "T D:1 C:SELECT 1 Z:T"},
			{send(forbidden), "E:42501 Z:E"},
			{send("SELECT 1"), "E:25P02 Z:E"},
			{send("ROLLBACK"), "C:ROLLBACK Z:I"},
			{send("SELECT 1"), "T D:1 C:SELECT 1 Z:I"},
		}},
		{"one of several statements", []step{
			{send("SELECT 1; " + forbidden + "; SELECT 2"), "E:42501 Z:I"},
			{send("SELECT 1; SELECT 2"), "T D:1 C:SELECT 1 T D:2 C:SELECT 1 Z:I"},
		}},
		{"one of several queries sent at once", []step{
			{send("SELECT 1", forbidden, "SELECT 2"), "T D:1 C:SELECT 1 Z:I E:42501 Z:I T D:2 C:SELECT 1 Z:I"},
		}},
		{"in the middle of a pipeline", []step{
			{send(series("SELECT 1"), series(forbidden), series("SELECT 2"), sync_, series("SELECT 3"), sync_),
				"1 2 D:1 C:SELECT 1 E:42501 Z:I 1 2 D:3 C:SELECT 1 Z:I"},
		}},
		{"in a pipeline inside a transaction", []step{
			{send(series("BEGIN"), series("SELECT 1"), series(forbidden), series("SELECT 2"), sync_), "1 2 C:BEGIN 1 2 D:1 C:SELECT 1 E:42501 Z:E"},
			{send("ROLLBACK"), "C:ROLLBACK Z:I"},
		}},
		{"a lone Parse", []step{
			{send(parse("", forbidden), sync_), "E:42501 Z:I"},
			{send("SELECT 1"), "T D:1 C:SELECT 1 Z:I"},
		}},
		{"a refused unnamed Parse drops the unnamed statement", []step{
			{send(parse("", "SELECT 1"), sync_), "1 Z:I"},
			{send(parse("", forbidden), sync_), "E:42501 Z:I"},
			{send(bind("", ""), sync_), "E:26000 Z:I"},
		}},
		{"a refused Query drops it too", []step{
			{send(parse("", "SELECT 1"), sync_), "1 Z:I"},
			{send(forbidden), "E:42501 Z:I"},
			{send(bind("", ""), sync_), "E:26000 Z:I"},
		}},
		{"a refused named Parse leaves it alone", []step{
			{send(parse("", "SELECT 1"), sync_), "1 Z:I"},
			{send(parse("s", forbidden), sync_), "E:42501 Z:I"},
			{send(bind("", ""), execute("", 0), sync_), "2 D:1 C:SELECT 1 Z:I"},
			{send(bind("", "s"), sync_), "E:26000 Z:I"},
		}},
		{"the name of a refused Parse is free again", []step{
			{send(parse("s", forbidden), sync_), "E:42501 Z:I"},
			{send(parse("s", "SELECT 7"), bind("", "s"), execute("", 0), sync_), "1 2 D:7 C:SELECT 1 Z:I"},
			{send("DEALLOCATE s"), "C:DEALLOCATE Z:I"},
		}},
		{"an unknown portal", []step{
			{send(execute("nope", 0), sync_), "E:34000 Z:I"},
			{send(describe('P', "nope"), sync_), "E:34000 Z:I"},
		}},
		{"a function call message", []step{
			{send(&pg.FunctionCall{Function: 1598}), "E:42501 Z:I"},
			{send("SELECT 1"), "T D:1 C:SELECT 1 Z:I"},
		}},
		{"SQL PREPARE and protocol names are one", []step{
			{send("PREPARE q AS SELECT id FROM orders WHERE id = 3"), "C:PREPARE Z:I"},
			{send(bind("", "q"), execute("", 0), sync_), "2 D:3 C:SELECT 1 Z:I"},
			{send("EXECUTE q"), "T D:3 C:SELECT 1 Z:I"},
			{send("DEALLOCATE q"), "C:DEALLOCATE Z:I"},
			{send("EXECUTE q"), "E:26000 Z:I"},
			{send("PREPARE q AS " + forbidden), "E:42501 Z:I"},
			{send(bind("", "q"), sync_), "E:26000 Z:I"},
		}},
		{"empty statements", []step{
			{send(""), "I Z:I"},
			{send("-- ping"), "I Z:I"},
			{send(series(""), sync_), "1 2 I Z:I"},
		}},
		{"a name of 64 bytes", []step{
			{send(parse(strings.Repeat("n", 64), "SELECT 1"), sync_), "E:42622 Z:I"},
			{send(parse(strings.Repeat("n", 63), "SELECT 1"), sync_), "1 Z:I"},
		}},
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
			raw.Silent(20 * time.Millisecond)
		})
	}
	if n := p.Records.Open(); n > len(cases) {
		t.Errorf("%d places in the record are still reserved", n)
	}
}

// TestRefusalIsSeenAtOnce: a client that has sent no Sync yet waits for the
// answer; after it, nothing more may come until Sync.
func TestRefusalIsSeenAtOnce(t *testing.T) {
	_, p := startShop(t, shopPolicy, nil)
	for _, c := range []struct {
		name string
		send []pg.FrontendMessage
		want string
	}{
		{"without Flush", send(parse("", "SELECT ssn FROM customers")), "E:42501"},
		{"with Flush", send(parse("", "SELECT ssn FROM customers"), flush), "E:42501"},
		{"after an answer", send(parse("a", "SELECT 1"), flush, parse("b", "SELECT ssn FROM customers"), flush), "1 E:42501"},
	} {
		t.Run(c.name, func(t *testing.T) {
			raw := proxytest.Dial(t, p.DSN("reporting"))
			raw.Send(c.send...)
			if got := raw.Read('E', 1); got != c.want {
				t.Fatalf("got %s, want %s", got, c.want)
			}
			raw.Send(series("SELECT 1")...)
			raw.Send(flush)
			raw.Silent(50 * time.Millisecond)
			raw.Send(sync_)
			if got := raw.Read('Z', 1); got != "Z:I" {
				t.Fatalf("after Sync: %s", got)
			}
		})
	}
}

// TestRowLimit: one row more than the limit is asked for and kept back, so that
// notice and tag are true.
func TestRowLimit(t *testing.T) {
	_, p := startShop(t, shopPolicy, nil)
	rows := func(from, to int) string {
		var b strings.Builder
		for i := from; i <= to; i++ {
			fmt.Fprintf(&b, "D:%d ", i)
		}
		return b.String()
	}
	cases := []struct {
		name  string
		steps []step
	}{
		{"more rows than the limit", []step{
			{send("SELECT id FROM orders ORDER BY id"), "T " + rows(1, 10) + "N:01000 C:SELECT 10 Z:I"}}},
		{"exactly as many", []step{
			{send("SELECT id FROM orders WHERE id <= 10 ORDER BY id"), "T " + rows(1, 10) + "C:SELECT 10 Z:I"}}},
		{"extended", []step{
			{send(series("SELECT id FROM orders ORDER BY id"), sync_), "1 2 " + rows(1, 10) + "N:01000 C:SELECT 10 Z:I"}}},
		{"in portions", []step{
			{send("BEGIN"), "C:BEGIN Z:T"},
			{send(parse("", "SELECT id FROM orders ORDER BY id"), bind("p", ""), execute("p", 4), sync_), "1 2 " + rows(1, 4) + "s Z:T"},
			{send(execute("p", 4), sync_), rows(5, 8) + "s Z:T"},
			{send(execute("p", 4), sync_), rows(9, 10) + "N:01000 C:SELECT 2 Z:T"},
			{send(execute("p", 4), sync_), "C:SELECT 0 Z:T"},
			{send("COMMIT"), "C:COMMIT Z:I"}}},
		{"in portions that end at the limit", []step{
			{send("BEGIN"), "C:BEGIN Z:T"},
			{send(parse("", "SELECT id FROM orders ORDER BY id"), bind("p", ""), execute("p", 10), sync_), "1 2 " + rows(1, 10) + "s Z:T"},
			{send(execute("p", 10), sync_), "N:01000 C:SELECT 0 Z:T"},
			{send("COMMIT"), "C:COMMIT Z:I"}}},
		{"in one portion larger than the limit", []step{
			{send(parse("", "SELECT id FROM orders ORDER BY id"), bind("", ""), execute("", 11), sync_), "1 2 " + rows(1, 10) + "N:01000 C:SELECT 10 Z:I"}}},
		{"SQL EXECUTE", []step{
			{send("PREPARE q AS SELECT id FROM orders ORDER BY id"), "C:PREPARE Z:I"},
			{send("EXECUTE q"), "T " + rows(1, 10) + "N:01000 C:SELECT 10 Z:I"}}},
		{"a cursor gives no more than the limit in all", []step{
			{send("BEGIN", "DECLARE c CURSOR FOR SELECT id FROM orders ORDER BY id", "FETCH 7 FROM c"),
				"C:BEGIN Z:T N:01000 C:DECLARE CURSOR Z:T T " + rows(1, 7) + "C:FETCH 7 Z:T"},
			{send("FETCH 7 FROM c"), "T " + rows(8, 10) + "C:FETCH 3 Z:T"},
			{send("ROLLBACK"), "C:ROLLBACK Z:I"}}},
		{"ties can't be limited by the text: the server is stopped", []step{
			{send("SELECT status FROM orders ORDER BY status FETCH FIRST 1 ROW WITH TIES"), "T " + strings.Repeat("D:open ", 10) + "E:53400 Z:I"},
			{send("SELECT 1"), "T D:1 C:SELECT 1 Z:I"}}},
		{"bytes", []step{
			{send("SELECT repeat('x', 100000)"), "T E:53400 Z:I"},
			{send("SELECT length(repeat('x', 100000))"), "T D:100000 C:SELECT 1 Z:I"}}},
		{"bytes in a series", []step{
			{send(series("SELECT repeat('x', 100000)"), sync_), "1 2 E:53400 Z:I"},
			{send("SELECT 1"), "T D:1 C:SELECT 1 Z:I"}}},
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

func connect(t *testing.T, dsn string) *pgconn.PgConn {
	t.Helper()
	conn, err := pgconn.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() {
		ctx, stop := context.WithTimeout(context.Background(), time.Second)
		defer stop()
		_ = conn.Close(ctx)
	})
	return conn
}

func run(conn *pgconn.PgConn, sql string) ([]string, error) {
	results, err := conn.Exec(context.Background(), sql).ReadAll()
	var values []string
	for _, r := range results {
		for _, row := range r.Rows {
			for _, v := range row {
				values = append(values, string(v))
			}
		}
	}
	return values, err
}

func sqlstate(err error) string {
	var server *pgconn.PgError
	if errors.As(err, &server) {
		return server.Code
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// TestReload: statements that are prepared are judged again under a new policy.
func TestReload(t *testing.T) {
	_, p := startShop(t, shopPolicy, nil)
	raw := proxytest.Dial(t, p.DSN("reporting"))
	raw.Send(send(parse("s", "SELECT email FROM customers WHERE id = 1"), bind("", "s"), execute("", 0), sync_)...)
	if got, want := raw.Read('Z', 1), "1 2 D:1@example.com C:SELECT 1 Z:I"; got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	p.Apply(t, strings.Replace(shopPolicy, "[id, name, email]", "[id, name]", 1))
	raw.Send(send(bind("", "s"), execute("", 0), sync_)...)
	if got, want := raw.Read('Z', 1), "E:42501 Z:I"; got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	p.Apply(t, shopPolicy)
	raw.Send(send(bind("", "s"), execute("", 0), sync_)...)
	if got, want := raw.Read('Z', 1), "2 D:1@example.com C:SELECT 1 Z:I"; got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
}

// TestClientGone: what the server does for a client that vanishes is cancelled,
// and its connection closed, at once.
func TestClientGone(t *testing.T) {
	database, p := startShop(t, strings.Replace(shopPolicy, "statement_timeout: 2s", "statement_timeout: 60s", 1), nil)
	admin := connect(t, database.DSN())
	raw := proxytest.Dial(t, p.DSN("reporting"))
	raw.Send(send("SELECT count(*) FROM orders a, orders b, orders c, orders d")...)
	busy := func() string {
		rows, err := run(admin, "SELECT count(*) FROM pg_stat_activity WHERE usename = 'shop_reader' AND datname = current_database()")
		if err != nil {
			t.Fatal(err)
		}
		return rows[0]
	}
	waitFor(t, func() bool { return busy() == "1" })
	_ = raw.Conn.Close()
	waitFor(t, func() bool { return busy() == "0" }) // its own end would be a minute away
}

func waitFor(t *testing.T, what func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !what(); {
		if time.Now().After(end) {
			t.Fatal("waited 20 s in vain")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestCancel: a cancel request reaches the server only with the session's own key.
func TestCancel(t *testing.T) {
	_, p := startShop(t, shopPolicy, nil)
	conn := connect(t, p.DSN("reporting"))
	slow := func() chan error {
		done := make(chan error, 1)
		go func() {
			_, err := run(conn, "SELECT count(*) FROM orders a, orders b, orders c, orders d")
			done <- err
		}()
		time.Sleep(100 * time.Millisecond)
		return done
	}
	done := slow()
	if err := conn.CancelRequest(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; sqlstate(err) != "57014" || !strings.Contains(err.Error(), "user request") {
		t.Errorf("cancelled: %v", err)
	}
	other := proxytest.Dial(t, p.DSN("reporting"))
	done = slow()
	wrong := &pg.CancelRequest{ProcessID: conn.PID(), SecretKey: other.Key}
	bytes, err := wrong.Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	cancelBy(t, p.Address, bytes)
	select {
	case err := <-done:
		t.Errorf("a wrong key cancelled the statement: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	if err := <-done; sqlstate(err) != "57014" || !strings.Contains(err.Error(), "statement timeout") {
		t.Errorf("not cancelled: %v", err)
	}
}
