package compat_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgairlock/pgairlock/internal/pgtest"
)

// TestNames: names of statements and portals are the client's. Elsewhere they
// were renamed, cached, or forgotten at the wrong moment.
func TestNames(t *testing.T) {
	l := start(t, pgtest.Options{}, nil)
	pdo := step{say(parse("pdo_stmt_00000001", "SELECT $1::int"), sync, bind("", "pdo_stmt_00000001", []byte("7")), describe('P', ""), execute("", 0), sync,
		query("DEALLOCATE pdo_stmt_00000001")), "1 Z:I 2 T D:7 C:SELECT_1 Z:I C:DEALLOCATE Z:I"}
	l.same(t, []exchange{
		// PDO closes a protocol statement by SQL; pgbouncer had renamed it: 26000.
		{"DEALLOCATE closes what Parse made", "", []step{pdo, pdo, pdo}},
		{"psqlODBC quotes the name", "", []step{
			{say(parse(`_PLAN0x55d0`, "SELECT 1"), sync, describe('S', `_PLAN0x55d0`), sync, again(`_PLAN0x55d0`), sync), "1 Z:I t T Z:I 2 D:1 C:SELECT_1 Z:I"},
			{query(`DEALLOCATE "_PLAN0x55d0"`), "C:DEALLOCATE Z:I"},
			{say(parse(`_PLAN0x55d0`, "SELECT 2"), again(`_PLAN0x55d0`), sync), "1 2 D:2 C:SELECT_1 Z:I"}}},
		{"EXECUTE runs what Parse made, Bind what PREPARE made", "", []step{
			{say(parse("a", "SELECT 1"), sync, query("EXECUTE a")), "1 Z:I T D:1 C:SELECT_1 Z:I"},
			{say(query("PREPARE b AS SELECT 2"), again("b"), sync), "C:PREPARE Z:I 2 D:2 C:SELECT_1 Z:I"}}},
		{"a name taken twice", "", []step{
			{say(parse("a", "SELECT 1"), sync, parse("a", "SELECT 2"), sync, again("a"), sync), "1 Z:I E:42P05 Z:I 2 D:1 C:SELECT_1 Z:I"}}},

		// pgbouncer forgot, when DISCARD ALL completed, a name parsed later in the
		// same pipeline.
		{"DISCARD ALL and a name after it, in one write", "", []step{
			{say(run("DISCARD ALL"), parse("s1", "SELECT 1"), again("s1"), sync), "1 2 C:DISCARD_ALL 1 2 D:1 C:SELECT_1 Z:I"},
			{say(again("s1"), sync), "2 D:1 C:SELECT_1 Z:I"}}},
		{"DEALLOCATE ALL and a name after it, in one write", "", []step{
			{say(parse("old", "SELECT 0"), sync), "1 Z:I"},
			{say(run("DEALLOCATE ALL"), parse("s1", "SELECT 1"), again("s1"), sync, again("old"), sync), "1 2 C:DEALLOCATE_ALL 1 2 D:1 C:SELECT_1 Z:I E:26000 Z:I"},
			{say(again("s1"), sync), "2 D:1 C:SELECT_1 Z:I"}}},

		// Prisma's DEALLOCATE ALL went unseen by pgbouncer: its cache grew stale.
		{"DEALLOCATE ALL is believed", "", []step{
			{say(parse("s1", "SELECT 1"), sync, query("DEALLOCATE ALL")), "1 Z:I C:DEALLOCATE_ALL Z:I"},
			{say(bind("", "s1"), sync), "E:26000 Z:I"},
			{say(parse("s1", "SELECT 2"), again("s1"), sync), "1 2 D:2 C:SELECT_1 Z:I"}}},
		{"so are CLOSE ALL and the end of a transaction", "", []step{
			{say(query("BEGIN"), parse("", "SELECT 1"), bind("p", ""), sync, query("CLOSE ALL"), execute("p", 0), sync), "C:BEGIN Z:T 1 2 Z:T C:CLOSE_CURSOR_ALL Z:T E:34000 Z:E"},
			{say(query("ROLLBACK"), parse("", "SELECT 1"), bind("p", ""), sync, execute("p", 0), sync), "C:ROLLBACK Z:I 1 2 Z:I E:34000 Z:I"}}},
		{"DEALLOCATE that is rolled back is done all the same", "", []step{
			{say(parse("s1", "SELECT 1"), sync, query("BEGIN"), query("DEALLOCATE s1"), query("ROLLBACK"), bind("", "s1"), sync),
				"1 Z:I C:BEGIN Z:T C:DEALLOCATE Z:T C:ROLLBACK Z:I E:26000 Z:I"}}},

		// Odyssey answered the Close of a name whose Parse had failed with an error.
		{"Close of what is not there", "", []step{
			{say(parse("bad", "SELEC 1"), sync), "E:42601 Z:I"},
			{say(closing('S', "bad"), sync), "3 Z:I"},
			{say(closing('P', "nothing"), closing('S', ""), closing('P', ""), sync), "3 3 3 Z:I"}}},
		{"the name of a failed Parse is free", "", []step{
			{say(parse("bad", "SELECT nothing"), sync, bind("", "bad"), sync, parse("bad", "SELECT 1"), again("bad"), sync), "E:42703 Z:I E:26000 Z:I 1 2 D:1 C:SELECT_1 Z:I"}}},

		// The unnamed statement outlives Sync: pgx, lib/pq and postgres.js rely on it.
		{"the unnamed statement outlives Sync, not a Query", "", []step{
			{say(parse("", "SELECT 1"), describe('S', ""), sync), "1 t T Z:I"},
			{say(again(""), sync, again(""), sync), "2 D:1 C:SELECT_1 Z:I 2 D:1 C:SELECT_1 Z:I"},
			{say(query("SELECT 2"), bind("", ""), sync), "T D:2 C:SELECT_1 Z:I E:26000 Z:I"}}},
	})
}

