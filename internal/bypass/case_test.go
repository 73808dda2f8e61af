package bypass_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/pgairlock/pgairlock/internal/bypass"
)

const folder = "../../testdata/bypass"

func TestCaseFormat(t *testing.T) {
	file := write(t, `# a comment
cases: 2

=== X001 two-messages
why: because
profile: ro+catalog
expect: deny
reason: pass; setting|read-only
---
BEGIN
---
SELECT 1
-- more

=== X002 quoted
why: because
expect: limit 3
quoted: yes
protocol: extended
---
"a\vb"
`)
	got, err := bypass.LoadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := []bypass.Case{
		{ID: "X001", Name: "two-messages", Source: "X.txt:4", Why: "because", Profile: "ro+catalog", Expect: bypass.Expectation{Outcome: bypass.Deny},
			Reasons: []bypass.Reason{{Pass: true}, {Rules: []string{"setting", "read-only"}}}, Messages: []string{"BEGIN", "SELECT 1\n-- more"}},
		{ID: "X002", Name: "quoted", Source: "X.txt:15", Why: "because", Profile: "ro", Expect: bypass.Expectation{Outcome: bypass.Limit, Rows: 3},
			Extended: true, Messages: []string{"a\vb"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// A damaged file must not pass for a short one.
func TestCaseFormatErrors(t *testing.T) {
	const good = "=== X001 n\nwhy: w\nexpect: allow\n---\nSELECT 1\n"
	for _, c := range []struct{ name, text, want string }{
		{"too few", "cases: 2\n" + good, "announce 2"},
		{"no count", good, "announce -1"},
		{"text before the first case", "cases: 1\nSELECT 1\n" + good, "before the first case"},
		{"unknown key", "cases: 1\n=== X001 n\nwho: w\n", `key "who" is unknown`},
		{"no message", "cases: 1\n=== X001 n\nwhy: w\nexpect: allow\n", "lacks"},
		{"no reason", "cases: 1\n=== X001 n\nwhy: w\nexpect: deny\n---\nSELECT 1\n", "one reason for each"},
		{"only passes", "cases: 1\n=== X001 n\nwhy: w\nexpect: deny\nreason: pass\n---\nSELECT 1\n", "one reason for each"},
		{"needless reason", "cases: 1\n=== X001 n\nwhy: w\nexpect: allow\nreason: table\n---\nSELECT 1\n", "gives reasons"},
		{"unknown outcome", "cases: 1\n=== X001 n\nwhy: w\nexpect: refuse\n", "unknown"},
		{"setup alone", "cases: 1\n=== X001 n\nwhy: w\nsetup: SELECT 1\nexpect: allow\n---\nSELECT 1\n", "go together"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := bypass.LoadFile(write(t, c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, not %q", err, c.want)
			}
		})
	}
}

func TestLoadRefusesTwins(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.txt", "b.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("cases: 1\n=== X001 n\nwhy: w\nexpect: allow\n---\nSELECT 1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := bypass.Load(dir); err == nil || !strings.Contains(err.Error(), "is at a.txt:2 already") {
		t.Errorf("error %v", err)
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "X.txt")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
