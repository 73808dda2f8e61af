package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgairlock/pgairlock/internal/pgserver"
	"github.com/pgairlock/pgairlock/internal/pgtest"
)

// house is a database with a reader on it, and the files of a proxy before it.
type house struct {
	dir     string
	db      *pgtest.Database
	role    string
	secrets map[string]string // what the files of that name hold
}

const houseSchema = `
CREATE TABLE orders (id int, total numeric);
CREATE TABLE payments (id int, card text);
INSERT INTO orders SELECT g, g FROM generate_series(1, 50) g;
INSERT INTO payments VALUES (1, '4111111111111111');`

const housePolicy = `version: 1
agents:
  reporting:
    password: secret:reporting
    databases: {shop: reader}
    access: read_only
    tables: {public.orders: all}
    limits: {rows: 10}
`

const houseConfig = `listen: {tcp: "127.0.0.1:0", unix: run}
databases:
  shop:
    server: "host=127.0.0.1 port=PORT dbname=DATABASE sslmode=disable"
    roles:
      reader: {user: ROLE, password: secret:reader}
secrets:
  reader: {file: reader}
  reporting: {file: reporting}
  audit_key: {file: audit_key}
policy: policy.yaml
audit: {file: audit.jsonl, statements: full, checkpoint_key: secret:audit_key}
`

// newHouse has generated secrets unless some are given.
func newHouse(t *testing.T, given map[string]string) *house {
	t.Helper()
	h := &house{dir: t.TempDir(), secrets: map[string]string{}}
	for _, name := range []string{"reader", "reporting", "audit_key"} {
		h.secrets[name] = rand.Text()
	}
	for name, value := range given {
		h.secrets[name] = value
	}
	h.db = pgtest.Start(t, pgtest.Options{Auth: pgserver.SCRAM, Setup: houseSchema})
	h.role = "reader_" + strings.ToLower(rand.Text())
	password := strings.ReplaceAll(h.secrets["reader"], "'", "''")
	h.db.Exec(t, fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD '%s'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO %[1]s", h.role, password))
	for name, value := range h.secrets {
		write(t, h.path(name), value+"\n")
	}
	write(t, h.path("policy.yaml"), housePolicy)
	config := strings.NewReplacer("PORT", fmt.Sprint(h.db.Server.Port), "DATABASE", h.db.Name, "ROLE", h.role).Replace(houseConfig)
	write(t, h.path("pgairlock.yaml"), config)
	return h
}

func (h *house) path(name string) string { return filepath.Join(h.dir, name) }

func (h *house) edit(t *testing.T, name, old, new string) {
	t.Helper()
	text, err := os.ReadFile(h.path(name))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), old) {
		t.Fatalf("%s does not hold %q", name, old)
	}
	write(t, h.path(name), strings.Replace(string(text), old, new, 1))
}

// served is a running serve.
type served struct {
	*house
	port   string
	log    *lockedBuffer
	cancel context.CancelFunc
	code   chan int
}

// serve runs the command and waits until it listens.
func (h *house) serve(t *testing.T) *served {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s := &served{house: h, log: &lockedBuffer{}, cancel: cancel, code: make(chan int, 1)}
	go func() { // ends with cancel
		s.code <- run(ctx, []string{"serve", "-c", h.path("pgairlock.yaml")}, strings.NewReader(""), s.log, s.log)
	}()
	t.Cleanup(func() { s.stop(t) })
	entry := s.logged(t, "serving")
	listen, ok := entry["listen"].([]any)
	if !ok || len(listen) == 0 {
		t.Fatalf("serve listens on %v", entry["listen"])
	}
	s.port = fmt.Sprint(listen[0])[strings.LastIndexByte(fmt.Sprint(listen[0]), ':')+1:]
	return s
}

// stop ends serve, once, and checks that it ended well.
func (s *served) stop(t *testing.T) {
	t.Helper()
	if s.cancel == nil {
		return
	}
	s.cancel()
	s.cancel = nil
	if code := <-s.code; code != exitOK {
		t.Errorf("serve ends with %d:\n%s", code, s.log)
	}
}

const patience = 20 * time.Second

// logged waits for a log line with a message.
func (s *served) logged(t *testing.T, message string) map[string]any {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		select {
		case code := <-s.code:
			s.code <- code
			t.Fatalf("serve ended with %d:\n%s", code, s.log)
		default:
		}
		lines := bufio.NewScanner(strings.NewReader(s.log.String()))
		for lines.Scan() {
			var entry map[string]any
			if err := json.Unmarshal(lines.Bytes(), &entry); err != nil {
				t.Fatalf("the log has a line that is not JSON: %s", lines.Text())
			}
			if entry["message"] == message {
				return entry
			}
		}
	}
	t.Fatalf("the log does not say %q:\n%s", message, s.log)
	return nil
}

// dsn is a connection string of an agent, on TCP.
func (s *served) dsn(agent, password string) string {
	quoted := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(password)
	return fmt.Sprintf("host=127.0.0.1 port=%s dbname=shop user=%s password='%s' sslmode=disable", s.port, agent, quoted)
}

func (s *served) connect(t *testing.T) *pgconn.PgConn {
	t.Helper()
	return pgtest.Connect(t, s.dsn("reporting", s.secrets["reporting"]))
}

// ask runs SQL and returns its first value, or the SQLSTATE of the error.
func ask(t *testing.T, conn *pgconn.PgConn, sql string) (value, code string) {
	t.Helper()
	results, err := conn.Exec(t.Context(), sql).ReadAll()
	if err != nil {
		return "", codeOf(t, err)
	}
	if len(results) > 0 && len(results[0].Rows) > 0 {
		value = string(results[0].Rows[0][0])
	}
	return value, ""
}

// eventually waits until SQL on conn gives a value or SQLSTATE.
func eventually(t *testing.T, conn *pgconn.PgConn, sql, want string) {
	t.Helper()
	var value, code string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if value, code = ask(t, conn, sql); value == want || code == want {
			return
		}
	}
	t.Fatalf("%s gives %q %s, not %s", sql, value, code, want)
}

// lockedBuffer is written to and read by several goroutines.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func portOf(h *house) string { return fmt.Sprint(h.db.Server.Port) }