// TestSameNameInTwoSessions: asyncpg names its statements alike in every
// session; behind poolers that share connections they ran into each other.
func TestSameNameInTwoSessions(t *testing.T) {
	l := start(t, pgtest.Options{}, nil)
	const name = "__asyncpg_stmt_1__"
	for _, agent := range []string{"reading", "watched", "suite"} {
		t.Run(agent, func(t *testing.T) {
			for _, at := range []place{l.direct(agent), l.through(agent)} {
				one, other := open(t, at), open(t, at)
				for _, turn := range []struct {
					p    *peer
					send []byte
					want string
				}{
					// Parse and Describe with Flush, then all columns binary, as asyncpg asks
					{one, say(parse(name, "SELECT id, m, s FROM feelings ORDER BY id"), describe('S', name), flush), "1 t T"},
					{other, say(parse(name, "SELECT t.oid, t.typname FROM pg_catalog.pg_type t WHERE t.typname = $1"), describe('S', name), flush), "1 t T"},
					{one, say(bindBinary(name), execute("", 0), sync), "2 D:\x00\x00\x00\x01,calm,\x00\x00\x00\x02\x00\x00\x00\x17\x00\x00\x00\x04\x00\x00\x00\x01\x00\x00\x00\x17\x00\x00\x00\x04\x00\x00\x00\x02 D:\x00\x00\x00\x02,NULL,NULL C:SELECT_2 Z:I"},
					{other, say(bind("", name, []byte("int4")), execute("", 0), sync), "2 D:23,int4 C:SELECT_1 Z:I"},
					{other, say(closing('S', name), sync), "3 Z:I"},
					{one, say(bindBinary(name), execute("", 1), sync), "2 D:\x00\x00\x00\x01,calm,\x00\x00\x00\x02\x00\x00\x00\x17\x00\x00\x00\x04\x00\x00\x00\x01\x00\x00\x00\x17\x00\x00\x00\x04\x00\x00\x00\x02 s Z:I"},
				} {
					turn.p.write(turn.send)
					if got := shown(turn.p.take(messagesIn(turn.want))); got != turn.want {
						t.Fatalf("%s:\n got %q\nwant %q", at.name, got, turn.want)
					}
				}
			}
		})
	}
}

// TestLibraryNames: two statements of one text under two names, run by pgconn
// as pgx and lib/pq do, are told apart.
func TestLibraryNames(t *testing.T) {
	l := start(t, pgtest.Options{}, nil)
	conn := pgtest.Connect(t, l.proxy.DSN("reading"))
	ctx := t.Context()
	for _, name := range []string{"stmtcache_1", "stmtcache_2"} {
		if _, err := conn.Prepare(ctx, name, "SELECT $1::int", nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Deallocate(ctx, "stmtcache_1"); err != nil {
		t.Fatal(err)
	}
	run := func(name string) *pgconn.Result {
		return conn.ExecPrepared(ctx, name, [][]byte{[]byte("5")}, nil, nil).Read()
	}
	if r := run("stmtcache_2"); r.Err != nil || string(r.Rows[0][0]) != "5" {
		t.Errorf("the statement that was kept: %v", r.Err)
	}
	if r := run("stmtcache_1"); sqlstate(r.Err) != "26000" {
		t.Errorf("the statement that was closed: %v", r.Err)
	}
}
