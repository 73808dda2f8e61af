package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// pgx is pgx's own test suite.
func (w *workshop) pgx(ctx context.Context, t *stage) (found outcomes, err error) {
	s := superuser("pgx_test")
	// the role that pgx's set-up makes
	s.agents = append(s.agents, agent{"pgx_scram", "secret", []string{"pgx_test"}})
	if err := w.open(ctx, t, s, t.through); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	if err := execute(ctx, t.server.DSN("postgres"), "CREATE DATABASE pgx_test"); err != nil {
		return nil, err
	}
	// the set-up needs psql: it asks the shell who it is
	set := fmt.Sprintf("host=127.0.0.1 port=%d user=postgres dbname=pgx_test", t.server.Port)
	if _, err := t.output(ctx, w.bin("psql"), "-Xqv", "ON_ERROR_STOP=1", "-f", filepath.Join(w.dir, "go/pgx/testsetup/postgresql_setup.sql"), set); err != nil {
		return nil, err
	}
	dsn := t.dsn("postgres", t.server.Password, "pgx_test")
	return w.goTest(ctx, t, "go/pgx", []string{".", "./pgconn", "./pgxpool", "./stdlib", "./pgtype"},
		"PGX_TEST_DATABASE="+dsn, "PGX_TEST_TCP_CONN_STRING="+dsn, "PGX_TEST_SCRAM_PASSWORD_CONN_STRING="+t.dsn("pgx_scram", "secret", "pgx_test"))
}

// libpqRoles are those that lib/pq's tests log in as.
const libpqRoles = `CREATE ROLE pqgo SUPERUSER LOGIN PASSWORD '%s';
CREATE ROLE pqgopassword LOGIN PASSWORD 'wordpass';
CREATE ROLE pqgoscram LOGIN PASSWORD 'wordpass';
CREATE ROLE pqgomd5 LOGIN PASSWORD 'wordpass'`

// libpq is lib/pq's own test suite. Those of its tests that need a server with
// its own certificates fail on both sides.
func (w *workshop) libpq(ctx context.Context, t *stage) (found outcomes, err error) {
	s := setting{major: 15, agents: []agent{{"pqgo", "", []string{"pqgo", "postgres"}}}}
	for _, name := range []string{"pqgopassword", "pqgoscram", "pqgomd5"} {
		s.agents = append(s.agents, agent{name, "wordpass", []string{"pqgo"}})
	}
	if err := w.open(ctx, t, s, t.through); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	for _, sql := range []string{fmt.Sprintf(libpqRoles, t.server.Password), "CREATE DATABASE pqgo OWNER pqgo"} {
		if err := execute(ctx, t.server.DSN("postgres"), sql); err != nil {
			return nil, err
		}
	}
	// its tests take a password from here without noticing
	pass := fmt.Sprintf("*:*:*:pqgo:%s\n", t.server.Password)
	if err := os.WriteFile(filepath.Join(t.dir, ".pgpass"), []byte(pass), 0o600); err != nil {
		return nil, err
	}
	return w.goTest(ctx, t, "go/pq", []string{"."}, "HOME="+t.dir, "PGHOST=localhost", fmt.Sprintf("PGPORT=%d", t.port), "PGUSER=pqgo", "PGDATABASE=pqgo", "PGSSLMODE=disable")
}

func execute(ctx context.Context, dsn, sql string) error {
	conn, err := pgconn.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql).ReadAll()
	return errors.Join(err, conn.Close(ctx))
}

// goTest runs the tests of a Go module.
func (w *workshop) goTest(ctx context.Context, t *stage, module string, packages []string, env ...string) (outcomes, error) {
	caches, err := exec.CommandContext(ctx, "go", "env", "-json", "GOCACHE", "GOMODCACHE", "GOPROXY").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	var keep map[string]string
	if err := json.Unmarshal(caches, &keep); err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-count=1", "-p=1", "-timeout=20m", "-json"}, packages...)...)
	cmd.Dir = filepath.Join(w.dir, module)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "GOWORK=off"}
	for name, value := range keep {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Env = append(cmd.Env, env...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if saved := os.WriteFile(filepath.Join(t.dir, "test.json"), out, 0o600); saved != nil {
		return nil, saved
	}
	found := readGoTest(out)
	if len(found) == 0 { // tests that fail are what is compared
		return nil, fmt.Errorf("no test ran: %w: %s", err, strings.TrimSpace(said.String()))
	}
	return found, ctx.Err()
}

// temporary finds the number that a temporary folder has in its name, which some
// tests have in theirs.
var temporary = regexp.MustCompile(`[0-9]{6,}`)

// readGoTest reads the output of go test -json. A test that fails since one of its
// own parts does counts as passed: the part tells.
func readGoTest(out []byte) outcomes {
	found := outcomes{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e struct{ Action, Package, Test string }
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.Test == "" {
			continue
		}
		name := e.Package + " " + temporary.ReplaceAllString(e.Test, "…")
		switch e.Action {
		case "pass":
			found[name] = passed
		case "fail":
			found[name] = failed
		case "skip":
			found[name] = "skipped"
		}
	}
	for name, outcome := range found {
		if outcome != failed {
			continue
		}
		for at := strings.LastIndexByte(name, '/'); at > strings.IndexByte(name, ' '); at = strings.LastIndexByte(name[:at], '/') {
			found[name[:at]] = passed
		}
	}
	return found
}
