package proxy

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Stats is what a Server has counted since New, and how things stand. Counters
// only grow. Which statements were run and refused is the Recorder's to know.
type Stats struct {
	Accepted       int64     // connections from clients
	Faults         int64     // sessions and connections that a fault of the proxy's own ended
	BytesToClients int64     // on the SQL sockets
	BytesToServers int64     // on the SQL sockets
	Known          int64     // texts whose verdict was remembered
	Decisions      Histogram // how long it took to decide about the others
	CancelsPassed  int64     // cancel requests of clients
	CancelsUnknown int64     // those whose key is no session's
	CancelsOwn     int64     // statements that the proxy cancelled itself, over a limit
	Views          int       // standpoints for which verdicts are remembered, now
	Sessions       []SessionCount
	Databases      []DatabaseStats
	Catalogs       []CatalogStats
	Closing        bool // no session begins any more
}

// SessionCount is how many sessions an agent has on a database, those that are
// still connecting included. Agents that had one before are listed with 0.
type SessionCount struct {
	Agent, Database string
	Open            int
}

// DatabaseStats tells of the connections to one database's server.
type DatabaseStats struct {
	Database    string
	Connects    Histogram // how long it took: dial, TLS and authentication
	Unreachable int64     // connections that came to no answer
	Rejected    int64     // those that the server, or what it said, spoke against
}

// CatalogStats tells of the picture of one database as one upstream role.
type CatalogStats struct {
	Database, Role string
	Taken          time.Time // when the newest was taken; zero if none was
	Fetches        int64     // how many were taken
	Failures       int64     // how many could not be
	Spent          time.Duration
}

// Histogram is a number of durations by their size.
type Histogram struct {
	Bounds []time.Duration // upper bounds, inclusive, growing
	Counts []int64         // how many were within each bound and above the one before; one more for those above all
	Sum    time.Duration
}

// counters are what Stats is made from.
type counters struct {
	accepted, faults                          atomic.Int64
	bytesToClients, bytesToServers            atomic.Int64
	known                                     atomic.Int64
	cancelsPassed, cancelsUnknown, cancelsOwn atomic.Int64
	decisions                                 *histogram
	databases                                 map[string]*databaseCounters // fixed by newCounters
}

type databaseCounters struct {
	connects              *histogram
	unreachable, rejected atomic.Int64
}

// Bounds of the histograms: a decision takes some tens of microseconds for a
// short text, a connection some milliseconds in a data centre.
var (
	decisionBounds = []time.Duration{25 * time.Microsecond, 50 * time.Microsecond, 100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond,
		time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 100 * time.Millisecond, time.Second}
	connectBounds = []time.Duration{time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond,
		50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, time.Second, 2500 * time.Millisecond, 5 * time.Second}
)

func newCounters(databases map[string]Database) *counters {
	c := &counters{decisions: newHistogram(decisionBounds), databases: make(map[string]*databaseCounters, len(databases))}
	for name := range databases {
		c.databases[name] = &databaseCounters{connects: newHistogram(connectBounds)}
	}
	return c
}

// connected counts a connection to a server.
func (c *counters) connected(database string, took time.Duration) {
	if d := c.databases[database]; d != nil {
		d.connects.observe(took)
	}
}

// unconnected counts a connection to a server that can't be used.
func (c *counters) unconnected(database string, err error) {
	d := c.databases[database]
	if d == nil {
		return
	}
	var server *pgconn.PgError
	var known *refusal
	if errors.As(err, &server) || errors.As(err, &known) {
		d.rejected.Add(1)
		return
	}
	d.unreachable.Add(1)
}

// histogram is a Histogram that is being added to.
type histogram struct {
	bounds []time.Duration
	counts []atomic.Int64
	sum    atomic.Int64
}

func newHistogram(bounds []time.Duration) *histogram {
	return &histogram{bounds: bounds, counts: make([]atomic.Int64, len(bounds)+1)}
}

func (h *histogram) observe(d time.Duration) {
	i := 0
	for i < len(h.bounds) && d > h.bounds[i] {
		i++
	}
	h.counts[i].Add(1)
	h.sum.Add(int64(d))
}

func (h *histogram) read() Histogram {
	out := Histogram{Bounds: h.bounds, Counts: make([]int64, len(h.counts)), Sum: time.Duration(h.sum.Load())}
	for i := range h.counts {
		out.Counts[i] = h.counts[i].Load()
	}
	return out
}

// Stats may be called at any time.
func (s *Server) Stats() Stats {
	c := s.counters
	out := Stats{
		Accepted: c.accepted.Load(), Faults: c.faults.Load(),
		BytesToClients: c.bytesToClients.Load(), BytesToServers: c.bytesToServers.Load(),
		Known: c.known.Load(), Decisions: c.decisions.read(),
		CancelsPassed: c.cancelsPassed.Load(), CancelsUnknown: c.cancelsUnknown.Load(), CancelsOwn: c.cancelsOwn.Load(),
		Views: s.gate.size(), Catalogs: s.catalogs.stats(),
	}
	for _, name := range slices.Sorted(maps.Keys(c.databases)) {
		d := c.databases[name]
		out.Databases = append(out.Databases, DatabaseStats{Database: name, Connects: d.connects.read(),
			Unreachable: d.unreachable.Load(), Rejected: d.rejected.Load()})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out.Closing = s.closing
	for pair, n := range s.perPair {
		out.Sessions = append(out.Sessions, SessionCount{Agent: pair[0], Database: pair[1], Open: n})
	}
	slices.SortFunc(out.Sessions, func(a, b SessionCount) int {
		return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Database, b.Database))
	})
	return out
}
