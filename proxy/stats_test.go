package proxy_test

import (
	"context"
	"testing"
	"time"

	"github.com/pgairlock/pgairlock/internal/pgtest"
	"github.com/pgairlock/pgairlock/internal/proxytest"
	"github.com/pgairlock/pgairlock/proxy"
)

func sum(h proxy.Histogram) (n int64) {
	for _, c := range h.Counts {
		n += c
	}
	return n
}

func TestStats(t *testing.T) {
	_, p := startShop(t, shopPolicy, nil)
	if s := p.Server.Stats(); s.Accepted != 0 || len(s.Sessions) != 0 || sum(s.Decisions) != 0 || s.Closing {
		t.Errorf("before anything: %+v", s)
	}
	conn := pgtest.Connect(t, p.DSN("reporting"))
	for range 3 {
		if _, err := conn.Exec(t.Context(), "SELECT total FROM orders WHERE id = 7").ReadAll(); err != nil {
			t.Fatal(err)
		}
	}
	s := p.Server.Stats()
	if s.Accepted != 1 || sum(s.Decisions) != 1 || s.Decisions.Sum <= 0 || s.Known != 2 || s.Views != 1 || s.BytesToClients == 0 || s.BytesToServers == 0 {
		t.Errorf("after one text three times: %+v", s)
	}
	if len(s.Sessions) != 1 || s.Sessions[0] != (proxy.SessionCount{Agent: "reporting", Database: "shop", Open: 1}) {
		t.Errorf("sessions: %+v", s.Sessions)
	}
	if len(s.Databases) != 1 || sum(s.Databases[0].Connects) != 1 || s.Databases[0].Unreachable+s.Databases[0].Rejected != 0 {
		t.Errorf("databases: %+v", s.Databases)
	}
	if len(s.Catalogs) != 1 || s.Catalogs[0].Role != "reader" || s.Catalogs[0].Fetches != 1 || s.Catalogs[0].Taken.IsZero() || s.Catalogs[0].Spent <= 0 {
		t.Errorf("catalogs: %+v", s.Catalogs)
	}
}

// A server that is not there and a server that says no are told apart.
func TestStatsOfUpstreamFaults(t *testing.T) {
	database := pgtest.Start(t, pgtest.Options{Setup: shop})
	for _, c := range []struct {
		name, server, user   string
		unreachable, refused int64
	}{
		{"nobody listens", "host=127.0.0.1 port=1 dbname=x sslmode=disable", "shop_reader", 1, 0},
		{"no such role", database.DSN(), "nobody_of_this_name", 0, 1},
		{"good", database.DSN(), "shop_reader", 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := proxytest.Start(t, proxytest.Options{Policy: shopPolicy, Server: c.server,
				Roles: map[string]proxy.Role{"reader": {User: c.user, Password: func() string { return "" }}}})
			p.Server.Prepare(t.Context())
			if d := p.Server.Stats().Databases[0]; d.Unreachable != c.unreachable || d.Rejected != c.refused {
				t.Errorf("%+v", d)
			}
		})
	}
}

// What a session is at is shown without its literals.
func TestSessions(t *testing.T) {
	_, p := startShop(t, shopPolicy, nil)
	conn := pgtest.Connect(t, p.DSN("reporting"))
	one := func(want proxy.State) proxy.SessionInfo {
		t.Helper()
		deadline := time.Now().Add(5 * time.Second)
		for {
			list := p.Server.Sessions()
			if len(list) == 1 && list[0].State == want {
				return list[0]
			}
			if time.Now().After(deadline) {
				t.Fatalf("no session becomes %s: %+v", want, list)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	idle := one(proxy.StateIdle)
	if idle.Agent != "reporting" || idle.Database != "shop" || idle.Role != "shop_reader" || idle.PID == 0 || idle.Client == "" ||
		idle.Began.IsZero() || idle.Statement != "" || !idle.Since.IsZero() {
		t.Errorf("idle: %+v", idle)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := conn.Exec(ctx, "SELECT count(*) FROM orders a, orders b, orders c, orders d, orders e, orders f, orders g WHERE a.status <> 'hidden literal'").ReadAll()
		done <- err
	}()
	active := one(proxy.StateActive)
	if want := "SELECT count(*) FROM orders a, orders b, orders c, orders d, orders e, orders f, orders g WHERE a.status <> '?'"; active.Statement != want {
		t.Errorf("shows %q", active.Statement)
	}
	if active.Since.Before(active.Began) {
		t.Errorf("began %s, statement since %s", active.Began, active.Since)
	}
	cancel()
	<-done
}
