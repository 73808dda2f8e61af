package policy_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/pgairlock/pgairlock/policy"
)

var update = flag.Bool("update", false, "write docs/policy.schema.json anew")

const schemaFile = "../docs/policy.schema.json"

func TestSchemaFile(t *testing.T) {
	want, err := policy.Schema()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(schemaFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Fatalf("%s is not what the Go types say: go test ./policy -run TestSchemaFile -update", schemaFile)
	}
}

// yamlBlocks gives the fenced YAML of a Markdown file by line.
func yamlBlocks(t *testing.T, file string) map[int]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	blocks := make(map[int]string)
	start := 0
	for i, line := range strings.SplitAfter(string(text), "\n") {
		switch {
		case start == 0 && strings.HasPrefix(line, "```yaml"):
			start = i + 2
		case start > 0 && strings.HasPrefix(line, "```"):
			start = 0
		case start > 0:
			blocks[start] += line
		}
	}
	return blocks
}

// complete makes a policy of an example: those that begin with an agent's key
// are put into an agent, those that begin with a top-level one beside it.
func complete(example string) string {
	for _, key := range []string{"version:", "listen:"} {
		if strings.HasPrefix(example, key) {
			return example
		}
	}
	if strings.HasPrefix(example, "agents:") {
		return "version: 1\n" + example
	}
	for _, key := range []string{"groups:", "rules:", "secret_columns:", "mode:"} {
		if strings.HasPrefix(example, key) {
			return agentWith("groups: []") + example
		}
	}
	return agentWith(example)
}

func TestExamplesOfTheManualLoad(t *testing.T) {
	blocks := yamlBlocks(t, "../docs/POLICY.md")
	if len(blocks) < 10 {
		t.Fatalf("only %d examples found", len(blocks))
	}
	for line, example := range blocks {
		src := complete(example)
		if strings.HasPrefix(src, "listen:") {
			continue // pgairlock.yaml: package config's test loads it
		}
		if _, err := policy.Load("example", []byte(src)); err != nil {
			t.Errorf("docs/POLICY.md:%d: %v\n%s", line, err, src)
		}
	}
}
