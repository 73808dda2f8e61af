package warehouse_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pgairlock/pgairlock/internal/pgcatalog"
	"github.com/pgairlock/pgairlock/internal/pgserver"
	"github.com/pgairlock/pgairlock/internal/pgtest"
	"github.com/pgairlock/pgairlock/internal/warehouse"
)

func rows(t *testing.T, dsn, sql string) []string {
	t.Helper()
	results, err := pgtest.Connect(t, dsn).Exec(t.Context(), sql).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	var all []string
	for _, row := range results[0].Rows {
		var values []string
		for _, v := range row {
			values = append(values, string(v))
		}
		all = append(all, strings.Join(values, " | "))
	}
	return all
}

func TestSeed(t *testing.T) {
	db := pgtest.Start(t, pgtest.Options{})
	start := time.Now()
	if err := warehouse.Seed(t.Context(), pgtest.Connect(t, db.DSN())); err != nil {
		t.Fatal(err)
	}
	t.Logf("seeding took %s", time.Since(start))
	for sql, want := range map[string]string{
		"SELECT count(*) FROM customers":  "4000",
		"SELECT count(*) FROM orders":     "20000",
		"SELECT count(*) FROM products":   "600",
		"SELECT count(*) FROM inventory":  "3000",
		"SELECT count(*) FROM waves":      "400",
		"SELECT count(*) FROM warehouses": "5",
		// The same on every run and version.
		"SELECT id, name, email, phone, city FROM customers WHERE id = 42": "42 | Bruno Wójcik | bruno.wojcik42@example.com | +44 7700 900042 | Kraków",
		"SELECT sku, name, unit_price FROM products WHERE id = 7":          "OUT-0007 | Everyday Camping Stove | 35.39",
		"SELECT count(*), sum(total) FROM orders":                          "20000 | 2231302.59",
		// What belongs together fits together.
		"SELECT count(*) FROM orders o WHERE total <> (SELECT sum(qty * unit_price) FROM order_items WHERE order_id = o.id)":                   "0",
		"SELECT count(*) FROM payments p JOIN orders o ON o.id = p.order_id WHERE p.amount <> o.total OR o.status = 'cancelled'":               "0",
		"SELECT count(*) FROM orders WHERE placed_at > '2026-06-30 18:00+00' OR shipped_at < placed_at":                                        "0",
		"SELECT count(*) FROM orders o JOIN waves w ON w.id = o.wave_id WHERE w.warehouse_id <> o.warehouse_id OR o.placed_at > w.planned_for": "0",
		"SELECT count(DISTINCT wave_id) FROM orders":                                            "395",
		"SELECT count(*) FROM customers WHERE email !~ '^[a-z.]+[0-9]+@example.(com|net|org)$'": "0",
		"SELECT count(DISTINCT status) FROM orders":                                             "7",
		"SELECT count(*) > 100 FROM reporting.low_stock":                                        "t",
	} {
		if got := rows(t, db.DSN(), sql); !slices.Equal(got, []string{want}) {
			t.Errorf("%s\n got  %q\n want %q", sql, got, want)
		}
	}
}

// The reader may read everything here and do nothing else; the writer works on
// orders and has no other power.
func TestRoles(t *testing.T) {
	db := pgtest.Start(t, pgtest.Options{Settings: map[string]string{}, Auth: pgserver.SCRAM, Setup: warehouse.SQL()})
	reader, writer := `r'e\ad`, "wri:te"
	db.Exec(t, warehouse.Roles(db.Name, reader, writer))
	if got := powers(t, db.As(warehouse.Reader, reader)); len(got) != 0 {
		t.Errorf("the reader: %+v", got)
	}
	got := powers(t, db.As(warehouse.Writer, writer))
	if len(got) != 1 || got[0].Text != "may DELETE, INSERT, UPDATE on 5 tables of schema public (inventory)" {
		t.Errorf("the writer: %+v", got)
	}
	if n := rows(t, db.As(warehouse.Reader, reader), "SELECT count(*) FROM public.customers"); n[0] != "4000" {
		t.Errorf("the reader reads %s customers", n)
	}
}

func powers(t *testing.T, dsn string) []pgcatalog.Power {
	t.Helper()
	all, err := pgcatalog.Powers(t.Context(), pgtest.Connect(t, dsn))
	if err != nil {
		t.Fatal(err)
	}
	return all
}
