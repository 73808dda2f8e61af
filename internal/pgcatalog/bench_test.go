package pgcatalog_test

import (
	"testing"

	"github.com/pgairlock/pgairlock/internal/pgcatalog"
	"github.com/pgairlock/pgairlock/internal/pgtest"
)

const tenThousandTables = `
DO $$ BEGIN FOR i IN 1..10000 LOOP
  EXECUTE format('CREATE TABLE t%s (id bigint PRIMARY KEY, customer_id int, state text, amount numeric, note text, at timestamptz, a int, b int, c int, d int)', i);
  IF i % 500 = 0 THEN COMMIT; END IF;
END LOOP; END $$`

// A session waits for this when it is the first of its role.
func BenchmarkFetchTenThousandTables(b *testing.B) {
	db := pgtest.Start(b, pgtest.Options{})
	db.Exec(b, tenThousandTables)
	conn := pgtest.Connect(b, db.DSN())
	for b.Loop() {
		c, err := pgcatalog.Fetch(b.Context(), conn, pgcatalog.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if r := c.Relation("public", "t10000"); r == nil || len(r.Columns) != 10 {
			b.Fatalf("t10000 is %+v", r)
		}
	}
}

func BenchmarkFetchEmptyDatabase(b *testing.B) {
	conn := pgtest.Connect(b, pgtest.Start(b, pgtest.Options{}).DSN())
	for b.Loop() {
		if _, err := pgcatalog.Fetch(b.Context(), conn, pgcatalog.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
