package audit_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/pgairlock/pgairlock/audit"
	"github.com/pgairlock/pgairlock/internal/secret"
)

// A place is reserved before the statement goes to the server, and filled when
// its outcome is known.
func Example() {
	dir, err := os.MkdirTemp("", "audit")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	key := secret.New("audit_key", "a long text that nobody guesses")
	path := filepath.Join(dir, "audit.jsonl")

	log, err := audit.Open(audit.Options{
		Path: path, Key: key,
		Redact: secret.NewRedactor(key).Redact,
		Logger: func(err error) { fmt.Println(err) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	slot, err := log.Reserve(ctx)
	if err != nil {
		fmt.Println("refuse the statement:", err)
		return
	}
	// … send it, relay its answer …
	slot.Write(&audit.Statement{Text: "SELECT 1", Verdict: "allow", Rows: 1})
	if err := log.Close(ctx); err != nil {
		fmt.Println(err)
	}

	public, err := audit.PublicKey(key)
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := audit.Verify(audit.VerifyOptions{Keys: []string{public}}, path)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d records, signed up to %d, trusted %t, fault %v\n", report.Last, report.Covered, report.Trusted, report.Fault)
	// Output: 4 records, signed up to 3, trusted true, fault <nil>
}
