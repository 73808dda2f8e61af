package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pgairlock/pgairlock/internal/pgtest"
)

// The demo checks itself; with --keep it stays until it is told to end, and
// then leaves nothing behind.
func TestDemo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, errs := &lockedBuffer{}, &lockedBuffer{}
	code := make(chan int, 1)
	go func() { code <- run(ctx, []string{"demo", "--keep"}, strings.NewReader(""), out, errs) }() // ends with cancel
	line := waitFor(t, out, code, "PGPASSFILE=")
	fields := strings.Fields(line) // PGPASSFILE=… psql -h HOST -p PORT -U USER DATABASE
	passfile := strings.TrimPrefix(fields[0], "PGPASSFILE=")
	conn := pgtest.Connect(t, "passfile="+passfile+" host="+fields[3]+" port="+fields[5]+" user="+fields[7]+" dbname="+fields[8]+" sslmode=disable")
	if value, code := ask(t, conn, "SELECT count(*) FROM customers"); value != "4000" {
		t.Errorf("by the printed line: %q %s", value, code)
	}
	cancel()
	if got := <-code; got != exitOK {
		t.Errorf("the demo ends with %d: %s", got, errs)
	}
	text := out.String()
	for _, want := range []string{
		"refused 42501", "refused 25006", "cut off 57014", "error 25P02", "hint: Write the columns instead of *",
		"NOTICE: ", "$ pgairlock audit verify audit.jsonl", "    ok: records 1 to ", "all came out as it should",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the demo does not show %q", want)
		}
	}
	if _, err := exec.LookPath("psql"); err == nil && !strings.Contains(text, "HINT:  Open columns of public.customers") {
		t.Error("the demo does not show psql's refusal")
	}
	if strings.Contains(text, "UNEXPECTED") || strings.Contains(text, "\x1b[") {
		t.Errorf("the demo in a pipe:\n%s", text)
	}
	if _, err := os.Stat(filepath.Dir(passfile)); err == nil {
		t.Errorf("%s is still there", filepath.Dir(passfile))
	}
}

// waitFor returns the first line of out that holds text.
func waitFor(t *testing.T, out *lockedBuffer, code chan int, text string) string {
	t.Helper()
	for end := time.Now().Add(3 * patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		for _, line := range strings.SplitAfter(out.String(), "\n") {
			if strings.Contains(line, text) && strings.HasSuffix(line, "\n") {
				return line
			}
		}
		select {
		case got := <-code:
			t.Fatalf("it ended with %d:\n%s", got, out)
		default:
		}
	}
	t.Fatalf("nothing says %q:\n%s", text, out)
	return ""
}

// A demo whose steps come out otherwise says so, and fails.
func TestDemoNoticesSurprises(t *testing.T) {
	refused := came{code: "42501", texts: []string{"no", "", "hint: ask for id"}}
	for name, c := range map[string]struct {
		try  try
		came came
		want string
	}{
		"as it should":  {try{code: "42501", says: []string{"id"}}, refused, ""},
		"not refused":   {try{code: "42501"}, came{rows: 1}, `SQLSTATE "", not "42501"`},
		"other refusal": {try{code: "25006"}, refused, `SQLSTATE "42501", not "25006"`},
		"no hint":       {try{code: "42501", says: []string{"email"}}, refused, `nothing says "email"`},
		"fewer rows":    {try{rows: 7}, came{rows: 6}, "6 rows, not 7"},
		"no rows":       {try{rows: -1}, came{}, "0 rows, not -1"},
		"some rows":     {try{rows: -1}, came{rows: 3}, ""},
		"lost":          {try{}, came{reason: errors.New("gone")}, "gone"},
	} {
		if got := c.try.compare(c.came); got != c.want {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
}
