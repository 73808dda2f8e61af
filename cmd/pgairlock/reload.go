package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/pgairlock/pgairlock/audit"
	"github.com/pgairlock/pgairlock/internal/config"
	"github.com/pgairlock/pgairlock/policy"
)

// forced is what is in force: a policy and the secrets that go with it. It is
// immutable; a reload makes a new one.
type forced struct {
	set     *policy.Set
	secrets map[string]string // values by name
	since   time.Time
}

// watchEvery is how often the watched files are looked at.
const watchEvery = time.Second

// readPolicy reads the configuration's policy file and holds it against the
// configuration.
func readPolicy(c *config.Config) (*policy.Set, error) {
	text, err := os.ReadFile(c.Policy)
	if err != nil {
		return nil, err
	}
	set, err := policy.Load(c.Policy, text)
	if err != nil {
		return nil, err
	}
	return set, c.Fit(set)
}

// prepare reads the policy file and takes the present secrets.
func (d *daemon) prepare() (*forced, error) {
	set, err := readPolicy(d.config)
	if err != nil {
		return nil, err
	}
	next := &forced{set: set, since: time.Now(), secrets: make(map[string]string)}
	for _, name := range d.secrets.Names() {
		s, err := d.secrets.Get(name)
		if err != nil {
			return nil, err
		}
		next.secrets[name] = s.Reveal()
	}
	return next, nil
}

// enforce puts a policy in force, or changes nothing.
func (d *daemon) enforce(next *forced) error {
	passwords := make(map[string]string)
	for _, a := range next.set.Agents() {
		if a.Password != "" {
			passwords[a.Name] = next.secrets[a.Password]
		}
	}
	if err := d.server.Apply(next.set, passwords); err != nil {
		return err
	}
	d.force.Store(next)
	return nil
}

// watch reloads on SIGHUP, and when the policy file or a secret's file has
// changed and stayed as it is for one round, so that a file is not read while
// it is being written.
func (d *daemon) watch(ctx context.Context) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	before := d.seen
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
			d.reload(ctx, "SIGHUP")
		case <-tick.C:
			now := d.watched()
			if now != d.seen && now == before {
				d.reload(ctx, "file changed")
			}
			before = now
		}
	}
}

// watched tells what the watched files look like: a change in it is a change
// of a file.
func (d *daemon) watched() string {
	paths := []string{d.config.Policy}
	for _, s := range d.config.Secrets {
		if s.File != "" {
			paths = append(paths, s.File)
		}
	}
	var b strings.Builder
	for _, path := range sorted(paths) {
		info, err := os.Stat(path)
		if err != nil {
			fmt.Fprintf(&b, "%s: missing\n", path)
			continue
		}
		fmt.Fprintf(&b, "%s: %s, %d bytes", path, info.ModTime().Format(time.RFC3339Nano), info.Size())
		if sys, ok := info.Sys().(*syscall.Stat_t); ok {
			fmt.Fprintf(&b, ", file %d", sys.Ino)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// reload reads secrets and policy again. What can't be read, or is wrong,
// changes nothing, and is logged and recorded.
func (d *daemon) reload(ctx context.Context, cause string) {
	d.seen = d.watched()
	before := d.force.Load().set.Digest
	event := &audit.PolicyReload{File: d.config.Policy, Cause: cause, Before: before}
	next, err := d.renew(ctx)
	if next != nil {
		event.After = next.set.Digest
	}
	d.operations.reloaded(cause, d.redacted(err))
	if err != nil {
		event.Error = err.Error()
		for _, line := range strings.Split(err.Error(), "\n") {
			d.log.Error().Str("cause", cause).Str("error", line).Msg("reload refused: the policy and the secrets of before stay in force")
		}
	} else {
		event.Accepted = true
		d.log.Info().Str("cause", cause).Str("before", before).Str("policy", event.After).Msg("policy in force")
		for _, w := range d.secrets.Warnings() {
			d.log.Warn().Msg(w)
		}
	}
	if err := d.audit.Write(ctx, event); err != nil {
		d.log.Error().Err(err).Msg("audit")
	}
}

// renew is a reload up to its success. The policy is read before the secrets
// are, so that a policy that is wrong leaves them alone; the values in use are
// those of d.force all the while.
func (d *daemon) renew(ctx context.Context) (*forced, error) {
	if _, err := readPolicy(d.config); err != nil {
		return nil, err
	}
	if err := d.secrets.Reload(ctx); err != nil {
		return nil, err
	}
	next, err := d.prepare()
	if err != nil {
		return nil, err
	}
	return next, d.enforce(next)
}

// sorted is a list in order.
func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}

// sortedKeys are a map's keys in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
