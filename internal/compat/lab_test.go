package compat_test

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgairlock/pgairlock/internal/pgserver"
	"github.com/pgairlock/pgairlock/internal/pgtest"
	"github.com/pgairlock/pgairlock/internal/proxytest"
	"github.com/pgairlock/pgairlock/proxy"
)

// fixture is the database. Everyone who may log in has a password.
const fixture = `
CREATE TABLE orders(id int PRIMARY KEY, total numeric, status text);
INSERT INTO orders SELECT g, g * 1.5, 'open' FROM generate_series(1, 1000) g;
CREATE TABLE customers(id int PRIMARY KEY, name text, ssn text);
INSERT INTO customers SELECT g, 'name ' || g, 'SSN-' || g FROM generate_series(1, 10) g;
CREATE TABLE secrets(id int, api_key text);
CREATE TYPE mood AS ENUM ('calm', 'cross');
CREATE TYPE spot AS (x int, y int);
CREATE TABLE feelings(id int, m mood, s spot);
INSERT INTO feelings VALUES (1, 'calm', '(1,2)'), (2, NULL, NULL);
CREATE TABLE landing(a int, b text);
CREATE SEQUENCE counter;
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'compat_reader') THEN
    CREATE ROLE compat_reader LOGIN PASSWORD 'reader-password';
  END IF;
END $$;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO compat_reader;
`

// agents are three: one who reads, one who is watched, and one of whom
// everything is let through.
const agents = `
version: 1
agents:
  reading:
    password: secret:agent
    databases: {shop: reader}
    access: read_only
    search_path: [public]
    metadata: all
    copy: {to_stdout: limited}
    functions: [pg_catalog.pg_sleep]
    settings: {free: [work_mem, geqo]}
    tables:
      public.orders: all
      public.customers: [id, name]
      public.feelings: all
    limits: {rows: 5000, bytes: 512MiB, statement_timeout: 1m}
  watched:
    password: secret:agent
    databases: {shop: owner}
    access: observe
  suite:
    password: secret:agent
    databases: {shop: owner}
    access: observe
    unsafe_passthrough: true
`

// lab is a server and a proxy before it.
type lab struct {
	database *pgtest.Database
	proxy    *proxytest.Proxy
}

// start makes a lab whose server has passwords as real ones do.
func start(tb testing.TB, o pgtest.Options, tweak func(*proxy.Options)) *lab {
	tb.Helper()
	o.Auth, o.Setup = pgserver.SCRAM, fixture
	l := &lab{database: pgtest.Start(tb, o)}
	l.proxy = l.front(tb, l.database.DSN(), tweak)
	return l
}

// front starts one more proxy, before a server that is reached by dsn.
func (l *lab) front(tb testing.TB, dsn string, tweak func(*proxy.Options)) *proxytest.Proxy {
	tb.Helper()
	login := func(at place, writes bool) proxy.Role {
		return proxy.Role{User: at.user, Password: func() string { return at.password }, AcceptWrites: writes}
	}
	return proxytest.Start(tb, proxytest.Options{Policy: agents, Server: dsn, Tweak: tweak, Roles: map[string]proxy.Role{
		"reader": login(l.direct("reading"), false), "owner": login(l.direct("watched"), true)}})
}

func (l *lab) serverAddress() string {
	return net.JoinHostPort(l.database.Server.Host, strconv.Itoa(l.database.Server.Port))
}

// direct is the server itself, with the login that the proxy has there for the
// agent and what it pins for it.
func (l *lab) direct(agent string) place {
	p := place{name: "direct, as " + agent, address: l.serverAddress(), database: l.database.Name,
		user: pgserver.Superuser, password: l.database.Server.Password}
	if agent == "reading" {
		p.user, p.password, p.settings = "compat_reader", "reader-password", []string{"default_transaction_read_only", "on"}
	}
	return p
}

// through is the proxy, for an agent.
func (l *lab) through(agent string) place { return through(l.proxy, agent) }

func through(p *proxytest.Proxy, agent string) place {
	return place{name: agent, address: p.Address, user: agent, password: proxytest.Password, database: p.Base}
}

// superuser is a connection beside the proxy.
func (l *lab) superuser(tb testing.TB) *pgconn.PgConn { return pgtest.Connect(tb, l.database.DSN()) }

// value asks the server itself for one value.
func (l *lab) value(tb testing.TB, sql string) string {
	tb.Helper()
	result := l.superuser(tb).ExecParams(tb.Context(), sql, nil, nil, nil, nil).Read()
	if result.Err != nil || len(result.Rows) != 1 {
		tb.Fatalf("%s: %d rows, %v", sql, len(result.Rows), result.Err)
	}
	return string(result.Rows[0][0])
}

// eventually waits until what holds, for a few seconds.
func eventually(tb testing.TB, wish string, holds func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("not within %s: %s", patience, wish)
		}
	}
}

// step is bytes that are written in one piece, and the words of the answer.
type step struct {
	send []byte
	want string
}

// exchange is a conversation that must not differ through the proxy.
type exchange struct {
	name   string
	agents string // who has it; "" means all three
	steps  []step
}

// everyone are the agents of the policy.
const everyone = "reading watched suite"

// same has each exchange directly and as each agent, and compares the answers
// with what is wanted and with each other.
func (l *lab) same(t *testing.T, exchanges []exchange) {
	t.Helper()
	for _, e := range exchanges {
		who := e.agents
		if who == "" {
			who = everyone
		}
		for _, agent := range strings.Fields(who) {
			t.Run(fmt.Sprintf("%s/%s", e.name, agent), func(t *testing.T) {
				direct := e.have(t, l.direct(agent))
				proxied := e.have(t, l.through(agent))
				for i := range min(len(direct), len(proxied)) {
					if d := differs(direct[i], proxied[i]); d != "" {
						t.Errorf("step %d, direct and proxied: %s", i+1, d)
					}
				}
			})
		}
	}
}

// have has the conversation at a place and returns the answers.
func (e exchange) have(t *testing.T, at place) [][]message {
	t.Helper()
	p := open(t, at)
	var answers [][]message
	var last string
	for i, s := range e.steps {
		p.write(s.send)
		got := p.take(messagesIn(s.want))
		answers = append(answers, got)
		if last = shown(got); last != s.want {
			t.Fatalf("%s, step %d:\n got %s\nwant %s", at.name, i+1, last, s.want)
		}
	}
	if strings.HasSuffix(last, "EOF") {
		return answers
	}
	p.inStep(last[strings.LastIndex(last, "Z:"):])
	return answers
}

// inStep holds that nothing more is owed: the next answer is the next query's.
func (p *peer) inStep(status string) {
	p.tb.Helper()
	want := "T D:the_end C:SELECT_1 " + status
	if status == "Z:E" {
		want = "E:25P02 Z:E"
	}
	p.write(query("SELECT 'the end'"))
	if got := shown(p.take(messagesIn(want))); got != want {
		p.tb.Fatalf("after it all:\n got %s\nwant %s", got, want)
	}
	p.silent(10 * time.Millisecond)
}

// asleep waits until the peer's session is in pg_sleep.
func (l *lab) asleep(tb testing.TB, p *peer) {
	tb.Helper()
	eventually(tb, "the statement runs", func() bool {
		return l.value(tb, fmt.Sprintf("SELECT count(*) FROM pg_stat_activity WHERE pid = %d AND wait_event = 'PgSleep'", p.pid)) == "1"
	})
}
