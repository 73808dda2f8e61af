package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/rs/zerolog"

	"github.com/pgairlock/pgairlock/audit"
	"github.com/pgairlock/pgairlock/internal/config"
	"github.com/pgairlock/pgairlock/internal/secret"
	"github.com/pgairlock/pgairlock/internal/strictyaml"
	"github.com/pgairlock/pgairlock/proxy"
)

// daemon is a running proxy with everything it is made of.
type daemon struct {
	config     *config.Config
	secrets    *secret.Store
	log        zerolog.Logger
	logs       *secret.Writer
	audit      *audit.Log
	recorder   *recorder
	server     *proxy.Server
	listeners  []net.Listener
	operations *operations
	force      atomic.Pointer[forced]
	seen       string // what the watched files looked like when they were last read
}

// closeLimit is how long records may take to reach the disk at the end.
const closeLimit = 10 * time.Second

// open puts a proxy together from its configuration file. It listens when open
// returns, and serves with run. An error has no secret in it.
func open(ctx context.Context, file string, logs io.Writer) (*daemon, error) {
	c, err := readConfig(file)
	if err != nil {
		return nil, err
	}
	store, err := secret.Load(ctx, c.Secrets)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	d := &daemon{config: c, secrets: store, logs: secret.NewWriter(logs, store.Redactor())}
	d.log = newLog(d.logs, colours(logs), c.Log)
	if err := d.assemble(ctx); err != nil {
		return nil, d.redacted(errors.Join(err, d.close("not started")))
	}
	return d, nil
}

func readConfig(file string) (*config.Config, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return config.Load(file, text)
}

func (d *daemon) assemble(ctx context.Context) error {
	for _, w := range d.secrets.Warnings() {
		d.log.Warn().Msg(w)
	}
	if err := d.openAudit(); err != nil {
		return err
	}
	databases, err := d.databases()
	if err != nil {
		return err
	}
	tlsConfig, err := serverTLS(d.config.TLS)
	if err != nil {
		return err
	}
	d.recorder = newRecorder(d.audit, d.config.Audit)
	d.server, err = proxy.New(proxy.Options{
		Databases: databases, TLS: tlsConfig, RequireTLS: d.config.TLS != nil && d.config.TLS.Required,
		DrainTimeout: d.config.Drain, Recorder: d.recorder, Log: d.log, Redact: d.secrets.Redactor().Redact,
	})
	if err != nil {
		return err
	}
	if err := d.openOperations(ctx); err != nil {
		return err
	}
	d.seen = d.watched()
	next, err := d.prepare()
	if err != nil {
		return err
	}
	if err := d.enforce(next); err != nil {
		return err
	}
	if err := d.listen(ctx); err != nil {
		return err
	}
	return d.announce(ctx)
}

// listen takes the listeners that were opened for the process, or opens those of
// the configuration.
func (d *daemon) listen(ctx context.Context) error {
	var err error
	if d.listeners, err = inherited(os.Getenv, os.Getpid(), firstInherited); err != nil {
		return err
	}
	if len(d.listeners) > 0 {
		d.log.Info().Strs("listen", d.addresses()).Msg("the service manager opened the sockets: listen in the configuration is not used")
		return nil
	}
	d.listeners, err = listen(ctx, d.config.Listen)
	return err
}

func (d *daemon) openAudit() error {
	a := d.config.Audit
	o := audit.Options{
		Path: a.File, Keep: a.Keep, MaxSize: a.MaxSize, Redact: d.secrets.Redactor().Redact,
		Logger: func(err error) { d.log.Error().Err(err).Msg("audit") },
	}
	if a.RedactLiterals {
		o.Literals = (&redacted{}).text
	}
	if a.CheckpointKey != "" {
		key, err := d.secrets.Get(a.CheckpointKey)
		if err != nil {
			return err
		}
		public, err := audit.PublicKey(key)
		if err != nil {
			return err
		}
		o.Key = key
		d.log.Info().Str("key", public).Msg("audit checkpoints are signed; this public key verifies them")
	} else {
		d.log.Warn().Msg("audit checkpoints are not signed: set audit.checkpoint_key")
	}
	var err error
	d.audit, err = audit.Open(o)
	return err
}

