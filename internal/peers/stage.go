package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/pgairlock/pgairlock/internal/pgserver"
)

// agent is a login of the proxy that is the same login on the server.
type agent struct {
	name, password string // "" is the superuser's
	databases      []string
}

// setting is what a suite needs of its server and its agents.
type setting struct {
	major  int
	agents []agent
	policy string // of each agent, instead of observe with unsafe_passthrough
}

// stage is a server with a proxy in front of it. port is that of the side which
// is being tested.
type stage struct {
	server  *pgserver.Server
	through bool
	port    int // of the side being tested
	proxy   int // the proxy's port, 0 if none runs
	dir     string
	env     []string // of programs, besides what all have
	run     *exec.Cmd
	log     *os.File
}

// side runs one side of a suite.
func (w *workshop) side(ctx context.Context, s suite, through bool) (outcomes, error) {
	what := "direct"
	if through {
		what = "through"
	}
	dir := filepath.Join(w.dir, "out", s.name, what)
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o777), os.Chmod(dir, 0o777)); err != nil { //nolint:gosec // the suites run as nobody
		return nil, err
	}
	return s.run(ctx, &stage{through: through, dir: dir})
}

// open starts the server, and the proxy where the side needs it.
func (w *workshop) open(ctx context.Context, t *stage, s setting, proxied bool) error {
	server, err := pgserver.Start(ctx, pgserver.Options{Major: s.major, Auth: pgserver.SCRAM, Settings: map[string]string{
		"wal_level": "logical", "max_prepared_transactions": "10", "timezone": "UTC"}})
	if err != nil {
		return err
	}
	t.server, t.port = server, server.Port
	if !proxied {
		return nil
	}
	if err := w.serve(ctx, t, s); err != nil {
		return errors.Join(err, t.close())
	}
	if t.through {
		t.port = t.proxy
	}
	return nil
}

// close ends both and says what the proxy had to say about itself.
func (t *stage) close() error {
	var errs []error
	if t.run != nil {
		errs = append(errs, t.run.Process.Signal(syscall.SIGTERM))
		if err := t.run.Wait(); err != nil {
			errs = append(errs, fmt.Errorf("pgairlock: %w: %s", err, t.lastWords()))
		}
		errs = append(errs, t.faults(), t.log.Close())
	}
	return errors.Join(append(errs, t.server.Stop())...)
}

// lastWords are the last lines of the proxy's log.
func (t *stage) lastWords() string {
	text, err := os.ReadFile(t.log.Name())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], " | ")
}

// faults looks into the proxy's log for what must never be there.
func (t *stage) faults() error {
	text, err := os.ReadFile(t.log.Name())
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		for _, bad := range []string{`"fault":`, "DATA RACE", "panic:", "broke the protocol"} {
			if strings.Contains(line, bad) {
				return fmt.Errorf("pgairlock's log: %s", strings.TrimSpace(line))
			}
		}
	}
	return nil
}

// serve starts pgairlock and waits until it takes connections.
func (w *workshop) serve(ctx context.Context, t *stage, s setting) error {
	if err := configure(t.dir, t.server, s); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(t.dir, "pgairlock.log"))
	if err != nil {
		return err
	}
	program, err := filepath.Abs(w.program)
	if err != nil {
		return err
	}
	t.log = log
	t.run = exec.CommandContext(ctx, program, "serve", "-c", filepath.Join(t.dir, "pgairlock.yaml"))
	t.run.Stderr = log
	if err := t.run.Start(); err != nil {
		t.run = nil
		return err
	}
	for end := time.Now().Add(startLimit); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if t.proxy = listening(log.Name()); t.proxy != 0 {
			return nil
		}
	}
	return fmt.Errorf("pgairlock does not serve; its log is %s", log.Name())
}

const startLimit = 30 * time.Second

