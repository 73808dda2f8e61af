package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pgairlock/pgairlock/internal/pgserver"
)

// pipeline is PostgreSQL's test of libpq's pipeline mode. Beside its verdict,
// libpq's trace of all messages is compared.
func (w *workshop) pipeline(ctx context.Context, t *stage) (outcomes, error) {
	return w.pipelineWith(ctx, t)
}

// pipeline18 is the same program with libpq 18 that asks for protocol 3.2 and
// has to be content with the server's 3.0.
func (w *workshop) pipeline18(ctx context.Context, t *stage) (outcomes, error) {
	env, err := libpq18(ctx)
	if err != nil {
		return nil, err
	}
	return w.pipelineWith(ctx, t, append(env, "PGMAXPROTOCOLVERSION=3.2")...)
}

// libpq18 makes programs use the libpq of PostgreSQL 18.
func libpq18(ctx context.Context) ([]string, error) {
	newest, err := pgserver.Find(ctx, 18)
	if err != nil {
		return nil, err
	}
	return []string{"LD_LIBRARY_PATH=" + filepath.Join(newest.Dir, "..", "lib")}, nil
}

func (w *workshop) pipelineWith(ctx context.Context, t *stage, env ...string) (found outcomes, err error) {
	if err := w.open(ctx, t, superuser(), t.through); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	program := filepath.Join(w.dir, "libpq_pipeline")
	t.env = env
	list, err := t.output(ctx, program, "tests")
	if err != nil {
		return nil, err
	}
	found = outcomes{}
	for _, test := range strings.Fields(list) {
		trace := filepath.Join(t.dir, test+".trace")
		if out, err := t.output(ctx, program, "-t", trace, test, "host=127.0.0.1 dbname=postgres"); err != nil {
			found[test] = strings.Join(strings.Fields(failed+fmt.Sprintf("%v: %s", err, out)), " ")
			continue
		}
		found[test] = passed
		if test == "pipelined_insert" || test == "uniqviol" {
			continue // how far they come before they read depends on the time: PostgreSQL has no trace of them either
		}
		text, err := os.ReadFile(trace)
		if err != nil {
			return nil, err
		}
		found[test+".trace"] = fmt.Sprintf("%.6x", sha256.Sum256(text))
	}
	return found, nil
}
