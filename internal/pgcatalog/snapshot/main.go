// Command snapshot writes what a fresh PostgreSQL of one major has in
// pg_catalog and information_schema, as a gzipped catalog file: test data for
// what needs a real catalog and no server.
//
//	go run ./internal/pgcatalog/snapshot -major 15 -o pg15.json.gz
package main

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgairlock/pgairlock/internal/pgcatalog"
	"github.com/pgairlock/pgairlock/internal/pgserver"
	"github.com/pgairlock/pgairlock/policy/catalog"
)

func main() {
	major := flag.Int("major", 15, "PostgreSQL major")
	file := flag.String("o", "", "file to write")
	flag.Parse()
	if *file == "" {
		flag.Usage()
		os.Exit(2)
	}
	if err := write(context.Background(), *major, *file); err != nil {
		fmt.Fprintln(os.Stderr, "snapshot:", err)
		os.Exit(1)
	}
}

func write(ctx context.Context, major int, file string) error {
	c, err := snapshot(ctx, major)
	if err != nil {
		return err
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	packed := gzip.NewWriter(f)
	err = json.NewEncoder(packed).Encode(c.Data())
	return errors.Join(err, packed.Close(), f.Close())
}

func snapshot(ctx context.Context, major int) (c *catalog.Catalog, err error) {
	server, err := pgserver.Start(ctx, pgserver.Options{Major: major})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	conn, err := pgconn.Connect(ctx, server.DSN("postgres"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	return pgcatalog.Fetch(ctx, conn, pgcatalog.Options{SystemOnly: true})
}
