package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pgairlock/pgairlock/audit"
	"github.com/pgairlock/pgairlock/proxy"
)

// reader is a collector of what is only looked at when metrics are read.
type reader struct {
	options Options
}

func newReader(o Options) *reader { return &reader{options: o} }

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("pgairlock_"+name, help, labels, nil)
}

// What a reader tells.
var (
	connections    = desc("connections_total", "Connections accepted from clients.")
	sessions       = desc("sessions", "Open sessions.", "agent", "database")
	faults         = desc("faults_total", "Sessions that a fault of pgairlock's own ended: each is a bug to report.")
	bytesSent      = desc("bytes_sent_total", "Bytes written on the SQL sockets.", "to")
	cacheHits      = desc("verdict_cache_hits_total", "Texts whose verdict was remembered; those that were decided about are pgairlock_decision_seconds_count.")
	cacheViews     = desc("verdict_cache_views", "Standpoints (policy, agent, catalog, search_path) for which verdicts are remembered.")
	decisions      = desc("decision_seconds", "How long it took to parse a text and decide about it.")
	cancels        = desc("cancel_requests_total", "Cancel requests: of clients, of clients with a key that is no session's, and pgairlock's own over a limit.", "origin")
	connects       = desc("upstream_connect_seconds", "How long connections to a server took: dial, TLS and authentication.", "database")
	connectFaults  = desc("upstream_connect_failures_total", "Connections to a server that can't be used, by reason: unreachable, or rejected by it.", "database", "reason")
	databaseUp     = desc("database_up", "Whether the newest probe could use the database with this role.", "database", "role")
	catalogAge     = desc("catalog_age_seconds", "Age of the picture of the database's tables and rights that statements are judged by.", "database", "role")
	catalogFetches = desc("catalog_fetches_total", "How often that picture was taken.", "database", "role")
	catalogFaults  = desc("catalog_fetch_failures_total", "How often it could not be.", "database", "role")
	catalogSeconds = desc("catalog_fetch_seconds_total", "How long taking it took in all.", "database", "role")
	auditHeld      = desc("audit_queue_held", "Places taken in the audit queue: one for each session and statement under way, and records not yet written.")
	auditCapacity  = desc("audit_queue_capacity", "Places in the audit queue. When all are taken, statements wait and are then refused.")
	auditQueued    = desc("audit_records_queued_total", "Audit records taken.")
	auditWritten   = desc("audit_records_written_total", "Audit records written to the file.")
	auditRefused   = desc("audit_reservations_refused_total", "Statements and sessions refused because the audit queue had no place.")
	auditLost      = desc("audit_records_lost_total", "Audit records that came after the end of the log, or were given up at shutdown.")
	auditBytes     = desc("audit_bytes_total", "Bytes written to audit files.")
	auditSyncs     = desc("audit_syncs_total", "Times that an audit file was brought to disk (fsync).")
	auditRotations = desc("audit_rotations_total", "Audit files begun after the first.")
	auditFaults    = desc("audit_disk_errors_total", "Failed attempts to write, sync, rotate or delete an audit file.")
	policyInfo     = desc("policy_info", "The policy in force; always 1.", "digest")
	policyLoaded   = desc("policy_loaded_timestamp_seconds", "When the policy came into force, in Unix time.")
	ready          = desc("ready", "Whether /readyz says yes.")
)

// Describe implements prometheus.Collector.
func (r *reader) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{connections, sessions, faults, bytesSent, cacheHits, cacheViews, decisions, cancels, connects, connectFaults,
		databaseUp, catalogAge, catalogFetches, catalogFaults, catalogSeconds, auditHeld, auditCapacity, auditQueued, auditWritten, auditRefused,
		auditLost, auditBytes, auditSyncs, auditRotations, auditFaults, policyInfo, policyLoaded, ready} {
		to <- d
	}
}

// sink sends metrics in few words.
type sink chan<- prometheus.Metric

