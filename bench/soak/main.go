// Command soak runs pgairlock under mixed clients for as long as it is told,
// while clients are killed, the server crashes, and the policy is reloaded every
// second. At the end nothing may be left: no session, goroutine, descriptor or
// memory, and the audit log has to verify. Clients that keep to the rules may
// see no error but while the server is down.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/pgairlock/pgairlock/bench/rig"
)

func main() {
	program := flag.String("pgairlock", "bin/pgairlock", "the program to try")
	length := flag.Duration("for", 30*time.Minute, "how long")
	warm := flag.Duration("warm", time.Minute, "the same load before, after which what is in use is noted")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *program, *warm, *length)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
	fmt.Println("soak: all came out as it should")
}

func run(ctx context.Context, program string, warm, length time.Duration) (err error) {
	program, err = filepath.Abs(program)
	if err != nil {
		return err
	}
	r, err := rig.Start(ctx, rig.Options{Scale: 1, Connections: 200})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Stop()) }()
	p, err := r.Pgairlock(ctx, rig.Pgairlock{Program: program, Name: "pgairlock", Policy: policies[0]})
	if err != nil {
		return err
	}
	defer func() {
		if p.Running() {
			err = errors.Join(err, p.Stop())
		}
	}()
	s := &soak{rig: r, proxy: p, program: program}
	before, err := s.round(ctx, "warm-up", warm)
	if err != nil {
		return err
	}
	after, err := s.round(ctx, "soak", length)
	if err != nil {
		return err
	}
	faults := append(s.wrongs(), compare(before, after)...)
	faults = append(faults, s.finish(ctx)...)
	return errors.Join(faults...)
}

// soak is a run.
type soak struct {
	rig     *rig.Rig
	proxy   *rig.Process
	program string
	score   score
}

// round puts the load on for a while, takes it off, and looks at what is left.
func (s *soak) round(ctx context.Context, name string, length time.Duration) (*usage, error) {
	fmt.Printf("%s: %s\n", name, length)
	load, cancel := context.WithTimeout(ctx, length)
	s.load(load, func(elapsed time.Duration) {
		fmt.Printf("  %s %s: %s\n", name, elapsed.Round(time.Second), s.score.line())
	})
	cancel()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !s.proxy.Running() {
		return nil, fmt.Errorf("pgairlock ended: see %s", s.proxy.Log)
	}
	u, err := s.settle(ctx)
	if err != nil {
		return nil, err
	}
	fmt.Printf("%s: left in use: %s\n", name, u)
	return u, nil
}
