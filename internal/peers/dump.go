package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// dump makes dumps of the database that the regression test leaves behind, and
// puts them back: what comes through the proxy has to be the same bytes.
func (w *workshop) dump(ctx context.Context, t *stage) (found outcomes, err error) {
	if err := w.open(ctx, t, superuser("regression", "restored"), true); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	filled, err := w.pgRegress(ctx, t, "regress/pg_regress", "regress", "regression", "parallel_schedule", "--dlpath="+filepath.Join(w.dir, "dl"))
	if err != nil {
		return nil, err
	}
	if len(filled) < 200 {
		return nil, fmt.Errorf("only %d tests filled the database", len(filled))
	}
	found = outcomes{}
	for prefix, port := range map[string]int{"": t.server.Port, throughPrefix: t.proxy} {
		for name, args := range map[string][]string{
			"plain":     {"regression"},
			"inserts":   {"--inserts", "--rows-per-insert=50", "--schema=public", "regression"},
			"custom":    {"-Fc", "-Z0", "regression"},
			"globals":   nil,
			"directory": {"-Fd", "-Z0", "-j4", "regression"},
		} {
			if found[prefix+name], err = w.oneDump(ctx, t, port, name, args); err != nil {
				return nil, fmt.Errorf("%s%s: %w", prefix, name, err)
			}
		}
		if found[prefix+"restored"], err = w.restore(ctx, t, port); err != nil {
			return nil, fmt.Errorf("%srestored: %w", prefix, err)
		}
	}
	return found, nil
}

// oneDump is the digest of a dump, without the comments that tell the time.
func (w *workshop) oneDump(ctx context.Context, t *stage, port int, name string, args []string) (string, error) {
	script := `"$0" --restrict-key=x "$@" | grep -av '^-- Started\|^-- Completed' | sha256sum`
	program := w.bin("pg_dump")
	switch name {
	case "globals":
		program, args = w.bin("pg_dumpall"), []string{"--globals-only"}
	case "custom":
		// its header holds the time: what it says as a script is compared
		script = `"$0" -f custom.dump "$@" && "$(dirname "$0")/pg_restore" --restrict-key=x -f - custom.dump | sha256sum`
	case "directory":
		script = `rm -rf directory && "$0" -f directory "$@" && (cd directory && cat [0-9]*.dat | sha256sum)`
	}
	out, err := t.shell(ctx, port, script, program, args...)
	return digest(out), err
}

// restore puts the newest dump into a new database, and is the digest of a dump
// of that, taken directly.
func (w *workshop) restore(ctx context.Context, t *stage, port int) (string, error) {
	for _, sql := range []string{"DROP DATABASE IF EXISTS restored", "CREATE DATABASE restored TEMPLATE template0"} {
		if err := execute(ctx, t.server.DSN("postgres"), sql); err != nil {
			return "", err
		}
	}
	// what the regression test leaves does not restore without errors: they are counted
	out, err := t.shell(ctx, port, `"$0" -j2 -d restored custom.dump 2>&1 | grep -ac 'error:' || true`, w.bin("pg_restore"))
	if err != nil {
		return "", err
	}
	errs := strings.TrimSpace(out)
	out, err = t.shell(ctx, t.server.Port, `"$0" --restrict-key=x restored | sha256sum`, w.bin("pg_dump"))
	return digest(out) + ", errors " + errs, err
}

// shell runs a script of which $0 and $@ are the program and its arguments.
func (t *stage) shell(ctx context.Context, port int, script, program string, args ...string) (string, error) {
	cmd, err := t.command(ctx, "/bin/bash", append([]string{"-c", "set -euo pipefail; " + script, program}, args...)...)
	if err != nil {
		return "", err
	}
	cmd.Env = append(cmd.Env, "PGPORT="+strconv.Itoa(port))
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String()))
	}
	return string(out), err
}

// digest is the beginning of what sha256sum printed.
func digest(out string) string {
	if len(out) < sha256.Size {
		return "nothing"
	}
	return out[:16]
}
