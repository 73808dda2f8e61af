package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"

	"github.com/pgairlock/pgairlock/internal/pgcatalog"
	"github.com/pgairlock/pgairlock/internal/secret"
	"github.com/pgairlock/pgairlock/policy/catalog"
)

// source is where a command takes its picture of a database from.
type source struct {
	dsn  string
	file string
}

func (s *source) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.dsn, "dsn", "", "the database, as libpq takes it; the password belongs into PGPASSWORD or a passfile")
	cmd.Flags().StringVar(&s.file, "catalog", "", "a file from pgairlock catalog dump, in place of a database")
	cmd.MarkFlagsMutuallyExclusive("dsn", "catalog")
}

func (s *source) given() bool { return s.dsn != "" || s.file != "" }

// catalog takes the picture.
func (s *source) catalog(ctx context.Context, c *console) (*catalog.Catalog, error) {
	switch {
	case s.file != "":
		return readCatalog(s.file)
	case s.dsn == "":
		return nil, errNoSource
	}
	conn, err := c.connect(ctx, s.dsn)
	if err != nil {
		return nil, err
	}
	cat, err := pgcatalog.Fetch(ctx, conn, pgcatalog.Options{})
	return cat, failed(errors.Join(err, conn.Close(ctx)))
}

func readCatalog(file string) (*catalog.Catalog, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var data catalog.Data
	if err := json.Unmarshal(text, &data); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	cat, err := catalog.New(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return cat, nil
}

// dialLimit bounds a command's connection attempt.
const dialLimit = 15 * time.Second

// connect opens a connection of a command's own. Its password is kept out of
// what the command prints.
func (c *console) connect(ctx context.Context, dsn string) (*pgconn.PgConn, error) {
	conf, err := pgconn.ParseConfig(dsn)
	if err != nil {
		// The library's own text repeats parts of the string.
		return nil, errors.New("--dsn is not a connection string of PostgreSQL")
	}
	if conf.Password != "" {
		c.redactor.Add(secret.New("dsn", conf.Password))
		if strings.Contains(dsn, conf.Password) {
			fmt.Fprintln(c.err, "pgairlock: a password on the command line can be read by all users of this machine: use PGPASSWORD or a passfile")
		}
	}
	conf.RuntimeParams["application_name"] = "pgairlock"
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	conn, err := pgconn.ConnectConfig(ctx, conf)
	if err != nil {
		return nil, failed(errors.New(strings.Join(strings.Fields(err.Error()), " ")))
	}
	return conn, nil
}
