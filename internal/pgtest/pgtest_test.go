package pgtest_test

import (
	"strings"
	"testing"

	"github.com/pgairlock/pgairlock/internal/pgserver"
	"github.com/pgairlock/pgairlock/internal/pgtest"
)

func value(t *testing.T, dsn, sql string) string {
	t.Helper()
	results, err := pgtest.Connect(t, dsn).Exec(t.Context(), sql).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return string(results[0].Rows[0][0])
}

func TestDatabasesAreApart(t *testing.T) {
	setup := pgtest.Options{Setup: "CREATE TABLE t (v int); INSERT INTO t VALUES (1)"}
	a, b, empty := pgtest.Start(t, setup), pgtest.Start(t, setup), pgtest.Start(t, pgtest.Options{})
	if a.Server != b.Server || a.Server != empty.Server {
		t.Error("the server is not shared")
	}
	a.Exec(t, "INSERT INTO t VALUES (2)")
	for _, c := range []struct {
		db        *pgtest.Database
		sql, want string
	}{
		{a, "SELECT count(*) FROM t", "2"},
		{b, "SELECT count(*) FROM t", "1"},
		{empty, "SELECT to_regclass('public.t') IS NULL", "t"},
	} {
		if got := value(t, c.db.DSN(), c.sql); got != c.want {
			t.Errorf("%s: %s is %s, want %s", c.db.Name, c.sql, got, c.want)
		}
	}
}

func TestDatabaseIsDropped(t *testing.T) {
	var gone *pgtest.Database
	t.Run("one test", func(t *testing.T) { gone = pgtest.Start(t, pgtest.Options{}) })
	other := pgtest.Start(t, pgtest.Options{})
	if n := value(t, other.DSN(), "SELECT count(*) FROM pg_database WHERE datname = '"+gone.Name+"'"); n != "0" {
		t.Errorf("%s is still there", gone.Name)
	}
}

func TestOwnServer(t *testing.T) {
	db := pgtest.Start(t, pgtest.Options{Auth: pgserver.SCRAM, Settings: map[string]string{"max_connections": "9"}})
	if db.Server == pgtest.Start(t, pgtest.Options{}).Server {
		t.Error("a server with settings is shared")
	}
	db.Exec(t, "CREATE ROLE reader LOGIN PASSWORD 'r e/d'")
	if got := value(t, db.As("reader", "r e/d"), "SELECT current_user || current_setting('max_connections')"); got != "reader9" {
		t.Errorf("got %s", got)
	}
}

func TestMajor(t *testing.T) {
	t.Setenv(pgtest.MajorVariable, "18")
	db := pgtest.Start(t, pgtest.Options{})
	if got := value(t, db.DSN(), "SHOW server_version"); !strings.HasPrefix(got, "18.") {
		t.Errorf("the server is %s", got)
	}
}
