package compat_test

import (
	"fmt"
	"strings"
	"testing"

	pg "github.com/jackc/pgx/v5/pgproto3"

	"github.com/pgairlock/pgairlock/internal/pgtest"
)

// TestOneRecordForEachBind: what is recorded is the statement that ran, once for
// each time it was bound, however many fetches that took. kviklet read Bind's two
// names the wrong way round, blamed the wrong query, fell over NULL, and recorded
// every fetch.
func TestOneRecordForEachBind(t *testing.T) {
	l := start(t, pgtest.Options{}, nil)
	const first, second = "SELECT id FROM orders WHERE id <= $1 ORDER BY id", "SELECT name FROM customers WHERE id = $1 OR name = $2 OR $3"
	p := open(t, l.through("reading"))
	p.write(say(query("BEGIN"), parse("a", first), parse("b", second), sync))
	if got := shown(p.take(5)); got != "C:BEGIN Z:T 1 1 Z:T" {
		t.Fatal(got)
	}
	// the portal of each is called like the other's statement
	bindB := encoded(&pg.Bind{DestinationPortal: "a", PreparedStatement: "b", ParameterFormatCodes: []int16{0}, // one code for three parameters
		Parameters: [][]byte{[]byte("3"), nil, []byte("false")}})
	for _, s := range []step{
		{say(bind("b", "a", []byte("5")), bindB, execute("b", 2), execute("a", 1), flush), "2 2 D:1 D:2 s D:name_3 s"},
		{say(execute("b", 2), execute("a", 0), execute("b", 0), sync), "D:3 D:4 s C:SELECT_0 D:5 C:SELECT_1 Z:T"},
		{say(closing('P', "b"), bind("b", "a", nil), execute("b", 0), closing('P', "b"), sync), "3 2 C:SELECT_0 3 Z:T"},
		{query("COMMIT"), "C:COMMIT Z:I"},
	} {
		p.write(s.send)
		if got := shown(p.take(messagesIn(s.want))); got != s.want {
			t.Fatalf("\n got %s\nwant %s", got, s.want)
		}
	}
	var lines []string
	for _, r := range l.proxy.Records.Statements() {
		lines = append(lines, fmt.Sprintf("%d %s", r.Rows, r.Judgement.Text))
	}
	want := []string{"0 BEGIN", "1 " + second, "5 " + first, "0 " + first, "0 COMMIT"}
	if got := strings.Join(lines, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("recorded:\n%s\nnot:\n%s", got, strings.Join(want, "\n"))
	}
	if open := l.proxy.Records.Open(); open != 0 {
		t.Errorf("%d places are still held", open)
	}
}

// TestParametersOfAllShapes: formats may be given for none, one or all, values
// may be NULL or empty. ProxySQL counted one format code for three parameters
// wrongly.
func TestParametersOfAllShapes(t *testing.T) {
	l := start(t, pgtest.Options{}, nil)
	const sql = "SELECT $1::int, $2::text, $3::text"
	seven := []byte{0, 0, 0, 7}
	shape := func(values [][]byte, formats, results []int16) step {
		m := &pg.Bind{PreparedStatement: "s", Parameters: values, ParameterFormatCodes: formats, ResultFormatCodes: results}
		return step{send: say(parse("", ""), encoded(m), execute("", 0), sync)}
	}
	text := [][]byte{[]byte("7"), nil, {}}
	binary := [][]byte{seven, []byte("x"), nil}
	with := func(s step, want string) step { s.want = "1 2 " + want + " C:SELECT_1 Z:I"; return s }
	l.same(t, []exchange{{"shapes", "", []step{
		{say(parse("s", sql), describe('S', "s"), sync), "1 t T Z:I"},
		with(shape(text, nil, nil), "D:7,NULL,"),
		with(shape(text, []int16{0}, nil), "D:7,NULL,"),
		with(shape(text, []int16{0, 1, 0}, []int16{0, 0, 0}), "D:7,NULL,"),
		with(shape(binary, []int16{1}, nil), "D:7,x,NULL"),
		with(shape(binary, []int16{1, 0, 0}, []int16{1}), "D:\x00\x00\x00\x07,x,NULL"),
		{say(encoded(&pg.Bind{PreparedStatement: "s", Parameters: text, ParameterFormatCodes: []int16{0, 0}}), sync), "E:08P01 Z:I"},
		{say(encoded(&pg.Bind{PreparedStatement: "s", Parameters: text[:2]}), sync), "E:08P01 Z:I"},
	}}})
}
