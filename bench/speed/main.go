// Command speed measures pgairlock against a direct connection, pgbouncer and
// haproxy on one machine: interleaved rounds, medians, and the processor time
// that each proxy takes for a transaction. It writes a table into a Markdown
// file between two marks. See docs/PERFORMANCE.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/pgairlock/pgairlock/bench/rig"
)

// settings say what is measured, and for how long.
type settings struct {
	program  string
	duration time.Duration
	rounds   int
	scale    int
	idle     int
	out      string
	only     string
	profile  string
}

func main() {
	var s settings
	flag.StringVar(&s.program, "pgairlock", "bin/pgairlock", "the program to measure")
	flag.DurationVar(&s.duration, "duration", 5*time.Second, "of each measurement with pgbench")
	flag.IntVar(&s.rounds, "rounds", 5, "how often each is repeated")
	flag.IntVar(&s.scale, "scale", 10, "of the tables: 100,000 rows each")
	flag.IntVar(&s.idle, "idle", 100, "idle sessions whose memory is measured")
	flag.StringVar(&s.out, "out", "", "Markdown file to write the table into; \"\": print it only")
	flag.StringVar(&s.only, "only", "", "measure only what has this in its name")
	flag.StringVar(&s.profile, "profile", "", "folder for a CPU profile of pgairlock in each measurement")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, s)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "speed:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings) (err error) {
	program, err := filepath.Abs(s.program)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "filling %d rows …\n", s.scale*100_000)
	r, err := rig.Start(ctx, rig.Options{Scale: s.scale, Connections: 4*s.idle + 100})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Stop()) }()
	ways, err := start(ctx, r, program)
	defer func() {
		for _, w := range ways {
			if w.process != nil {
				err = errors.Join(err, w.process.Stop())
			}
		}
	}()
	if err != nil {
		return err
	}
	table, err := measure(ctx, s, r, ways)
	if err != nil {
		return err
	}
	text := table.markdown(s)
	fmt.Print(text)
	if s.out == "" || s.only != "" {
		return nil
	}
	return replace(s.out, text)
}

// way is one way to the database.
type way struct {
	name    string
	target  rig.Target
	process *rig.Process // nil: no proxy
	agents  bool         // users are pgairlock's agents, not logins
}

// user is who connects: roles have the same powers on each way.
func (w *way) as(kind string) rig.Target {
	switch {
	case w.agents:
		return w.target.As(kind)
	case kind == "writer":
		return w.target.As(rig.Writer)
	}
	return w.target.As(rig.Reader)
}

// policy is what statements are held against: each is parsed, resolved, decided
// about, limited and recorded. bulk may have more rows than a limit would allow.
const policy = `version: 1
agents:
  reader:
    password: secret:agent
    databases: {bench: reader}
    access: read_only
    tables: {public.pgbench_*: all}
    limits: {rows: 1000, statement_timeout: 60s, concurrent: 200, sessions: 1000}
  bulk:
    password: secret:agent
    databases: {bench: reader}
    access: read_only
    tables: {public.pgbench_*: all}
    copy: {to_stdout: limited}
    limits: {rows: unlimited, bytes: unlimited, statement_timeout: 10m}
  writer:
    password: secret:agent
    databases: {bench: writer}
    access: observe
    tables: {public.journal: {read: all, insert: all}}
    limits: {concurrent: 200}
`

// start runs the proxies.
func start(ctx context.Context, r *rig.Rig, program string) ([]*way, error) {
	ways := []*way{{name: "direct", target: r.Direct()}}
	for _, one := range []struct {
		name   string
		launch func(context.Context) (*rig.Process, error)
		agents bool
	}{
		{"pgbouncer", r.Pgbouncer, false},
		{"haproxy", r.Haproxy, false},
		{"pgairlock", func(ctx context.Context) (*rig.Process, error) {
			return r.Pgairlock(ctx, rig.Pgairlock{Program: program, Name: "pgairlock", Policy: policy})
		}, true},
		{synchronous, func(ctx context.Context) (*rig.Process, error) {
			return r.Pgairlock(ctx, rig.Pgairlock{Program: program, Name: "pgairlock-sync", Policy: policy,
				Sync: "[l0_read, l1_append, l2_modify, l3_critical, l4_irreversible]"})
		}, true},
	} {
		p, err := one.launch(ctx)
		if err != nil {
			return ways, err
		}
		ways = append(ways, &way{name: one.name, target: p.Target, process: p, agents: one.agents})
	}
	return ways, nil
}

const synchronous = "pgairlock, synchronous audit"

// Marks between which the table stands.
const (
	beginMark = "<!-- measured: make bench writes from here -->\n"
	endMark   = "<!-- to here -->\n"
)

// replace puts text between the marks of a file.
func replace(file, text string) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(old), beginMark)
	_, after, closed := strings.Cut(rest, endMark)
	if !ok || !closed {
		return fmt.Errorf("%s lacks the marks for the table", file)
	}
	return os.WriteFile(file, []byte(before+beginMark+"\n"+text+"\n"+endMark+after), 0o644)
}
