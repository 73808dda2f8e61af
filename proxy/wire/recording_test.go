package wire_test

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/pgairlock/pgairlock/proxy/wire"
)

// A recording is a session after start-up as text, one message a line, in the
// order in which they passed:
//
//	> 1 Parse "s" "SELECT $1::int" (23)
//	> - Flush
//	< 1 ParseComplete
//
// The arrow is the direction. The number counts the client's messages that the
// server answers; a reply has the number of the message that it answers, or "-".
// The rest is the message's fields by its layout. Lines with # are comments.

// layout is the form of a message's body:
//
//	s  string, quoted        c  byte, as a character      b  byte, as a number
//	h  16-bit number         i  32-bit number             v  value, quoted, or NULL
//	r  all that is left, quoted                           f  fields of a report
//	(…) a list with a 16-bit count
type layout struct {
	kind   byte
	name   string
	fields string
}

var clientLayouts = []layout{
	{wire.Query, "Query", "s"},
	{wire.Parse, "Parse", "ss(i)"},
	{wire.Bind, "Bind", "ss(h)(v)(h)"},
	{wire.Describe, "Describe", "cs"},
	{wire.Execute, "Execute", "si"},
	{wire.Close, "Close", "cs"},
	{wire.Sync, "Sync", ""},
	{wire.Flush, "Flush", ""},
	{wire.Terminate, "Terminate", ""},
	{wire.FunctionCall, "FunctionCall", "i(h)(v)h"},
	{wire.CopyData, "CopyData", "r"},
	{wire.CopyDone, "CopyDone", ""},
	{wire.CopyFail, "CopyFail", "s"},
}

var serverLayouts = []layout{
	{wire.ParseComplete, "ParseComplete", ""},
	{wire.BindComplete, "BindComplete", ""},
	{wire.CloseComplete, "CloseComplete", ""},
	{wire.NotificationResponse, "NotificationResponse", "iss"},
	{wire.CommandComplete, "CommandComplete", "s"},
	{wire.CopyData, "CopyData", "r"},
	{wire.CopyDone, "CopyDone", ""},
	{wire.DataRow, "DataRow", "(v)"},
	{wire.ErrorResponse, "ErrorResponse", "f"},
	{wire.CopyInResponse, "CopyInResponse", "b(h)"},
	{wire.CopyOutResponse, "CopyOutResponse", "b(h)"},
	{wire.EmptyQueryResponse, "EmptyQueryResponse", ""},
	{wire.FunctionCallResponse, "FunctionCallResponse", "v"},
	{wire.NoData, "NoData", ""},
	{wire.NoticeResponse, "NoticeResponse", "f"},
	{wire.ParameterStatus, "ParameterStatus", "ss"},
	{wire.PortalSuspended, "PortalSuspended", ""},
	{wire.RowDescription, "RowDescription", "(sihihih)"},
	{wire.ParameterDescription, "ParameterDescription", "(i)"},
	{wire.ReadyForQuery, "ReadyForQuery", "c"},
}

// event is a message that passed.
type event struct {
	server bool
	number uint64 // 0: none
	kind   byte
	raw    []byte // header included
}

func layouts(server bool) []layout {
	if server {
		return serverLayouts
	}
	return clientLayouts
}

func (e event) layout() (layout, error) {
	for _, l := range layouts(e.server) {
		if l.kind == e.kind {
			return l, nil
		}
	}
	return layout{}, fmt.Errorf("message type %q has no layout", e.kind)
}

// line writes an event as text, and makes sure that the text says all of it.
func (e event) line() (string, error) {
	l, err := e.layout()
	if err != nil {
		return "", err
	}
	arrow, number := ">", "-"
	if e.server {
		arrow = "<"
	}
	if e.number > 0 {
		number = strconv.FormatUint(e.number, 10)
	}
	r := reader{rest: e.raw[5:]}
	line := arrow + " " + number + " " + l.name + r.fields(l.fields)
	back, err := parseLine(line)
	if err != nil || r.short || string(back.raw) != string(e.raw) {
		return "", fmt.Errorf("%s %q is not of its layout", l.name, e.raw)
	}
	return line, nil
}

