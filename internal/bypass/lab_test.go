package bypass_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pgairlock/pgairlock/internal/bypass"
	"github.com/pgairlock/pgairlock/internal/pgserver"
	"github.com/pgairlock/pgairlock/internal/pgtest"
)

// major is the server that the corpus was measured on: what a case does depends
// on it.
const major = 15

// settings keep the server from writing anything by itself, and let the attacks
// do all that a production server would.
var settings = map[string]string{
	"autovacuum": "off", "checkpoint_timeout": "1h", "max_wal_size": "4GB",
	"wal_level": "logical", "max_prepared_transactions": "4", "max_replication_slots": "4",
	"bgwriter_lru_maxpages": "0", "jit": "off",
}

// lab is a server with the corpus's database, and the oracles that watch it.
type lab struct {
	db      *pgtest.Database
	watch   *bypass.Watch
	leaks   *bypass.Leaks
	expand  *strings.Replacer
	profile map[string]login // by agent
}

// login is the upstream login of an agent. The server trusts it: that a proxy
// proves itself to a server is tested where it is done.
type login struct{ user, timeout string }

func newLab(t *testing.T) *lab {
	t.Helper()
	fixture, err := os.ReadFile(filepath.Join(folder, "fixture.sql"))
	if err != nil {
		t.Fatal(err)
	}
	db := pgtest.Start(t, pgtest.Options{Major: major, Settings: settings, Setup: string(fixture)})
	db.Exec(t, "VACUUM (FREEZE, ANALYZE)") // or reads would tidy up, which writes
	probe, err := bypass.ProbeDir(db.Server.Dir)
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{db: db, profile: map[string]login{}}
	for _, p := range []string{"ro", "ro+catalog", "ro+copy"} {
		l.profile[p] = login{"app", "5s"}
	}
	l.profile["ro+hasty"] = login{"app", "500ms"}
	l.profile["ro+superuser"] = login{pgserver.Superuser, "5s"}
	if l.watch, err = bypass.NewWatch(t.Context(), db.DSN(), probe); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.watch.Close(t.Context()) }) // the server ends with the test
	if l.leaks, err = bypass.NewLeaks(t.Context(), l.watch); err != nil {
		t.Fatal(err)
	}
	toast := l.value(t, "SELECT reltoastrelid::regclass::text FROM pg_class WHERE oid = 'toasted'::regclass")
	function := l.value(t, "SELECT 'f_write'::regproc::oid::text")
	l.expand = strings.NewReplacer("@TOAST@", toast, "@F_WRITE@", function, "@PROBE@", probe, "@SOCKETDIR@", db.Server.Dir, "@PORT@", strconv.Itoa(db.Server.Port))
	return l
}

// direct is a connection string of an agent's upstream login, with the settings
// that a proxy would start it with.
func (l *lab) direct(profile string) string {
	who := l.profile[profile]
	u, err := url.Parse(l.db.As(who.user, ""))
	if err != nil {
		return ""
	}
	u.RawQuery = url.Values{
		"sslmode": {"disable"}, "default_transaction_read_only": {"on"}, "statement_timeout": {who.timeout}, "search_path": {"public"},
	}.Encode()
	return u.String()
}

func corpus(t *testing.T) []bypass.Case {
	t.Helper()
	cases, err := bypass.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

func (l *lab) value(t *testing.T, sql string) string {
	t.Helper()
	text, err := l.watch.Value(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
