package proxy_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgairlock/pgairlock/internal/pgtest"
	"github.com/pgairlock/pgairlock/internal/proxytest"
	"github.com/pgairlock/pgairlock/proxy"
)

// BenchmarkPointSelect compares one client through the proxy with a direct
// connection to the same server: compare the two of a kind, not runs.
func BenchmarkPointSelect(b *testing.B) {
	database := pgtest.Start(b, pgtest.Options{Setup: shop})
	p := proxytest.Start(b, proxytest.Options{Policy: shopPolicy, Server: database.DSN(),
		Roles: map[string]proxy.Role{"reader": {User: "shop_reader", Password: func() string { return "" }}}})
	for _, way := range []struct{ name, dsn string }{{"direct", database.As("shop_reader", "")}, {"proxy", p.DSN("reporting")}} {
		conn, err := pgconn.Connect(b.Context(), way.dsn)
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = conn.Close(context.Background()) }()
		b.Run("simple, one text/"+way.name, func(b *testing.B) {
			for b.Loop() {
				exec(b, conn, "SELECT total FROM orders WHERE id = 7")
			}
		})
		b.Run("simple, other literals/"+way.name, func(b *testing.B) {
			i := 0
			for b.Loop() {
				i++
				exec(b, conn, fmt.Sprintf("SELECT total FROM orders WHERE id = %d", i))
			}
		})
		if _, err := conn.Prepare(b.Context(), "bench", "SELECT total FROM orders WHERE id = 7", nil); err != nil {
			b.Fatal(err)
		}
		b.Run("prepared/"+way.name, func(b *testing.B) {
			for b.Loop() {
				if r := conn.ExecPrepared(b.Context(), "bench", nil, nil, nil).Read(); r.Err != nil {
					b.Fatal(r.Err)
				}
			}
		})
	}
}

func exec(b *testing.B, conn *pgconn.PgConn, sql string) {
	if _, err := conn.Exec(b.Context(), sql).ReadAll(); err != nil {
		b.Fatal(err)
	}
}
