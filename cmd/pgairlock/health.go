package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/pgairlock/pgairlock/internal/metrics"
)

const (
	// probeEvery is how often every database is tried while all is well. A probe
	// is one connection for each database and role, and takes the catalog anew.
	probeEvery = time.Minute
	// probeAgain is how often they are tried while one can't be used.
	probeAgain = 10 * time.Second
	// diskGrace is for how long after a failed write to its file the audit log
	// counts as not writable; it tries again at least every five seconds.
	diskGrace = 10 * time.Second
	// placeWait is how long readiness waits for a place in the audit queue.
	placeWait = 200 * time.Millisecond
)

// health is what the newest probe of the databases found, and whether audit can
// be written.
type health struct {
	mu     sync.Mutex
	probed bool
	faults map[string]error // by "database as role"
	errors int64            // disk errors of the audit log, as last seen
	failed time.Time        // when they were last seen to have grown

	now chan struct{} // one token: probe now
}

func newHealth() *health { return &health{now: make(chan struct{}, 1)} }

// soon asks for a probe: the policy may name other databases now.
func (h *health) soon() {
	select {
	case h.now <- struct{}{}:
	default:
	}
}

// note takes what a probe found, and returns the faults that are new and the
// databases that are back.
func (h *health) note(faults map[string]error) (broken, mended []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for where, err := range faults {
		if old := h.faults[where]; old == nil || old.Error() != err.Error() {
			broken = append(broken, where)
		}
	}
	for where := range h.faults {
		if faults[where] == nil {
			mended = append(mended, where)
		}
	}
	h.faults, h.probed = faults, true
	return sorted(broken), sorted(mended)
}

// fault is what the newest probe says against a database; nil if nothing.
func (h *health) fault(where string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.faults[where]
}

// probe tries every database until ctx ends, and logs what changes: agents would
// find out later.
func (d *daemon) probe(ctx context.Context) {
	h := d.operations.health
	for {
		faults := d.server.Prepare(ctx)
		if ctx.Err() != nil {
			return
		}
		broken, mended := h.note(faults)
		for _, where := range broken {
			d.log.Error().Str("database", where).Str("error", d.redacted(faults[where]).Error()).Msg("upstream can't be used now")
		}
		for _, where := range mended {
			d.log.Info().Str("database", where).Msg("upstream can be used again")
		}
		pause := probeEvery
		if len(faults) > 0 {
			pause = probeAgain
		}
		select {
		case <-ctx.Done():
			return
		case <-h.now:
		case <-time.After(pause):
		}
	}
}

// unready says why the proxy can't do its work now; nothing if it can.
func (d *daemon) unready(ctx context.Context) []string {
	var reasons []string
	if d.server.Stats().Closing {
		reasons = append(reasons, "shutting down")
	}
	if d.force.Load() == nil {
		reasons = append(reasons, "no policy is in force")
	}
	if err := d.unwritable(ctx); err != nil {
		reasons = append(reasons, "audit: "+err.Error())
	}
	h := d.operations.health
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.probed {
		reasons = append(reasons, "the databases are being tried")
	}
	for _, where := range sortedKeys(h.faults) {
		reasons = append(reasons, fmt.Sprintf("database %s: %v", where, d.redacted(h.faults[where])))
	}
	return reasons
}

// unwritable says why a statement could not be recorded now.
func (d *daemon) unwritable(ctx context.Context) error {
	h := d.operations.health
	count := d.audit.Stats().DiskErrors
	h.mu.Lock()
	if count > h.errors {
		h.errors, h.failed = count, time.Now()
	}
	recent := !h.failed.IsZero() && time.Since(h.failed) < diskGrace
	h.mu.Unlock()
	if recent {
		return fmt.Errorf("the file can't be written, see the log (%d errors so far)", count)
	}
	ctx, cancel := context.WithTimeout(ctx, placeWait)
	defer cancel()
	place, err := d.audit.Reserve(ctx)
	if err != nil {
		return fmt.Errorf("no place in the queue: %w", err)
	}
	place.Release()
	return nil
}

// healthFacts is health for metrics.
func (d *daemon) healthFacts() metrics.Health {
	out := metrics.Health{Ready: len(d.unready(context.Background())) == 0, Databases: map[[2]string]bool{}}
	now := d.force.Load()
	if now == nil {
		return out
	}
	out.Policy, out.Loaded = now.set.Digest, now.since
	for _, pair := range d.pairs() {
		out.Databases[pair] = d.operations.health.fault(pair[0]+" as "+pair[1]) == nil
	}
	return out
}

// pairs are the databases with the roles that agents of the policy use.
func (d *daemon) pairs() [][2]string {
	var list [][2]string
	seen := map[[2]string]bool{}
	for _, a := range d.force.Load().set.Agents() {
		for _, name := range sortedKeys(a.Databases) {
			pair := [2]string{name, a.Databases[name]}
			if !seen[pair] {
				seen[pair] = true
				list = append(list, pair)
			}
		}
	}
	return list
}

// serveHealthy answers liveness: whoever can answer lives.
func serveHealthy(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok\n") }

// serveReady answers readiness. Why not is for those who may see the log or
// the admin socket: an address and a login do not belong onto the network.
func (d *daemon) serveReady(w http.ResponseWriter, r *http.Request) {
	reasons := d.unready(r.Context())
	if len(reasons) == 0 {
		answer(w, http.StatusOK, "ready\n")
		return
	}
	for i, reason := range reasons {
		reasons[i], _, _ = strings.Cut(reason, ":")
	}
	answer(w, http.StatusServiceUnavailable, "not ready\n"+strings.Join(reasons, "\n")+"\n")
}

func answer(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text)) // whoever asked may be gone
}
