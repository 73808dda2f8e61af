package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgairlock/pgairlock/internal/pgtest"
)

func codeOf(t *testing.T, err error) string {
	t.Helper()
	var server *pgconn.PgError
	if !errors.As(err, &server) {
		t.Fatalf("not an error of the server's: %v", err)
	}
	return server.Code
}

func TestServe(t *testing.T) {
	s := newHouse(t, nil).serve(t)
	conn := s.connect(t)
	for sql, want := range map[string]string{
		"SELECT count(*) FROM orders":   "50",
		"SELECT count(*) FROM payments": "42501",
		"DELETE FROM orders":            "25006",
		"SELECT nothing FROM orders":    "42703",
	} {
		if value, code := ask(t, conn, sql); value+code != want {
			t.Errorf("%s gives %q %s, not %s", sql, value, code, want)
		}
	}
	unix := pgtest.Connect(t, "host="+s.path("run")+" port="+s.port+" dbname=shop user=reporting password="+s.secrets["reporting"])
	if value, _ := ask(t, unix, "SELECT sum(total) FROM orders"); value != "1275" {
		t.Errorf("over the Unix socket: %q", value)
	}
	if _, err := pgconn.Connect(t.Context(), s.dsn("reporting", "wrong")); codeOf(t, err) != "28P01" {
		t.Errorf("a wrong password gives %v", err)
	}
	s.stop(t)
	if _, err := conn.Exec(t.Context(), "SELECT 1").ReadAll(); codeOf(t, err) != "57P01" {
		t.Errorf("after the end: %v", err)
	}
	if _, err := os.Stat(s.path("run/.s.PGSQL." + s.port)); err == nil {
		t.Error("the Unix socket is still there")
	}
	checkRecords(t, s.house)
}

// checkRecords holds what TestServe did against its records.
func checkRecords(t *testing.T, h *house) {
	t.Helper()
	file := h.path("audit.jsonl")
	if got := execute(t, "audit verify "+file); !strings.HasPrefix(got, "ok: records 1 to ") || strings.Contains(got, "not closed in order") {
		t.Errorf("audit verify: %s", got)
	}
	shown := execute(t, "audit show "+file)
	for word, want := range map[string]int{
		"startup": 1, "shutdown": 1, "session_start": 2, "session_end": 2, "login_refused": 1,
		"  allow ": 2, "  deny ": 3, "[table]": 1, "[read-only]": 1, "[unresolved-column]": 1,
		"SELECT count(*) FROM orders": 1, "DELETE FROM orders": 1,
	} {
		if n := strings.Count(shown, word); n != want {
			t.Errorf("the records have %q %d times, not %d:\n%s", word, n, want, shown)
		}
	}
	lines := execute(t, "audit show "+file+" --json --verdict deny --table orders")
	for _, field := range []string{`"agent":"reporting"`, `"kind":"delete"`, `"risk":"l4_irreversible"`, `"sqlstate":"25006"`, `"needs":"delete"`, `"fingerprint":"`} {
		if !strings.Contains(lines, field) {
			t.Errorf("the record of DELETE lacks %s:\n%s", field, lines)
		}
	}
}

// A reload takes effect on open sessions; one that is wrong changes nothing.
func TestReload(t *testing.T) {
	s := newHouse(t, nil).serve(t)
	conn := s.connect(t)
	s.edit(t, "policy.yaml", "public.orders: all", "public.payments: all")
	eventually(t, conn, "SELECT count(*) FROM payments", "1")
	if _, code := ask(t, conn, "SELECT count(*) FROM orders"); code != "42501" {
		t.Errorf("a table that is no longer open gives %q", code)
	}

	s.edit(t, "policy.yaml", "access: read_only", "access: readonly")
	entry := s.logged(t, "reload refused: the policy and the secrets of before stay in force")
	if text, _ := entry["error"].(string); !strings.HasPrefix(text, s.path("policy.yaml")+":6:13: ") {
		t.Errorf("the log says %q", text)
	}
	if value, _ := ask(t, conn, "SELECT count(*) FROM payments"); value != "1" {
		t.Errorf("after a wrong reload the old policy gives %q", value)
	}

	s.edit(t, "policy.yaml", "access: readonly", "access: read_only")
	s.edit(t, "policy.yaml", "public.payments: all", "public.orders: all")
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	eventually(t, conn, "SELECT count(*) FROM orders", "50")
	s.stop(t)
	shown := execute(t, "audit show --type policy_reload --json "+s.path("audit.jsonl"))
	if n := strings.Count(shown, `"accepted":true`); n < 2 || strings.Count(shown, `"accepted":false`) != 1 {
		t.Errorf("the reloads' records:\n%s", shown)
	}
}