// message makes a client message from its name and fields as in a recording.
func message(text string) []byte {
	e, err := parseLine("> - " + text)
	if err != nil {
		panic(err)
	}
	return e.raw
}

// reply makes a server message likewise.
func reply(text string) []byte {
	e, err := parseLine("< - " + text)
	if err != nil {
		panic(err)
	}
	return e.raw
}

func parseLine(line string) (event, error) {
	words := strings.SplitN(line, " ", 4)
	if len(words) < 3 || words[0] != ">" && words[0] != "<" {
		return event{}, fmt.Errorf("%q is not a line of a recording", line)
	}
	e := event{server: words[0] == "<"}
	if words[1] != "-" {
		n, err := strconv.ParseUint(words[1], 10, 64)
		if err != nil {
			return event{}, fmt.Errorf("%q: %w", line, err)
		}
		e.number = n
	}
	rest := ""
	if len(words) == 4 {
		rest = words[3]
	}
	for _, l := range layouts(e.server) {
		if l.name != words[2] {
			continue
		}
		w := writer{rest: rest, out: []byte{l.kind, 0, 0, 0, 0}}
		w.fields(l.fields)
		if w.space(); w.bad || w.rest != "" {
			return event{}, fmt.Errorf("%q does not fit the layout %q at %q", line, l.fields, w.rest)
		}
		binary.BigEndian.PutUint32(w.out[1:], uint32(len(w.out)-1))
		e.kind, e.raw = l.kind, w.out
		return e, nil
	}
	return event{}, fmt.Errorf("%q: no message has this name", line)
}

// parseRecording reads a recording's text.
func parseRecording(text string) ([]event, error) {
	var events []event
	for i, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		e, err := parseLine(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		events = append(events, e)
	}
	return events, nil
}

// reader turns a body into text.
type reader struct {
	rest  []byte
	short bool
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.short = true
		n = len(r.rest)
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) number(bytes int) int64 {
	b := r.take(bytes)
	switch {
	case r.short:
		return 0
	case bytes == 1:
		return int64(b[0])
	case bytes == 2:
		return int64(int16(binary.BigEndian.Uint16(b)))
	}
	return int64(int32(binary.BigEndian.Uint32(b)))
}

func (r *reader) string() string {
	s := string(r.take(strings.IndexByte(string(r.rest), 0)))
	r.take(1)
	return strconv.Quote(s)
}

func (r *reader) fields(fields string) string {
	var out strings.Builder
	for i := 0; i < len(fields) && !r.short; i++ {
		switch fields[i] {
		case 's':
			out.WriteString(" " + r.string())
		case 'c':
			out.WriteString(" " + string(rune(r.number(1))))
		case 'b':
			fmt.Fprintf(&out, " %d", r.number(1))
		case 'h':
			fmt.Fprintf(&out, " %d", r.number(2))
		case 'i':
			fmt.Fprintf(&out, " %d", uint32(r.number(4)))
		case 'v':
			out.WriteString(" " + r.value())
		case 'r':
			out.WriteString(" " + strconv.Quote(string(r.take(len(r.rest)))))
		case 'f':
			for len(r.rest) > 0 && r.rest[0] != 0 {
				out.WriteString(" " + string(rune(r.number(1))) + r.string())
			}
			r.take(1)
		case '(':
			end := i + strings.IndexByte(fields[i:], ')')
			var items strings.Builder
			for n := r.number(2); n > 0 && !r.short; n-- {
				items.WriteString(r.fields(fields[i+1 : end]))
			}
			out.WriteString(" (" + strings.TrimPrefix(items.String(), " ") + ")")
			i = end
		}
	}
	return out.String()
}

func (r *reader) value() string {
	if n := r.number(4); n >= 0 {
		return strconv.Quote(string(r.take(int(n))))
	}
	return "NULL"
}

// writer turns text into a body.
type writer struct {
	rest string
	out  []byte
	bad  bool
}

func (w *writer) space() { w.rest = strings.TrimLeft(w.rest, " ") }

func (w *writer) quoted() string {
	w.space()
	q, err := strconv.QuotedPrefix(w.rest)
	if err != nil {
		w.bad = true
		return ""
	}
	w.rest = w.rest[len(q):]
	s, err := strconv.Unquote(q)
	w.bad = w.bad || err != nil
	return s
}

