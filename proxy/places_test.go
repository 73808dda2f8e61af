package proxy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	pg "github.com/jackc/pgx/v5/pgproto3"

	"github.com/pgairlock/pgairlock/internal/pgtest"
	"github.com/pgairlock/pgairlock/internal/proxytest"
	"github.com/pgairlock/pgairlock/proxy"
)

// TestNoPlaceIsLost: however a session ends while it runs something, what it ran
// is recorded, and every place that was held for it is given back.
func TestNoPlaceIsLost(t *testing.T) {
	const slow = "SELECT pg_sleep(30)"
	database := pgtest.Start(t, pgtest.Options{Setup: shop})
	for _, c := range []struct {
		name    string
		send    []pg.FrontendMessage
		records [2]int // where the client leaves, nobody knows how far the server came
	}{
		{"nothing", nil, [2]int{0, 0}},
		{"a Query", send(slow), [2]int{1, 1}},
		{"a Query behind another", send("SELECT 1", slow, "SELECT 2"), [2]int{3, 3}},
		{"an Execute", send(series(slow), sync_), [2]int{1, 1}},
		{"an Execute in a pipeline", send(series("SELECT 1"), series(slow), series("SELECT 2"), sync_), [2]int{3, 2}},
		{"a Query behind an Execute", send(series(slow), sync_, "SELECT 2"), [2]int{2, 2}},
		{"a suspended portal", send("BEGIN", parse("", "SELECT g FROM generate_series(1, 9) g"), bind("p", ""), execute("p", 2), sync_), [2]int{2, 2}},
		{"a portal that nobody executes", send("BEGIN", parse("", "SELECT 1"), bind("p", ""), sync_), [2]int{2, 2}},
		{"COPY in by Query", send("COPY secrets FROM STDIN"), [2]int{1, 1}},
		{"COPY in by Execute", send(series("COPY secrets FROM STDIN"), flush), [2]int{1, 1}},
		{"a function call", send(call(2626, []byte{0x40, 0x3e, 0, 0, 0, 0, 0, 0})), [2]int{1, 1}}, // pg_sleep(30)
		{"a function call behind a Query", send(slow, call(0)), [2]int{2, 2}},
	} {
		for way, who := range []string{"the client leaves", "the server ends the session"} {
			t.Run(c.name+", "+who, func(t *testing.T) {
				t.Parallel()
				p := proxytest.Start(t, proxytest.Options{Policy: passthrough, Server: database.DSN(), Roles: map[string]proxy.Role{
					"writer": {User: "postgres", Password: func() string { return "" }, AcceptWrites: true}}})
				raw := proxytest.Dial(t, p.DSN("suite"))
				raw.Send(c.send...)
				time.Sleep(200 * time.Millisecond)
				if who == "the client leaves" {
					_ = raw.Conn.Close()
				} else {
					database.Exec(t, fmt.Sprintf("SELECT pg_terminate_backend(%d)", raw.PID))
				}
				for end := time.Now().Add(10 * time.Second); len(p.Records.Sessions()) < 2 && time.Now().Before(end); {
					time.Sleep(10 * time.Millisecond)
				}
				records := p.Records.Statements()
				if n := p.Records.Open(); n != 0 || len(records) != c.records[way] {
					t.Errorf("%d places are still held, %d records, not %d", n, len(records), c.records[way])
				}
				for _, r := range records {
					if strings.Contains(r.Judgement.Text, "pg_sleep") && r.SQLSTATE != "57P01" {
						t.Errorf("what was cut off is recorded with %q", r.SQLSTATE)
					}
				}
			})
		}
	}
}
