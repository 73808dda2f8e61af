package bypass_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/rs/zerolog"
	"github.com/xdg-go/scram"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/policy/statement"
	"github.com/pgairlock/pgairlock/proxy"
)

const agentPassword = "an agent's password"

// front is a proxy before a lab's server.
type front struct {
	set     *policy.Set
	address string
	record  *recorder
	last    []*statement.Judgement // of the last case
}

// newFront starts a proxy that takes the catalog anew at that age.
func newFront(t *testing.T, l *lab, refresh time.Duration) *front {
	t.Helper()
	f := &front{set: loadPolicy(t), record: &recorder{}}
	upstream, err := pgconn.ParseConfig(l.db.DSN())
	if err != nil {
		t.Fatal(err)
	}
	roles := map[string]proxy.Role{}
	for name, who := range map[string]login{"app": l.profile["ro"], "superuser": l.profile["ro+superuser"]} {
		roles[name] = proxy.Role{User: who.user, Password: func() string { return "" }, AcceptWrites: true}
	}
	server, err := proxy.New(proxy.Options{
		Databases: map[string]proxy.Database{"fw": {Server: upstream, Roles: roles}},
		Recorder:  f.record,
		Refresh:   refresh,
		Log:       zerolog.New(zerolog.NewTestWriter(t)),
	})
	if err != nil {
		t.Fatal(err)
	}
	passwords := map[string]string{}
	for _, a := range f.set.Agents() {
		passwords[a.Name] = quickVerifier(t)
	}
	if err := server.Apply(f.set, passwords); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.address = listener.Addr().String()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- server.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return f
}

// quickVerifier is a SCRAM verifier of agentPassword that costs no time: there
// are thousands of logins.
func quickVerifier(t *testing.T) string {
	t.Helper()
	client, err := scram.SHA256.NewClient("", agentPassword, "")
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.GetStoredCredentialsWithError(scram.KeyFactors{Salt: "salt", Iters: 1})
	if err != nil {
		t.Fatal(err)
	}
	base64 := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s", c.Iters, base64([]byte(c.Salt)), base64(c.StoredKey), base64(c.ServerKey))
}

func loadPolicy(t *testing.T) *policy.Set {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "policy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	set, err := policy.Load("policy.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// dsn is an agent's connection string.
func (f *front) dsn(agent string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(agent, agentPassword), Host: f.address, Path: "/fw", RawQuery: "sslmode=disable"}
	return u.String()
}

// recorder keeps what the proxy decided.
type recorder struct {
	mu         sync.Mutex
	judgements []*statement.Judgement
}

func (r *recorder) Reserve(context.Context, *proxy.StatementRecord) (proxy.Place, error) {
	return r, nil
}
func (r *recorder) Session(context.Context, proxy.SessionRecord) error { return nil }
func (r *recorder) Release()                                           {}

func (r *recorder) Write(record *proxy.StatementRecord) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.judgements = append(r.judgements, record.Judgement)
}

// take returns what was recorded since it was last called.
func (r *recorder) take() []*statement.Judgement {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.judgements
	r.judgements = nil
	return taken
}

// rules are the ids of all rules that matched a text's statements, with those
// of the parser.
func rules(j *statement.Judgement) []string {
	var all []string
	if j == nil { // what was refused had no text
		return nil
	}
	if j.Refusal != nil {
		all = append(all, j.Refusal.Rule)
	}
	for i := range j.Parts {
		for _, r := range j.Parts[i].Decision.Reasons {
			all = append(all, r.Rule)
		}
	}
	return all
}
