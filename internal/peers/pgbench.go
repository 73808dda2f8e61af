package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// scripts are what pgbench runs besides its own.
var scripts = map[string]string{
	"two":      "\\set a random(1, 100000)\nSELECT abalance FROM pgbench_accounts WHERE aid = :a\\; SELECT 1;\n",
	"pipeline": "\\set a random(1, 100000)\n\\startpipeline\nBEGIN;\nUPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :a;\nSELECT abalance FROM pgbench_accounts WHERE aid = :a;\nCOMMIT;\n\\endpipeline\n",
	"variable": "\\set a random(1, 100000)\nSELECT abalance AS b FROM pgbench_accounts WHERE aid = :a \\gset\nSELECT :b::int + 1;\n",
}

// pgbench runs its transactions in each of its ways to send them, seeded, and
// compares what they left behind.
func (w *workshop) pgbench(ctx context.Context, t *stage) (found outcomes, err error) {
	if err := w.open(ctx, t, superuser(), t.through); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	return w.benches(ctx, t)
}

// pgbench18 is the same with libpq 18 and server 18, in protocol 3.2.
func (w *workshop) pgbench18(ctx context.Context, t *stage) (found outcomes, err error) {
	s := superuser()
	s.major = 18
	if err := w.open(ctx, t, s, t.through); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	// what the proxy knows of its server it knows from the first connection on
	if err := execute(ctx, t.dsn("postgres", t.server.Password, "postgres"), "SELECT 1"); err != nil {
		return nil, err
	}
	if t.env, err = libpq18(ctx); err != nil {
		return nil, err
	}
	t.env = append(t.env, "PGMINPROTOCOLVERSION=3.2", "PGMAXPROTOCOLVERSION=3.2")
	return w.benches(ctx, t)
}

func (w *workshop) benches(ctx context.Context, t *stage) (outcomes, error) {
	bench := w.bin("pgbench")
	if _, err := t.output(ctx, bench, "-i", "-s", "1", "-q", "postgres"); err != nil {
		return nil, err
	}
	found := outcomes{}
	for _, mode := range []string{"simple", "extended", "prepared"} {
		for _, script := range []string{"tpcb-like", "two", "pipeline", "variable"} {
			if mode == "simple" && script == "pipeline" {
				continue // libpq has none
			}
			how := []string{"-b", script}
			if text := scripts[script]; text != "" {
				file := filepath.Join(t.dir, script+".sql")
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil { //nolint:gosec // nobody reads it
					return nil, err
				}
				how = []string{"-f", file}
			}
			out, err := t.output(ctx, bench, append(how, "-n", "-M", mode, "-c", "4", "-j", "2", "-t", "250", "--random-seed=7", "postgres")...)
			found[mode+" "+script] = benchOutcome(out, err)
		}
	}
	sums, err := t.output(ctx, w.bin("psql"), "-XAtc", "SELECT sum(abalance), count(*) FROM pgbench_accounts, (SELECT sum(delta) FROM pgbench_history) h", "postgres")
	found["what is left"] = strings.TrimSpace(sums)
	return found, err
}

// benchOutcome is what pgbench says of the transactions that it counted.
func benchOutcome(out string, err error) string {
	var lines []string
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "number of transactions actually processed") || strings.HasPrefix(line, "number of failed transactions") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	said := strings.Join(lines, ", ")
	switch {
	case err != nil:
		_, why, _ := strings.Cut(out, "ERROR: ")
		why, _, _ = strings.Cut(why, "\n")
		return failed + why
	case said == "number of transactions actually processed: 1000/1000, number of failed transactions: 0 (0.000%)":
		return passed
	case said == "":
		return failed + "it printed no counts"
	}
	return said
}
