package secret_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pgairlock/pgairlock/internal/secret"
)

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "pw")
	write(t, file, "from file\r\n", 0o600)
	write(t, filepath.Join(dir, "lines"), "two\nlines\n\n", 0o600)
	t.Setenv("AIRLOCK_TEST_PW", "from env")

	store, err := secret.Load(context.Background(), map[string]secret.Source{
		"a": {Env: "AIRLOCK_TEST_PW"},
		"b": {File: file},
		"c": {Command: []string{"printf", `%s\n`, "from $HOME; command"}},
		"d": {File: filepath.Join(dir, "lines")},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a": "from env", "b": "from file", "c": "from $HOME; command", "d": "two\nlines\n"}
	for name, value := range want {
		s, err := store.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		if s.Reveal() != value || s.Name() != name {
			t.Errorf("%s = %q, want %q", s.Name(), s.Reveal(), value)
		}
	}
	if w := store.Warnings(); len(w) != 0 {
		t.Errorf("warnings: %q", w)
	}
	if _, err := store.Get("e"); err == nil || !strings.Contains(err.Error(), "a, b, c, d") {
		t.Errorf("an unknown name: %v", err)
	}
}

// Each refusal says which secret and source it is about, and nothing of what
// the source holds.
func TestLoadRefuses(t *testing.T) {
	dir := t.TempDir()
	empty, large := filepath.Join(dir, "empty"), filepath.Join(dir, "large")
	write(t, empty, "\n", 0o600)
	write(t, large, strings.Repeat("PRIVATE", 10_000), 0o600)
	t.Setenv("AIRLOCK_TEST_EMPTY", "")

	for _, tt := range []struct {
		name   string
		source secret.Source
		want   []string
	}{
		{"env not set", secret.Source{Env: "AIRLOCK_TEST_NONE"}, []string{"(env AIRLOCK_TEST_NONE)", "is not set"}},
		{"env empty", secret.Source{Env: "AIRLOCK_TEST_EMPTY"}, []string{"(env AIRLOCK_TEST_EMPTY)", "is empty"}},
		{"file missing", secret.Source{File: filepath.Join(dir, "none")}, []string{"(file " + dir, "no such file"}},
		{"file empty", secret.Source{File: empty}, []string{"is empty"}},
		{"file too large", secret.Source{File: large}, []string{"larger than 65536"}},
		{"directory", secret.Source{File: dir}, []string{"is a directory"}},
		{"program missing", secret.Source{Command: []string{"/no/such/program", "PRIVATE"}}, []string{"(command /no/such/program)", "no such file"}},
		{"program fails", secret.Source{Command: []string{"sh", "-c", "echo PRIVATE; echo PRIVATE >&2; exit 3"}}, []string{"(command sh)", "exit status 3"}},
		{"program prints nothing", secret.Source{Command: []string{"true"}}, []string{"is empty"}},
		{"program prints much", secret.Source{Command: []string{"head", "-c", "70000", "/dev/zero"}}, []string{"more than 65536"}},
		{"program hangs", secret.Source{Command: []string{"sleep", "60"}, Timeout: 50 * time.Millisecond}, []string{"no answer within 50ms"}},
		{"a child of the program hangs", secret.Source{Command: []string{"sh", "-c", "sleep 5 & echo PRIVATE; wait"}, Timeout: 50 * time.Millisecond}, []string{"no answer within 50ms"}},
		{"no source", secret.Source{}, []string{"exactly one"}},
		{"two sources", secret.Source{Env: "A", File: "b"}, []string{"exactly one", "has 2"}},
		{"no program", secret.Source{Command: []string{}}, []string{"no program"}},
		{"timeout of a file", secret.Source{File: empty, Timeout: time.Second}, []string{"timeout belongs"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := secret.Load(context.Background(), map[string]secret.Source{"pw": tt.source})
			if err == nil {
				t.Fatal("accepted")
			}
			for _, want := range append(tt.want, "secret pw") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q lacks %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "PRIVATE") {
				t.Errorf("value in the error: %v", err)
			}
		})
	}
}

func TestLoadNamesEveryFailure(t *testing.T) {
	_, err := secret.Load(context.Background(), map[string]secret.Source{
		"one": {Env: "AIRLOCK_TEST_NONE"}, "two": {File: "/none"}, "bad name": {Env: "HOME"}, "good": {Command: []string{"echo", "fine"}},
	})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"one", "two", `"bad name"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %s", err, want)
		}
	}
	if strings.Contains(err.Error(), "good") {
		t.Errorf("%q names the one that is fine", err)
	}
}

func TestWarnings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pw")
	write(t, file, "xyz", 0o644)
	store, err := secret.Load(context.Background(), map[string]secret.Source{"pw": {File: file}})
	if err != nil {
		t.Fatal(err)
	}
	warnings := strings.Join(store.Warnings(), "\n")
	for _, want := range []string{"every user", "0644", "fewer than 4"} {
		if !strings.Contains(warnings, want) {
			t.Errorf("%q lacks %q", warnings, want)
		}
	}
	if strings.Contains(warnings, "xyz") {
		t.Errorf("value in the warning: %s", warnings)
	}
}

func TestReload(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pw")
	write(t, file, "old-password", 0o600)
	store, err := secret.Load(context.Background(), map[string]secret.Source{"pw": {File: file}})
	if err != nil {
		t.Fatal(err)
	}
	before, _ := store.Get("pw")

	write(t, file, "new-password", 0o600)
	if err := store.Reload(context.Background()); err != nil {
		t.Fatal(err)
	}
	after, _ := store.Get("pw")
	if before.Reveal() != "old-password" || after.Reveal() != "new-password" {
		t.Errorf("before %q, after %q", before.Reveal(), after.Reveal())
	}
	if got := store.Redactor().Redact("old-password new-password"); got != "[credential:pw] [credential:pw]" {
		t.Errorf("after a reload: %s", got)
	}

	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := store.Reload(context.Background()); err == nil {
		t.Error("a reload without the file: accepted")
	}
	if kept, err := store.Get("pw"); err != nil || kept.Reveal() != "new-password" {
		t.Errorf("a reload that fails has to change nothing: %v, %v", kept, err)
	}
}
