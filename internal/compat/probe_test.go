package compat_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pgairlock/pgairlock/internal/pgtest"
)

// conversation is one session in which each step stands on what the former left.
// It goes through corners of the protocol that no driver visits in one go.
var conversation = []step{
	{query("BEGIN"), "C:BEGIN Z:T"},
	{query("SET LOCAL application_name = 'q'"), "C:SET S:application_name=q Z:T"},
	{query("ROLLBACK"), "C:ROLLBACK S:application_name=probe Z:I"},
	{parse("", "selec 1"), "E:42601"},
	{sync, "Z:I"},
	{say(parse("bad", "selec 1"), sync), "E:42601 Z:I"},
	{say(closing('S', "bad"), sync), "3 Z:I"},
	{say(run("DISCARD ALL"), parse("s1", "SELECT 1"), again("s1"), sync), "1 2 C:DISCARD_ALL 1 2 D:1 C:SELECT_1 Z:I"},
	{say(parse("s2", "SELECT 1"), sync), "1 Z:I"},
	{query("DEALLOCATE ALL"), "C:DEALLOCATE_ALL Z:I"},
	{say(bind("", "s2"), sync), "E:26000 Z:I"},
	{say(query("SET application_name = 'r'"), run("SELECT 1"), sync), "C:SET S:application_name=r Z:I 1 2 D:1 C:SELECT_1 Z:I"},
	{say(copyData("zz"), copyDone, copyFail("no"), query("SELECT 1")), "T D:1 C:SELECT_1 Z:I"},
	{query("-- ping"), "I Z:I"},
	{say(parse("", ""), bind("", ""), execute("", 0), sync), "1 2 I Z:I"},
	{say(parse("", "SELECT 1"), sync), "1 Z:I"},
	{say(bind("", ""), execute("", 0), sync), "2 D:1 C:SELECT_1 Z:I"},
	{query("SELECT 1; SELECT 1/0; SELECT 2"), "T D:1 C:SELECT_1 E:22012 Z:I"},
	{query("BEGIN; SELECT 1/0"), "C:BEGIN E:22012 Z:E"},
	{say(run("SELECT 1"), sync), "E:25P02 Z:E"},
	{query("ROLLBACK"), "C:ROLLBACK Z:I"},
	{say(sync, sync, flush, sync), "Z:I Z:I Z:I"},
	{say(describe('S', "none"), sync, describe('P', "none"), sync, execute("none", 0), sync), "E:26000 Z:I E:34000 Z:I E:34000 Z:I"},
	{say(parse("", "SELECT $1, $1 || 'x'", 25), describe('S', ""), bind("p", "", []byte("v")), describe('P', "p"), execute("p", 1), execute("p", 1), sync),
		"1 t T 2 T D:v,vx s C:SELECT_0 Z:I"},
	{say(query("BEGIN"), parse("", "SELECT id FROM orders ORDER BY id"), bind("p", ""), execute("p", 2), sync), "C:BEGIN Z:T 1 2 D:1 D:2 s Z:T"},
	{say(execute("p", 1), sync, closing('P', "p"), execute("p", 1), sync), "D:3 s Z:T 3 E:34000 Z:E"},
	{query("ROLLBACK"), "C:ROLLBACK Z:I"},
	{say(parse("", "BEGIN"), describe('S', ""), bind("", ""), describe('P', ""), execute("", 0), sync, run("COMMIT"), sync), "1 t n 2 n C:BEGIN Z:T 1 2 C:COMMIT Z:I"},
	{say(query("ROLLBACK"), query("COMMIT")), "N:25P01 C:ROLLBACK Z:I N:25P01 C:COMMIT Z:I"},
	{query("PREPARE q(int) AS SELECT $1 + 1; EXECUTE q(1); DEALLOCATE q"), "C:PREPARE T D:2 C:SELECT_1 C:DEALLOCATE Z:I"},
}

// writing needs a table that may be filled, and rows without a limit: with one,
// DECLARE tells of it.
var writing = []step{
	{query("CREATE TEMP TABLE ct(a int)"), "C:CREATE_TABLE Z:I"},
	{say(run("COPY ct FROM STDIN"), sync), "1 2 G"},
	{say(copyData("x\n"), copyDone, sync), "E:22P02 Z:I"},
	{say(run("INSERT INTO ct VALUES (1), (2)"), run("UPDATE ct SET a = a + 1 RETURNING a"), sync), "1 2 C:INSERT_0_2 1 2 D:2 D:3 C:UPDATE_2 Z:I"},
	{say(query("BEGIN"), query("DECLARE c CURSOR FOR SELECT id FROM orders ORDER BY id"), query("FETCH 2 FROM c"), query("CLOSE c"), query("COMMIT")),
		"C:BEGIN Z:T C:DECLARE_CURSOR Z:T T D:1 D:2 C:FETCH_2 Z:T C:CLOSE_CURSOR Z:T C:COMMIT Z:I"},
	{query("DO $$BEGIN RAISE WARNING 'w'; RAISE NOTICE 'n'; END$$"), "N:01000 N:00000 C:DO Z:I"},
	{say(query("SAVEPOINT outside")), "E:25P01 Z:I"},
}

// breach ends the session: a message of a type that there is none of.
var breach = []step{{typed('y', nil), "E:08P01 EOF"}}

// TestConversation: the same bytes, the same answers, message for message.
func TestConversation(t *testing.T) {
	l := start(t, pgtest.Options{}, nil)
	l.database.Exec(t, fmt.Sprintf("ALTER DATABASE %s SET application_name = 'probe'", l.database.Name))
	all := func(parts ...[]step) []step {
		var steps []step
		for _, p := range parts {
			steps = append(steps, p...)
		}
		return steps
	}
	l.same(t, []exchange{
		{"reading", "reading", all(conversation, breach)},
		{"writing", "watched suite", all(conversation, writing, breach)},
	})
}

// TestConversationInPieces: nor does it matter where the network cuts.
func TestConversationInPieces(t *testing.T) {
	l := start(t, pgtest.Options{}, nil)
	var all []byte
	var want []string
	for _, s := range conversation[3:] {
		if strings.Contains(s.want, "S:") {
			continue // told when the server comes to it
		}
		all = append(all, s.send...)
		want = append(want, s.want)
	}
	words := strings.Join(want, " ")
	for _, cut := range []int{1, 3, 5, 64, len(all)} {
		t.Run(fmt.Sprint(cut), func(t *testing.T) {
			p := open(t, l.through("reading").by(relay(t, l.proxy.Address, inCrumbs(1<<20, cut), nil)))
			p.write(all)
			if got := shown(p.take(messagesIn(words))); got != words {
				t.Errorf("\n got %s\nwant %s", got, words)
			}
			p.inStep("Z:I")
		})
	}
}
