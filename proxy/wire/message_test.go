package wire_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pgairlock/pgairlock/proxy/wire"
)

// name63 is as long as the server's names get.
var name63 = strings.Repeat("n", 63)

// decoders read a body and write down what they found.
var decoders = map[string]func(body []byte) (string, error){
	"Query": func(b []byte) (string, error) { text, err := wire.QueryText(b); return string(text), err },
	"Parse": func(b []byte) (string, error) {
		m, err := wire.DecodeParse(b)
		out := string(m.Name) + "|" + string(m.Text)
		for i := range m.Types() {
			out += "|" + string(rune('0'+m.Type(i)))
		}
		if err == nil && len(m.RawTypes()) != 4*m.Types() {
			err = errors.New("types as sent are not all types")
		}
		return out, err
	},
	"Bind": func(b []byte) (string, error) {
		portal, statement, err := wire.DecodeBind(b)
		return string(portal) + "|" + string(statement), err
	},
	"Target": func(b []byte) (string, error) {
		kind, name, err := wire.DecodeTarget(b)
		return string(kind) + "|" + string(name), err
	},
	"Execute": func(b []byte) (string, error) {
		portal, most, err := wire.DecodeExecute(b)
		return string(portal) + "|" + string(rune('0'+most)), err
	},
	"FunctionCall": func(b []byte) (string, error) {
		function, err := wire.DecodeFunctionCall(b)
		return string(rune('0' + function)), err
	},
	"RowDescription": func(b []byte) (string, error) {
		var names []string
		err := wire.EachField(b, func(f wire.Field) bool { names = append(names, string(f.Name)); return true })
		return strings.Join(names, "|"), err
	},
	"Tag": func(b []byte) (string, error) { tag, err := wire.Tag(b); return string(tag), err },
	"Setting": func(b []byte) (string, error) {
		name, value, err := wire.Setting(b)
		return string(name) + "|" + string(value), err
	},
}

func TestDecode(t *testing.T) {
	const field = "\x00\x00\x00\x01\x00\x02\x00\x00\x00\x17\x00\x04\xff\xff\xff\xff\x00\x00" // of a column, after its name
	for _, c := range []struct {
		what, body, want string // want "" with bad
		bad              []string
	}{
		{"Query", "SELECT 1\x00", "SELECT 1", []string{"", "SELECT 1", "SELECT 1\x00\x00", "SELECT 1\x00; DROP TABLE t\x00"}},
		{"Query", "\x00", "", []string{"\x00\x00"}},
		{"Parse", "s\x00SELECT 1\x00\x00\x00", "s|SELECT 1", []string{
			"", "s", "s\x00", "s\x00SELECT 1", "s\x00SELECT 1\x00", "s\x00SELECT 1\x00\x00", "s\x00SELECT 1\x00\x00\x00\x00",
			"s\x00SELECT 1\x00x\x00\x00\x00", "s\x00SELECT 1\x00\x00\x01", "s\x00SELECT 1\x00\x00\x01\x00\x00\x00"}},
		{"Parse", "\x00x\x00\x00\x02\x00\x00\x00\x07\x00\x00\x00\x00", "|x|7|0", []string{
			"\x00x\x00\x00\x01\x00\x00\x00\x07\x00\x00\x00\x00", "\x00x\x00\x00\x03\x00\x00\x00\x07\x00\x00\x00\x00", "\x00x\x00\xff\xff\x00\x00\x00\x07"}},
		{"Bind", "p\x00s\x00\x00\x00\x00\x00\x00\x00", "p|s", []string{"", "p", "p\x00", "p\x00s"}},
		{"Bind", name63 + "\x00" + name63 + "\x00", name63 + "|" + name63, []string{name63 + "\x00" + name63}},
		{"Bind", name63 + "n\x00" + name63 + "n\x00", name63 + "n|" + name63 + "n", []string{name63 + "n\x00" + name63 + "n"}},
		{"Target", "Ss\x00", "S|s", []string{"", "S", "Ss", "xs\x00", "\x00s\x00", "Ss\x00\x00", "Ss\x00P\x00"}},
		{"Target", "P\x00", "P|", []string{"p\x00"}},
		{"Execute", "p\x00\x00\x00\x00\x05", "p|5", []string{"", "p", "p\x00", "p\x00\x00\x00\x05", "p\x00\x00\x00\x00\x05\x00"}},
		{"FunctionCall", "\x00\x00\x00\x05", "5", []string{"", "\x00\x00\x05"}},
		{"FunctionCall", "\x00\x00\x00\x05\x00\x00\x00", "5", []string{"\x00"}}, // the rest is not looked at
		{"RowDescription", "\x00\x02a\x00" + field + "b c\x00" + field, "a|b c", []string{
			"", "\x00", "\x00\x02a\x00" + field, "\x00\x01a\x00" + field + "\x00", "\x00\x01a\x00" + field[1:], "\x00\x01a", "\xff\xffa\x00" + field}},
		{"RowDescription", "\x00\x00", "", []string{"\x00\x00\x00"}},
		{"Tag", "SELECT 1\x00", "SELECT 1", []string{"", "SELECT 1", "SELECT 1\x00x", "SELECT 1\x00\x00"}},
		{"Setting", "TimeZone\x00UTC\x00", "TimeZone|UTC", []string{"", "TimeZone\x00", "TimeZone\x00UTC", "TimeZone\x00UTC\x00x"}},
	} {
		decode := decoders[c.what]
		if got, err := decode([]byte(c.body)); got != c.want || err != nil {
			t.Errorf("%s %q is %q, %v", c.what, c.body, got, err)
		}
		for _, bad := range c.bad {
			var broken *wire.Violation
			if got, err := decode([]byte(bad)); !errors.As(err, &broken) {
				t.Errorf("%s %q is %q, %v", c.what, bad, got, err)
			}
		}
	}
}

