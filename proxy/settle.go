package proxy

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgairlock/pgairlock/internal/pgcatalog"
	"github.com/pgairlock/pgairlock/proxy/wire"
)

// searchPath is the session's search_path as far as the proxy knows it. It is
// never computed: when something may have changed it, the server is asked.
type searchPath struct {
	schemas []string
	key     string     // schemas, each ended by a zero byte
	unsure  bool       // ask before the next statement is judged
	pending int        // messages under way that may change it
	inBlock bool       // it may have changed in the open transaction, so that ROLLBACK may change it back
	start   []string   // of the session's start: what RESET brings back
	former  [][]string // that were in force earlier in the open transaction
	ran     bool       // a statement has run since the last ReadyForQuery
	ending  uint64     // number of the last message sent that may end a transaction by itself
}

func (p *searchPath) set(schemas []string) {
	if p.start == nil {
		p.start = schemas
	}
	if p.inBlock && p.key != "" {
		p.former = append(p.former, p.schemas)
	}
	p.schemas, p.unsure = schemas, false
	p.key = strings.Join(schemas, "\x00") + "\x00"
}

// noteDone takes the end of a message that may have changed the path.
func (p *searchPath) noteDone(t touch, inTransaction bool) {
	if t.path {
		p.unsure = true
		p.inBlock = p.inBlock || inTransaction
	}
	if t.ends && p.inBlock {
		p.unsure = true
	}
}

// noteStatus takes a transaction status: at the end of a transaction, what SET
// did in it may be undone.
func (p *searchPath) noteStatus(status byte) {
	p.ran = false
	if status == 'I' && p.inBlock {
		p.unsure, p.inBlock, p.former = true, false, nil
	}
}

// noteSent takes a message that goes to the server. Sync ends the transaction
// of a series, and so does a Query that comes without one, with an error or
// without: a ROLLBACK need not be written.
func (p *searchPath) noteSent(e wire.Entry, number uint64) {
	if e.Kind == wire.Sync || e.Kind == wire.Query {
		p.ending = number
	}
}

// mayEnd says whether the open transaction may be at its end before the server
// comes to what is sent next, so that the path could be its former one then.
func (p *searchPath) mayEnd(oldest *wire.Entry) bool {
	return p.inBlock && oldest != nil && oldest.Number <= p.ending
}

// statement names that the proxy uses on the client's upstream connection. The
// client can't make them: names starting so are refused.
const (
	ownPrefix   = "pgairlock."
	pathName    = "pgairlock.path"
	refusedName = "pgairlock.refused"
	showPath    = "SHOW search_path"
)

// askPath asks for search_path while pgconn has the connection.
func askPath(ctx context.Context, conn *pgconn.PgConn, role string) ([]string, error) {
	result := conn.ExecParams(ctx, showPath, nil, nil, nil, nil).Read()
	if result.Err != nil {
		return nil, fmt.Errorf("search_path: %w", result.Err)
	}
	if len(result.Rows) != 1 {
		return nil, fmt.Errorf("search_path: the server sent %d rows", len(result.Rows))
	}
	return pgcatalog.SplitPath(string(result.Rows[0][0]), role), nil
}

// settled waits until what decides about a name is certain: search_path, and
// which policy and catalog are in force. It returns false if the message that
// waits must not be sent any more: the session ended, or an error came by and
// the server passes over everything until Sync. The caller holds x.mu.
func (x *session) settled(ctx context.Context) (bool, error) {
	for x.path.pending > 0 || x.path.unsure || x.path.mayEnd(x.flow.Oldest()) {
		if err := x.drain(); err != nil {
			return false, err
		}
		if x.ended || x.flow.Skipping() {
			return false, nil
		}
		if !x.path.unsure {
			continue
		}
		if x.flow.Status() == 'E' && !x.path.ran {
			// a failed block: the server runs nothing but its end, and says no itself.
			// Parse and Bind of that end have run nothing yet
			break
		}
		if err := x.askPathInBand(); err != nil {
			return false, err
		}
		if x.ended {
			return false, nil
		}
	}
	return true, x.adopt(ctx)
}

// drain waits until nothing is owed. In the middle of an extended series the
// server is asked to answer what it has (Flush).
func (x *session) drain() error {
	if x.flow.Pending() == 0 {
		return nil
	}
	x.toServer = wire.AppendEmpty(x.toServer, wire.Flush)
	if err := x.flushServer(); err != nil {
		return err
	}
	for x.flow.Pending() > 0 && !x.ended {
		x.changed.Wait()
	}
	return nil
}

