package clients_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pgairlock/pgairlock/internal/pgserver"
	"github.com/pgairlock/pgairlock/internal/pgtest"
	"github.com/pgairlock/pgairlock/internal/proxytest"
	"github.com/pgairlock/pgairlock/proxy"
)

// fixture is the database that the scripts speak of.
const fixture = "../../testdata/bypass/fixture.sql"

// front is a proxy that speaks TLS with whoever asks for it.
type front struct{ proxy *proxytest.Proxy }

func newFront(t *testing.T) *front {
	t.Helper()
	setup, err := os.ReadFile(fixture)
	if err != nil {
		t.Fatal(err)
	}
	policy, err := os.ReadFile(filepath.Join(scripts, "policy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	// what the fixture prepares and replicates is part of it
	database := pgtest.Start(t, pgtest.Options{Major: 15, Setup: string(setup),
		Settings: map[string]string{"wal_level": "logical", "max_prepared_transactions": "4", "max_replication_slots": "4"}})
	role := func(user string) proxy.Role {
		return proxy.Role{User: user, Password: func() string { return "" }, AcceptWrites: true}
	}
	return &front{proxytest.Start(t, proxytest.Options{Policy: string(policy), Server: database.DSN(), Base: "fw",
		Roles: map[string]proxy.Role{"app": role("app"), "superuser": role(pgserver.Superuser)},
		Tweak: func(o *proxy.Options) {
			o.TLS = &tls.Config{Certificates: []tls.Certificate{certificate(t)}, NextProtos: []string{proxy.ALPN}, MinVersion: tls.VersionTLS12}
		}})}
}

// environment tells a client where to connect, in the words that libpq and most
// others read, and as a URL.
func (f *front) environment(agent string) []string {
	if agent == "" {
		agent = "agent"
	}
	host, port, _ := net.SplitHostPort(f.proxy.Address)
	address := url.URL{Scheme: "postgresql", User: url.UserPassword(agent, proxytest.Password), Host: f.proxy.Address, Path: "/" + f.proxy.Base}
	return []string{"PGHOST=" + host, "PGPORT=" + port, "PGUSER=" + agent, "PGPASSWORD=" + proxytest.Password, "PGDATABASE=" + f.proxy.Base,
		"DATABASE_URL=" + address.String(), "PGTZ=UTC", "TZ=UTC", "PGOPTIONS=", "LC_ALL=C.UTF-8", "NO_COLOR=1"}
}

// certificate is one for 127.0.0.1.
func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "127.0.0.1"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
