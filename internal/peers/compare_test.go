package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestJudge(t *testing.T) {
	suite := suite{name: "s", prints: "tests"}
	for _, c := range []struct {
		name            string
		direct, through outcomes
		known           map[string]string
		good            bool
		want            string
	}{
		{"equal", outcomes{"a": passed, "b": "1f"}, outcomes{"a": passed, "b": "1f"}, nil, true,
			"s: 2 tests equal, 0 differ (expected differences: 0)\n"},
		{"failed on both sides", outcomes{"a": passed, "b": failed}, outcomes{"a": passed, "b": failed}, nil, true,
			"s: 2 tests equal (1 of them fail directly, too), 0 differ (expected differences: 0)\n"},
		{"different", outcomes{"a": passed, "b": passed}, outcomes{"a": passed, "b": failed + "x"}, nil, false,
			"s: 1 tests equal, 1 differ (expected differences: 0)\n  DIFFERS: b: directly ok, through the proxy failed: x\n"},
		{"better through the proxy", outcomes{"a": passed, "b": failed}, outcomes{"a": passed, "b": passed}, nil, false,
			"s: 1 tests equal, 1 differ (expected differences: 0)\n  DIFFERS: b: directly failed: , through the proxy ok\n"},
		{"not run through the proxy", outcomes{"a": passed, "b": passed}, outcomes{"a": passed}, nil, false,
			"s: 1 tests equal, 1 differ (expected differences: 0)\n  DIFFERS: b: directly ok, through the proxy did not run\n"},
		{"not run directly", outcomes{"a": passed}, outcomes{"a": passed, "b": passed}, nil, false,
			"s: 1 tests equal, 1 differ (expected differences: 0)\n  DIFFERS: b: directly did not run, through the proxy ok\n"},
		{"known", outcomes{"a": passed, "b": passed}, outcomes{"a": passed, "b": failed}, map[string]string{"b": "why"}, true,
			"s: 1 tests equal, 0 differ (expected differences: 1)\n  expected: b: directly ok, through the proxy failed: : why\n"},
		{"known, but gone", outcomes{"a": passed, "b": passed}, outcomes{"a": passed, "b": passed}, map[string]string{"b": "why"}, false,
			"s: 1 tests equal, 0 differ (expected differences: 0)\n  NO LONGER DIFFERS: b: take it out of the table\n"},
		{"known, but not there", outcomes{"a": passed}, outcomes{"a": passed}, map[string]string{"b": "why"}, false,
			"s: 1 tests equal, 0 differ (expected differences: 0)\n  NO LONGER DIFFERS: b: take it out of the table\n"},
		{"nothing", nil, nil, nil, false, "s: 0 tests equal, 0 differ (expected differences: 0)\n  NOTHING RAN\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := judge(c.direct, c.through, c.known)
			if got := r.text(suite); r.good() != c.good || got != c.want {
				t.Errorf("good is %t\n%s, not\n%s", r.good(), got, c.want)
			}
		})
	}
}

func TestConfirmed(t *testing.T) {
	direct := outcomes{"a": passed, "b": passed, "c": passed, "d": passed}
	first := judge(direct, outcomes{"a": passed, "b": failed, "c": failed, "d": passed}, nil)
	r := first.confirmed(judge(direct, outcomes{"a": passed, "b": passed, "c": failed, "d": failed}, nil))
	const want = "s: 2 tests equal, 1 differ (expected differences: 0), in the second of two runs\n" +
		"  DIFFERS: c: directly ok, through the proxy failed: \n  differed in the first run only: b\n"
	if got := r.text(suite{name: "s", prints: "tests"}); got != want || r.good() {
		t.Errorf("%s, not\n%s", got, want)
	}
}

func TestReadExpected(t *testing.T) {
	file := filepath.Join(t.TempDir(), "expected.tsv")
	for _, c := range []struct{ text, want string }{
		{"# a comment\n\npgx\ta b\twhy\npgx\tc\tfor this\nlib-pq\tc\tfor that\n", ""},
		{"pgx\ta b\n", ":1: not suite"},
		{"# one\npgx\ta\t\n", ":2: not suite"},
		{"pgx a why\n", ":1: not suite"},
		{"pgx\ta\twhy\ttoo\n", ":1: not suite"},
		{"pgx\ta\twhy\npgx\ta\tagain\n", ":2: a is there twice"},
	} {
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		known, err := readExpected(file)
		switch {
		case c.want != "":
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q: %v, not %s", c.text, err, c.want)
			}
		case err != nil:
			t.Errorf("%q: %v", c.text, err)
		case len(known) != 2 || known["pgx"]["a b"] != "why" || known["pgx"]["c"] != "for this" || known["lib-pq"]["c"] != "for that":
			t.Errorf("%q: %v", c.text, known)
		}
	}
}

// The project's own table can be read, and speaks of suites that there are.
func TestTable(t *testing.T) {
	known, err := readExpected(filepath.Join("..", "..", "testdata", "peers", "expected.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range (&workshop{}).all() {
		delete(known, s.name)
	}
	for name := range known {
		t.Errorf("there is no suite %s", name)
	}
}

func TestSplit(t *testing.T) {
	p := split(outcomes{"plain": "1", "through plain": "2", "through the gate": "3"})
	if len(p.direct) != 1 || p.direct["plain"] != "1" || len(p.through) != 2 || p.through["plain"] != "2" || p.through["the gate"] != "3" {
		t.Errorf("%v", p)
	}
}
