package main

import (
	"context"
	"errors"
	"fmt"
	stdlog "log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/pgairlock/pgairlock/internal/metrics"
)

// operations is what whoever runs the proxy looks at it with.
type operations struct {
	began   time.Time
	metrics *metrics.Metrics
	health  *health
	public  net.Listener // metrics, liveness and readiness; nil: not served
	local   net.Listener // the admin socket; nil: not served

	mu     sync.Mutex
	reload *reloadResult // the newest; nil: there was none
}

// reloadResult is what came of a reload of policy and secrets.
type reloadResult struct {
	At    time.Time `json:"at"`
	Cause string    `json:"cause"`
	Error string    `json:"error,omitempty"`
}

// openOperations opens the listeners and registers the metrics.
func (d *daemon) openOperations(ctx context.Context) error {
	o := &operations{began: time.Now(), health: newHealth()}
	d.operations = o
	b := thisBuild()
	var err error
	o.metrics, err = metrics.New(metrics.Options{Proxy: d.server.Stats, Audit: d.audit.Stats, Health: d.healthFacts, Now: time.Now,
		Version: b.Version, Revision: b.Revision})
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	d.recorder.metrics = o.metrics
	if d.config.Metrics != "" {
		if o.public, err = new(net.ListenConfig).Listen(ctx, "tcp", d.config.Metrics); err != nil {
			return fmt.Errorf("metrics: %w", err)
		}
		d.log.Info().Str("listen", o.public.Addr().String()).Msg("serving metrics")
	}
	o.local, err = listenAdmin(ctx, d.config.Admin.Socket)
	switch {
	case err == nil:
	case d.config.Admin.Default:
		d.log.Warn().Err(err).Msg("there is no admin socket, and pgairlock status will not work: set admin.socket")
	default:
		return fmt.Errorf("admin: %w", err)
	}
	return nil
}

// close lets go of listeners that are not served.
func (o *operations) close() error {
	var errs []error
	for _, l := range []net.Listener{o.public, o.local} {
		if l == nil {
			continue
		}
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// reloaded takes note of what came of a reload.
func (o *operations) reloaded(cause string, err error) {
	o.metrics.Reload(err == nil)
	o.health.soon()
	r := &reloadResult{At: time.Now(), Cause: cause}
	if err != nil {
		r.Error = err.Error()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reload = r
}

func (o *operations) lastReload() *reloadResult {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.reload
}

// serveOperations serves metrics, health and the admin socket until the returned
// function is called, which waits for their end. They outlive the draining of
// sessions, which is when somebody wants to look.
func (d *daemon) serveOperations() (stop func()) {
	public := http.NewServeMux()
	public.Handle("GET /metrics", d.operations.metrics.Handler())
	public.HandleFunc("GET /healthz", serveHealthy)
	public.HandleFunc("GET /readyz", d.serveReady)
	var running sync.WaitGroup
	var servers []*http.Server
	for l, handler := range map[net.Listener]http.Handler{d.operations.public: public, d.operations.local: d.adminHandler()} {
		if l == nil {
			continue
		}
		s := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, IdleTimeout: time.Minute,
			MaxHeaderBytes: 16 << 10, ErrorLog: stdlog.New(d.log, "", 0)}
		servers = append(servers, s)
		running.Go(func() {
			if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				d.log.Error().Err(err).Str("listen", l.Addr().String()).Msg("metrics or admin socket")
			}
		})
	}
	return func() {
		for _, s := range servers {
			_ = s.Close() // nothing is lost with a request for numbers
		}
		running.Wait()
	}
}
