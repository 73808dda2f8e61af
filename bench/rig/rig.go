// Package rig sets up a database and the proxies before it, for measurements and
// endurance runs on one machine. Everything listens on loopback and is removed
// at the end.
package rig

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgairlock/pgairlock/internal/pgserver"
)

// Database is the name of the database, behind every proxy.
const Database = "bench"

// Logins on the server. Reader may select, Writer may insert into the table
// journal, too.
const (
	Reader = "bench_reader"
	Writer = "bench_writer"
)

// Rig is a server with a filled database. Stop removes it.
type Rig struct {
	Dir      string // for the proxies' files; everybody may enter it
	Server   *pgserver.Server
	Password string // of both logins and, before pgairlock, of all agents
}

// Options say how large a rig is.
type Options struct {
	Scale       int // of pgbench: 100,000 rows each
	Connections int // that the server allows
}

// Start starts a server and fills its database with pgbench's tables.
func Start(ctx context.Context, o Options) (*Rig, error) {
	dir, err := os.MkdirTemp("", "pgairlock-rig-")
	if err != nil {
		return nil, err
	}
	r := &Rig{Dir: dir, Password: rand.Text()}
	if err := r.start(ctx, o); err != nil {
		return nil, errors.Join(err, r.Stop())
	}
	return r, nil
}

func (r *Rig) start(ctx context.Context, o Options) error {
	if err := os.Chmod(r.Dir, 0o755); err != nil {
		return err
	}
	var err error
	r.Server, err = pgserver.Start(ctx, pgserver.Options{Auth: pgserver.SCRAM, Settings: map[string]string{
		"max_connections": strconv.Itoa(o.Connections), "shared_buffers": "512MB", "max_wal_size": "4GB", "autovacuum": "off", "jit": "off",
	}})
	if err != nil {
		return err
	}
	if err := r.Exec(ctx, "postgres", "CREATE DATABASE "+Database); err != nil {
		return err
	}
	to := Target{Host: r.Server.Host, Port: r.Server.Port, User: pgserver.Superuser, Password: r.Server.Password}
	if _, err := to.Pgbench(ctx, "-i", "-q", "-s", strconv.Itoa(o.Scale)); err != nil {
		return err
	}
	sql := fmt.Sprintf(`
		CREATE TABLE journal (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, note text, at timestamptz DEFAULT now());
		CREATE ROLE %[1]s LOGIN PASSWORD '%[3]s'; CREATE ROLE %[2]s LOGIN PASSWORD '%[3]s';
		GRANT SELECT ON ALL TABLES IN SCHEMA public TO %[1]s, %[2]s; GRANT INSERT ON journal TO %[2]s;
		REVOKE TEMPORARY ON DATABASE %[4]s FROM PUBLIC`, Reader, Writer, r.Password, Database)
	if err := r.Exec(ctx, Database, sql); err != nil {
		return err
	}
	return r.Exec(ctx, Database, "VACUUM (ANALYZE)")
}

// Exec runs SQL as the superuser.
func (r *Rig) Exec(ctx context.Context, database, sql string) error {
	conn, err := pgconn.Connect(ctx, r.Server.DSN(database))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql).ReadAll()
	return errors.Join(err, conn.Close(ctx))
}

// Direct is the way without a proxy.
func (r *Rig) Direct() Target {
	return Target{Host: r.Server.Host, Port: r.Server.Port, User: Reader, Password: r.Password}
}

// Stop ends the server and removes the folder.
func (r *Rig) Stop() error {
	var err error
	if r.Server != nil {
		err = r.Server.Stop()
	}
	return errors.Join(err, os.RemoveAll(r.Dir))
}

// write writes a file below the rig's folder and returns its path.
func (r *Rig) write(name, text string, mode os.FileMode) (string, error) {
	path := filepath.Join(r.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, []byte(text), mode)
}

// freePort finds a port on loopback that is free now.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	at, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return 0, fmt.Errorf("no TCP address: %s", l.Addr())
	}
	return at.Port, l.Close()
}
