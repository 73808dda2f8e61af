// Package proxytest runs a proxy in the test's process, in front of a real
// server, and speaks to it in bytes.
package proxytest

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/rs/zerolog"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/proxy"
)

// Password is every agent's.
const Password = "agent-password-of-the-test"

// Options say what proxy a test needs.
type Options struct {
	Policy string                // policy.yaml
	Server string                // connection string of the database behind, with its superuser
	Base   string                // what the database is called; "" means shop
	Roles  map[string]proxy.Role // upstream logins by the names that the policy uses
	Log    zerolog.Logger
	Tweak  func(*proxy.Options) // nil: nothing to change
}

// Proxy is a running proxy.
type Proxy struct {
	Address string
	Base    string
	Server  *proxy.Server
	Records *Records

	stop context.CancelFunc
}

// Stop begins the proxy's end; the test's own end waits for it.
func (p *Proxy) Stop() { p.stop() }

// Start runs a proxy that ends with the test.
func Start(tb testing.TB, o Options) *Proxy {
	tb.Helper()
	if o.Base == "" {
		o.Base = "shop"
	}
	config, err := pgconn.ParseConfig(o.Server)
	if err != nil {
		tb.Fatalf("server: %v", err)
	}
	records := &Records{}
	options := proxy.Options{Recorder: records, Log: o.Log,
		Databases: map[string]proxy.Database{o.Base: {Server: config, Roles: o.Roles}}}
	if o.Tweak != nil {
		o.Tweak(&options)
	}
	server, err := proxy.New(options)
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{Base: o.Base, Server: server, Records: records}
	p.Apply(tb, o.Policy)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p.Address = listener.Addr().String()
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, listener) }()
	tb.Cleanup(func() {
		stop()
		select {
		case err := <-done:
			if err != nil {
				tb.Errorf("serve: %v", err)
			}
		case <-time.After(patience):
			tb.Error("the proxy does not end")
		}
	})
	return p
}

// Apply makes text the proxy's policy. Every agent has Password.
func (p *Proxy) Apply(tb testing.TB, text string) {
	tb.Helper()
	p.ApplyPasswords(tb, text, nil)
}

// ApplyPasswords is Apply with other passwords, or verifiers, for some agents.
func (p *Proxy) ApplyPasswords(tb testing.TB, text string, other map[string]string) {
	tb.Helper()
	set, err := policy.Load("policy.yaml", []byte(text))
	if err != nil {
		tb.Fatalf("policy: %v", err)
	}
	passwords := map[string]string{}
	for _, agent := range set.Agents() {
		passwords[agent.Name] = Password
		if p, ok := other[agent.Name]; ok {
			passwords[agent.Name] = p
		}
	}
	if err := p.Server.Apply(set, passwords); err != nil {
		tb.Fatal(err)
	}
}

// DSN is a connection string for an agent.
func (p *Proxy) DSN(agent string) string {
	host, port, _ := net.SplitHostPort(p.Address)
	return "host=" + host + " port=" + port + " user='" + agent + "' password=" + Password + " dbname=" + p.Base + " sslmode=disable"
}

// Records keeps what the proxy records.
type Records struct {
	mu         sync.Mutex
	statements []*proxy.StatementRecord
	sessions   []proxy.SessionRecord
	intents    []*proxy.StatementRecord
	reserved   int
	// Full makes Reserve fail, as a queue does that nothing drains.
	full error
}

// Fill makes every further reservation fail with err; nil makes room again.
func (r *Records) Fill(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.full = err
}

// Reserve implements proxy.Recorder.
func (r *Records) Reserve(_ context.Context, intent *proxy.StatementRecord) (proxy.Place, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.full != nil {
		return nil, r.full
	}
	if intent != nil {
		r.intents = append(r.intents, intent)
	}
	r.reserved++
	return &place{records: r}, nil
}

// Session implements proxy.Recorder.
func (r *Records) Session(_ context.Context, s proxy.SessionRecord) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sessions = append(r.sessions, s)
	return nil
}

// Statements is a copy of the statements recorded so far.
func (r *Records) Statements() []*proxy.StatementRecord {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*proxy.StatementRecord(nil), r.statements...)
}

// Sessions is a copy of the session records so far.
func (r *Records) Sessions() []proxy.SessionRecord {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]proxy.SessionRecord(nil), r.sessions...)
}

// Intents is a copy of the writes announced so far.
func (r *Records) Intents() []*proxy.StatementRecord {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*proxy.StatementRecord(nil), r.intents...)
}

// Open is how many places are reserved and neither written nor released.
func (r *Records) Open() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reserved
}

type place struct {
	records *Records
	done    bool
}

func (p *place) Write(s *proxy.StatementRecord) {
	p.end()
	p.records.mu.Lock()
	defer p.records.mu.Unlock()
	p.records.statements = append(p.records.statements, s)
}

func (p *place) Release() { p.end() }

func (p *place) end() {
	p.records.mu.Lock()
	defer p.records.mu.Unlock()
	if p.done {
		panic("a place in the record was used twice")
	}
	p.done = true
	p.records.reserved--
}
