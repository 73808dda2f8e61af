// Package metrics turns what the proxy counts into Prometheus metrics. Names
// and labels are listed in docs/OPERATIONS.md, which a test holds against them.
//
// Labels come from the configuration, the policy and fixed lists, never from
// what a client sends; where a list could still grow, it is cut (see family).
package metrics

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"github.com/pgairlock/pgairlock/audit"
	"github.com/pgairlock/pgairlock/proxy"
)

// Options say what is looked at whenever metrics are read.
type Options struct {
	Proxy    func() proxy.Stats
	Audit    func() audit.Stats
	Health   func() Health
	Now      func() time.Time
	Version  string
	Revision string
}

// Health is whether the proxy can do its work.
type Health struct {
	Ready     bool
	Policy    string             // digest of the policy in force
	Loaded    time.Time          // when it came into force
	Databases map[[2]string]bool // by database and role: whether the newest probe could use it
}

// Metrics counts statements and collects everything else. Its methods may be
// called concurrently.
type Metrics struct {
	registry *prometheus.Registry

	statements *family[statementKey, prometheus.Counter]
	volumes    *family[volumeKey, *volume]
	refusals   *family[refusalKey, prometheus.Counter]
	wouldHave  *family[refusalKey, prometheus.Counter]
	errors     *family[errorKey, prometheus.Counter]
	logins     *family[string, prometheus.Counter]
	reloads    *prometheus.CounterVec
	reloadOK   prometheus.Gauge
}

type statementKey struct{ agent, database, verdict, kind string }
type volumeKey struct{ agent, database string }
type refusalKey struct{ agent, rule string }
type errorKey struct{ agent, class string }

// volume is what an agent got from a database.
type volume struct {
	rows, bytes, limited prometheus.Counter
	duration             prometheus.Observer
}

// New registers everything.
func New(o Options) (*Metrics, error) {
	m := &Metrics{registry: prometheus.NewRegistry()}
	r := &registrar{to: m.registry}
	m.statements = counters(r, "pgairlock_statements_total", "Statements by what was decided about them.",
		func(k statementKey) []string { return []string{k.agent, k.database, k.verdict, k.kind} }, "agent", "database", "verdict", "kind")
	m.refusals = counters(r, "pgairlock_refusals_total", "Refused statements by the rule that refused them; by each, where several did.",
		func(k refusalKey) []string { return []string{k.agent, k.rule} }, "agent", "rule")
	m.wouldHave = counters(r, "pgairlock_unenforced_matches_total", "Matches of rules that would have refused a statement, if they were enforced.",
		func(k refusalKey) []string { return []string{k.agent, k.rule} }, "agent", "rule")
	m.errors = counters(r, "pgairlock_statement_errors_total", "Statements that ended with an error, refusals included, by the class of its SQLSTATE.",
		func(k errorKey) []string { return []string{k.agent, k.class} }, "agent", "class")
	m.logins = counters(r, "pgairlock_logins_refused_total", "Connections that came to no session, by SQLSTATE.",
		func(sqlstate string) []string { return []string{sqlstate} }, "sqlstate")
	m.volumes = volumes(r)
	m.reloads = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pgairlock_policy_reloads_total", Help: "Reloads of policy and secrets."}, []string{"result"})
	m.reloadOK = prometheus.NewGauge(prometheus.GaugeOpts{Name: "pgairlock_policy_last_reload_successful", Help: "Whether the newest reload came about; 1 if there was none."})
	m.reloadOK.Set(1)
	for _, result := range []string{"ok", "failed"} {
		m.reloads.WithLabelValues(result)
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: "pgairlock_build_info", Help: "Which program this is; always 1.",
		ConstLabels: prometheus.Labels{"version": o.Version, "revision": o.Revision}})
	build.Set(1)
	r.add(m.reloads, m.reloadOK, build, newReader(o),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m, r.err
}

// Handler answers with all metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 4})
}

// Gatherer gives all metrics, for tests of what is written about them.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

// Statement counts a statement by its record.
func (m *Metrics) Statement(e *audit.Statement) {
	m.statements.of(statementKey{e.Agent, e.Database, e.Verdict, kind(e.Kind)}).Inc()
	v := m.volumes.of(volumeKey{e.Agent, e.Database})
	v.rows.Add(float64(e.Rows))
	v.bytes.Add(float64(e.Bytes))
	v.duration.Observe(e.Duration.Seconds())
	if e.Limited {
		v.limited.Inc()
	}
	if e.SQLSTATE != "" {
		m.errors.of(errorKey{e.Agent, class(e.SQLSTATE)}).Inc()
	}
	for i := range e.Rules {
		switch r := &e.Rules[i]; {
		case !r.Enforced:
			m.wouldHave.of(refusalKey{e.Agent, r.ID}).Inc()
		case r.Verdict == "deny" || r.Verdict == "hold":
			m.refusals.of(refusalKey{e.Agent, r.ID}).Inc()
		}
	}
}

// Verdicts tells how many statements had each verdict.
func (m *Metrics) Verdicts() map[string]int64 {
	m.statements.mu.RLock()
	defer m.statements.mu.RUnlock()
	sums := map[string]int64{}
	for key, counter := range m.statements.known {
		var now dto.Metric
		if counter.Write(&now) == nil {
			sums[key.verdict] += int64(now.GetCounter().GetValue())
		}
	}
	return sums
}

// Login counts a connection that came to no session.
func (m *Metrics) Login(sqlstate string) { m.logins.of(sqlstate).Inc() }

// Reload counts a reload of policy and secrets.
func (m *Metrics) Reload(ok bool) {
	if ok {
		m.reloads.WithLabelValues("ok").Inc()
		m.reloadOK.Set(1)
		return
	}
	m.reloads.WithLabelValues("failed").Inc()
	m.reloadOK.Set(0)
}