// listening finds the port in the proxy's log, 0 if it is not there yet.
func listening(log string) int {
	text, _ := os.ReadFile(log) // not there yet
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		var said struct {
			Message string
			Listen  []string
		}
		if json.Unmarshal(lines.Bytes(), &said) != nil || said.Message != "serving" || len(said.Listen) == 0 {
			continue
		}
		if _, port, err := net.SplitHostPort(said.Listen[0]); err == nil {
			n, _ := strconv.Atoi(port) // 0 is what it is without a port
			return n
		}
	}
	return 0
}

// configure writes the proxy's files into dir.
func configure(dir string, server *pgserver.Server, s setting) error {
	files := files(server.Port, s)
	for _, a := range s.agents {
		if a.password == "" {
			a.password = server.Password
		}
		files[a.name+".password"] = a.password
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

const observed = `
    access: observe
    unsafe_passthrough: true
    limits: {sessions: 200, concurrent: 200}`

// files are the proxy's configuration and policy. Each agent has an upstream
// login of its own name and password in each of its databases.
func files(port int, s setting) map[string]string {
	var databases, secrets, agents strings.Builder
	roles := map[string][]string{}
	var order []string
	for _, a := range s.agents {
		var mine []string
		for _, d := range a.databases {
			if roles[d] == nil {
				order = append(order, d)
			}
			roles[d] = append(roles[d], fmt.Sprintf("%s: {user: %s, password: secret:%s, accept_role_that_can_write: true}", a.name, a.name, a.name))
			mine = append(mine, d+": "+a.name)
		}
		fmt.Fprintf(&secrets, "  %s: {file: %s.password}\n", a.name, a.name)
		words := s.policy
		if words == "" {
			words = observed
		}
		fmt.Fprintf(&agents, "  %s:\n    password: secret:%s\n    databases: {%s}%s\n", a.name, a.name, strings.Join(mine, ", "), words)
	}
	for _, d := range order {
		fmt.Fprintf(&databases, "  %s:\n    server: \"host=127.0.0.1 port=%d dbname=%s sslmode=disable\"\n    roles: {%s}\n", d, port, d, strings.Join(roles[d], ", "))
	}
	return map[string]string{
		"pgairlock.yaml": fmt.Sprintf("listen: {tcp: 127.0.0.1:0}\ndatabases:\n%ssecrets:\n%spolicy: policy.yaml\naudit: {file: audit.jsonl, statements: full}\n", &databases, &secrets),
		"policy.yaml":    "version: 1\nagents:\n" + agents.String(),
	}
}

// dsn is a connection string for the side being tested.
func (t *stage) dsn(user, password, database string) string {
	return fmt.Sprintf("host=127.0.0.1 port=%d user=%s password=%s dbname=%s sslmode=disable", t.port, user, password, database)
}

// command prepares a program of a suite: with a clean environment, its output
// in a file, and not as root, since servers share files with it.
func (t *stage) command(ctx context.Context, name string, args ...string) (*exec.Cmd, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = t.dir
	cmd.Env = []string{"HOME=" + t.dir, "PATH=" + os.Getenv("PATH"), "LD_LIBRARY_PATH=" + os.Getenv("LD_LIBRARY_PATH"), "LC_ALL=C", "PGHOST=127.0.0.1", "PGSSLMODE=disable", "PGCONNECT_TIMEOUT=60",
		"PGPORT=" + strconv.Itoa(t.port), "PGUSER=" + pgserver.Superuser, "PGPASSWORD=" + t.server.Password}
	cmd.Env = append(cmd.Env, t.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if os.Geteuid() != 0 {
		return cmd, nil
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		return nil, err
	}
	uid, err1 := strconv.ParseUint(nobody.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(nobody.Gid, 10, 32)
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return cmd, errors.Join(err1, err2)
}

// output runs a program and returns what it printed; how it ended does not
// matter where it printed what tells.
func (t *stage) output(ctx context.Context, name string, args ...string) (string, error) {
	cmd, err := t.command(ctx, name, args...)
	if err != nil {
		return "", err
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", filepath.Base(name), err, strings.TrimSpace(string(out[max(0, len(out)-500):])))
	}
	return string(out), err
}