// Agents' passwords rotate without a restart, and so do upstream ones.
func TestRotation(t *testing.T) {
	s := newHouse(t, nil).serve(t)
	conn := s.connect(t)
	write(t, s.path("reporting"), "a new password")
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		fresh, err := pgconn.Connect(t.Context(), s.dsn("reporting", "a new password"))
		if err == nil {
			if err := fresh.Close(t.Context()); err != nil {
				t.Error(err)
			}
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the new password: %v", err)
		}
	}
	if _, err := pgconn.Connect(t.Context(), s.dsn("reporting", s.secrets["reporting"])); codeOf(t, err) != "28P01" {
		t.Errorf("the old password gives %v", err)
	}
	if value, _ := ask(t, conn, "SELECT count(*) FROM orders"); value != "50" {
		t.Errorf("the session from before gives %q", value)
	}
	if err := os.Remove(s.path("reader")); err != nil {
		t.Fatal(err)
	}
	s.logged(t, "reload refused: the policy and the secrets of before stay in force")
	again := pgtest.Connect(t, s.dsn("reporting", "a new password"))
	if value, _ := ask(t, again, "SELECT count(*) FROM orders"); value != "50" {
		t.Errorf("with the secrets of before: %q", value)
	}
}

// What is wrong with a configuration is told before anything listens.
func TestServeRefusesToStart(t *testing.T) {
	for name, c := range map[string]struct {
		file, old, new string
		want           string
		code           int
	}{
		"policy":     {"policy.yaml", "read_only", "readonly", "policy.yaml:6:13: ", exitUsage},
		"secret":     {"pgairlock.yaml", "{file: reader}", "{file: gone}", "secret reader (file ", exitUsage},
		"no secret":  {"policy.yaml", "secret:reporting", "secret:reportin", `there is no secret "reportin"`, exitUsage},
		"no role":    {"policy.yaml", "shop: reader", "shop: writer", `database "shop" has no role "writer"`, exitUsage},
		"connection": {"pgairlock.yaml", "host=127.0.0.1 port=", "host=127.0.0.1 port=x", "not a connection string", exitUsage},
		"port":       {"pgairlock.yaml", "127.0.0.1:0", "192.0.2.1:1", "listen tcp 192.0.2.1:1", exitUsage},
		"audit":      {"pgairlock.yaml", "file: audit.jsonl", "file: nowhere/audit.jsonl", "nowhere", exitUsage},
		"audit key":  {"audit_key", "", "", "", exitOK}, // the honest twin: nothing is changed
		"tls":        {"pgairlock.yaml", "policy: policy.yaml", "policy: policy.yaml\ntls: {certificate: a.crt, key: a.key}", "a.crt", exitUsage},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, nil)
			if c.code == exitOK {
				h.serve(t).stop(t)
				return
			}
			h.edit(t, c.file, c.old, c.new)
			got := execute(t, "serve -c "+h.path("pgairlock.yaml"))
			if !strings.Contains(got, c.want) || !strings.HasSuffix(got, "[exit 2]\n") {
				t.Errorf("serve says\n%s", got)
			}
		})
	}
}

// A socket that a killed process left is no hindrance; one that is in use is.
func TestUnixSocketLeftBehind(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".s.PGSQL.1")
	first, err := listenUnix(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := listenUnix(t.Context(), path); err == nil || !strings.Contains(err.Error(), "another process listens on") {
		t.Errorf("a socket in use gives %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	stale, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(syscall.Bind(stale, &syscall.SockaddrUnix{Name: path}), syscall.Close(stale)); err != nil {
		t.Fatal(err)
	}
	second, err := listenUnix(t.Context(), path)
	if err != nil {
		t.Fatalf("a socket left behind: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}
