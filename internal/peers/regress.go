package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// superuser is the agent that most suites run as.
func superuser(databases ...string) setting {
	return setting{major: 15, agents: []agent{{name: "postgres", databases: append(databases, "postgres")}}}
}

func (w *workshop) bin(program string) string {
	return filepath.Join(w.dir, "pg/usr/lib/postgresql/15/bin", program)
}

// regress is PostgreSQL's own regression test.
func (w *workshop) regress(ctx context.Context, t *stage) (found outcomes, err error) {
	if err := w.open(ctx, t, superuser("regression"), t.through); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	return w.pgRegress(ctx, t, "regress/pg_regress", "regress", "regression", "parallel_schedule", "--dlpath="+filepath.Join(w.dir, "dl"))
}

// isolation is PostgreSQL's test of concurrent sessions. It asks the server
// which backend waits for which, by the pids that it was told at connect.
func (w *workshop) isolation(ctx context.Context, t *stage) (found outcomes, err error) {
	if err := w.open(ctx, t, superuser("isolation_regression"), t.through); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	return w.pgRegress(ctx, t, "isolation/pg_isolation_regress", "isolation", "isolation_regression", "isolation_schedule")
}

// pgRegress runs one of the two test drivers and reads what it printed.
func (w *workshop) pgRegress(ctx context.Context, t *stage, driver, suite, database, schedule string, more ...string) (outcomes, error) {
	input := filepath.Join(w.dir, suite)
	args := append([]string{"--inputdir=" + input, "--outputdir=" + t.dir, "--bindir=" + w.bin(""), "--host=127.0.0.1",
		fmt.Sprintf("--port=%d", t.port), "--user=postgres", "--dbname=" + database, "--max-connections=5", "--schedule=" + filepath.Join(input, schedule)}, more...)
	out, err := t.output(ctx, filepath.Join(w.dir, "pg/usr/lib/postgresql/15/lib/pgxs/src/test", driver), args...)
	found := readRegress(out)
	if len(found) == 0 { // a test that failed is no failure of the driver
		return nil, errors.Join(err, errors.New("no test ran"))
	}
	for test, outcome := range found {
		if outcome == passed {
			continue
		}
		text, err := os.ReadFile(filepath.Join(t.dir, "results", test+".out"))
		if err != nil {
			return nil, err
		}
		found[test] = failed + fmt.Sprintf("output %.6x", sha256.Sum256(text))
	}
	return found, ctx.Err()
}

var regressLine = regexp.MustCompile(`^(?:test| {4}) +(\S+) +\.\.\. (\S+)`)

// readRegress reads what pg_regress prints: "test NAME ... ok  12 ms", or
// indented and without the word where tests run side by side.
func readRegress(out string) outcomes {
	found := outcomes{}
	lines := bufio.NewScanner(strings.NewReader(out))
	for lines.Scan() {
		if m := regressLine.FindStringSubmatch(lines.Text()); m != nil {
			found[m[1]] = m[2]
		}
	}
	return found
}