// databases are the configuration's in the proxy's words.
func (d *daemon) databases() (map[string]proxy.Database, error) {
	all := make(map[string]proxy.Database, len(d.config.Databases))
	for name, db := range d.config.Databases {
		server, err := upstream(db)
		if err != nil {
			return nil, err
		}
		base := proxy.Database{Server: server, MaxConnections: db.MaxConnections, Roles: make(map[string]proxy.Role, len(db.Roles))}
		for roleName, r := range db.Roles {
			base.Roles[roleName] = proxy.Role{User: r.User, AcceptWrites: r.AcceptWrites, Password: d.password(r.Password)}
		}
		all[name] = base
	}
	return all, nil
}

// upstream reads a database's connection string. What a session starts with is
// the configuration's affair: libpq's variables that add to it are left out.
func upstream(db config.Database) (*pgconn.Config, error) {
	server, err := pgconn.ParseConfig(db.Server)
	if err != nil {
		// The library's own text repeats the string.
		return nil, strictyaml.Errors{{Pos: db.At, Message: "not a connection string of PostgreSQL"}}
	}
	if !strings.Contains(db.Server, "options") {
		delete(server.RuntimeParams, "options") // PGOPTIONS
	}
	if !strings.Contains(db.Server, "application_name") {
		server.RuntimeParams["application_name"] = "pgairlock"
	}
	server.User, server.Password = "", ""
	return server, nil
}

// password finds an upstream login's password as of the policy in force.
func (d *daemon) password(name string) func() string {
	return func() string {
		if now := d.force.Load(); now != nil && name != "" {
			return now.secrets[name]
		}
		return ""
	}
}

// announce records and logs that the proxy begins to serve.
func (d *daemon) announce(ctx context.Context) error {
	addresses := d.addresses()
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	b := thisBuild()
	digest := d.force.Load().set.Digest
	d.log.Info().Strs("listen", addresses).Str("version", b.Version).Str("policy", digest).Msg("serving")
	return d.audit.Write(ctx, &audit.Startup{Version: b.Version, Host: host, PID: os.Getpid(), Listen: addresses, Policy: digest, Note: d.note()})
}

// note is what an auditor should know about how the proxy runs.
func (d *daemon) note() string {
	var notes []string
	for name, db := range d.config.Databases {
		for role, r := range db.Roles {
			if r.AcceptWrites {
				notes = append(notes, fmt.Sprintf("role %s of database %s is accepted although it can write", role, name))
			}
		}
	}
	for _, a := range d.force.Load().set.Agents() {
		if a.UnsafePassthrough {
			notes = append(notes, fmt.Sprintf("agent %s passes everything", a.Name))
		}
	}
	return strings.Join(sorted(notes), "; ")
}

func (d *daemon) addresses() []string {
	var list []string
	for _, l := range d.listeners {
		list = append(list, l.Addr().String())
	}
	return list
}

// run serves until ctx ends or a listener fails, and closes everything.
func (d *daemon) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var helpers sync.WaitGroup
	helpers.Go(func() { d.watch(ctx) })
	helpers.Go(func() { d.probe(ctx) })
	helpers.Go(func() { d.tellManager(ctx) })
	stop := d.serveOperations()
	err := d.server.Serve(ctx, d.listeners...)
	cancel()
	helpers.Wait()
	stop()
	reason := "told to stop"
	if err != nil {
		reason = err.Error()
	}
	return d.redacted(errors.Join(err, d.close(reason)))
}

// close lets go of what open took, as far as it came.
func (d *daemon) close(reason string) error {
	var errs []error
	for _, l := range d.listeners {
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if d.operations != nil {
		errs = append(errs, d.operations.close())
	}
	if d.audit != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
		defer cancel()
		open := 0
		if d.recorder != nil {
			open = d.recorder.close()
		}
		if d.force.Load() != nil {
			errs = append(errs, d.audit.Write(ctx, &audit.Shutdown{Reason: reason, Sessions: open}))
		}
		errs = append(errs, d.audit.Close(ctx))
	}
	d.log.Info().Str("reason", reason).Msg("stopped")
	errs = append(errs, d.logs.Flush())
	return errors.Join(errs...)
}

// redacted is an error's text without secrets.
func (d *daemon) redacted(err error) error {
	if err == nil {
		return nil
	}
	text := d.secrets.Redactor().Redact(err.Error())
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}
