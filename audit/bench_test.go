package audit_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/pgairlock/pgairlock/audit"
	"github.com/pgairlock/pgairlock/internal/secret"
)

// typical is a record as most are.
func typical() *audit.Statement {
	return &audit.Statement{
		Actor:     audit.Actor{Session: "0192f3c4-7c1e-7000-8000-000000000001", Agent: "reporting", Claimed: "alice"},
		Operation: "0192f3c4-7c1e-7000-8000-000000000002", Sequence: 7, Database: "shop",
		Text:        "SELECT o.id, o.status, c.name FROM public.orders o JOIN public.customers c ON c.id = o.customer_id WHERE o.created_at > $1 ORDER BY o.id LIMIT 100",
		Fingerprint: "7c1e0192f3c47000", Kind: "select", Verdict: "allow", Risk: "l0_read",
		Policy: "sha256:0192f3c47c1e7000", Catalog: "sha256:0192f3c47c1e7000",
		Relations: []audit.Relation{{Name: "public.orders", Needs: "read"}, {Name: "public.customers", Needs: "read"}},
		Rows:      100, Bytes: 8123, Duration: 1234 * time.Microsecond,
	}
}

func benchLog(b *testing.B, redact func(string) string) *audit.Log {
	b.Helper()
	log, err := audit.Open(audit.Options{
		Path: b.TempDir() + "/audit.jsonl", Key: key, Redact: redact,
		Wait: time.Minute, Logger: func(err error) { b.Error(err) },
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = log.Close(context.Background()) })
	return log
}

// BenchmarkCaller is what a session pays for a record while the writing
// goroutine keeps up: bursts that fit the queue, with pauses that don't count.
func BenchmarkCaller(b *testing.B) {
	log := benchLog(b, asIs)
	ctx := context.Background()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if i++; i%4000 == 0 {
			b.StopTimer()
			for log.Stats().Held > 0 {
				time.Sleep(time.Millisecond)
			}
			b.StartTimer()
		}
		slot, err := log.Reserve(ctx)
		if err != nil {
			b.Fatal(err)
		}
		slot.Write(typical())
	}
}

// BenchmarkThroughput is what the log takes for good, callers waiting.
func BenchmarkThroughput(b *testing.B) {
	redactor := secret.NewRedactor()
	for _, name := range []string{"one-password", "two-password", "three-password"} {
		redactor.Add(secret.New(name, name))
	}
	log := benchLog(b, redactor.Redact)
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if err := log.Write(ctx, typical()); err != nil {
			b.Fatal(err)
		}
	}
	if err := log.WriteSync(ctx, typical()); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(log.Stats().Bytes / log.Stats().Written)
}

// BenchmarkSync is one record and its fsync.
func BenchmarkSync(b *testing.B) {
	log := benchLog(b, asIs)
	for b.Loop() {
		if err := log.WriteSync(context.Background(), typical()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	path := b.TempDir() + "/audit.jsonl"
	log, err := audit.Open(audit.Options{Path: path, Key: key, Redact: asIs, Wait: time.Minute, Logger: func(err error) { b.Error(err) }})
	if err != nil {
		b.Fatal(err)
	}
	for range 50_000 {
		if err := log.Write(context.Background(), typical()); err != nil {
			b.Fatal(err)
		}
	}
	if err := log.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	for b.Loop() {
		if report, err := audit.Verify(audit.VerifyOptions{}, path); err != nil || !report.OK() {
			b.Fatal(err, report)
		}
	}
}

func BenchmarkIDs(b *testing.B) {
	ids := audit.NewIDs(time.Now)
	b.ReportAllocs()
	for b.Loop() {
		ids.Next()
	}
}