func (w *writer) word() string {
	w.space()
	end := strings.IndexAny(w.rest, " )")
	if end < 0 {
		end = len(w.rest)
	}
	s := w.rest[:end]
	w.rest = w.rest[end:]
	return s
}

func (w *writer) number() int64 {
	n, err := strconv.ParseInt(w.word(), 10, 64)
	w.bad = w.bad || err != nil
	return n
}

func (w *writer) skip(prefix string) bool {
	w.space()
	rest, ok := strings.CutPrefix(w.rest, prefix)
	if ok {
		w.rest = rest
	}
	return ok
}

func (w *writer) fields(fields string) {
	for i := 0; i < len(fields) && !w.bad; i++ {
		switch fields[i] {
		case 's':
			w.out = append(append(w.out, w.quoted()...), 0)
		case 'c':
			word := w.word()
			w.bad = len(word) != 1
			w.out = append(w.out, word...)
		case 'b':
			w.out = append(w.out, byte(w.number()))
		case 'h':
			w.out = binary.BigEndian.AppendUint16(w.out, uint16(w.number()))
		case 'i':
			w.out = binary.BigEndian.AppendUint32(w.out, uint32(w.number()))
		case 'v':
			if w.skip("NULL") {
				w.out = binary.BigEndian.AppendUint32(w.out, 1<<32-1)
				continue
			}
			s := w.quoted()
			w.out = append(binary.BigEndian.AppendUint32(w.out, uint32(len(s))), s...)
		case 'r':
			w.out = append(w.out, w.quoted()...)
		case 'f':
			for w.space(); w.rest != "" && !w.bad; w.space() {
				w.out = append(w.out, w.rest[0])
				w.rest = w.rest[1:]
				w.out = append(append(w.out, w.quoted()...), 0)
			}
			w.out = append(w.out, 0)
		case '(':
			i += w.list(fields[i+1 : i+strings.IndexByte(fields[i:], ')')])
		}
	}
}

// list writes a list of items and returns how long its layout is.
func (w *writer) list(item string) int {
	at := len(w.out)
	w.out = append(w.out, 0, 0)
	w.bad = !w.skip("(")
	n := 0
	for ; !w.bad && !w.skip(")"); n++ {
		w.fields(item)
	}
	binary.BigEndian.PutUint16(w.out[at:], uint16(n))
	return len(item) + 1
}

func TestLayouts(t *testing.T) {
	for _, line := range []string{
		`> 1 Query "SELECT 'é\x00'"`, `> 7 Parse "s" "SELECT $1" (23 0)`, `> 2 Bind "" "s" (1 0) ("a b" NULL "\xff") ()`,
		`> 3 Describe S "s"`, `> 4 Execute "" 10`, `> - CopyData "1\t2\n"`, `> - Flush`, `> 5 CopyFail "no"`,
		`< 1 RowDescription ("( a" 16384 1 23 4 4294967295 0 "b c" 0 0 25 -1 4294967295 1)`, `< 1 DataRow ()`, `< 1 DataRow ("" NULL)`,
		`< - NotificationResponse 12 "c" ""`, `< 1 ErrorResponse S"ERROR" M"a \"b\""`, `< 1 CopyInResponse 0 (0 0)`, `< 1 ReadyForQuery I`,
	} {
		e, err := parseLine(line)
		if err != nil {
			t.Error(err)
			continue
		}
		// a string can't hold a zero byte: what is after it is not of the layout
		got, err := e.line()
		if zero := strings.Contains(line, `\x00`); zero != (err != nil) || !zero && got != line {
			t.Errorf("%s came back as %s, %v", line, got, err)
		}
	}
	for _, line := range []string{"", "> 1", "> 1 Query", `> 1 Query "a" "b"`, `> x Query "a"`, `< 1 Query "a"`, `> 1 Parse "a" "b" (1`, `< 1 ReadyForQuery II`} {
		if e, err := parseLine(line); err == nil {
			t.Errorf("%q was read as %q", line, e.raw)
		}
	}
}
