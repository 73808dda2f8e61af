package clients_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var (
	update = flag.Bool("update", false, "rewrite the clients' expected transcripts")
	all    = flag.Bool("all", false, "run every client of testdata/clients, not only those that are quick to install")
)

const (
	scripts     = "../../testdata/clients"
	clientLimit = 3 * time.Minute
	pgPackage   = "pg@8.23.1"
	jdbcJar     = "/usr/share/java/postgresql.jar"
)

// client is a stock driver with a script that uses it as programs do.
type client struct {
	name    string
	needs   string // what to install
	agent   string // "" means the one who reads
	command func(ctx context.Context) (*exec.Cmd, error)
}

// errMissing is why a client can't run here.
var errMissing = errors.New("not installed")

// TestClients has stock drivers connect, read, stream, get refused, cancel, run
// into the row limit and go on, and compares what they saw with what is known.
// On a person's machine a client that is not installed is named loudly; under
// CI=true, and where all were asked for, it is a failure.
func TestClients(t *testing.T) {
	clients := core
	if *all {
		clients = append(clients, others...)
	}
	f := newFront(t)
	var missing []string
	passed := 0
	for _, c := range clients {
		t.Run(c.name, func(t *testing.T) {
			got, err := f.transcript(t, c)
			if errors.Is(err, errMissing) {
				missing = append(missing, c.name+" ("+c.needs+")")
				return
			}
			if err != nil {
				t.Errorf("%v\n%s", err, got)
			}
			compare(t, c.name, got)
			if !t.Failed() {
				passed++
			}
		})
	}
	fmt.Printf("clients: %d of %d as expected\n", passed, len(clients))
	if missing != nil {
		fmt.Printf("CLIENTS NOT TESTED, install: %s\n", strings.Join(missing, ", "))
		if *all || os.Getenv("CI") == "true" {
			t.Error("none may be missing")
		}
	}
}

// transcript runs a client's script against the proxy.
func (f *front) transcript(t *testing.T, c client) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), clientLimit)
	defer cancel()
	cmd, err := c.command(ctx)
	if err != nil {
		return "", err
	}
	if cmd.Dir == "" {
		cmd.Dir = scripts
	}
	cmd.Env = append(cmd.Environ(), f.environment(c.agent)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w", cmd, err)
	}
	return string(out), err
}

// compare holds a transcript against the expected one, or makes it that.
func compare(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join(scripts, name+".want")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	have, wanted := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range min(len(have), len(wanted)) {
		if have[i] != wanted[i] {
			t.Errorf("line %d is %q, not %q", i+1, have[i], wanted[i])
			return
		}
	}
	t.Errorf("%d lines, not %d: %s", len(have), len(wanted), got)
}
