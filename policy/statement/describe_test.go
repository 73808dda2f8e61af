package statement_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/policy/statement"
)

func TestDescribe(t *testing.T) {
	s := newShop(t, 100)
	for _, c := range []struct {
		agent, text string
		want        []string // in this order
	}{
		{"reader", "SELECT id, lower(status) FROM orders", []string{
			"REWRITE ", "risk       l0_read", "reads      public.orders (id, status)", "calls      lower(text)",
			"at most    100 rows, 16 MiB", "sent       SELECT id, lower(status) FROM orders LIMIT 101",
		}},
		{"reader", "SELECT email FROM customers", []string{
			"DENY ", "email", "SQLSTATE 42501, at character 8.", "reads      public.customers (email)",
			"rule       deny: column", "sent       nothing", "instead    ",
		}},
		{"watched", "SELECT qty FROM parts", []string{"ALLOW ", "rule       would deny: table", "sent       as it is"}},
		{"reader", "SELECT 1; SHOW TimeZone", []string{"ALLOW ", "1. SELECT", "2. SHOW", "show timezone"}},
		{"reader", "-- nothing", []string{"ALLOW ", "there is no statement in it"}},
	} {
		j := statement.Judge(s.input(t, c.agent, c.text))
		var b strings.Builder
		if err := statement.Describe(&b, &j); err != nil {
			t.Fatal(err)
		}
		rest := b.String()
		for _, w := range c.want {
			_, after, ok := strings.Cut(rest, w)
			if !ok {
				t.Errorf("%s: want %q in\n%s", c.text, w, b.String())
				break
			}
			rest = after
		}
	}
}

// What Describe says would allow a statement does.
func TestDescribeTellsWhatWouldAllowIt(t *testing.T) {
	s := newShop(t, 100)
	const words = `
version: 1
agents:
  reader:
    password: secret:reader
    databases: {shop: reader}
    access: read_only
`
	for _, c := range []struct{ agent, text, want string }{
		{"reader", "SELECT email FROM customers", "tables: {public.customers: [email]}"},
		{"reader", "SELECT * FROM customers", "tables: {public.customers: [id, name, email]}"},
		{"reader", "SELECT a.id FROM payments a", "tables: {public.payments: [id]}"},
		{"reader", "SELECT count(*) FROM payments", "tables: {public.payments: all}"},
		{"reader", "SELECT secret_total(1)", "functions: [public.secret_total(integer)]"},
		{"reader", "SELECT pg_sleep(1)", "functions: [pg_catalog.pg_sleep(double precision)]"},
		{"nocopy", "COPY (SELECT 1) TO STDOUT", "copy: {to_stdout: limited}"},
		{"reader", "SELECT email, secret_total(1) FROM customers", "tables: {public.customers: [email]}\nfunctions: [public.secret_total(integer)]"},
		{"reader", "DELETE FROM orders", ""},
		{"reader", "SELECT nothing FROM orders", ""},
		{"reader", "SELECT pg_read_file('/etc/passwd')", ""},
		{"reader", "SELECT rolpassword FROM pg_authid", ""},
		{"reader", "SET standard_conforming_strings = off", ""},
	} {
		in := s.input(t, c.agent, c.text)
		j := statement.Judge(in)
		var b strings.Builder
		if err := statement.Describe(&b, &j); err != nil {
			t.Fatal(err)
		}
		_, got, found := strings.Cut(b.String(), "to allow   ")
		got = strings.ReplaceAll(strings.TrimSpace(got), "\n           ", "\n")
		if j.Refusal == nil || got != c.want || found != (c.want != "") {
			t.Errorf("%s: want %q in\n%s", c.text, c.want, b.String())
			continue
		}
		if c.want == "" {
			continue
		}
		set, err := policy.Load("changed.yaml", []byte(words+"    "+strings.ReplaceAll(got, "\n", "\n    ")+"\n"))
		if err != nil {
			t.Errorf("%s: the policy does not load with %s: %v", c.text, got, err)
			continue
		}
		in.Set = set
		in.Agent, _ = set.Agent("reader")
		mustPass(t, statement.Judge(in))
	}
}

type fullDisk struct{}

var errFull = errors.New("disk is full")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestDescribeTellsTheWritersError(t *testing.T) {
	j := newShop(t, 100).judge(t, "SELECT 1")
	if err := statement.Describe(fullDisk{}, &j); !errors.Is(err, errFull) {
		t.Error(err)
	}
}

func TestLine(t *testing.T) {
	s := newShop(t, 100)
	for _, c := range []struct{ id, text, want string }{
		{`7`, "SELECT 1", `{"id":7,"verdict":"allow","risk":"l0_read","rules":[],"sql":"SELECT 1"}`},
		{`"a"`, "TABLE parts", `{"id":"a","verdict":"rewrite","risk":"l0_read","rules":[],"sql":"TABLE parts LIMIT 101"}`},
		{``, "SELEC", `{"verdict":"deny","risk":"l4_irreversible","rules":["syntax"],"sqlstate":"42601","message":"syntax error at or near \"SELEC\""}`},
	} {
		j := s.judge(t, c.text)
		var id json.RawMessage
		if c.id != "" {
			id = json.RawMessage(c.id)
		}
		got, err := json.Marshal(statement.NewLine(id, &j))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}
