package statement_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/pgairlock/pgairlock/policy/statement"
)

func TestOutline(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"SELECT id FROM orders WHERE id = 42", "SELECT id FROM orders WHERE id = ·i"},
		{"SELECT 'a''b', 1.50 FROM t1", "SELECT ·s, ·d FROM t1"},
		{"SELECT -5 + 7 LIMIT 10", "SELECT -·i + ·i LIMIT 10"},
		{"SELECT 1 OFFSET 2 ROWS FETCH FIRST 3 ROWS ONLY", "SELECT ·i OFFSET 2 ROWS FETCH FIRST 3 ROWS ONLY"},
		{"SELECT 1234567890, 123456789", "SELECT 1234567890, ·i"},
		{"SELECT 'naïve — 漢字'", "SELECT ·s"},
		{"SELECT x[1], (1,2)", "SELECT x[·i], (·i,·i)"},
		{"SELECT 1;SELECT '2'", "SELECT ·i;SELECT ·s"},
		{"", ""},
	} {
		key, spans, ok := statement.Outline(nil, nil, []byte(c.text))
		got := strings.ReplaceAll(string(key), "\x00", "·")
		if !ok || got != c.want {
			t.Errorf("%q: got %q, %v, want %q", c.text, got, ok, c.want)
		}
		if n := strings.Count(c.want, "·"); len(spans) != n {
			t.Errorf("%q: %d spans, want %d", c.text, len(spans), n)
		}
	}
	for _, text := range []string{
		"SELECT 1 -- x", "SELECT 1 /* x */", `SELECT "a"`, "SELECT $1", "SELECT $$x$$", "SELECT E'x'", "SELECT e'x'", "SELECT B'1'",
		"SELECT U&'x'", "SELECT n'x'", `SELECT 'a\'`, "SELECT 'a' 'b'", "SELECT 'a'\n'b'", "SELECT 'a'b", "SELECT 0x1F", "SELECT 1e5", "SELECT 1_000",
		"SELECT .5", "SELECT 1.", "SELECT 1..2", "SELECT 1a", "SELECT 'open", "SELECT 'a\x00b'", "SELECT '\xff'", "SELECT é", "SELECT 1é", "SELECT a\x0b1",
	} {
		if key, _, ok := statement.Outline(nil, nil, []byte(text)); ok {
			t.Errorf("%q was taken for plain: %q", text, key)
		}
	}
}

// exchanges are texts of which the second differs from the first in constants.
var exchanges = []struct{ first, second string }{
	{"SELECT id FROM orders WHERE id = 1", "SELECT id FROM orders WHERE id = 123456"},
	{"SELECT id FROM orders WHERE status = 'a' AND total > 1.5", "SELECT id FROM orders WHERE status = 'it''s; DELETE' AND total > 0.00001"},
	{"SELECT id FROM orders WHERE id IN (1,2,3) ORDER BY 1", "SELECT id FROM orders WHERE id IN (10,20,30) ORDER BY 1"},
	{"SELECT count(*) FROM orders WHERE id > 5", "SELECT count(*) FROM orders WHERE id > 6"},
	{"SELECT id FROM orders WHERE id > 1 LIMIT 5000", "SELECT id FROM orders WHERE id > 100 LIMIT 5000"},
	{"SELECT id FROM orders WHERE id > 1 UNION SELECT 2 ORDER BY 1", "SELECT id FROM orders WHERE id > 11111 UNION SELECT 22 ORDER BY 1"},
	{"SELECT 1; SELECT id FROM orders WHERE id = 1", "SELECT 12345; SELECT id FROM orders WHERE id = 12"},
	{"SELECT 'x' FROM orders WHERE id = 7;", "SELECT 'a longer one' FROM orders WHERE id = 77777;"},
	{"SELECT generate_series(1, 10)", "SELECT generate_series(1, 100000)"},
	{"SELECT id FROM orders FOR READ ONLY", "SELECT id FROM orders FOR READ ONLY"},
}

// TestExchange: what is taken over from a text with the same outline is what
// would have been decided about the text itself.
func TestExchange(t *testing.T) {
	s := newShop(t, 100)
	for _, e := range exchanges {
		if !compareExchange(t, s, e.first, e.second) {
			t.Errorf("%q and %q were not compared", e.first, e.second)
		}
	}
}

// compareExchange judges second by itself and by way of first, and fails the
// test where the two differ. It reports whether they could be compared.
func compareExchange(t *testing.T, s *shop, first, second string) bool {
	t.Helper()
	key1, spans1, ok1 := statement.Outline(nil, nil, []byte(first))
	key2, spans2, ok2 := statement.Outline(nil, nil, []byte(second))
	if !ok1 || !ok2 || string(key1) != string(key2) {
		return false
	}
	was := s.judge(t, first)
	if !was.Exchangeable() {
		return false
	}
	got, want := was.Exchange(second, spans1, spans2), s.judge(t, second)
	if want.Refusal != nil {
		t.Fatalf("%q passes by way of %q, but is refused itself: %+v", second, first, want.Refusal)
	}
	if got.Send != want.Send || got.Verdict != want.Verdict || got.Risk != want.Risk || !reflect.DeepEqual(got.Edits, want.Edits) {
		t.Fatalf("%q by way of %q:\n got %s %q %v\nwant %s %q %v", second, first, got.Verdict, got.Send, got.Edits, want.Verdict, want.Send, want.Edits)
	}
	if len(got.Parts) != len(want.Parts) {
		t.Fatalf("%q: %d parts, want %d", second, len(got.Parts), len(want.Parts))
	}
	for i := range got.Parts {
		g, w := &got.Parts[i], &want.Parts[i]
		if g.Rows != w.Rows || g.Bytes != w.Bytes || g.Asked != w.Asked || g.Facts.Kind != w.Facts.Kind || g.Facts.Risk != w.Facts.Risk ||
			len(g.Facts.Relations) != len(w.Facts.Relations) || len(g.Facts.Columns) != len(w.Facts.Columns) ||
			len(g.Facts.Functions) != len(w.Facts.Functions) || len(g.Facts.Operators) != len(w.Facts.Operators) || len(g.Facts.Types) != len(w.Facts.Types) {
			t.Fatalf("%q by way of %q: part %d is %+v, itself %+v", second, first, i, g, w)
		}
	}
	return true
}

// FuzzExchange puts other constants into a text. Oracle: Judge itself.
func FuzzExchange(f *testing.F) {
	for _, e := range exchanges {
		f.Add(e.first, "9", "o''brien", "3.25")
	}
	s := newShop(f, 100)
	f.Fuzz(func(t *testing.T, text, integer, word, decimal string) {
		_, spans, ok := statement.Outline(nil, nil, []byte(text))
		if !ok {
			return
		}
		var b strings.Builder
		at := 0
		for _, span := range spans {
			b.WriteString(text[at:span.Start])
			switch old := text[span.Start:span.End]; {
			case old[0] == '\'':
				b.WriteString("'" + word + "'")
			case strings.Contains(old, "."):
				b.WriteString(decimal)
			default:
				b.WriteString(integer)
			}
			at = span.End
		}
		b.WriteString(text[at:])
		compareExchange(t, s, text, b.String())
	})
}

func BenchmarkOutline(b *testing.B) {
	text := []byte("SELECT o.id, c.name FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.status = 'open' AND o.total > 12.50 AND c.id = 4711")
	key, spans := make([]byte, 0, 512), make([]statement.Span, 0, 16)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, ok := statement.Outline(key, spans, text); !ok {
			b.Fatal("not plain")
		}
	}
}
