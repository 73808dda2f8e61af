package main

import (
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgairlock/pgairlock/internal/pgserver"
	"github.com/pgairlock/pgairlock/internal/secret"
	"github.com/pgairlock/pgairlock/internal/warehouse"
)

//go:embed demo_policy.yaml
var demoPolicy string

// demoConfig is the configuration of the demo's proxy. The server's port is
// filled in.
const demoConfig = `listen: {tcp: 127.0.0.1:0}
databases:
  shop:
    server: "host=127.0.0.1 port=%d dbname=shop sslmode=disable"
    roles:
      reader: {user: airlock_reader, password: secret:reader}
secrets:
  reader: {file: reader}
  analyst: {file: analyst}
  audit_key: {file: audit_key}
policy: policy.yaml
audit: {file: audit.jsonl, statements: full, checkpoint_key: secret:audit_key}
`

// stage is a throwaway server with the warehouse in it, and a folder with all
// that serve needs. stop removes both.
type stage struct {
	dir    string
	server *pgserver.Server
	rows   int64
	reader string // connection string of the upstream login, without its password
}

// setStage makes a stage. Passwords are made up and kept out of what c prints.
func setStage(ctx context.Context, c *console) (*stage, error) {
	dir, err := os.MkdirTemp("", "pgairlock-demo-")
	if err != nil {
		return nil, err
	}
	s := &stage{dir: dir}
	if err := s.build(ctx, c); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

func (s *stage) build(ctx context.Context, c *console) error {
	secrets := map[string]string{"reader": rand.Text(), "analyst": rand.Text(), "audit_key": rand.Text() + rand.Text()}
	for name, value := range secrets {
		c.redactor.Add(secret.New(name, value))
		if err := s.write(name, value); err != nil {
			return err
		}
	}
	var err error
	if s.server, err = pgserver.Start(ctx, pgserver.Options{Auth: pgserver.SCRAM}); err != nil {
		return err
	}
	if err := s.seed(ctx, secrets["reader"]); err != nil {
		return err
	}
	s.reader = fmt.Sprintf("host=127.0.0.1 port=%d dbname=shop sslmode=disable user=%s passfile=%s", s.server.Port, warehouse.Reader, s.path("passfile"))
	return errors.Join(
		s.write("policy.yaml", demoPolicy),
		s.write("pgairlock.yaml", fmt.Sprintf(demoConfig, s.server.Port)),
		s.write("passfile", fmt.Sprintf("*:*:*:analyst:%s\n*:*:*:%s:%s\n", secrets["analyst"], warehouse.Reader, secrets["reader"])),
	)
}

// seed makes the database and its login, as a DBA would.
func (s *stage) seed(ctx context.Context, password string) error {
	if err := superuser(ctx, s.server.DSN("postgres"), func(conn *pgconn.PgConn) error {
		_, err := conn.Exec(ctx, "CREATE DATABASE shop").ReadAll()
		return err
	}); err != nil {
		return err
	}
	return superuser(ctx, s.server.DSN("shop"), func(conn *pgconn.PgConn) error {
		if err := warehouse.Seed(ctx, conn); err != nil {
			return err
		}
		if _, err := conn.Exec(ctx, warehouse.Roles("shop", password, rand.Text())).ReadAll(); err != nil {
			return fmt.Errorf("make the logins: %w", err)
		}
		result := conn.ExecParams(ctx, "SELECT sum(n_live_tup)::text FROM pg_stat_user_tables", nil, nil, nil, nil).Read()
		if result.Err != nil || len(result.Rows) != 1 {
			return cmp.Or(result.Err, errors.New("count the rows: no answer"))
		}
		var err error
		s.rows, err = strconv.ParseInt(string(result.Rows[0][0]), 10, 64)
		return err
	})
}

func superuser(ctx context.Context, dsn string, do func(*pgconn.PgConn) error) error {
	conn, err := pgconn.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	return errors.Join(do(conn), conn.Close(ctx))
}

func (s *stage) path(name string) string { return filepath.Join(s.dir, name) }

func (s *stage) write(name, text string) error {
	return os.WriteFile(s.path(name), []byte(text), 0o600)
}

func (s *stage) stop() error {
	var errs []error
	if s.server != nil {
		errs = append(errs, s.server.Stop())
	}
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}

// performance is serve on a stage.
type performance struct {
	*stage
	daemon *daemon
	port   int
	log    *os.File
	cancel context.CancelFunc
	ended  chan error
}

// serve starts the proxy as the command serve does; its log goes to a file.
func (s *stage) serve(ctx context.Context) (*performance, error) {
	log, err := os.OpenFile(s.path("pgairlock.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	d, err := open(ctx, s.path("pgairlock.yaml"), log)
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	at, ok := d.listeners[0].Addr().(*net.TCPAddr)
	if !ok {
		return nil, errors.Join(fmt.Errorf("no TCP address: %s", d.listeners[0].Addr()), d.close("no address"), log.Close())
	}
	ctx, cancel := context.WithCancel(ctx)
	p := &performance{stage: s, daemon: d, port: at.Port, log: log, cancel: cancel, ended: make(chan error, 1)}
	go func() { p.ended <- d.run(ctx) }() // ends with cancel: end waits for it
	return p, nil
}

// end stops the proxy.
func (p *performance) end() error {
	p.cancel()
	return errors.Join(<-p.ended, p.log.Close())
}
