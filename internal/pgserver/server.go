// Package pgserver runs throwaway PostgreSQL servers of majors 14 to 18 from
// local programs: for the demo and, through package pgtest, for tests. Servers
// listen on loopback and a socket in their own folder only, run as a user
// without rights when started by root, and end with the process that started
// them, however that one ends. Linux and macOS.
package pgserver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Superuser is the name of every server's superuser.
const Superuser = "postgres"

// Auth is how logins prove themselves to the server, over TCP and socket.
type Auth string

// Ways to authenticate.
const (
	Trust Auth = "trust"
	SCRAM Auth = "scram-sha-256"
)

// Options say what server to start. The zero value is good.
type Options struct {
	Major    int               // 14 to 18; 0: whichever is found
	Auth     Auth              // "" means Trust
	Settings map[string]string // configuration parameters on top of the package's own
	TLS      *TLS              // nil: the server speaks no TLS
}

// TLS is a server's own certificate and key.
type TLS struct {
	Certificate, Key []byte // PEM
	ClientCA         []byte // PEM; nil: clients are not asked for certificates
}

// Server is a running server. Its folder, data included, is removed by Stop.
type Server struct {
	Major    int
	Host     string // 127.0.0.1
	Port     int
	Dir      string // holds the socket, the log and the data
	Password string // the superuser's, "" under Trust

	run      owner
	postgres *exec.Cmd
	exited   chan struct{} // closed when postgres has ended
	watchdog io.WriteCloser
}

const (
	startLimit = 60 * time.Second // until the server takes connections; initdb has the same
	stopLimit  = 10 * time.Second // from SIGQUIT to SIGKILL
	pollEvery  = 20 * time.Millisecond
	portTries  = 5 // a free port may be taken by another process before the server has it
)

// Start makes a new cluster in a new temporary folder and runs a server on it.
// It returns once the server takes connections. ctx bounds the start only; the
// caller owns the server and ends it with Stop.
func Start(ctx context.Context, o Options) (*Server, error) {
	programs, err := Find(ctx, o.Major)
	if err != nil {
		return nil, err
	}
	run, err := newOwner()
	if err != nil {
		return nil, err
	}
	dir, err := run.tempDir()
	if err != nil {
		return nil, err
	}
	s := &Server{Major: programs.Major, Host: "127.0.0.1", Dir: dir, run: run}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if err := s.start(ctx, programs, o); err != nil {
		return nil, errors.Join(fmt.Errorf("start postgresql %d: %w", programs.Major, err), os.RemoveAll(dir))
	}
	return s, nil
}

func (s *Server) start(ctx context.Context, programs Binaries, o Options) error {
	if err := s.initialise(ctx, programs, o.Auth); err != nil {
		return err
	}
	if err := s.configure(o); err != nil {
		return err
	}
	for try := 1; ; try++ {
		err := s.launch(ctx, programs)
		if try == portTries || !errors.Is(err, errPortTaken) {
			return err
		}
	}
}

// initialise runs initdb.
func (s *Server) initialise(ctx context.Context, programs Binaries, auth Auth) error {
	if auth == "" {
		auth = Trust
	}
	args := []string{"-D", s.data(), "-U", Superuser, "-A", string(auth), "-E", "UTF8", "--locale=C", "--no-sync"}
	if auth == SCRAM {
		s.Password = rand.Text()
		file := filepath.Join(s.Dir, "password")
		if err := s.run.writeFile(file, []byte(s.Password)); err != nil {
			return err
		}
		defer os.Remove(file)
		args = append(args, "--pwfile="+file)
	}
	out, err := s.run.command(ctx, s.Dir, programs.path("initdb"), args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("initdb: %w: %s", err, tail(string(out)))
	}
	return nil
}

