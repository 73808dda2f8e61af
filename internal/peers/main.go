// Command peers runs the test suites of others through the proxy and directly,
// and compares: pg_regress, the isolation tester, libpq_pipeline, pgx's and
// lib/pq's own tests, pg_dump and pgbench, all as an observed agent to whom
// nothing is refused. With the argument introspection it sends what clients ask
// on connect and when they look around, as a read-only agent. Script peers
// fetches the suites and starts it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// workshop is where the suites are and what they run with.
type workshop struct {
	dir      string // of this run: readable by whoever the servers run as
	program  string // pgairlock
	expected string // the table of known differences
	out      io.Writer
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	w := &workshop{out: out}
	flags.StringVar(&w.dir, "work", "", "folder with the suites, as script peers lays it out")
	flags.StringVar(&w.program, "pgairlock", "bin/pgairlock", "the program to test")
	flags.StringVar(&w.expected, "expected", "testdata/peers/expected.tsv", "table of known differences")
	captures := flags.String("captures", os.Getenv("PGAIRLOCK_INTROSPECTION"), "folder with captured statements, for introspection")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 1 && flags.Arg(0) == "introspection" {
		return w.introspection(ctx, *captures)
	}
	return w.suites(ctx, flags.Args())
}

// suite is one of the peers' suites.
type suite struct {
	name   string
	sides  int                                             // 2: a server of its own for each side; 1: one for both
	run    func(context.Context, *stage) (outcomes, error) // one side of it
	prints string                                          // what is counted
}

func (w *workshop) all() []suite {
	return []suite{
		{"pg_regress", 2, w.regress, "tests"},
		{"isolation", 2, w.isolation, "tests"},
		{"libpq_pipeline", 2, w.pipeline, "tests, wire traces included"},
		{"libpq_pipeline-18", 2, w.pipeline18, "tests with libpq 18, wire traces included"},
		{"pgx", 2, w.pgx, "tests"},
		{"lib-pq", 2, w.libpq, "tests"},
		{"pg_dump", 1, w.dump, "dumps"},
		{"pgbench", 2, w.pgbench, "runs"},
		{"pgbench-18", 2, w.pgbench18, "runs with libpq 18 and server 18 in protocol 3.2"},
	}
}

// suites runs those that are named, or all, and fails if one differs in a way
// that the table of known differences does not explain.
func (w *workshop) suites(ctx context.Context, names []string) error {
	known, err := readExpected(w.expected)
	if err != nil {
		return err
	}
	all := w.all()
	for _, name := range names {
		if !slices.ContainsFunc(all, func(s suite) bool { return s.name == name }) {
			return fmt.Errorf("there is no suite %q", name)
		}
	}
	var differ []string
	for _, s := range all {
		if len(names) > 0 && !slices.Contains(names, s.name) {
			continue
		}
		report, err := w.compare(ctx, s, known[s.name])
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		fmt.Fprint(w.out, report.text(s))
		if !report.good() {
			differ = append(differ, s.name)
		}
	}
	if len(differ) > 0 {
		return errors.New("unexplained differences: " + strings.Join(differ, ", "))
	}
	return nil
}

// compare runs a suite on both sides. A difference counts if it shows in two
// runs: the suites have tests that depend on how busy the machine is.
func (w *workshop) compare(ctx context.Context, s suite, known map[string]string) (report, error) {
	first, err := w.once(ctx, s)
	if err != nil {
		return report{}, err
	}
	r := judge(first.direct, first.through, known)
	if len(r.differ) == 0 {
		return r, nil
	}
	second, err := w.once(ctx, s)
	if err != nil {
		return report{}, err
	}
	return r.confirmed(judge(second.direct, second.through, known)), nil
}

// pair is what a suite came to on both sides.
type pair struct{ direct, through outcomes }

func (w *workshop) once(ctx context.Context, s suite) (p pair, err error) {
	if p.direct, err = w.side(ctx, s, false); err != nil {
		return p, fmt.Errorf("direct: %w", err)
	}
	if s.sides == 1 {
		// the suite itself runs both ways, since it compares what one server says
		return split(p.direct), nil
	}
	if p.through, err = w.side(ctx, s, true); err != nil {
		return p, fmt.Errorf("through the proxy: %w", err)
	}
	return p, nil
}
