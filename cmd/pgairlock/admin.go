package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/pgairlock/pgairlock/proxy"
)

// listenAdmin opens the admin socket, which only the process's own user (and
// root) can connect to. A socket that nobody listens on is replaced.
func listenAdmin(ctx context.Context, path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if err := removeDead(ctx, path); err != nil {
		return nil, err
	}
	// The mode is set before the socket has a name, so that there is no moment
	// in which others can connect.
	private := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var failed error
		err := raw.Control(func(fd uintptr) { failed = syscall.Fchmod(int(fd), 0o600) })
		return errors.Join(err, failed)
	}}
	l, err := private.Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// adminHandler answers pgairlock status.
func (d *daemon) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(d.status(r.Context())); err != nil {
			d.log.Warn().Err(err).Msg("status")
		}
	})
	mux.Handle("GET /metrics", d.operations.metrics.Handler())
	if d.config.Admin.Pprof {
		addProfiles(mux)
	}
	return mux
}

// status is how a running proxy stands: what pgairlock status --json prints.
type status struct {
	Version   string           `json:"version"`
	PID       int              `json:"pid"`
	Started   time.Time        `json:"started"`
	Uptime    float64          `json:"uptime_seconds"`
	Ready     bool             `json:"ready"`
	Unready   []string         `json:"not_ready_because,omitempty"`
	Listen    []string         `json:"listen"`
	Policy    policyStatus     `json:"policy"`
	Reload    *reloadResult    `json:"last_reload,omitempty"`
	Counts    countStatus      `json:"counts"`
	Audit     auditStatus      `json:"audit"`
	Databases []databaseStatus `json:"databases"`
	Sessions  []sessionStatus  `json:"sessions"`
}

type policyStatus struct {
	File   string    `json:"file"`
	Digest string    `json:"digest"`
	Since  time.Time `json:"since"` // in force
}

type countStatus struct {
	Connections int64            `json:"connections"` // since the start
	Statements  map[string]int64 `json:"statements"`  // since the start, by verdict
	CacheHits   int64            `json:"verdict_cache_hits"`
	Faults      int64            `json:"faults"`
}

type auditStatus struct {
	File       string `json:"file"`
	Held       int    `json:"queue_held"`
	Capacity   int    `json:"queue_capacity"`
	Written    int64  `json:"records_written"`
	Refused    int64  `json:"reservations_refused"`
	Lost       int64  `json:"records_lost"`
	DiskErrors int64  `json:"disk_errors"`
}

type databaseStatus struct {
	Database  string     `json:"database"`
	Role      string     `json:"role"`
	Fault     string     `json:"fault,omitempty"`         // of the newest probe
	Catalog   *time.Time `json:"catalog_taken,omitempty"` // when the newest picture of it was taken
	Rejected  int64      `json:"connections_rejected"`    // by the server, since the start
	Unreached int64      `json:"connections_failed"`      // since the start
}

type sessionStatus struct {
	ID         string     `json:"session"`
	Agent      string     `json:"agent"`
	OnBehalfOf string     `json:"on_behalf_of,omitempty"`
	Database   string     `json:"database"`
	Role       string     `json:"role"`
	PID        uint32     `json:"server_pid"`
	Client     string     `json:"client"`
	Program    string     `json:"application_name,omitempty"`
	Began      time.Time  `json:"began"`
	State      string     `json:"state"`
	Statement  string     `json:"statement,omitempty"` // without its literals
	Since      *time.Time `json:"statement_since,omitempty"`
	Age        float64    `json:"statement_seconds,omitempty"`
}

// status takes the picture.
func (d *daemon) status(ctx context.Context) *status {
	now := time.Now()
	p := d.server.Stats()
	a := d.audit.Stats()
	force := d.force.Load()
	s := &status{
		Version: thisBuild().Version, PID: os.Getpid(), Started: d.operations.began, Uptime: now.Sub(d.operations.began).Seconds(),
		Unready: d.unready(ctx), Listen: d.addresses(),
		Policy: policyStatus{File: d.config.Policy, Digest: force.set.Digest, Since: force.since},
		Reload: d.operations.lastReload(),
		Counts: countStatus{Connections: p.Accepted, Statements: d.operations.metrics.Verdicts(), CacheHits: p.Known, Faults: p.Faults},
		Audit: auditStatus{File: d.config.Audit.File, Held: a.Held, Capacity: a.Capacity, Written: a.Written, Refused: a.Refused,
			Lost: a.Lost, DiskErrors: a.DiskErrors},
		Databases: d.databaseStatus(p), Sessions: []sessionStatus{},
	}
	s.Ready = len(s.Unready) == 0
	for _, info := range d.server.Sessions() {
		s.Sessions = append(s.Sessions, sessionLine(info, now))
	}
	return s
}

func (d *daemon) databaseStatus(p proxy.Stats) []databaseStatus {
	list := []databaseStatus{}
	for _, pair := range d.pairs() {
		line := databaseStatus{Database: pair[0], Role: pair[1]}
		if err := d.operations.health.fault(pair[0] + " as " + pair[1]); err != nil {
			line.Fault = d.redacted(err).Error()
		}
		for _, base := range p.Databases {
			if base.Database == pair[0] {
				line.Rejected, line.Unreached = base.Rejected, base.Unreachable
			}
		}
		for _, c := range p.Catalogs {
			if [2]string{c.Database, c.Role} == pair && !c.Taken.IsZero() {
				line.Catalog = &c.Taken
			}
		}
		list = append(list, line)
	}
	return list
}

func sessionLine(info proxy.SessionInfo, now time.Time) sessionStatus {
	line := sessionStatus{ID: info.ID, Agent: info.Agent, OnBehalfOf: info.OnBehalfOf, Database: info.Database, Role: info.Role, PID: info.PID,
		Client: info.Client, Program: info.Program, Began: info.Began, State: string(info.State), Statement: info.Statement}
	if !info.Since.IsZero() {
		line.Since, line.Age = &info.Since, now.Sub(info.Since).Seconds()
	}
	return line
}
