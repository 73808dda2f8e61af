package audit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pgairlock/pgairlock/audit"
	"github.com/pgairlock/pgairlock/internal/secret"
)

var (
	key      = secret.New("audit_key", "correct horse battery staple")
	otherKey = secret.New("audit_key", "incorrect horse battery staple")
	noon     = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
)

func asIs(s string) string { return s }

// clock is a clock that tests turn.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) turn(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// complaints collects what a log tells its Logger.
type complaints struct {
	mu   sync.Mutex
	list []error
}

func (c *complaints) add(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, err)
}

func (c *complaints) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(c.list...).Error()
}

// options are those of a signed log in a directory of the test's own; a log
// that complains fails the test.
func options(t *testing.T) audit.Options {
	t.Helper()
	return audit.Options{
		Path: filepath.Join(t.TempDir(), "audit.jsonl"), Key: key, Redact: asIs,
		Logger: func(err error) { t.Errorf("the log complains: %v", err) },
	}
}

func open(t *testing.T, opt audit.Options) *audit.Log {
	t.Helper()
	log, err := audit.Open(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close(done()) }) // does nothing after the test's own
	return log
}

// done is a context that has ended.
func done() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func closeLog(t *testing.T, log *audit.Log) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := log.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, log *audit.Log, events ...audit.Event) {
	t.Helper()
	for _, ev := range events {
		if err := log.Write(context.Background(), ev); err != nil {
			t.Fatal(err)
		}
	}
}

// sync writes one more record and waits until all before are on disk.
func sync1(t *testing.T, log *audit.Log) {
	t.Helper()
	if err := log.WriteSync(context.Background(), &audit.Failure{Where: "test", Message: "sync"}); err != nil {
		t.Fatal(err)
	}
}

func statement(i int) *audit.Statement {
	return &audit.Statement{
		Actor:     audit.Actor{Session: "s1", Agent: "reporting", Claimed: "alice"},
		Operation: fmt.Sprintf("op-%d", i), Sequence: int64(i), Text: fmt.Sprintf("SELECT %d", i),
		Kind: "select", Verdict: "allow", Risk: "l0_read",
	}
}

func statements(n int) []audit.Event {
	list := make([]audit.Event, n)
	for i := range list {
		list[i] = statement(i + 1)
	}
	return list
}

func public(t *testing.T, key *secret.Secret) string {
	t.Helper()
	text, err := audit.PublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// verify checks all files of the log at path against the key of these tests.
func verify(t *testing.T, path string) *audit.Report {
	t.Helper()
	files, err := audit.Files(path)
	if err != nil {
		t.Fatal(err)
	}
	report, err := audit.Verify(audit.VerifyOptions{Keys: []string{public(t, key)}}, files...)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// wantOK is the honest twin of every test that breaks something.
func wantOK(t *testing.T, path string, records int64) *audit.Report {
	t.Helper()
	report := verify(t, path)
	if !report.OK() {
		t.Fatalf("an untouched log: %v", report.Fault)
	}
	if report.Last-report.First+1 != records {
		t.Fatalf("%d records, want %d", report.Last-report.First+1, records)
	}
	return report
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasSuffix(data, []byte("\n")) {
		t.Fatalf("%s does not end with a line feed", path)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

func records(t *testing.T, filter audit.Filter, path string) []audit.Record {
	t.Helper()
	files, err := audit.Files(path)
	if err != nil {
		t.Fatal(err)
	}
	var list []audit.Record
	err = audit.Show(filter, func(r *audit.Record) error {
		list = append(list, *r)
		return nil
	}, files...)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

var shortKey = secret.New("audit_key", "tooshortkey")
