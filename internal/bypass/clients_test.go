package bypass_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the clients' expected transcripts")

const (
	clients     = "../../testdata/clients"
	clientAgent = "ro+catalog"
	clientLimit = time.Minute
	nodePackage = "pg@8.23.1"
	jdbcJar     = "/usr/share/java/postgresql.jar"
)

// client is a stock driver with a script that uses it as programs do.
type client struct {
	name    string
	needs   string // what to install
	command func(ctx context.Context) (*exec.Cmd, error)
}

// errMissing is why a client can't run here.
var errMissing = errors.New("not installed")

var stock = []client{
	{"psql", "postgresql-client-15", func(ctx context.Context) (*exec.Cmd, error) { return program(ctx, "psql", "./psql.sh") }},
	{"pgx", "go", func(ctx context.Context) (*exec.Cmd, error) { return program(ctx, "go", "go", "run", "./pgx") }},
	{"psycopg2", "python3-psycopg2", func(ctx context.Context) (*exec.Cmd, error) {
		return python(ctx, "psycopg2", "psycopg2_client.py")
	}},
	{"psycopg3", "python3-psycopg", func(ctx context.Context) (*exec.Cmd, error) {
		return python(ctx, "psycopg", "psycopg3_client.py")
	}},
	{"node", "nodejs and npm", node},
	{"jdbc", "openjdk-17-jdk-headless and libpostgresql-jdbc-java", jdbc},
}

// testClients has stock drivers connect, read, stream, get refused, cancel, run
// into the row limit and go on, and compares what they saw with what is known.
// On a person's machine a client that is not installed is named loudly; under
// CI=true it is a failure.
func testClients(t *testing.T, f *front) {
	var score score
	var missing []string
	for _, c := range stock {
		got, err := f.transcript(t.Context(), c)
		if errors.Is(err, errMissing) {
			missing = append(missing, c.name+" ("+c.needs+")")
			continue
		}
		var wrong []string
		if err != nil {
			wrong = append(wrong, err.Error())
		}
		score.add(t, c.name, append(wrong, compareTranscript(t, c.name, got)...))
	}
	fmt.Printf("clients: %s\n", score)
	if missing != nil {
		fmt.Printf("CLIENTS NOT TESTED, install: %s\n", strings.Join(missing, ", "))
		if os.Getenv("CI") == "true" {
			t.Error("none may be missing where CI=true")
		}
	}
}

// transcript runs a client's script against the proxy.
func (f *front) transcript(ctx context.Context, c client) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, clientLimit)
	defer cancel()
	cmd, err := c.command(ctx)
	if err != nil {
		return "", err
	}
	host, port, err := net.SplitHostPort(f.address)
	if err != nil {
		return "", err
	}
	cmd.Dir = clients
	cmd.Env = append(cmd.Environ(), "PGHOST="+host, "PGPORT="+port, "PGUSER="+clientAgent, "PGPASSWORD="+agentPassword, "PGDATABASE=fw",
		"PGTZ=UTC", "TZ=UTC", "PGOPTIONS=", "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w", cmd, err)
	}
	return string(out), err
}

func compareTranscript(t *testing.T, name, got string) []string {
	t.Helper()
	file := filepath.Join(clients, name+".want")
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
		return nil
	}
	have, wanted := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range min(len(have), len(wanted)) {
		if have[i] != wanted[i] {
			return []string{fmt.Sprintf("line %d is %q, not %q", i+1, have[i], wanted[i])}
		}
	}
	return []string{fmt.Sprintf("%d lines, not %d: %s", len(have), len(wanted), got)}
}

func program(ctx context.Context, needs string, args ...string) (*exec.Cmd, error) {
	if _, err := exec.LookPath(needs); err != nil {
		return nil, errMissing
	}
	return exec.CommandContext(ctx, args[0], args[1:]...), nil
}

// python finds an interpreter that has the module: Debian's modules are for
// Debian's own.
func python(ctx context.Context, module, script string) (*exec.Cmd, error) {
	for _, interpreter := range []string{"/usr/bin/python3", "python3"} {
		if exec.CommandContext(ctx, interpreter, "-c", "import "+module).Run() == nil {
			return exec.CommandContext(ctx, interpreter, script), nil
		}
	}
	return nil, errMissing
}

// node installs the driver once into the user's cache.
func node(ctx context.Context) (*exec.Cmd, error) {
	for _, name := range []string{"node", "npm"} {
		if _, err := exec.LookPath(name); err != nil {
			return nil, errMissing
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, "pgairlock", "node-"+nodePackage)
	modules := filepath.Join(dir, "node_modules")
	if _, err := os.Stat(filepath.Join(modules, "pg", "package.json")); err != nil {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		out, err := exec.CommandContext(ctx, "npm", "install", "--prefix", dir, "--silent", "--no-fund", "--no-audit", nodePackage).CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("npm install %s: %w: %s", nodePackage, err, out)
		}
	}
	cmd := exec.CommandContext(ctx, "node", "--no-deprecation", "node_client.cjs")
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	return cmd, nil
}

// jdbc compiles and runs the script in one go.
func jdbc(ctx context.Context) (*exec.Cmd, error) {
	if _, err := os.Stat(jdbcJar); err != nil {
		return nil, errMissing
	}
	return program(ctx, "java", "java", "-cp", jdbcJar, "JdbcClient.java")
}
