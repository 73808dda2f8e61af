package policytest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pgairlock/pgairlock/policy/policytest"
)

const story = `What the story is about.

-- policy.yaml --
version: 1
agents:
  reader:
    password: secret:reader
    databases: {shop: reader}
    access: read_only
    tables:
      public.orders: all
-- tables.txt --
public.orders: id int8, total numeric
public.payments: id int8
-- 01-open.sql --
-- as: reader, on: shop
SELECT id FROM orders LIMIT 1
-- 01-open.want --
allow
-- 02-closed.sql --
-- as: reader
SELECT id FROM payments LIMIT 1
-- 02-closed.want --
deny 42501 table
`

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDifferenceIsToldAndWrittenOnDemand(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "one.txtar", story)
	var out strings.Builder
	passed, failed, err := policytest.Run(dir, false, &out)
	if passed != 1 || failed != 1 || err != nil {
		t.Fatalf("%d passed, %d failed, %v", passed, failed, err)
	}
	for _, want := range []string{"one.txtar: 02-closed\n", "  want  deny 42501 table\n", "  got   deny 42501 table\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("want %q in\n%s", want, out.String())
		}
	}
	if passed, failed, err = policytest.Run(dir, true, &out); passed != 2 || failed != 0 || err != nil {
		t.Fatalf("update: %d passed, %d failed, %v", passed, failed, err)
	}
	if passed, failed, err = policytest.Run(dir, false, &out); passed != 2 || failed != 0 || err != nil {
		t.Fatalf("after the update: %d passed, %d failed, %v", passed, failed, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "one.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(text), strings.TrimSuffix(story, "\n")) {
		t.Errorf("update changed more than a .want:\n%s", text)
	}
}

func TestMissingWantFailsUntilItIsWritten(t *testing.T) {
	dir := t.TempDir()
	text, _, _ := strings.Cut(story, "-- 02-closed.want --")
	write(t, dir, "one.txtar", text)
	var out strings.Builder
	if passed, failed, err := policytest.Run(dir, false, &out); passed != 1 || failed != 1 || err != nil {
		t.Fatalf("%d passed, %d failed, %v", passed, failed, err)
	}
	if passed, failed, err := policytest.Run(dir, true, &out); passed != 2 || failed != 0 || err != nil {
		t.Fatalf("%d passed, %d failed, %v", passed, failed, err)
	}
}

// A DBA's stories name the policy that is in use and a dump of the catalog.
func TestStoryOfFilesBesideIt(t *testing.T) {
	dir := t.TempDir()
	stories := filepath.Join(dir, "stories")
	if err := os.Mkdir(stories, 0o700); err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(story, "-- policy.yaml --\n")
	policyText, _, _ := strings.Cut(rest, "-- tables.txt --\n")
	write(t, dir, "policy.yaml", policyText)
	write(t, stories, "shop.json", `{"database": "shop", "role": "reader", "server_version": 150018, "search_path": ["public"], "schemas": ["public"],
"types": [{"oid": 20, "schema": "pg_catalog", "name": "int8", "kind": "b", "category": "N"}],
"relations": [{"oid": 16384, "schema": "public", "name": "orders", "kind": "r", "columns": [{"num": 1, "name": "id", "type": 20}]}]}`)
	write(t, stories, "one.txtar", `-- use.txt --
policy: ../policy.yaml
catalog: shop.json
-- 01-open.sql --
-- as: reader
SELECT id FROM orders
-- 01-open.want --
rewrite
sent: SELECT id FROM orders LIMIT 1001
`)
	var out strings.Builder
	if passed, failed, err := policytest.Run(stories, false, &out); passed != 1 || failed != 0 || err != nil {
		t.Fatalf("%d passed, %d failed, %v\n%s", passed, failed, err, out.String())
	}
}

func TestStoriesThatAreWrong(t *testing.T) {
	for _, c := range []struct{ name, was, is, want string }{
		{"unknown agent", "as: reader\n", "as: stranger\n", `02-closed.sql: the policy has no agent "stranger"`},
		{"nobody", "-- as: reader\n", "", "02-closed.sql: the first line has to say who sends it"},
		{"unknown database", "on: shop", "on: depot", `agent reader has no database "depot"`},
		{"policy", "version: 1", "version: 9", "policy.yaml:1"},
		{"type", "total numeric", "total numeric(10,2)", "tables.txt: line 1"},
		{"stray file", "-- 02-closed.want --", "-- 02-opened.want --", "02-opened.want: a story has"},
		{"twice", "-- 02-closed.want --", "-- 01-open.want --", "01-open.want is there twice"},
		{"reference", "-- tables.txt --\n", "-- use.txt --\ndatabase: x\n-- tables.txt --\n", "use.txt: "},
		{"missing file", "-- tables.txt --\n", "-- use.txt --\ncatalog: none.json\n-- tables.txt --\n", "none.json"},
	} {
		dir := t.TempDir()
		write(t, dir, "wrong.txtar", strings.Replace(story, c.was, c.is, 1))
		write(t, dir, "right.txtar", story)
		var out strings.Builder
		passed, failed, err := policytest.Run(dir, false, &out)
		if err == nil || !strings.Contains(err.Error(), "wrong.txtar: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
		if passed+failed != 2 {
			t.Errorf("%s: the other story did not run", c.name)
		}
	}
}

func TestFolderWithoutStories(t *testing.T) {
	var out strings.Builder
	if _, _, err := policytest.Run(t.TempDir(), false, &out); err == nil {
		t.Error("an empty folder passed")
	}
}
