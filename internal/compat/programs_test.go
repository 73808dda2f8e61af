package compat_test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pgairlock/pgairlock/internal/pgserver"
	"github.com/pgairlock/pgairlock/internal/pgtest"
)

// tool runs one of PostgreSQL's own programs against a place.
func tool(t *testing.T, at place, name string, args ...string) []byte {
	t.Helper()
	programs, err := pgserver.Find(t.Context(), 15)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(programs.Dir, name)
	if _, err := os.Stat(path); err != nil {
		if path, err = exec.LookPath(name); err != nil {
			t.Fatalf("%s is needed: install postgresql-client", name)
		}
	}
	host, port, err := net.SplitHostPort(at.address)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Env = append(os.Environ(), "PGHOST="+host, "PGPORT="+port, "PGUSER="+at.user, "PGPASSWORD="+at.password, "PGDATABASE="+at.database,
		"PGSSLMODE=disable", "PGOPTIONS=", "LC_ALL=C.UTF-8")
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s, %s: %v: %s", at.name, cmd, err, errors.Bytes())
	}
	return out
}

// TestDump: pg_dump sets search_path by a function; where a pooler rewrote that,
// the dump broke. Through the proxy it is the same to the byte.
func TestDump(t *testing.T) {
	l := start(t, pgtest.Options{}, nil)
	for _, args := range [][]string{{}, {"--inserts"}, {"-Fc", "-Z0"}, {"--schema-only"}} {
		t.Run(fmt.Sprint(args), func(t *testing.T) {
			// row_security = off, which pg_dump sets, is a red line: only the suite's agent has it
			direct, proxied := tool(t, l.direct("suite"), "pg_dump", args...), tool(t, l.through("suite"), "pg_dump", args...)
			if d, p := steady(direct, l.database.Name), steady(proxied, l.proxy.Base); !bytes.Equal(d, p) || len(d) < 3000 {
				t.Errorf("%d bytes, directly %d", len(p), len(d))
			}
		})
	}
}

// steady leaves out what differs between two dumps of one database: a random
// key, the time, and the name that the client calls the database by.
func steady(dump []byte, base string) []byte {
	var kept [][]byte
	for _, line := range bytes.Split(dump, []byte("\n")) {
		if !bytes.HasPrefix(line, []byte(`\restrict `)) && !bytes.HasPrefix(line, []byte(`\unrestrict `)) {
			kept = append(kept, line)
		}
	}
	if bytes.HasPrefix(dump, []byte("PGDMP")) {
		// the head of a custom archive: the time, and the database's name with its length
		kept[0] = nil
		joined := bytes.Join(kept, []byte("\n"))
		at := bytes.Index(joined, []byte("SET client_encoding"))
		return joined[max(at, 0):]
	}
	return bytes.ReplaceAll(bytes.Join(kept, []byte("\n")), []byte(base), []byte("DATABASE"))
}

// TestBenchmarkProgram: pgbench's prepared mode broke behind pgcat, scripts of
// two statements behind others.
func TestBenchmarkProgram(t *testing.T) {
	l := start(t, pgtest.Options{}, nil)
	script := filepath.Join(t.TempDir(), "two.sql")
	text := "\\set id random(1, 1000)\nSELECT total FROM orders WHERE id = :id;\nBEGIN;\nSELECT count(*) FROM orders WHERE id < :id;\nCOMMIT;\n"
	pipeline := filepath.Join(t.TempDir(), "pipeline.sql")
	for file, content := range map[string]string{script: text, pipeline: "\\set id random(1, 1000)\n\\startpipeline\n" + strings.SplitAfterN(text, "\n", 2)[1] + "\\endpipeline\n"} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ mode, file string }{
		{"simple", script}, {"extended", script}, {"prepared", script}, {"extended", pipeline}, {"prepared", pipeline},
	} {
		for _, agent := range []string{"reading", "watched"} {
			t.Run(fmt.Sprintf("%s, %s, %s", c.mode, filepath.Base(c.file), agent), func(t *testing.T) {
				out := string(tool(t, l.through(agent), "pgbench", "-n", "-M", c.mode, "-c", "4", "-t", "50", "-f", c.file))
				if !strings.Contains(out, "transactions actually processed: 200/200") || !strings.Contains(out, "failed transactions: 0 ") {
					t.Error(out)
				}
			})
		}
	}
}
