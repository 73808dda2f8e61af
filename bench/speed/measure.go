package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgairlock/pgairlock/bench/rig"
)

//go:embed mixed.sql
var mixedScript string

//go:embed insert.sql
var insertScript string

// sample is one measurement of one way. What does not apply is 0.
type sample struct {
	value float64       // in the scenario's unit
	cpu   time.Duration // the proxy's, for each transaction or for the whole
}

// scenario is one thing that is measured.
type scenario struct {
	name   string
	unit   string // of the value
	more   bool   // more is better
	cpu    string // what cpu is for: "transaction", "run"; "": not measured
	sync   bool   // measured with synchronous audit, too
	once   bool   // one round is enough
	sample func(ctx context.Context, w *way) (sample, error)
}

// scenarios are all of them.
func scenarios(s settings, r *rig.Rig) ([]scenario, error) {
	mixed, err := script(r, "mixed.sql", mixedScript)
	if err != nil {
		return nil, err
	}
	insert, err := script(r, "insert.sql", insertScript)
	if err != nil {
		return nil, err
	}
	var list []scenario
	for _, p := range []struct {
		name, user string
		sync       bool
		args       []string
	}{
		{"select by key, simple", "reader", false, []string{"-S", "-M", "simple"}},
		{"select by key, prepared", "reader", false, []string{"-S", "-M", "prepared"}},
		{"mixed reads with joins, every text unique", "reader", false, []string{"-f", mixed, "-M", "simple"}},
		{"insert of one row, simple", "writer", true, []string{"-f", insert, "-M", "simple"}},
	} {
		for _, clients := range []int{1, 16} {
			args := append([]string{"-n", "-c", strconv.Itoa(clients), "-j", strconv.Itoa(min(clients, 2)), "-T", seconds(s.duration)}, p.args...)
			list = append(list, scenario{name: fmt.Sprintf("%s, %d %s", p.name, clients, plural(clients)), unit: "tps", more: true, cpu: "transaction",
				sync: p.sync, sample: func(ctx context.Context, w *way) (sample, error) { return pgbench(ctx, w, w.as(p.user), args) }})
		}
	}
	rows := s.scale * 100_000
	list = append(list,
		scenario{name: fmt.Sprintf("SELECT of %d rows", rows), unit: "s", cpu: "run", sample: bulk(func(ctx context.Context, c *pgconn.PgConn) (int, error) {
			return selectAll(ctx, c)
		}, rows)},
		scenario{name: fmt.Sprintf("COPY of %d rows TO STDOUT", rows), unit: "s", cpu: "run", sample: bulk(func(ctx context.Context, c *pgconn.PgConn) (int, error) {
			tag, err := c.CopyTo(ctx, io.Discard, "COPY pgbench_accounts TO STDOUT")
			return int(tag.RowsAffected()), err
		}, rows)},
		scenario{name: "connect, one statement, disconnect", unit: "ms", cpu: "run", sample: connect},
		scenario{name: fmt.Sprintf("memory of an idle session, of %d", s.idle), unit: "KiB", once: true, sample: func(ctx context.Context, w *way) (sample, error) {
			return idle(ctx, w, s.idle)
		}},
	)
	return slices.DeleteFunc(list, func(sc scenario) bool { return !strings.Contains(sc.name, s.only) }), nil
}

func plural(n int) string {
	if n == 1 {
		return "client"
	}
	return "clients"
}

func seconds(d time.Duration) string {
	return strconv.Itoa(max(1, int(d.Round(time.Second).Seconds())))
}

func script(r *rig.Rig, name, text string) (string, error) {
	path := filepath.Join(r.Dir, name)
	return path, os.WriteFile(path, []byte(text), 0o644)
}

