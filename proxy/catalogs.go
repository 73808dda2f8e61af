package proxy

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgairlock/pgairlock/internal/pgcatalog"
	"github.com/pgairlock/pgairlock/policy/catalog"
)

// catalogs holds one picture per database and upstream role, shared by all
// sessions. Sessions take it over their own upstream connections.
type catalogs struct {
	mu      sync.Mutex
	entries map[[2]string]*catalogEntry
}

func newCatalogs() *catalogs { return &catalogs{entries: map[[2]string]*catalogEntry{}} }

// catalogEntry is the picture of one database as one role sees it.
type catalogEntry struct {
	current atomic.Pointer[catalog.Catalog]
	taken   atomic.Int64 // Unix nanoseconds of the newest fetch

	fetches, failures atomic.Int64
	spent             atomic.Int64 // nanoseconds in fetches that came about

	fetching sync.Mutex // held during a fetch; never together with a session's mutex
	powers   []pgcatalog.Power
}

func (c *catalogs) entry(database, role string) *catalogEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := [2]string{database, role}
	e := c.entries[key]
	if e == nil {
		e = &catalogEntry{}
		c.entries[key] = e
	}
	return e
}

// newestMinor is the newest minor version of protocol 3 that a database's server
// speaks: 3.2 from PostgreSQL 18 on, 3.0 before and where it is not known yet.
func (c *catalogs) newestMinor(database string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, e := range c.entries {
		if picture := e.current.Load(); key[0] == database && picture != nil && picture.ServerVersion() >= 180000 {
			return 2
		}
	}
	return 0
}

// stats tells of every picture, in the order of their names.
func (c *catalogs) stats() []CatalogStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]CatalogStats, 0, len(c.entries))
	for key, e := range c.entries {
		s := CatalogStats{Database: key[0], Role: key[1], Fetches: e.fetches.Load(), Failures: e.failures.Load(), Spent: time.Duration(e.spent.Load())}
		if at := e.taken.Load(); at != 0 {
			s.Taken = time.Unix(0, at)
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b CatalogStats) int {
		return cmp.Or(cmp.Compare(a.Database, b.Database), cmp.Compare(a.Role, b.Role))
	})
	return all
}

// ensure fetches the picture over conn unless there is one that is younger than
// age. One session fetches, others wait for it.
func (e *catalogEntry) ensure(ctx context.Context, conn *pgconn.PgConn, now func() time.Time, age time.Duration) error {
	if e.fresh(now(), age) {
		return nil
	}
	e.fetching.Lock()
	defer e.fetching.Unlock()
	if e.fresh(now(), age) {
		return nil
	}
	began := now()
	if err := e.fetch(ctx, conn); err != nil {
		e.failures.Add(1)
		return err
	}
	ended := now()
	e.taken.Store(ended.UnixNano())
	e.fetches.Add(1)
	e.spent.Add(int64(ended.Sub(began)))
	return nil
}

// fetch takes the picture over conn. The caller holds e.fetching.
func (e *catalogEntry) fetch(ctx context.Context, conn *pgconn.PgConn) error {
	powers, err := pgcatalog.Powers(ctx, conn)
	if err != nil {
		return fmt.Errorf("powers of the upstream role: %w", err)
	}
	taken, err := pgcatalog.Fetch(ctx, conn, pgcatalog.Options{})
	if err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	e.powers = powers
	// the same content keeps the same value, so that verdicts stay valid
	if old := e.current.Load(); old == nil || old.Digest() != taken.Digest() {
		e.current.Store(taken)
	}
	return nil
}

func (e *catalogEntry) fresh(now time.Time, age time.Duration) bool {
	return e.current.Load() != nil && now.UnixNano()-e.taken.Load() < int64(age)
}

// writable says in words what the role could write, "" if nothing. What every
// login may do on a stock server (temporary tables, large objects) does not
// count: it touches nobody's data, and pgairlock doctor tells of it.
func (e *catalogEntry) writable() string {
	e.fetching.Lock()
	defer e.fetching.Unlock()
	var could []string
	for _, p := range e.powers {
		switch p.Kind {
		case pgcatalog.PowerAttribute, pgcatalog.PowerMember, pgcatalog.PowerOwner, pgcatalog.PowerTable, pgcatalog.PowerSequence, pgcatalog.PowerSchema:
			if p.Writes {
				could = append(could, p.Text)
			}
		}
	}
	return strings.Join(could, "; ")
}
