package compat_test

import (
	"encoding/binary"

	pg "github.com/jackc/pgx/v5/pgproto3"
)

// Client messages as bytes. The encoder can't fail on what the tests give it.

func encoded(m pg.FrontendMessage) []byte {
	out, err := m.Encode(nil)
	if err != nil {
		panic(err)
	}
	return out
}

// typed is a message made by hand.
func typed(kind byte, body []byte) []byte {
	out := binary.BigEndian.AppendUint32([]byte{kind}, uint32(4+len(body)))
	return append(out, body...)
}

func query(sql string) []byte { return encoded(&pg.Query{String: sql}) }

func parse(name, sql string, types ...uint32) []byte {
	return encoded(&pg.Parse{Name: name, Query: sql, ParameterOIDs: types})
}

func bind(portal, statement string, values ...[]byte) []byte {
	return encoded(&pg.Bind{DestinationPortal: portal, PreparedStatement: statement, Parameters: values})
}

// bindBinary asks for every column in its binary form.
func bindBinary(statement string) []byte {
	return encoded(&pg.Bind{PreparedStatement: statement, ResultFormatCodes: []int16{1}})
}

// describe describes a statement ('S') or a portal ('P').
func describe(what byte, name string) []byte {
	return encoded(&pg.Describe{ObjectType: what, Name: name})
}

func execute(portal string, rows uint32) []byte {
	return encoded(&pg.Execute{Portal: portal, MaxRows: rows})
}

func closing(what byte, name string) []byte {
	return encoded(&pg.Close{ObjectType: what, Name: name})
}

func copyData(text string) []byte { return encoded(&pg.CopyData{Data: []byte(text)}) }

func copyFail(why string) []byte { return encoded(&pg.CopyFail{Message: why}) }

var (
	flush    = encoded(&pg.Flush{})
	sync     = encoded(&pg.Sync{})
	copyDone = encoded(&pg.CopyDone{})
)

// run is what most drivers send for a statement, without Sync.
func run(sql string) []byte {
	return say(parse("", sql), bind("", ""), execute("", 0))
}

// again is what they send for one that they have prepared.
func again(name string) []byte { return say(bind("", name), execute("", 0)) }

// say is all of it in one write.
func say(all ...[]byte) []byte {
	var out []byte
	for _, b := range all {
		out = append(out, b...)
	}
	return out
}
