package bypass

import (
	"encoding/binary"
	"fmt"
	"strconv"
)

// Object ids of types, for parameters.
const (
	int4OID = 23
	int8OID = 20
	textOID = 25
)

func (g *generator) several() []Step {
	return queries(
		fmt.Sprintf("SELECT 1; %s; ; SELECT %s", g.filter(), g.pick(strange...)),
		"BEGIN; SELECT count(*) FROM orders; COMMIT; SELECT 2;")
}

func (g *generator) parameters() []Step {
	value := strconv.Itoa(1 + g.IntN(20))
	return []Step{
		{Bound: true, Text: "SELECT id, note, $2::text FROM orders WHERE id <= $1 ORDER BY id", Types: []uint32{int4OID, 0}, Values: [][]byte{[]byte(value), []byte("o'; --")}},
		{Bound: true, Text: "SELECT id FROM orders WHERE status = ANY ($1) AND id < $2 ORDER BY id LIMIT $3 OFFSET $4",
			Values: [][]byte{[]byte("{open,paid}"), []byte("60"), []byte(value), []byte("1")}},
		{Bound: true, Text: "SELECT $1::jsonb ->> 'a', coalesce($2, 'none')", Values: [][]byte{[]byte(`{"a":"` + value + `"}`), nil}},
		{Bound: true, Text: "SELECT id FROM orders ORDER BY id LIMIT $1", Values: [][]byte{nil}},
		{Bound: true, Text: "SELECT id FROM big ORDER BY id LIMIT $1", Values: [][]byte{[]byte("2500")}},
	}
}

func (g *generator) binary() []Step {
	n := binary.BigEndian.AppendUint32(nil, uint32(1+g.IntN(20)))
	wide := binary.BigEndian.AppendUint64(nil, uint64(1+g.IntN(200)))
	return []Step{
		{Bound: true, Format: 1, Text: "SELECT id, total, note, update_at, \"delete\", tags FROM orders WHERE id <= $1 ORDER BY id", Types: []uint32{int4OID}, Values: [][]byte{n}},
		{Bound: true, Format: 1, Text: "SELECT id, $2 || name FROM customers LIMIT $1", Types: []uint32{int8OID, textOID}, Values: [][]byte{wide, []byte("ü")}},
		{Bound: true, Format: 1, Text: "SELECT id FROM orders ORDER BY id DESC LIMIT $1", Types: []uint32{int8OID}, Values: [][]byte{binary.BigEndian.AppendUint64(nil, 1<<40)}},
	}
}

func (g *generator) prepared() []Step {
	name := g.pick("s", "stmtcache_1f2e", `S "1`, "__asyncpg_stmt_1__")
	first := Step{Bound: true, Name: name, Text: "SELECT id, status FROM orders WHERE id = $1::int", Values: [][]byte{[]byte("3")}}
	again := Step{Bound: true, Name: name, Values: [][]byte{[]byte(strconv.Itoa(1 + g.IntN(300)))}}
	return []Step{first, again, {Text: "SELECT 'between'"}, again, {Text: `DEALLOCATE ALL`}, first}
}

func (g *generator) sqlPrepare() []Step {
	return queries(
		"PREPARE q (int, text) AS SELECT id, $2 FROM orders WHERE id < $1 ORDER BY id",
		fmt.Sprintf("EXECUTE q (%d, %s)", 2+g.IntN(20), g.pick(strange...)),
		"EXECUTE q (2 + 3, upper('x'))",
		"DEALLOCATE q",
		"PREPARE many AS SELECT id FROM big ORDER BY id",
		"EXECUTE many")
}

func (g *generator) cursor() []Step {
	return queries(
		"BEGIN",
		fmt.Sprintf("DECLARE %s %s CURSOR FOR SELECT id, note FROM orders WHERE id < 50 ORDER BY id", `"C 1"`, g.pick("", "SCROLL", "BINARY", "NO SCROLL")),
		fmt.Sprintf(`FETCH %s FROM "C 1"`, g.pick("NEXT", "FORWARD 10", "3", "FORWARD ALL")),
		`MOVE FORWARD 2 IN "C 1"`,
		`FETCH 5 "C 1"`,
		`CLOSE "C 1"`,
		g.pick("COMMIT", "ROLLBACK", "END"))
}

func (g *generator) portal() []Step {
	return []Step{
		{Text: "BEGIN"},
		{Bound: true, Text: "SELECT id FROM orders WHERE id <= $1 ORDER BY id", Types: []uint32{int4OID}, Values: [][]byte{[]byte("40")}, Rows: uint32(1 + g.IntN(50))},
		{Text: "COMMIT"},
	}
}

func (g *generator) transaction() []Step {
	return queries(
		g.pick("BEGIN", "BEGIN READ ONLY", "START TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY", "BEGIN ISOLATION LEVEL SERIALIZABLE"),
		g.filter(),
		"SAVEPOINT s1",
		g.pick("SELECT 1/0", "SELECT 'x'::int", "SELECT 1"),
		"ROLLBACK TO SAVEPOINT s1",
		g.filter(),
		"RELEASE s1",
		g.pick("COMMIT", "ROLLBACK", "COMMIT AND CHAIN", "END"),
		"ROLLBACK")
}

func (g *generator) settings() []Step {
	return queries(
		"SET application_name = "+g.pick("'agent'", "agent", "'a b'"),
		"SHOW application_name",
		g.pick("SET timezone TO 'UTC'", "SET TIME ZONE 'Europe/Berlin'", "SET LOCAL timezone = 'UTC'"),
		"SHOW TimeZone",
		"SELECT update_at FROM orders WHERE id = 1",
		g.pick("SHOW server_version", "SHOW TRANSACTION ISOLATION LEVEL", "SHOW client_encoding", "SHOW standard_conforming_strings", "SHOW search_path"),
		"SET extra_float_digits = 3",
		"RESET ALL")
}

func (g *generator) explain() []Step {
	return queries(fmt.Sprintf("EXPLAIN %s %s", g.pick("", "(COSTS OFF)", "VERBOSE", "(FORMAT JSON, COSTS FALSE)"), g.filter()))
}
