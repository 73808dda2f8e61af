package statement_test

import (
	"strings"
	"testing"

	"github.com/pgairlock/pgairlock/policy/statement"
)

func TestWithoutLiterals(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT * FROM orders WHERE id = 4711 AND note = 'call Anna'": "SELECT * FROM orders WHERE id = ? AND note = '?'",
		"SELECT $1, \"Name\", x.y FROM t":                             "SELECT $1, \"Name\", x.y FROM t",
		"SELECT E'a\\'b', $tag$ anna's $tag$, U&'\\0041', 'a'\n'b'":   "SELECT '?', '?', '?', '?'",
		"SELECT b'101', x'ff', 1.5e3, .5, -7, 0x1F":                   "SELECT b'?', x'?', ?, ?, -?, ?",
		"SELECT 1 -- anna@example.com\n/* her phone: 123 */, 2":       "SELECT ? \n, ?",
		"DO $$ BEGIN PERFORM 'anna'; END $$":                          "DO '?'",
		"SET application_name = 'anna'":                               "SET application_name = '?'",
		"CREATE ROLE anna PASSWORD 'geheim'":                          "CREATE ROLE anna PASSWORD '?'",
		"SELEC 'anna' FORM":                                           "SELEC '?' FORM",
		"SELECT 'anna":                                                "(12 bytes that cannot be read as SQL)",
		"SELECT \xff'anna'":                                           "(14 bytes that cannot be read as SQL)",
		"  ":                                                          "",
	} {
		if got := statement.WithoutLiterals(text); got != want {
			t.Errorf("%q\n got  %q\n want %q", text, got, want)
		}
	}
}

// Whatever is long, deep or slow to cut must not stop the record.
func TestWithoutLiteralsOfHugeTexts(t *testing.T) {
	for _, text := range []string{
		"SELECT 1" + strings.Repeat("+1", 100_000),
		"SELECT " + strings.Repeat("+-", 100_000) + "1",
		strings.Repeat("(", 100_000),
		strings.Repeat("'x' ", 500_000),
	} {
		if got := statement.WithoutLiterals(text); strings.Contains(got, "1") && !strings.Contains(got, "bytes") || strings.Contains(got, "'x'") {
			t.Errorf("%.20s…: literals are left", text)
		}
	}
}

func TestFingerprint(t *testing.T) {
	one := statement.Fingerprint("SELECT id FROM t WHERE a = 1")
	if one == "" || one != statement.Fingerprint("select id  from t where a=2 -- again") {
		t.Errorf("the same statement with another literal has another fingerprint than %q", one)
	}
	if one == statement.Fingerprint("SELECT id FROM t WHERE b = 1") {
		t.Error("another statement has the same fingerprint")
	}
	for _, text := range []string{"SELEC", "SELECT 1" + strings.Repeat("+1", 100_000)} {
		if got := statement.Fingerprint(text); got != "" {
			t.Errorf("%.20s…: fingerprint %q", text, got)
		}
	}
}
