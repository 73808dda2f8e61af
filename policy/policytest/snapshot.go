//go:build ignore

// snapshot writes pg15.json.gz: pg_catalog and information_schema of a stock
// PostgreSQL 15, as its superuser sees them. Run it with go generate.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgairlock/pgairlock/internal/pgcatalog"
	"github.com/pgairlock/pgairlock/internal/pgserver"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "snapshot:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	server, err := pgserver.Start(ctx, pgserver.Options{Major: 15})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	conn, err := pgconn.Connect(ctx, server.DSN("postgres"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	cat, err := pgcatalog.Fetch(ctx, conn, pgcatalog.Options{SystemOnly: true})
	if err != nil {
		return err
	}
	text, err := json.Marshal(cat.Data())
	if err != nil {
		return err
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(text); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile("pg15.json.gz", b.Bytes(), 0o644)
}
