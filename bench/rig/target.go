package rig

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Target is where clients connect: the server, or a proxy.
type Target struct {
	Host     string
	Port     int
	User     string
	Password string
}

// As is the target for another user.
func (t Target) As(user string) Target {
	t.User = user
	return t
}

// DSN is a connection string.
func (t Target) DSN() string {
	return fmt.Sprintf("host=%s port=%d dbname=%s user=%s password=%s sslmode=disable", t.Host, t.Port, Database, t.User, t.Password)
}

// Connect opens a connection.
func (t Target) Connect(ctx context.Context) (*pgconn.PgConn, error) {
	return pgconn.Connect(ctx, t.DSN())
}

// Run is what pgbench measured.
type Run struct {
	Transactions int64
	TPS          float64 // without the connections' own time
	Latency      time.Duration
}

// Pgbench runs pgbench against the target.
func (t Target) Pgbench(ctx context.Context, args ...string) (Run, error) {
	cmd := exec.CommandContext(ctx, "pgbench", append(args, Database)...)
	cmd.Env = append(os.Environ(), "PGHOST="+t.Host, "PGPORT="+strconv.Itoa(t.Port), "PGUSER="+t.User, "PGPASSWORD="+t.Password, "PGSSLMODE=disable")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return Run{}, fmt.Errorf("pgbench %s: %w: %s", strings.Join(args, " "), err, lastLines(string(out)))
	}
	return readRun(string(out))
}

// readRun reads what pgbench prints at its end; a run of -i prints none of it.
func readRun(out string) (Run, error) {
	var r Run
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		var err error
		switch {
		case strings.HasPrefix(line, "number of transactions actually processed: "):
			text, _, _ := strings.Cut(strings.TrimPrefix(line, "number of transactions actually processed: "), "/")
			r.Transactions, err = strconv.ParseInt(text, 10, 64)
		case strings.HasPrefix(line, "number of failed transactions: "):
			if !strings.HasPrefix(line, "number of failed transactions: 0 ") {
				err = fmt.Errorf("pgbench: %s", line)
			}
		case strings.HasPrefix(line, "latency average = "):
			var ms float64
			ms, err = strconv.ParseFloat(strings.TrimSuffix(strings.TrimPrefix(line, "latency average = "), " ms"), 64)
			r.Latency = time.Duration(ms * float64(time.Millisecond))
		case strings.HasPrefix(line, "tps = "):
			text, _, _ := strings.Cut(strings.TrimPrefix(line, "tps = "), " ")
			r.TPS, err = strconv.ParseFloat(text, 64)
		}
		if err != nil {
			return r, err
		}
	}
	return r, nil
}

// lastLines is the end of a program's output, for an error message.
func lastLines(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}
