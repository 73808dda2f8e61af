// Package pgtest gives each test a database of its own on a real server. The
// server is shared by the tests of one test binary and ends with it.
package pgtest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgairlock/pgairlock/internal/pgserver"
)

// MajorVariable names the environment variable that says which major tests run
// on where they don't say so themselves; DefaultMajor is used without it.
const (
	MajorVariable = "PGAIRLOCK_TEST_PG"
	DefaultMajor  = 15
)

// limit bounds the making and dropping of a database, its set-up included.
const limit = 2 * time.Minute

// Options say what a test needs. The zero value is good.
type Options struct {
	Major    int               // 0: what MajorVariable says
	Auth     pgserver.Auth     // "" means pgserver.Trust
	Settings map[string]string // a server of the test's own with these parameters
	TLS      *pgserver.TLS     // a server of the test's own with this certificate
	Setup    string            // SQL run once per server; each database with the same Setup is a copy of the result
}

// Database is a test's own database. Roles are the server's, which tests share:
// a test that makes roles gives them names nobody else uses, or asks for a
// server of its own by its Settings.
type Database struct {
	Server *pgserver.Server
	Name   string
}

// DSN is a connection string of the superuser.
func (d *Database) DSN() string { return d.Server.DSN(d.Name) }

// As is a connection string of another login.
func (d *Database) As(user, password string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(user, password), Path: "/" + d.Name,
		Host: net.JoinHostPort(d.Server.Host, strconv.Itoa(d.Server.Port)),
	}
	return u.String()
}

// Exec runs SQL as the superuser and fails the test on an error.
func (d *Database) Exec(tb testing.TB, sql string) {
	tb.Helper()
	if err := run(tb.Context(), d.DSN(), sql); err != nil {
		tb.Fatal(err)
	}
}

// Connect opens a connection that is closed with the test.
func Connect(tb testing.TB, dsn string) *pgconn.PgConn {
	tb.Helper()
	conn, err := pgconn.Connect(tb.Context(), dsn)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		// The test's context is over by now.
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		if err := conn.Close(ctx); err != nil {
			tb.Error(err)
		}
	})
	return conn
}

// Start makes a database that is dropped with the test. Without server programs
// the test fails; it is never skipped.
func Start(tb testing.TB, o Options) *Database {
	tb.Helper()
	major, err := wantedMajor(o.Major)
	if err != nil {
		tb.Fatal(err)
	}
	o.Major = major
	host, err := serverFor(tb, o)
	if err != nil {
		tb.Fatal(err)
	}
	name, err := host.create(tb.Context(), o.Setup)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		if err := host.drop(ctx, name); err != nil {
			tb.Error(err)
		}
	})
	return &Database{Server: host.server, Name: name}
}

func wantedMajor(major int) (int, error) {
	text := os.Getenv(MajorVariable)
	if major != 0 || text == "" {
		return cmp.Or(major, DefaultMajor), nil
	}
	major, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%s=%q is not a PostgreSQL major", MajorVariable, text)
	}
	return major, nil
}

// host is a server with what was made on it.
type host struct {
	server *pgserver.Server
	err    error // it did not start: the tests that need it need not try again

	mu        sync.Mutex
	templates map[[sha256.Size]byte]string // Setup's hash → template database
	made      int                          // databases made so far, for their names
}

// key is what shared servers differ in.
type key struct {
	major int
	auth  pgserver.Auth
}

// shared are this test binary's servers. Nothing stops them: each ends with the
// process, by its watchdog.
var shared = struct {
	sync.Mutex
	hosts map[key]*host
}{hosts: map[key]*host{}}

func serverFor(tb testing.TB, o Options) (*host, error) {
	options := pgserver.Options{Major: o.Major, Auth: o.Auth, Settings: o.Settings, TLS: o.TLS}
	if o.Settings != nil || o.TLS != nil {
		h, err := newHost(tb.Context(), options)
		if err != nil {
			return nil, err
		}
		tb.Cleanup(func() {
			if err := h.server.Stop(); err != nil {
				tb.Error(err)
			}
		})
		return h, nil
	}
	shared.Lock() // held while the server starts: the others need it too
	defer shared.Unlock()
	k := key{o.Major, o.Auth}
	if h := shared.hosts[k]; h != nil {
		return h, h.err
	}
	h, err := newHost(tb.Context(), options)
	if err != nil {
		h = &host{err: err}
	}
	shared.hosts[k] = h
	return h, err
}

func newHost(ctx context.Context, o pgserver.Options) (*host, error) {
	server, err := pgserver.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	return &host{server: server, templates: map[[sha256.Size]byte]string{}}, nil
}

// create makes a database: a copy of its Setup's template, which is made first
// where it is the first of its kind.
func (h *host) create(ctx context.Context, setup string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	h.mu.Lock() // one at a time: a template that is being copied takes no connections
	defer h.mu.Unlock()
	template, err := h.template(ctx, setup)
	if err != nil {
		return "", err
	}
	h.made++
	name := fmt.Sprintf("test_%d", h.made)
	return name, run(ctx, h.server.DSN("postgres"), fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s", name, template))
}

func (h *host) template(ctx context.Context, setup string) (string, error) {
	if setup == "" {
		return "template1", nil
	}
	sum := sha256.Sum256([]byte(setup))
	if name := h.templates[sum]; name != "" {
		return name, nil
	}
	name := fmt.Sprintf("template_%d", len(h.templates)+2)
	if err := run(ctx, h.server.DSN("postgres"), "CREATE DATABASE "+name); err != nil {
		return "", err
	}
	if err := run(ctx, h.server.DSN(name), setup); err != nil {
		return "", fmt.Errorf("set-up: %w", err)
	}
	h.templates[sum] = name
	return name, nil
}

func (h *host) drop(ctx context.Context, name string) error {
	return run(ctx, h.server.DSN("postgres"), fmt.Sprintf("DROP DATABASE %s WITH (FORCE)", name))
}

// run executes SQL on a connection of its own.
func run(ctx context.Context, dsn, sql string) error {
	conn, err := pgconn.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql).ReadAll()
	return errors.Join(err, conn.Close(ctx))
}
