package compat_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pgairlock/pgairlock/internal/pgtest"
)

// TestCopyIn: while it reads COPY data, the server ignores Sync; where the COPY
// has failed, it ignores the data. pgbouncer waited for an answer to the Sync
// that never came.
func TestCopyIn(t *testing.T) {
	l := start(t, pgtest.Options{}, nil)
	const table, into = "CREATE TEMP TABLE l(a int, b text)", "COPY l FROM STDIN"
	made := step{query(table), "C:CREATE_TABLE Z:I"}
	const writers = "watched suite"
	l.same(t, []exchange{
		{"Sync behind Execute", writers, []step{made,
			{say(run(into), sync), "1 2 G"},
			{say(copyData("1\tx\n"), copyDone, sync), "C:COPY_1 Z:I"},
			{query("SELECT a + 0, b || '' FROM l"), "T D:1,x C:SELECT_1 Z:I"}}},
		{"no Sync before the data", writers, []step{made,
			{run(into), "1 2"}, {flush, "G"},
			{say(copyData("1\tx\n2\t\\N\n"), flush, sync, copyDone, sync), "C:COPY_2 Z:I"}}},
		{"all in one write", writers, []step{made,
			{say(run(into), sync, copyData("1\tx\n"), copyDone, sync), "1 2 G C:COPY_1 Z:I"}}},
		{"bad data by Query", writers, []step{made,
			{query(into), "G"},
			{say(copyData("no number\tx\n"), copyData("1\ty\n"), copyDone), "E:22P02 Z:I"},
			{query("SELECT count(*) FROM l"), "T D:0 C:SELECT_1 Z:I"}}},
		{"bad data by Execute", writers, []step{made,
			{say(run(into), sync), "1 2 G"},
			{say(copyData("no number\tx\n"), copyDone, sync), "E:22P02 Z:I"}}},
		{"CopyFail by Query", writers, []step{made,
			{query(into), "G"}, {say(copyData("1\tx\n"), copyFail("changed my mind")), "E:57014 Z:I"}}},
		{"CopyFail by Execute", writers, []step{made,
			{say(run(into), sync), "1 2 G"}, {say(copyFail("no"), sync), "E:57014 Z:I"}}},
		{"in a transaction", writers, []step{
			{say(query("BEGIN"), query(table), query(into)), "C:BEGIN Z:T C:CREATE_TABLE Z:T G"},
			{say(copyData("x\n"), copyDone, query("SELECT 1"), query("ROLLBACK")), "E:22P02 Z:E E:25P02 Z:E C:ROLLBACK Z:I"}}},
		{"several statements in one Query", writers, []step{made,
			{query(into + "; SELECT 'between'; " + into), "G"},
			{say(copyData("1\tx\n"), copyDone), "C:COPY_1 T D:between C:SELECT_1 G"},
			{say(copyData("2\ty\n"), copyDone), "C:COPY_1 Z:I"}}},
		{"a Query behind the data", writers, []step{made,
			{say(query(into), copyData("1\tx\n"), copyDone, query("SELECT count(*) FROM l")), "G C:COPY_1 Z:I T D:1 C:SELECT_1 Z:I"}}},
		{"binary", writers, []step{made,
			{query("COPY l FROM STDIN (FORMAT binary)"), "G"},
			{say(copyData("PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x04\x00\x00\x00\x07\xff\xff\xff\xff\xff\xff"), copyDone), "C:COPY_1 Z:I"},
			{query("SELECT a + 0, b || '' FROM l"), "T D:7,NULL C:SELECT_1 Z:I"}}},
		{"out", "", []step{
			{query("COPY (SELECT id, status FROM orders WHERE id < 3 ORDER BY id) TO STDOUT"), "H d d c C:COPY_2 Z:I"},
			{say(run("COPY (SELECT id, status FROM orders WHERE id < 3 ORDER BY id) TO STDOUT WITH CSV HEADER"), sync), "1 2 H d d d c C:COPY_2 Z:I"}}},

		// postgres.js ends every COPY with CopyDone and CopyFail, wanted or not; the
		// server takes no notice outside COPY.
		{"stray data, end and failure", "", []step{
			{say(copyData("zz"), copyDone, copyFail("no"), query("SELECT 1")), "T D:1 C:SELECT_1 Z:I"},
			{say(query("SELECT 1/0"), copyData("zz"), copyDone, query("SELECT 1")), "E:22012 Z:I T D:1 C:SELECT_1 Z:I"},
			{say(parse("", "SELECT 1/0"), copyData("zz"), copyDone, bind("", ""), execute("", 0), copyFail("no"), sync), "1 E:22012 Z:I"}}},
		{"data behind a COPY that is an error", writers, []step{
			{say(query("COPY nowhere FROM STDIN"), copyData("1\n"), copyDone, query("SELECT 1")), "E:42P01 Z:I T D:1 C:SELECT_1 Z:I"},
			{say(run("COPY nowhere FROM STDIN"), copyData("1\n"), copyDone, sync), "1 2 E:42P01 Z:I"}}},
	})
}

// TestCopyPieces: COPY data in messages of any size, cut by the network
// anywhere, arrives as it was sent. Odyssey framed it anew, and wrongly.
func TestCopyPieces(t *testing.T) {
	const rows = 100_000
	l := start(t, pgtest.Options{}, nil)
	var lines strings.Builder
	for i := range rows {
		fmt.Fprintf(&lines, "%d\tline %d äö\n", i, i*7)
	}
	text := lines.String()
	sum := sha256.Sum256([]byte(text))
	want := fmt.Sprintf("%d,%s", rows, hex.EncodeToString(sum[:]))
	random := rand.New(rand.NewPCG(1, 2))
	fixed := func(n int) func() int { return func() int { return n } }
	for _, c := range []struct {
		name          string
		message, cuts func() int
	}{
		{"bytes", fixed(1), fixed(4096)},
		{"7 bytes, cut into 1460", fixed(7), fixed(1460)},
		{"8191 bytes, cut into 13", fixed(8191), fixed(13)},
		{"70000 bytes whole", fixed(70_000), fixed(70_005)},
		{"any size, cut anywhere", func() int { return 1 + random.IntN(70_000) }, func() int { return 1 + random.IntN(70_000) }},
		{"one message", fixed(len(text)), fixed(1 << 16)},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := open(t, l.through("watched"))
			p.write(query("CREATE TEMP TABLE l(a int, b text); COPY l FROM STDIN"))
			if got := shown(p.take(2)); got != "C:CREATE_TABLE G" {
				t.Fatal(got)
			}
			var stream []byte
			for rest := text; rest != ""; {
				n := min(c.message(), len(rest))
				stream, rest = append(stream, copyData(rest[:n])...), rest[n:]
			}
			for stream = append(stream, copyDone...); len(stream) > 0; {
				n := min(c.cuts(), len(stream))
				p.write(stream[:n])
				stream = stream[n:]
			}
			if got := shown(p.until('Z')); got != "C:COPY_100000 Z:I" {
				t.Fatal(got)
			}
			if got := p.answer(`SELECT count(*), encode(sha256(convert_to(string_agg(a || E'\t' || b || E'\n', '' ORDER BY a), 'UTF8')), 'hex') FROM l`); got[0] != want {
				t.Errorf("%s, not %s", got[0], want)
			}
		})
	}
}
