package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgairlock/pgairlock/bench/rig"
)

// usage is what pgairlock has in use without clients.
type usage struct {
	goroutines, descriptors, sessions int
	heap, memory                      int64 // bytes: living objects, and all that is the process's own
	faults, lost, refused             int   // of the proxy; of the audit log
	backends                          int   // server processes that it left behind
}

func (u *usage) String() string {
	return fmt.Sprintf("%d goroutines, %d descriptors, %d sessions, %d server processes, %.1f MiB of heap, %.1f MiB in all; %d faults, %d records lost, %d refused",
		u.goroutines, u.descriptors, u.sessions, u.backends, mib(u.heap), mib(u.memory), u.faults, u.lost, u.refused)
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }

// settleTime is how long what clients left may take to end.
const settleTime = 20 * time.Second

// settle waits until no session is open and looks.
func (s *soak) settle(ctx context.Context) (*usage, error) {
	for end := time.Now().Add(settleTime); ; time.Sleep(time.Second) {
		u, err := s.look(ctx)
		if err != nil {
			return nil, err
		}
		if u.sessions == 0 && u.backends == 0 && time.Until(end) < settleTime-5*time.Second || time.Now().After(end) {
			return u, nil
		}
	}
}

func (s *soak) look(ctx context.Context) (*usage, error) {
	// a garbage collection first: what is left then lives
	if _, err := s.admin(ctx, "/debug/pprof/heap?gc=1"); err != nil {
		return nil, err
	}
	values, err := s.metrics(ctx)
	if err != nil {
		return nil, err
	}
	u := &usage{goroutines: int(values["go_goroutines"]), sessions: int(values["pgairlock_sessions"]), heap: int64(values["go_memstats_heap_alloc_bytes"]),
		faults: int(values["pgairlock_faults_total"]), lost: int(values["pgairlock_audit_records_lost_total"]),
		refused: int(values["pgairlock_audit_reservations_refused_total"])}
	if u.descriptors, err = s.proxy.Descriptors(); err != nil {
		return nil, err
	}
	if u.memory, err = s.proxy.Memory(); err != nil {
		return nil, err
	}
	u.backends, err = s.backends(ctx)
	return u, err
}

// backends counts the server's sessions of pgairlock's logins.
func (s *soak) backends(ctx context.Context) (int, error) {
	conn, err := pgconn.Connect(ctx, s.rig.Server.DSN(rig.Database))
	if err != nil {
		return 0, err
	}
	result := conn.ExecParams(ctx, "SELECT count(*)::text FROM pg_stat_activity WHERE usename IN ($1, $2)",
		[][]byte{[]byte(rig.Reader), []byte(rig.Writer)}, nil, nil, nil).Read()
	if err := errors.Join(result.Err, conn.Close(ctx)); err != nil {
		return 0, err
	}
	return strconv.Atoi(string(result.Rows[0][0]))
}

// admin asks the admin socket.
func (s *soak) admin(ctx context.Context, path string) (string, error) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(s.rig.Folder("pgairlock"), "audit.jsonl.sock"))
	}}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://pgairlock"+path, http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	_, err = bufio.NewReader(response.Body).WriteTo(&text)
	return text.String(), errors.Join(err, response.Body.Close())
}

// metrics are the values by name, summed over labels.
func (s *soak) metrics(ctx context.Context) (map[string]float64, error) {
	text, err := s.admin(ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	sums := map[string]float64{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if i := strings.LastIndexByte(line, '}'); i >= 0 {
			name, _, _ = strings.Cut(line, "{")
			value = strings.TrimSpace(line[i+1:])
		}
		n, err := strconv.ParseFloat(value, 64)
		if !ok || err != nil || strings.HasPrefix(line, "#") {
			continue
		}
		sums[name] += n
	}
	return sums, nil
}

// What may be more at the end than after the warm-up: verdicts are remembered,
// some 30 MiB for each agent, and a probe of the databases may be under way.
const (
	moreGoroutines  = 4
	moreDescriptors = 4
	moreHeap        = 64 << 20
	moreMemory      = 160 << 20
)

// compare tells what leaked.
func compare(before, after *usage) []error {
	var faults []error
	check := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	check(after.sessions != 0, "%d sessions are left without clients", after.sessions)
	check(after.backends != 0, "%d sessions on the server are left without clients", after.backends)
	check(after.goroutines > before.goroutines+moreGoroutines, "goroutines: %d, before %d", after.goroutines, before.goroutines)
	check(after.descriptors > before.descriptors+moreDescriptors, "descriptors: %d, before %d", after.descriptors, before.descriptors)
	check(after.heap > before.heap+moreHeap, "heap: %.1f MiB, before %.1f", mib(after.heap), mib(before.heap))
	check(after.memory > before.memory+moreMemory, "memory: %.1f MiB, before %.1f", mib(after.memory), mib(before.memory))
	check(after.faults != 0, "%d sessions ended by a fault", after.faults)
	check(after.lost != 0, "%d audit records were lost", after.lost)
	check(after.refused != 0, "%d statements had no place in the audit log", after.refused)
	return faults
}

// finish holds the reloads against what the proxy says of them, stops it, and
// verifies its records.
func (s *soak) finish(ctx context.Context) []error {
	var faults []error
	values, err := s.metrics(ctx)
	if err != nil {
		return []error{err}
	}
	if n, most := int64(values["pgairlock_policy_reloads_total"]), s.score.reloads.Load(); n < most/2 || n == 0 {
		faults = append(faults, fmt.Errorf("%d reloads of %d were taken", n, most))
	}
	if n, least := int64(values["pgairlock_statements_total"]), s.score.statements.Load(); n < least {
		faults = append(faults, fmt.Errorf("%d statements are counted, but clients had %d answered", n, least))
	}
	if err := s.proxy.Stop(); err != nil {
		faults = append(faults, err)
	}
	key, err := s.publicKey()
	if err != nil {
		return append(faults, err)
	}
	out, err := exec.CommandContext(ctx, s.program, "audit", "verify", filepath.Join(s.rig.Folder("pgairlock"), "audit.jsonl"), "--key", key).CombinedOutput()
	fmt.Printf("audit verify: %s", out)
	if err != nil {
		faults = append(faults, fmt.Errorf("audit verify: %w", err))
	}
	return faults
}

// publicKey is the one that the proxy logged at its start.
func (s *soak) publicKey() (string, error) {
	text, err := os.ReadFile(s.proxy.Log)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		var entry struct{ Key string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Key != "" {
			return entry.Key, nil
		}
	}
	return "", errors.New("the log names no public key")
}
