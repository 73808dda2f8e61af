package pgserver_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pgairlock/pgairlock/internal/pgserver"
)

// programs makes a folder with a postgres that claims a version.
func programs(t *testing.T, version string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"postgres": "#!/bin/sh\necho 'postgres (PostgreSQL) " + version + "'\n", "initdb": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFind(t *testing.T) {
	chosen, onPath := programs(t, "16.3 (Debian 16.3-1)"), programs(t, "17beta2")
	t.Setenv("PGBIN", chosen)
	t.Setenv("PATH", onPath)
	for _, c := range []struct {
		major int
		want  string
	}{{0, chosen}, {16, chosen}, {17, onPath}} {
		got, err := pgserver.Find(t.Context(), c.major)
		if err != nil || got.Dir != c.want {
			t.Errorf("major %d: %v (%v), want %s", c.major, got, err, c.want)
		}
	}
}
