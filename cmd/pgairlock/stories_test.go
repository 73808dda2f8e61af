package main

import (
	"os"
	"strings"
	"testing"
)

const story = `A person may look at orders.

-- policy.yaml --
version: 1
agents:
  reporting:
    password: secret:reporting
    databases: {shop: reader}
    access: read_only
    tables: {public.orders: all}
-- tables.txt --
public.orders: id int4
public.payments: id int4
-- 01-look.sql --
-- as: reporting
SELECT count(*) FROM orders
-- 01-look.want --
allow
-- 02-pry.sql --
-- as: reporting
SELECT count(*) FROM payments
-- 02-pry.want --
allow
`

func TestStories(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "stories/one.txtar", story)
	if got := execute(t, "test stories"); !strings.Contains(got, "one.txtar: 02-pry") || !strings.HasSuffix(got, "1 statement passed, 1 failed\n[exit 1]\n") {
		t.Errorf("a wrong story gives\n%s", got)
	}
	if got := execute(t, "test stories --json"); !strings.HasPrefix(got, `{"passed":1,"failed":1,"differences":"one.txtar: 02-pry`) || !strings.HasSuffix(got, "[exit 1]\n") {
		t.Errorf("as JSON it gives\n%s", got)
	}
	if got := execute(t, "test stories --update"); !strings.HasSuffix(got, "2 statements passed, 0 failed\n") {
		t.Errorf("--update gives\n%s", got)
	}
	text, err := os.ReadFile("stories/one.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "-- 02-pry.want --\ndeny 42501 table\n") || !strings.HasPrefix(string(text), "A person may look at orders.") {
		t.Errorf("--update wrote\n%s", text)
	}
	if got := execute(t, "test stories"); got != "2 statements passed, 0 failed\n" {
		t.Errorf("the updated story gives\n%s", got)
	}
}
