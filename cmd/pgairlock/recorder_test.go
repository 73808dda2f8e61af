package main

import (
	"strings"
	"testing"

	"github.com/pgairlock/pgairlock/internal/pgtest"
	"github.com/pgairlock/pgairlock/policy/statement"
)

// Writes of an observed agent are announced before they run, and told of
// afterwards under the same number.
func TestIntents(t *testing.T) {
	h := newHouse(t, nil)
	h.db.Exec(t, "GRANT INSERT, DELETE ON orders TO "+h.role)
	h.edit(t, "policy.yaml", "read_only", "observe")
	s := h.serve(t)
	conn := s.connect(t)
	for _, sql := range []string{"INSERT INTO orders VALUES (51, 51)", "DELETE FROM orders WHERE id = 51", "SELECT count(*) FROM orders"} {
		if _, code := ask(t, conn, sql); code != "" {
			t.Fatalf("%s gives %s", sql, code)
		}
	}
	// what comes after an error in a pipeline is bound by nobody
	pipeline := conn.StartPipeline(t.Context())
	pipeline.SendQueryParams("SELECT 1/0", nil, nil, nil, nil)
	pipeline.SendQueryParams("DELETE FROM orders", nil, nil, nil, nil)
	if err := pipeline.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := pipeline.Close(); codeOf(t, err) != "22012" {
		t.Errorf("the pipeline ends with %v", err)
	}
	if value, _ := ask(t, pgtest.Connect(t, h.db.DSN()), "SELECT count(*) FROM orders"); value != "50" {
		t.Errorf("%s orders are left", value)
	}
	s.stop(t)
	file := h.path("audit.jsonl")
	intents, outcomes := execute(t, "audit show --type intent "+file), execute(t, "audit show --type statement --type outcome --json "+file)
	if n := strings.Count(intents, "intent allow"); n < 2 || n != strings.Count(outcomes, `"risk":"l1_append"`)+strings.Count(outcomes, `"risk":"l4_irreversible"`)+strings.Count(outcomes, `"result":"refused"`) {
		t.Errorf("intents:\n%s\noutcomes:\n%s", intents, outcomes)
	}
	order := execute(t, "audit show --json "+file)
	first := strings.Index(order, `"type":"intent"`)
	if first < 0 || first > strings.Index(order, `"type":"statement"`) {
		t.Errorf("the first write is not announced:\n%s", order)
	}
}

func TestAspectsAreRemembered(t *testing.T) {
	var c aspectCache
	of := func(text string) (*statement.Judgement, *aspects) {
		j := &statement.Judgement{Text: text}
		return j, c.of(j)
	}
	one, about := of("SELECT 1")
	_, other := of("SELECT a FROM b")
	if about.fingerprint == "" || c.of(one) != about || other.fingerprint == about.fingerprint {
		t.Errorf("aspects of SELECT 1: %+v", about)
	}
	if c.of(&statement.Judgement{Text: "SELECT 2", Like: one}) != about {
		t.Error("a text that differs in constants only has aspects of its own")
	}
	for range manyAspects {
		of("")
	}
	if c.find(one) != about {
		t.Error("a judgement of the generation before is forgotten")
	}
}

func TestRedactedTextsAreRemembered(t *testing.T) {
	var r redacted
	for range 2 {
		if got := r.text("SELECT 'secret'"); got != "SELECT '?'" {
			t.Errorf("got %q", got)
		}
	}
	if len(r.young) != 1 {
		t.Errorf("%d texts are remembered", len(r.young))
	}
}
