package proxy_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgairlock/pgairlock/internal/pgtest"
	"github.com/pgairlock/pgairlock/internal/proxytest"
	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/proxy"
)

// While one proxy ends and the next begins on a socket that neither owns, no
// client is dropped without a word: it gets a session, is told that the proxy
// stops, or waits for the next.
func TestRestartOnInheritedSocket(t *testing.T) {
	database := pgtest.Start(t, pgtest.Options{Setup: shop})
	config, err := parseConfig(database.DSN())
	if err != nil {
		t.Fatal(err)
	}
	set, err := policy.Load("policy.yaml", []byte(shopPolicy))
	if err != nil {
		t.Fatal(err)
	}
	owned, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = owned.Close() }()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for ctx.Err() == nil {
				tryOnce(t, ctx, owned.Addr().(*net.TCPAddr).Port)
			}
		})
	}
	for range 6 {
		server, err := proxy.New(proxy.Options{Recorder: &proxytest.Records{}, Databases: map[string]proxy.Database{"shop": {Server: config,
			Roles: map[string]proxy.Role{"reader": {User: "shop_reader", Password: func() string { return "" }}}}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := server.Apply(set, map[string]string{"reporting": proxytest.Password}); err != nil {
			t.Fatal(err)
		}
		serving, end := context.WithTimeout(t.Context(), 300*time.Millisecond)
		err = server.Serve(serving, duplicate(t, owned))
		end()
		if err != nil {
			t.Errorf("serve: %v", err)
		}
	}
	stop()
	clients.Wait()
}

// duplicate is a listener on the same socket, as a service manager passes it.
func duplicate(t *testing.T, l net.Listener) net.Listener {
	t.Helper()
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	passed, err := net.FileListener(file)
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	return passed
}

func tryOnce(t *testing.T, ctx context.Context, port int) {
	config, err := parseConfig("host=127.0.0.1 user=reporting dbname=shop sslmode=disable password=" + proxytest.Password)
	if err != nil {
		t.Error(err)
		return
	}
	config.Port = uint16(port)
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err == nil {
		_, err = conn.Exec(ctx, "SELECT id FROM orders WHERE id = 1").ReadAll()
		_ = conn.Conn().Close()
	}
	var told *pgconn.PgError
	switch {
	case err == nil, ctx.Err() != nil:
	case errors.As(err, &told) && (told.Code == "57P03" || told.Code == "57P01"):
	default:
		t.Errorf("dropped: %v", err)
	}
}
