package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgairlock/pgairlock/bench/rig"
)

// policies take turns. Both allow what the clients do; broken is refused.
var policies = [2]string{policy(1000), policy(2000)}

const broken = "version: 1\nagents: {agent: {access: nothing}}\n"

func policy(rows int) string {
	return fmt.Sprintf(`version: 1
agents:
  agent:
    password: secret:agent
    databases: {bench: reader}
    access: read_only
    tables: {public.pgbench_*: all}
    functions: [pg_catalog.pg_sleep]
    limits: {rows: %d, statement_timeout: 30s, sessions: 100, concurrent: 100}
  writer:
    password: secret:agent
    databases: {bench: writer}
    access: observe
    tables: {public.journal: {read: all, insert: all}}
`, rows)
}

const (
	reloadEvery = time.Second
	brokenEvery = 10 // reloads
	crashEvery  = 20 * time.Second
	// downtime is for how long after a crash of the server clients may see it.
	downtime  = 8 * time.Second
	tellEvery = time.Minute
)

// load runs all clients and troubles until ctx ends.
func (s *soak) load(ctx context.Context, tell func(time.Duration)) {
	var all sync.WaitGroup
	for kind, client := range clients {
		for n := range client.number {
			all.Go(func() { s.keep(ctx, fmt.Sprintf("%s %d", kind, n), client) })
		}
	}
	all.Go(func() { s.every(ctx, reloadEvery, s.reload) })
	all.Go(func() { s.every(ctx, crashEvery, s.crash) })
	began := time.Now()
	all.Go(func() {
		s.every(ctx, tellEvery, func(context.Context, int) error {
			tell(time.Since(began))
			return nil
		})
	})
	all.Wait()
}

// every does something again and again; its errors are wrongs.
func (s *soak) every(ctx context.Context, pause time.Duration, do func(ctx context.Context, n int) error) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := do(ctx, n); err != nil && ctx.Err() == nil {
				s.score.wrong(err)
			}
		}
	}
}

// reload replaces the policy, now and then by one that is wrong, and sends
// SIGHUP.
func (s *soak) reload(_ context.Context, n int) error {
	text := policies[n%2]
	if n%brokenEvery == 0 {
		text = broken
		s.score.brokenPolicies.Add(1)
	}
	s.score.reloads.Add(1)
	path := filepath.Join(s.rig.Folder("pgairlock"), "policy.yaml")
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return s.proxy.Signal(syscall.SIGHUP)
}

// crash kills a server process as a fault in it would: the server drops every
// session, recovers, and takes connections again. Every other time it only ends
// the sessions.
func (s *soak) crash(ctx context.Context, n int) error {
	s.score.crashed()
	const others = "FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
	if n%2 == 1 {
		return s.rig.Exec(ctx, rig.Database, "SELECT pg_terminate_backend(pid) "+others)
	}
	conn, err := pgconn.Connect(ctx, s.rig.Server.DSN(rig.Database))
	if err != nil {
		return err
	}
	result := conn.ExecParams(ctx, "SELECT pid::text "+others+" LIMIT 1", nil, nil, nil, nil).Read()
	err = errors.Join(result.Err, conn.Close(ctx))
	if err != nil || len(result.Rows) == 0 {
		return err
	}
	pid, err := strconv.Atoi(string(result.Rows[0][0]))
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// keep runs a client until ctx ends, and again when the server's crash ended it.
func (s *soak) keep(ctx context.Context, name string, c client) {
	for ctx.Err() == nil {
		began := time.Now()
		err := c.run(ctx, s)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !s.score.excused(began):
			s.score.wrong(fmt.Errorf("%s: %w", name, err))
		case err != nil:
			s.score.excuses.Add(1)
		}
		if err != nil {
			// don't storm a server that recovers
			select {
			case <-ctx.Done():
			case <-time.After(200 * time.Millisecond):
			}
		}
	}
}