// measure takes every scenario in rounds; in each round every way comes once, in
// an order that moves on, so that a slow minute of the machine falls on all.
func measure(ctx context.Context, s settings, r *rig.Rig, ways []*way) (*table, error) {
	list, err := scenarios(s, r)
	if err != nil {
		return nil, err
	}
	t := &table{ways: ways}
	for i := range list {
		sc := &list[i]
		row := row{scenario: sc, samples: make([][]sample, len(ways))}
		rounds := s.rounds
		if sc.once {
			rounds = 1
		}
		for round := range rounds {
			for k := range ways {
				n := (k + round) % len(ways)
				w := ways[n]
				if w.name == synchronous && !sc.sync {
					continue
				}
				stop := profile(ctx, s, w, sc, round)
				one, err := sc.sample(ctx, w)
				if err := errors.Join(err, stop()); err != nil {
					return nil, fmt.Errorf("%s, %s: %w", sc.name, w.name, err)
				}
				row.samples[n] = append(row.samples[n], one)
				fmt.Fprintf(os.Stderr, "%-55s round %d  %-30s %10.2f %s  %s\n", sc.name, round+1, w.name, one.value, sc.unit, one.cpu.Round(100*time.Nanosecond))
			}
		}
		t.rows = append(t.rows, row)
	}
	return t, nil
}

// used runs work and returns the processor time that the way's proxy used.
func used(w *way, work func() error) (time.Duration, error) {
	if w.process == nil {
		return 0, work()
	}
	before, err := w.process.CPU()
	if err != nil {
		return 0, err
	}
	if err := work(); err != nil {
		return 0, err
	}
	after, err := w.process.CPU()
	return after - before, err
}

func pgbench(ctx context.Context, w *way, to rig.Target, args []string) (sample, error) {
	var run rig.Run
	cpu, err := used(w, func() (err error) {
		run, err = to.Pgbench(ctx, args...)
		return err
	})
	if err != nil {
		return sample{}, err
	}
	if run.Transactions == 0 {
		return sample{}, errors.New("no transaction came to its end")
	}
	return sample{value: run.TPS, cpu: cpu / time.Duration(run.Transactions)}, nil
}

// bulk measures one answer of many rows.
func bulk(read func(context.Context, *pgconn.PgConn) (int, error), want int) func(context.Context, *way) (sample, error) {
	return func(ctx context.Context, w *way) (sample, error) {
		conn, err := w.as("bulk").Connect(ctx)
		if err != nil {
			return sample{}, err
		}
		var took time.Duration
		cpu, err := used(w, func() error {
			began := time.Now()
			n, err := read(ctx, conn)
			took = time.Since(began)
			if err == nil && n != want {
				err = fmt.Errorf("%d rows came, not %d", n, want)
			}
			return err
		})
		return sample{value: took.Seconds(), cpu: cpu}, errors.Join(err, conn.Close(ctx))
	}
}

func selectAll(ctx context.Context, conn *pgconn.PgConn) (int, error) {
	n := 0
	results := conn.Exec(ctx, "SELECT aid, bid, abalance, filler FROM pgbench_accounts")
	for results.NextResult() {
		for reader := results.ResultReader(); reader.NextRow(); {
			n++
		}
	}
	return n, results.Close()
}

// connects is how many connections one measurement makes.
const connects = 50

// connect measures a short session, in milliseconds.
func connect(ctx context.Context, w *way) (sample, error) {
	to := w.as("reader")
	var took time.Duration
	cpu, err := used(w, func() error {
		began := time.Now()
		for range connects {
			conn, err := to.Connect(ctx)
			if err != nil {
				return err
			}
			_, err = conn.Exec(ctx, "SELECT abalance FROM pgbench_accounts WHERE aid = 1").ReadAll()
			if err := errors.Join(err, conn.Close(ctx)); err != nil {
				return err
			}
		}
		took = time.Since(began)
		return nil
	})
	return sample{value: float64(took.Microseconds()) / 1000 / connects, cpu: cpu / connects}, err
}

// idle measures the proxy's memory for a session that has run a statement and
// waits, in KiB.
func idle(ctx context.Context, w *way, n int) (sample, error) {
	if w.process == nil {
		return sample{}, nil
	}
	before, err := w.process.Memory()
	if err != nil {
		return sample{}, err
	}
	var open []*pgconn.PgConn
	for range n {
		conn, err := w.as("reader").Connect(ctx)
		if err != nil {
			return sample{}, err
		}
		open = append(open, conn)
		if _, err := conn.Exec(ctx, "SELECT abalance FROM pgbench_accounts WHERE aid = 1").ReadAll(); err != nil {
			return sample{}, err
		}
	}
	time.Sleep(time.Second)
	after, err := w.process.Memory()
	for _, conn := range open {
		err = errors.Join(err, conn.Close(ctx))
	}
	return sample{value: float64(after-before) / 1024 / float64(n)}, err
}