// configure appends to postgresql.conf; the last value of a parameter wins.
func (s *Server) configure(o Options) error {
	settings := map[string]string{
		"listen_addresses":        s.Host,
		"unix_socket_directories": s.Dir,
		"timezone":                "UTC",
		"max_connections":         "200",
		// A throwaway cluster need not survive a crash of the machine.
		"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off",
	}
	if o.TLS != nil {
		files := map[string][]byte{"ssl_cert_file": o.TLS.Certificate, "ssl_key_file": o.TLS.Key, "ssl_ca_file": o.TLS.ClientCA}
		for name, content := range files {
			if content == nil {
				continue
			}
			file := filepath.Join(s.Dir, name+".pem")
			if err := s.run.writeFile(file, content); err != nil {
				return err
			}
			settings[name] = file
		}
		settings["ssl"] = "on"
	}
	for name, value := range o.Settings {
		settings[name] = value
	}
	var text strings.Builder
	for name, value := range settings {
		fmt.Fprintf(&text, "%s = '%s'\n", name, strings.ReplaceAll(value, "'", "''"))
	}
	f, err := os.OpenFile(filepath.Join(s.data(), "postgresql.conf"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text.String())
	return errors.Join(err, f.Close())
}

var errPortTaken = errors.New("port is taken")

// launch runs postgres on a free port and waits until it is ready.
func (s *Server) launch(ctx context.Context, programs Binaries) error {
	port, err := freePort(ctx, s.Host)
	if err != nil {
		return err
	}
	s.Port = port
	log, err := os.OpenFile(s.Log(), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	// The server outlives ctx, which bounds the start only.
	cmd := s.run.command(context.WithoutCancel(ctx), s.Dir, programs.path("postgres"), "-D", s.data(), "-p", strconv.Itoa(port))
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	s.postgres, s.exited = cmd, make(chan struct{})
	go func(exited chan<- struct{}) { // ends with the server: Stop kills it
		_ = cmd.Wait() // how it ended is in its log
		close(exited)
	}(s.exited)
	s.watchdog, err = startWatchdog(cmd.Process.Pid, s.Dir)
	if err == nil {
		err = s.ready(ctx)
	}
	if err != nil {
		return errors.Join(err, s.end())
	}
	return nil
}

// ready waits for the word "ready" that the postmaster writes to its pid file,
// as pg_ctl does.
func (s *Server) ready(ctx context.Context) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.exited:
			log, _ := os.ReadFile(s.Log()) // without a log there is nothing to add
			if strings.Contains(string(log), "Address already in use") {
				return errPortTaken
			}
			return fmt.Errorf("the server ended: %s", tail(string(log)))
		case <-ctx.Done():
			return fmt.Errorf("the server is not ready: %w", ctx.Err())
		case <-tick.C:
			text, _ := os.ReadFile(filepath.Join(s.data(), "postmaster.pid")) // not there yet
			lines := strings.Split(string(text), "\n")
			if slices.ContainsFunc(lines, func(l string) bool { return strings.TrimSpace(l) == "ready" }) {
				return nil
			}
		}
	}
}

// DSN is a connection string of the superuser.
func (s *Server) DSN(database string) string {
	u := url.URL{Scheme: "postgres", Host: net.JoinHostPort(s.Host, strconv.Itoa(s.Port)), Path: "/" + database, User: url.User(Superuser)}
	if s.Password != "" {
		u.User = url.UserPassword(Superuser, s.Password)
	}
	return u.String()
}

// Log is the path of the server's log.
func (s *Server) Log() string { return filepath.Join(s.Dir, "log") }

func (s *Server) data() string { return filepath.Join(s.Dir, "data") }

// Stop ends the server at once, without a checkpoint, and removes its folder.
// It is called once.
func (s *Server) Stop() error {
	return errors.Join(s.end(), os.RemoveAll(s.Dir))
}

// end ends the processes and leaves the folder.
func (s *Server) end() error {
	_ = s.postgres.Process.Signal(syscall.SIGQUIT) // fails if it has ended by itself
	select {
	case <-s.exited:
	case <-time.After(stopLimit):
		_ = syscall.Kill(-s.postgres.Process.Pid, syscall.SIGKILL) // its whole group; likewise
		<-s.exited
	}
	if s.watchdog == nil {
		return nil
	}
	_, err := io.WriteString(s.watchdog, "done\n")
	closed := s.watchdog.Close()
	if errors.Is(closed, os.ErrClosed) { // the shell ended at the word, and waiting for it closed the pipe
		closed = nil
	}
	return errors.Join(err, closed)
}

func freePort(ctx context.Context, host string) (int, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}

// tail is the end of a log or of a program's output, for an error message.
func tail(log string) string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	return strings.Join(lines[max(0, len(lines)-4):], " | ")
}
