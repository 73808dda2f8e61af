package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// watchedHouse is a house with metrics on a free port and profiles.
func watchedHouse(t *testing.T) *house {
	h := newHouse(t, nil)
	h.edit(t, "pgairlock.yaml", "policy: policy.yaml", "policy: policy.yaml\nmetrics: {listen: \"127.0.0.1:0\"}\nadmin: {pprof: true}\nshutdown: {drain: 2s}")
	return h
}

// get fetches a page of the metrics listener.
func (s *served) get(t *testing.T, path string) (int, string) {
	t.Helper()
	return fetch(t, http.DefaultClient, fmt.Sprintf("http://%s%s", s.logged(t, "serving metrics")["listen"], path))
}

func fetch(t *testing.T, client *http.Client, url string) (int, string) {
	t.Helper()
	response, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// readiness waits until /readyz answers with a code, and returns its text.
func (s *served) readiness(t *testing.T, want int) string {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		code, text := s.get(t, "/readyz")
		if code == want {
			return text
		}
		if time.Now().After(end) {
			t.Fatalf("/readyz answers %d, not %d: %s", code, want, text)
		}
	}
}

func TestMetrics(t *testing.T) {
	s := watchedHouse(t).serve(t)
	s.readiness(t, http.StatusOK)
	conn := s.connect(t)
	for _, sql := range []string{"SELECT id FROM orders WHERE id < 4", "SELECT id FROM orders WHERE id < 4", "SELECT card FROM payments", "SELECT id FROM orders"} {
		ask(t, conn, sql)
	}
	_, text := s.get(t, "/metrics")
	for _, line := range []string{
		`pgairlock_statements_total{agent="reporting",database="shop",kind="select",verdict="rewrite"} 3`,
		`pgairlock_statements_total{agent="reporting",database="shop",kind="select",verdict="deny"} 1`,
		`pgairlock_refusals_total{agent="reporting",rule="table"} 1`,
		`pgairlock_statement_errors_total{agent="reporting",class="42"} 1`,
		`pgairlock_rows_total{agent="reporting",database="shop"} 16`,
		`pgairlock_limited_statements_total{agent="reporting",database="shop"} 1`,
		`pgairlock_sessions{agent="reporting",database="shop"} 1`,
		`pgairlock_verdict_cache_hits_total 1`,
		`pgairlock_database_up{database="shop",role="reader"} 1`,
		`pgairlock_ready 1`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("metrics lack %s", line)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
	for name, value := range s.secrets {
		if strings.Contains(text+execute(t, "status --json -c "+s.path("pgairlock.yaml")), value) {
			t.Errorf("metrics or status show the secret %s", name)
		}
	}
	if code, body := s.get(t, "/healthz"); code != http.StatusOK || body != "ok\n" {
		t.Errorf("/healthz: %d %q", code, body)
	}
	for _, path := range []string{"/debug/pprof/", "/status", "/"} {
		if code, _ := s.get(t, path); code != http.StatusNotFound {
			t.Errorf("%s on the metrics listener: %d", path, code)
		}
	}
}

// A database that can't be used makes the proxy not ready; why is said to
// status, not to the network.
func TestNotReady(t *testing.T) {
	h := watchedHouse(t)
	h.edit(t, "pgairlock.yaml", "dbname="+h.db.Name, "dbname=gone_away")
	s := h.serve(t)
	s.logged(t, "upstream can't be used now")
	if text := s.readiness(t, http.StatusServiceUnavailable); text != "not ready\ndatabase shop as reader\n" {
		t.Errorf("/readyz says %q", text)
	}
	shown := execute(t, "status -c "+s.path("pgairlock.yaml"))
	if !strings.Contains(shown, `database "gone_away" does not exist`) || !strings.Contains(shown, "NOT READY") || !strings.HasSuffix(shown, "[exit 1]\n") {
		t.Errorf("status:\n%s", shown)
	}
}

func TestStatus(t *testing.T) {
	s := watchedHouse(t).serve(t)
	s.readiness(t, http.StatusOK)
	conn := s.connect(t)
	ask(t, conn, "SELECT count(*) FROM orders")
	ask(t, conn, "BEGIN")
	s.edit(t, "policy.yaml", "rows: 10", "rows: many")
	s.logged(t, "reload refused: the policy and the secrets of before stay in force")

	var got status
	if err := json.Unmarshal([]byte(execute(t, "status --json -c "+s.path("pgairlock.yaml"))), &got); err != nil {
		t.Fatal(err)
	}
	if !got.Ready || got.PID != os.Getpid() || len(got.Listen) != 2 || got.Policy.Digest == "" || got.Policy.Since.IsZero() {
		t.Errorf("%+v", got)
	}
	if got.Reload == nil || got.Reload.Cause != "file changed" || !strings.Contains(got.Reload.Error, "policy.yaml:8:") {
		t.Errorf("last reload: %+v", got.Reload)
	}
	if got.Counts.Statements["allow"] != 2 || got.Counts.Connections != 1 {
		t.Errorf("counts: %+v", got.Counts)
	}
	if len(got.Databases) != 1 || got.Databases[0].Fault != "" || got.Databases[0].Catalog == nil {
		t.Errorf("databases: %+v", got.Databases)
	}
	if len(got.Sessions) != 1 || got.Sessions[0].Agent != "reporting" || got.Sessions[0].State != "idle in transaction" || got.Sessions[0].Statement != "" {
		t.Errorf("sessions: %+v", got.Sessions)
	}
	if got.Audit.Written == 0 || got.Audit.Held < 1 || got.Audit.Capacity == 0 {
		t.Errorf("audit: %+v", got.Audit)
	}
	shown := execute(t, "status -c "+s.path("pgairlock.yaml"))
	for _, word := range []string{", ready\n", "last reload", "REFUSED: ", "statements: allow 2\n", " shop as reader: in use", "reporting  shop", "idle in transaction"} {
		if !strings.Contains(shown, word) {
			t.Errorf("status does not show %q:\n%s", word, shown)
		}
	}
}

func TestStatusWithoutProxy(t *testing.T) {
	h := newHouse(t, nil)
	want := "pgairlock: no proxy runs with this configuration: nobody listens on " + h.path("audit.jsonl.sock") + "\n[exit 1]\n"
	if got := execute(t, "status -c "+h.path("pgairlock.yaml")); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
}

// Only the proxy's own user can use the admin socket; profiles are there where
// the configuration says so.
func TestAdminSocket(t *testing.T) {
	s := watchedHouse(t).serve(t)
	socket := s.path("audit.jsonl.sock")
	info, err := os.Stat(socket)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != fs.ModeSocket|0o600 {
		t.Errorf("the admin socket has mode %s", info.Mode())
	}
	client := unixClient(socket)
	if code, text := fetch(t, client, "http://pgairlock/debug/pprof/goroutine?debug=1"); code != http.StatusOK || !strings.Contains(text, "goroutine profile") {
		t.Errorf("profile: %d %s", code, text)
	}
	plain := newHouse(t, nil).serve(t)
	if code, _ := fetch(t, unixClient(plain.path("audit.jsonl.sock")), "http://pgairlock/debug/pprof/"); code != http.StatusNotFound {
		t.Errorf("profiles that nobody asked for: %d", code)
	}
}

func unixClient(socket string) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
}

