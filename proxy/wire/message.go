package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// Messages that a client may send after start-up.
const (
	Query        = 'Q'
	Parse        = 'P'
	Bind         = 'B'
	Describe     = 'D'
	Execute      = 'E'
	Close        = 'C'
	Sync         = 'S'
	Flush        = 'H'
	Terminate    = 'X'
	FunctionCall = 'F'
	CopyData     = 'd' // both directions
	CopyDone     = 'c' // both directions
	CopyFail     = 'f'
)

// Messages that a server may send after start-up.
const (
	ParseComplete        = '1'
	BindComplete         = '2'
	CloseComplete        = '3'
	NotificationResponse = 'A'
	CommandComplete      = 'C'
	DataRow              = 'D'
	ErrorResponse        = 'E'
	CopyInResponse       = 'G'
	CopyOutResponse      = 'H'
	EmptyQueryResponse   = 'I'
	FunctionCallResponse = 'V'
	NoData               = 'n'
	NoticeResponse       = 'N'
	ParameterStatus      = 'S'
	PortalSuspended      = 's'
	RowDescription       = 'T'
	ParameterDescription = 't'
	ReadyForQuery        = 'Z'
)

// NameLimit is the number of bytes on which the server compares statement and
// portal names (NAMEDATALEN - 1).
const NameLimit = 63

// Violation is a breach of the protocol by either side. The session ends.
type Violation struct{ Message string }

func (v *Violation) Error() string { return v.Message }

func violation(format string, args ...any) error {
	return &Violation{Message: fmt.Sprintf(format, args...)}
}

// header is type and length.
const header = 5

// cursor reads a message body. After a failed read, ok is false for good.
type cursor struct {
	rest []byte
	ok   bool
}

func read(body []byte) cursor { return cursor{rest: body, ok: true} }

func (c *cursor) string() []byte {
	i := bytes.IndexByte(c.rest, 0)
	if !c.ok || i < 0 {
		c.ok = false
		return nil
	}
	s := c.rest[:i]
	c.rest = c.rest[i+1:]
	return s
}

func (c *cursor) take(n int) []byte {
	if !c.ok || n < 0 || len(c.rest) < n {
		c.ok = false
		return nil
	}
	b := c.rest[:n]
	c.rest = c.rest[n:]
	return b
}

func (c *cursor) uint16() int {
	b := c.take(2)
	if b == nil {
		return 0
	}
	return int(binary.BigEndian.Uint16(b))
}

func (c *cursor) uint32() uint32 {
	b := c.take(4)
	if b == nil {
		return 0
	}
	return binary.BigEndian.Uint32(b)
}

func (c *cursor) byte() byte {
	b := c.take(1)
	if b == nil {
		return 0
	}
	return b[0]
}

// end says whether everything was there and nothing is left.
func (c *cursor) end() bool { return c.ok && len(c.rest) == 0 }

func malformed(name string) error { return violation("invalid %s message format", name) }

// QueryText is the text of a Query body. It aliases body.
func QueryText(body []byte) ([]byte, error) {
	c := read(body)
	text := c.string()
	if !c.end() {
		return nil, malformed("Query")
	}
	return text, nil
}

// ParseMessage is a Parse body. Its fields alias it.
type ParseMessage struct {
	Name, Text []byte
	types      []byte
}

// Types is how many parameter types the message gives.
func (m *ParseMessage) Types() int { return len(m.types) / 4 }

// Type is the OID given for parameter i, 0 where it is left to the server.
func (m *ParseMessage) Type(i int) uint32 { return binary.BigEndian.Uint32(m.types[4*i:]) }

// RawTypes is the list of OIDs as sent.
func (m *ParseMessage) RawTypes() []byte { return m.types }

// DecodeParse reads a Parse body.
func DecodeParse(body []byte) (ParseMessage, error) {
	c := read(body)
	m := ParseMessage{Name: c.string(), Text: c.string()}
	n := c.uint16()
	m.types = c.take(4 * n)
	if !c.end() {
		return m, malformed("Parse")
	}
	return m, nil
}

// DecodeBind reads portal and statement name from the start of a Bind body,
// which need not be whole.
func DecodeBind(start []byte) (portal, statement []byte, err error) {
	c := read(start)
	portal, statement = c.string(), c.string()
	if !c.ok {
		return nil, nil, malformed("Bind")
	}
	return portal, statement, nil
}

// DecodeTarget reads a Describe or Close body: 'S' and a statement's name or
// 'P' and a portal's.
func DecodeTarget(body []byte) (kind byte, name []byte, err error) {
	c := read(body)
	kind, name = c.byte(), c.string()
	if !c.end() || kind != 'S' && kind != 'P' {
		return 0, nil, malformed("Describe or Close")
	}
	return kind, name, nil
}

// DecodeExecute reads an Execute body. For the server, 0 and what is negative as
// an int32 mean no limit.
func DecodeExecute(body []byte) (portal []byte, max uint32, err error) {
	c := read(body)
	portal, max = c.string(), c.uint32()
	if !c.end() {
		return nil, 0, malformed("Execute")
	}
	return portal, max, nil
}

// oidSize is the length of an OID in a message.
const oidSize = 4

// DecodeFunctionCall reads the beginning of a FunctionCall body: the function's
// OID. Its arguments are not looked at.
func DecodeFunctionCall(body []byte) (function uint32, err error) {
	c := read(body)
	function = c.uint32()
	if !c.ok {
		return 0, malformed("FunctionCall")
	}
	return function, nil
}

// Field is what RowDescription says of one column.
type Field struct {
	Name     []byte // aliases the body
	Table    uint32 // pg_class.oid if it is a plain column, else 0
	Column   int16  // pg_attribute.attnum likewise
	TypeOID  uint32
	Size     int16
	Modifier int32
	Format   int16
}

// EachField calls visit for each column of a RowDescription body, until visit
// returns false.
func EachField(body []byte, visit func(Field) bool) error {
	c := read(body)
	n := c.uint16()
	for range n {
		f := Field{Name: c.string(), Table: c.uint32(), Column: int16(c.uint16()), TypeOID: c.uint32(),
			Size: int16(c.uint16()), Modifier: int32(c.uint32()), Format: int16(c.uint16())}
		if !c.ok {
			return malformed("RowDescription")
		}
		if !visit(f) {
			return nil
		}
	}
	if !c.end() {
		return malformed("RowDescription")
	}
	return nil
}

// ErrorField finds a field of an ErrorResponse or NoticeResponse body by its
// code: 'V' severity, 'C' SQLSTATE, 'M' message, 'P' position and so on; nil
// if it is not there. The result aliases body.
func ErrorField(body []byte, code byte) []byte {
	c := read(body)
	for {
		k := c.byte()
		if !c.ok || k == 0 {
			return nil
		}
		if v := c.string(); k == code {
			return v
		}
	}
}

// Fatal says whether an ErrorResponse body announces the end of the session.
func Fatal(body []byte) bool {
	v := ErrorField(body, 'V')
	return bytes.Equal(v, []byte("FATAL")) || bytes.Equal(v, []byte("PANIC"))
}

// Tag is the command tag of a CommandComplete body; it aliases body.
func Tag(body []byte) ([]byte, error) {
	c := read(body)
	tag := c.string()
	if !c.end() {
		return nil, malformed("CommandComplete")
	}
	return tag, nil
}

// Setting is name and value of a ParameterStatus body; they alias body.
func Setting(body []byte) (name, value []byte, err error) {
	c := read(body)
	name, value = c.string(), c.string()
	if !c.end() {
		return nil, nil, malformed("ParameterStatus")
	}
	return name, value, nil
}
