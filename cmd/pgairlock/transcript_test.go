package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pgairlock/pgairlock/audit"
	"github.com/pgairlock/pgairlock/internal/secret"
	"github.com/pgairlock/pgairlock/policy/policytest"
)

var update = flag.Bool("update", false, "write what the commands print into the transcripts")

// Transcripts show what a person sees who types the commands: prose, then files
// ("-- NAME --"), then under "-- transcript --" lines "$ pgairlock …", each
// followed by what it prints and, unless that is 0, its exit code. tables.txt
// becomes catalog.json, and audit.jsonl is there if the prose says so.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		path, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { transcript(t, path) })
	}
}

func transcript(t *testing.T, path string) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, want, ok := strings.Cut(string(text), "-- transcript --\n")
	if !ok {
		t.Fatalf("%s has no transcript", path)
	}
	t.Chdir(t.TempDir())
	t.Setenv("PGPASSWORD", "")
	unpack(t, head)
	var got strings.Builder
	for _, line := range strings.Split(want, "\n") {
		if command, ok := strings.CutPrefix(line, "$ pgairlock "); ok {
			fmt.Fprintf(&got, "%s\n%s", line, execute(t, command))
		}
	}
	if got.String() == want {
		return
	}
	if !*update {
		t.Error(firstDifference(want, got.String()))
	} else if err := os.WriteFile(path, []byte(head+"-- transcript --\n"+got.String()), 0o644); err != nil {
		t.Error(err)
	}
}

func firstDifference(want, got string) string {
	command := ""
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		var a, b string
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if strings.HasPrefix(a, "$ ") {
			command = a
		}
		if a != b {
			return fmt.Sprintf("%s\nwant %s\ngot  %s", command, a, b)
		}
	}
	return "no difference"
}

// unpack writes a transcript's files into the present folder.
func unpack(t *testing.T, head string) {
	t.Helper()
	var name string
	files := map[string]string{}
	for _, line := range strings.SplitAfter(head, "\n") {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "-- ") && strings.HasSuffix(trimmed, " --") {
			name = strings.TrimSpace(trimmed[3 : len(trimmed)-3])
			continue
		}
		files[name] += line
	}
	for name, text := range files {
		if name != "" {
			write(t, name, text)
		}
	}
	if tables, ok := files["tables.txt"]; ok {
		cat, err := policytest.Catalog(tables)
		if err != nil {
			t.Fatal(err)
		}
		dump, err := json.Marshal(cat.Data())
		if err != nil {
			t.Fatal(err)
		}
		write(t, "catalog.json", string(dump))
	}
	if strings.Contains(files[""], "audit.jsonl") {
		record(t, "audit.jsonl")
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// record writes a small audit log, one event a second.
func record(t *testing.T, path string) {
	t.Helper()
	var second atomic.Int64 // the log's goroutine looks at the clock, too
	log, err := audit.Open(audit.Options{
		Path: path, Key: secret.New("audit_key", "sixteen bytes and more"), Redact: func(s string) string { return s },
		Logger: func(err error) { t.Error(err) }, CheckpointEvery: time.Hour,
		Now: func() time.Time { return time.Date(2026, 11, 30, 10, 15, int(second.Load()), 0, time.UTC) },
	})
	if err != nil {
		t.Fatal(err)
	}
	who := audit.Actor{Session: "0193c000-0000-7000-8000-00000000beef", Agent: "reporting", Claimed: "anna"}
	for _, event := range []audit.Event{
		&audit.SessionStart{Actor: who, Client: "127.0.0.1:50000", Application: "psql", Database: "shop", Role: "airlock_reader", Access: "read_only"},
		&audit.Statement{Actor: who, Sequence: 1, Text: "SELECT id FROM orders", Sent: "SELECT id FROM orders LIMIT 1001", Kind: "select", Verdict: "rewrite", Risk: "l0_read", Rows: 1000, Limited: true,
			Relations: []audit.Relation{{Name: "public.orders", Needs: "read"}}, Duration: 3 * time.Millisecond},
		&audit.Statement{Actor: who, Sequence: 2, Text: "SELECT email\n  FROM customers", Kind: "select", Verdict: "deny", Risk: "l0_read", SQLSTATE: "42501",
			Rules: []audit.Rule{{ID: "column", Verdict: "deny", Enforced: true}}, Relations: []audit.Relation{{Name: "public.customers", Needs: "read"}}},
		&audit.SessionEnd{Actor: who, Reason: "client closed", Statements: 2, Denied: 1},
	} {
		second.Add(1)
		if err := log.WriteSync(t.Context(), event); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// changing is what differs from run to run.
var changing = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`[0-9a-f]{64}`), "HASH"},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "ID"},
	{regexp.MustCompile(`go1\.[0-9.]+`), "GO"},
}

// execute runs a command line in process and returns what it prints, errors
// after output, and its exit code if that is not 0. Words may be in single
// quotes; "< FILE" gives standard input.
func execute(t *testing.T, command string) string {
	t.Helper()
	args := words(command)
	var in io.Reader = strings.NewReader("")
	if n := len(args); n > 1 && args[n-2] == "<" {
		text, err := os.ReadFile(args[n-1])
		if err != nil {
			t.Fatal(err)
		}
		in, args = bytes.NewReader(text), args[:n-2]
	}
	var out, errs bytes.Buffer
	code := run(t.Context(), args, in, &out, &errs)
	text := out.String() + errs.String()
	if code != 0 {
		text += fmt.Sprintf("[exit %d]\n", code)
	}
	for _, c := range changing {
		text = c.pattern.ReplaceAllString(text, c.by)
	}
	return text
}

func words(line string) []string {
	var out []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			out = append(out, part)
		} else {
			out = append(out, strings.Fields(part)...)
		}
	}
	return out
}
