package bypass

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Watch is the first oracle: it sees through its own superuser connection
// whether anything on the server has changed.
type Watch struct {
	conn  *pgx.Conn
	probe string // folder where attacks that write files would leave them
	idle  int    // sessions that are there when no case runs
}

// Trace is what any change leaves, cheap enough to look at after every case.
type Trace struct {
	Transactions string // the next transaction id: spent by every write, row lock, nextval and notify, rolled back or not
	Log          string // position in the write-ahead log; reads may move it, so it only asks for a closer look
	Held         string // advisory locks, prepared transactions, replication slots and origins
	Files        string // in the probe folder
}

// State is a digest of every object's content, by a name that a person knows.
type State map[string]string

// NewWatch watches the database of dsn, a superuser's, and the folder probe.
func NewWatch(ctx context.Context, dsn, probe string) (*Watch, error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	w := &Watch{conn: conn, probe: probe}
	w.idle, err = w.sessions(ctx)
	if err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return w, nil
}

// Close ends the watch's connection.
func (w *Watch) Close(ctx context.Context) error { return w.conn.Close(ctx) }

// Exec runs SQL as the superuser.
func (w *Watch) Exec(ctx context.Context, sql string) error {
	_, err := w.conn.Exec(ctx, sql)
	return err
}

// Value is the single value of a query, as text.
func (w *Watch) Value(ctx context.Context, sql string) (string, error) {
	var text string
	err := w.conn.QueryRow(ctx, sql).Scan(&text)
	return text, err
}

const sessionsQuery = `SELECT count(*) FROM pg_stat_activity WHERE backend_type IN ('client backend', 'walsender')`

func (w *Watch) sessions(ctx context.Context) (int, error) {
	var n int
	err := w.conn.QueryRow(ctx, sessionsQuery).Scan(&n)
	return n, err
}

// Quiet waits until no session but those that were there at first is left, and
// fails if one stays for twenty seconds.
func (w *Watch) Quiet(ctx context.Context) error {
	for deadline := time.Now().Add(20 * time.Second); ; {
		n, err := w.sessions(ctx)
		if err != nil || n <= w.idle {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d sessions are left on the server", n-w.idle)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

const traceQuery = `SELECT pg_snapshot_xmax(pg_current_snapshot())::text, pg_current_wal_insert_lsn()::text,
	concat_ws('; ',
		(SELECT string_agg('advisory lock '||classid||'/'||objid, ', ') FROM pg_locks WHERE locktype = 'advisory'),
		(SELECT string_agg('prepared transaction '||gid, ', ') FROM pg_prepared_xacts),
		(SELECT string_agg('replication slot '||slot_name, ', ') FROM pg_replication_slots),
		(SELECT string_agg('replication origin '||roname, ', ') FROM pg_replication_origin))`

// Trace looks at the server.
func (w *Watch) Trace(ctx context.Context) (Trace, error) {
	var t Trace
	if err := w.conn.QueryRow(ctx, traceQuery).Scan(&t.Transactions, &t.Log, &t.Held); err != nil {
		return t, err
	}
	var err error
	t.Files, err = listing(w.probe)
	return t, err
}

func listing(dir string) (string, error) {
	var names []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		names = append(names, fmt.Sprintf("%s %d %s", d.Name(), info.Size(), info.ModTime()))
		return nil
	})
	return strings.Join(names, "; "), err
}

// rows of these catalogs say what objects exist and how they are made.
var catalogs = []string{
	"pg_aggregate", "pg_am", "pg_amop", "pg_amproc", "pg_attrdef", "pg_attribute", "pg_auth_members", "pg_authid", "pg_cast",
	"pg_class", "pg_collation", "pg_constraint", "pg_conversion", "pg_database", "pg_db_role_setting", "pg_default_acl",
	"pg_depend", "pg_description", "pg_enum", "pg_event_trigger", "pg_extension", "pg_foreign_data_wrapper",
	"pg_foreign_server", "pg_foreign_table", "pg_index", "pg_inherits", "pg_init_privs", "pg_language", "pg_largeobject",
	"pg_largeobject_metadata", "pg_namespace", "pg_opclass", "pg_operator", "pg_opfamily", "pg_partitioned_table", "pg_policy",
	"pg_proc", "pg_publication", "pg_publication_rel", "pg_range", "pg_replication_origin", "pg_rewrite", "pg_seclabel",
	"pg_sequence", "pg_shdepend", "pg_shdescription", "pg_statistic", "pg_statistic_ext", "pg_statistic_ext_data",
	"pg_subscription", "pg_tablespace", "pg_transform", "pg_trigger", "pg_ts_config", "pg_ts_dict", "pg_type", "pg_user_mapping",
}

const filesQuery = `SELECT coalesce(string_agg(concat_ws(' ', sourcefile, name, setting), '; ' ORDER BY sourcefile, seqno), '') FROM pg_file_settings`

// State digests the whole database: every row with its physical place and the
// transactions that touched it, sequences, catalogs, configuration files.
func (w *Watch) State(ctx context.Context) (State, error) {
	s := State{}
	relations, err := w.relations(ctx)
	if err != nil {
		return nil, err
	}
	for name, query := range relations {
		if s[name], err = w.digest(ctx, query); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	text, err := w.Value(ctx, filesQuery)
	if err != nil {
		return nil, err
	}
	s["configuration files"] = digest(text)
	return s, nil
}

// relations lists what has content, with the query that reads it.
func (w *Watch) relations(ctx context.Context) (map[string]string, error) {
	queries := map[string]string{}
	for _, c := range catalogs {
		queries[c] = "SELECT t::text FROM pg_catalog." + c + " t"
	}
	rows, err := w.conn.Query(ctx, `SELECT c.oid::regclass::text, c.relkind::text FROM pg_class c
		WHERE c.relkind IN ('r', 'm', 'S') AND c.relnamespace <> ALL (ARRAY['pg_catalog', 'information_schema', 'pg_toast']::regnamespace[])`)
	if err != nil {
		return nil, err
	}
	var name, kind string
	_, err = pgx.ForEachRow(rows, []any{&name, &kind}, func() error {
		switch kind {
		case "S":
			queries[name] = "SELECT concat_ws(' ', last_value, is_called) FROM " + name
		default:
			queries[name] = "SELECT concat_ws(' ', t.ctid, t.xmin, t.xmax, t::text) FROM ONLY " + name + " t"
		}
		return nil
	})
	return queries, err
}

func (w *Watch) digest(ctx context.Context, query string) (string, error) {
	rows, err := w.conn.Query(ctx, query+" ORDER BY 1")
	if err != nil {
		return "", err
	}
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return digest(strings.Join(texts, "\n")), err
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Changes lists what differs between two states.
func (s State) Changes(after State) []string {
	var changed []string
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if now, ok := after[name]; !ok {
			changed = append(changed, name+" is gone")
		} else if now != s[name] {
			changed = append(changed, name+" has changed")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if _, ok := s[name]; !ok {
			changed = append(changed, name+" is new")
		}
	}
	return changed
}

// ProbeDir makes a folder in parent, which the server can enter, that it may
// write to, whatever user it runs as.
func ProbeDir(parent string) (string, error) {
	dir, err := os.MkdirTemp(parent, "probe-")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o777)
}