// What is no socket is not removed for one, nor is one that is in use.
func TestListenAdmin(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	write(t, file, "somebody's")
	if _, err := listenAdmin(t.Context(), file); err == nil || !strings.Contains(err.Error(), "is no socket") {
		t.Errorf("in place of a file: %v", err)
	}
	path := filepath.Join(dir, "new", "admin.sock")
	first, err := listenAdmin(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := listenAdmin(t.Context(), path); err == nil || !strings.Contains(err.Error(), "another process listens") {
		t.Errorf("in place of another's: %v", err)
	}
	first.(*net.UnixListener).SetUnlinkOnClose(false) // as after a kill
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := listenAdmin(t.Context(), path)
	if err != nil {
		t.Fatalf("in place of one left behind: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}

// A session in a transaction may go on for as long as shutdown.drain says, and
// the proxy says meanwhile that it is not ready.
func TestDrain(t *testing.T) {
	h := watchedHouse(t)
	h.edit(t, "pgairlock.yaml", "drain: 2s", "drain: 30s")
	s := h.serve(t)
	s.readiness(t, http.StatusOK)
	conn, idle := s.connect(t), s.connect(t)
	ask(t, conn, "BEGIN")
	s.cancel()
	s.readiness(t, http.StatusServiceUnavailable)
	if _, err := idle.Exec(t.Context(), "SELECT 1").ReadAll(); codeOf(t, err) != "57P01" {
		t.Errorf("between transactions: %v", err)
	}
	if value, code := ask(t, conn, "SELECT count(*) FROM orders"); value != "50" {
		t.Errorf("in the transaction: %q %s", value, code)
	}
	ask(t, conn, "COMMIT")
	s.stop(t)
}