// askPathInBand asks the server for search_path between two client messages,
// under names of the proxy's own, so that nothing of the client's is disturbed.
// SHOW takes no snapshot: a SET TRANSACTION that follows still works.
func (x *session) askPathInBand() error {
	atRest := x.flow.AtRest()
	own := func(kind, what byte) wire.Entry { return wire.Entry{Kind: kind, What: what, Internal: true} }
	out := wire.AppendParse(x.toServer, pathName, showPath, nil)
	out = wire.AppendBind(out, pathName, pathName)
	out = wire.AppendExecute(out, pathName, 0)
	out = wire.AppendTarget(out, wire.Close, 'P', pathName)
	out = wire.AppendTarget(out, wire.Close, 'S', pathName)
	x.sent(own(wire.Parse, 0))
	x.sent(own(wire.Bind, 0))
	x.sent(own(wire.Execute, 0))
	x.sent(own(wire.Close, 'P'))
	x.sent(own(wire.Close, 'S'))
	if atRest {
		// Sync only where the client's own stands already: elsewhere it would commit
		out = wire.AppendEmpty(out, wire.Sync)
		x.sent(own(wire.Sync, 0))
	} else {
		out = wire.AppendEmpty(out, wire.Flush)
	}
	x.toServer = out
	x.answer = nil
	if err := x.flushServer(); err != nil {
		return err
	}
	for x.flow.Pending() > 0 && !x.ended {
		x.changed.Wait()
	}
	if x.ended {
		return nil
	}
	x.path.set(pgcatalog.SplitPath(string(x.answer), x.up.user))
	return nil
}

// adopt makes the newest policy, catalog and search_path the ones by which the
// session is judged. The caller holds x.mu.
func (x *session) adopt(ctx context.Context) error {
	set := x.server.current.Load().set
	picture := x.catalog.current.Load()
	v := x.view
	if v != nil && v.set == set && v.catalog == picture && v.path == x.path.key {
		return nil
	}
	agent, ok := set.Agent(x.agent.Name)
	switch {
	case !ok:
		return agentGone(x.agent.Name)
	case agent.Access != x.agent.Access || agent.UnsafePassthrough != x.agent.UnsafePassthrough || agent.Databases[x.database] != x.role:
		return &refusal{sqlstate: "57P01", rule: "agents",
			message: fmt.Sprintf("the policy has changed the access of agent %q: connect again", x.agent.Name)}
	}
	x.agent = agent
	x.view = x.server.gate.view(viewKey{set: set, agent: agent, catalog: picture, path: x.path.key}, x.path.schemas)
	return nil
}

// refresh takes the catalog anew over the session's own connection, if nothing
// is under way and no transaction is open. It reports whether there is a new
// picture. The caller holds x.mu; it is let go during the exchange.
func (x *session) refresh(ctx context.Context) (bool, error) {
	if !x.flow.AtRest() || x.flow.Status() != 'I' || x.ended {
		return false, nil
	}
	if err := x.flushServer(); err != nil {
		return false, err
	}
	if !x.park() {
		return false, nil
	}
	before := x.catalog.current.Load()
	settings := maps.Clone(x.up.hijacked.ParameterStatuses)
	err := x.fetchCatalog(ctx)
	x.unpark()
	if err != nil {
		return false, fmt.Errorf("refresh the catalog: %w", err)
	}
	x.toClientSettings(settings, x.up.hijacked.ParameterStatuses)
	return x.catalog.current.Load() != before, nil
}

// fetchCatalog lets go of x.mu during the exchange.
func (x *session) fetchCatalog(ctx context.Context) error {
	x.mu.Unlock()
	defer x.mu.Lock()
	ctx, stop := context.WithTimeout(ctx, connectTimeout)
	defer stop()
	conn, err := pgconn.Construct(x.up.hijacked)
	if err != nil {
		return err
	}
	if err := x.catalog.ensure(ctx, conn, x.server.now, minRefresh); err != nil {
		return err
	}
	if err := conn.SyncConn(ctx); err != nil {
		return err
	}
	hijacked, err := conn.Hijack()
	if err != nil {
		return err
	}
	x.up.hijacked = hijacked
	return nil
}