func TestEachField(t *testing.T) {
	body := reply(`RowDescription ("a" 16384 2 23 4 4294967295 1 "" 0 0 1700 -1 655366 0)`)[5:]
	var got []wire.Field
	if err := wire.EachField(body, func(f wire.Field) bool { got = append(got, f); return true }); err != nil {
		t.Fatal(err)
	}
	want := []wire.Field{
		{Name: []byte("a"), Table: 16384, Column: 2, TypeOID: 23, Size: 4, Modifier: -1, Format: 1},
		{Name: []byte{}, TypeOID: 1700, Size: -1, Modifier: 655366},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, not %+v", got, want)
	}
	n := 0
	if err := wire.EachField(body, func(wire.Field) bool { n++; return false }); err != nil || n != 1 {
		t.Errorf("it went on to %d fields after a stop, %v", n, err)
	}
}

func TestErrorField(t *testing.T) {
	body := reply(`ErrorResponse S"FEHLER" V"ERROR" C"42601" M"Syntaxfehler" P"8" H""`)[5:]
	for code, want := range map[byte]string{'V': "ERROR", 'C': "42601", 'M': "Syntaxfehler", 'P': "8", 'H': ""} {
		if got := wire.ErrorField(body, code); got == nil || string(got) != want {
			t.Errorf("field %c is %q", code, got)
		}
	}
	for _, cut := range []string{"", "\x00", "M", "Mno end", "Sx\x00\x00Mafter the end\x00\x00"} {
		if got := wire.ErrorField([]byte(cut), 'M'); got != nil {
			t.Errorf("%q has a message %q", cut, got)
		}
	}
	if got := wire.ErrorField(body, 'D'); got != nil {
		t.Errorf("a detail %q came out of nothing", got)
	}
}

func TestFatal(t *testing.T) {
	for text, want := range map[string]bool{
		`S"FATAL" V"FATAL" C"57P01"`: true, `S"PANIK" V"PANIC" C"XX000"`: true, `S"FATAL" V"ERROR" C"42601"`: false, `S"ERROR" V"ERROR" M"FATAL"`: false,
	} {
		if got := wire.Fatal(reply("ErrorResponse " + text)[5:]); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

// Decoded parts alias the body: nothing is copied, nothing allocated.
func TestDecodingDoesNotAllocate(t *testing.T) {
	parse, describe := message(`Parse "s" "SELECT $1" (23)`)[5:], message(`Describe S "s"`)[5:]
	row := reply(`RowDescription ("a" 1 1 23 4 0 0 "b" 1 2 25 -1 0 0)`)[5:]
	var names [2][]byte
	n := testing.AllocsPerRun(100, func() {
		m, err1 := wire.DecodeParse(parse)
		_, name, err2 := wire.DecodeTarget(describe)
		err3 := wire.EachField(row, func(wire.Field) bool { return true })
		if err1 != nil || err2 != nil || err3 != nil {
			t.Fatal(err1, err2, err3)
		}
		names = [2][]byte{m.Name, name}
	})
	if n != 0 || !slices.Equal(names[0], names[1]) {
		t.Errorf("%v allocations, names %q", n, names)
	}
}