func (s sink) value(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels []string) {
	m, err := prometheus.NewConstMetric(d, kind, v, labels...)
	if err != nil { // a label that is no UTF-8
		m = prometheus.NewInvalidMetric(d, err)
	}
	s <- m
}

func (s sink) counter(d *prometheus.Desc, n int64, labels ...string) {
	s.value(d, prometheus.CounterValue, float64(n), labels)
}

func (s sink) seconds(d *prometheus.Desc, spent time.Duration, labels ...string) {
	s.value(d, prometheus.CounterValue, spent.Seconds(), labels)
}

func (s sink) gauge(d *prometheus.Desc, v float64, labels ...string) {
	s.value(d, prometheus.GaugeValue, v, labels)
}

func (s sink) histogram(d *prometheus.Desc, h proxy.Histogram, labels ...string) {
	buckets := make(map[float64]uint64, len(h.Bounds))
	var total uint64
	for i, n := range h.Counts {
		total += uint64(n)
		if i < len(h.Bounds) {
			buckets[h.Bounds[i].Seconds()] = total
		}
	}
	m, err := prometheus.NewConstHistogram(d, total, h.Sum.Seconds(), buckets, labels...)
	if err != nil {
		m = prometheus.NewInvalidMetric(d, err)
	}
	s <- m
}

// Collect implements prometheus.Collector.
func (r *reader) Collect(to chan<- prometheus.Metric) {
	now := r.options.Now()
	s := sink(to)
	s.proxy(r.options.Proxy(), now)
	s.audit(r.options.Audit())
	s.health(r.options.Health())
}

func (s sink) proxy(p proxy.Stats, now time.Time) {
	s.counter(connections, p.Accepted)
	s.counter(faults, p.Faults)
	s.counter(bytesSent, p.BytesToClients, "client")
	s.counter(bytesSent, p.BytesToServers, "server")
	s.counter(cacheHits, p.Known)
	s.gauge(cacheViews, float64(p.Views))
	s.histogram(decisions, p.Decisions)
	s.counter(cancels, p.CancelsPassed, "client")
	s.counter(cancels, p.CancelsUnknown, "unknown_key")
	s.counter(cancels, p.CancelsOwn, "limit")
	for _, c := range p.Sessions {
		s.gauge(sessions, float64(c.Open), c.Agent, c.Database)
	}
	for _, d := range p.Databases {
		s.histogram(connects, d.Connects, d.Database)
		s.counter(connectFaults, d.Unreachable, d.Database, "unreachable")
		s.counter(connectFaults, d.Rejected, d.Database, "rejected")
	}
	for _, c := range p.Catalogs {
		if !c.Taken.IsZero() {
			s.gauge(catalogAge, now.Sub(c.Taken).Seconds(), c.Database, c.Role)
		}
		s.counter(catalogFetches, c.Fetches, c.Database, c.Role)
		s.counter(catalogFaults, c.Failures, c.Database, c.Role)
		s.seconds(catalogSeconds, c.Spent, c.Database, c.Role)
	}
}

func (s sink) audit(a audit.Stats) {
	s.gauge(auditHeld, float64(a.Held))
	s.gauge(auditCapacity, float64(a.Capacity))
	s.counter(auditQueued, a.Queued)
	s.counter(auditWritten, a.Written)
	s.counter(auditRefused, a.Refused)
	s.counter(auditLost, a.Lost)
	s.counter(auditBytes, a.Bytes)
	s.counter(auditSyncs, a.Syncs)
	s.counter(auditRotations, a.Rotations)
	s.counter(auditFaults, a.DiskErrors)
}

func (s sink) health(h Health) {
	s.gauge(ready, truth(h.Ready))
	s.gauge(policyInfo, 1, h.Policy)
	s.gauge(policyLoaded, float64(h.Loaded.UnixMilli())/1000)
	for at, up := range h.Databases {
		s.gauge(databaseUp, truth(up), at[0], at[1])
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
