package metrics

import (
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// maxSeries is how many series a family has at most. What comes after goes into
// one whose every label is "other": a policy that is reloaded with new names
// all day, or a server that makes up SQLSTATEs, must not fill the memory.
const maxSeries = 2000

const other = "other"

// family finds a series by a key without building labels each time.
type family[K comparable, S any] struct {
	find func(K) S // makes or finds the series
	rest func() S  // makes or finds the one for all others

	mu    sync.RWMutex
	known map[K]S
}

func (f *family[K, S]) of(key K) S {
	f.mu.RLock()
	s, ok := f.known[key]
	f.mu.RUnlock()
	if ok {
		return s
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.known) >= maxSeries {
		return f.rest()
	}
	s = f.find(key)
	f.known[key] = s
	return s
}

// registrar registers collectors and keeps the first error.
type registrar struct {
	to  *prometheus.Registry
	err error
}

func (r *registrar) add(all ...prometheus.Collector) {
	for _, c := range all {
		if err := r.to.Register(c); err != nil && r.err == nil {
			r.err = err
		}
	}
}

// counters registers a family of counters.
func counters[K comparable](r *registrar, name, help string, values func(K) []string, labels ...string) *family[K, prometheus.Counter] {
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	r.add(vec)
	return &family[K, prometheus.Counter]{known: map[K]prometheus.Counter{},
		find: func(k K) prometheus.Counter { return vec.WithLabelValues(values(k)...) },
		rest: func() prometheus.Counter { return vec.WithLabelValues(others(len(labels))...) }}
}

func others(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = other
	}
	return list
}

// volumes registers the counters of what agents get.
func volumes(r *registrar) *family[volumeKey, *volume] {
	labels := []string{"agent", "database"}
	rows := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pgairlock_rows_total", Help: "Rows given to clients."}, labels)
	bytes := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pgairlock_row_bytes_total", Help: "Bytes of row data given to clients."}, labels)
	limited := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pgairlock_limited_statements_total", Help: "Statements of which rows were withheld."}, labels)
	duration := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "pgairlock_statement_seconds",
		Help: "How long statements took, from their verdict to their end.", Buckets: statementBuckets}, labels)
	r.add(rows, bytes, limited, duration)
	find := func(values ...string) *volume {
		return &volume{rows: rows.WithLabelValues(values...), bytes: bytes.WithLabelValues(values...),
			limited: limited.WithLabelValues(values...), duration: duration.WithLabelValues(values...)}
	}
	return &family[volumeKey, *volume]{known: map[volumeKey]*volume{},
		find: func(k volumeKey) *volume { return find(k.agent, k.database) },
		rest: func() *volume { return find(other, other) }}
}

// statementBuckets are in seconds.
var statementBuckets = []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}

// kind is one word for what a text's statements are.
func kind(kinds string) string {
	switch {
	case kinds == "":
		return "none"
	case strings.Contains(kinds, ", "):
		return "several"
	}
	return kinds
}

// class is the class of a SQLSTATE: its first two characters. The server says
// which; what is none is not repeated.
func class(sqlstate string) string {
	if len(sqlstate) != 5 {
		return other
	}
	for _, c := range []byte(sqlstate[:2]) {
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') {
			return other
		}
	}
	return sqlstate[:2]
}
