package clients_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
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
type front struct {
	proxy     *proxytest.Proxy
	cert, key string // files of the agent legacy's certificate
}

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
	f := &front{}
	known := x509.NewCertPool()
	known.AddCert(f.client(t, certificate(t, "legacy")))
	f.proxy = proxytest.Start(t, proxytest.Options{Policy: string(policy), Server: database.DSN(), Base: "fw",
		Roles: map[string]proxy.Role{"app": role("app"), "superuser": role(pgserver.Superuser)},
		Tweak: func(o *proxy.Options) {
			o.TLS = &tls.Config{Certificates: []tls.Certificate{certificate(t, "127.0.0.1")}, NextProtos: []string{proxy.ALPN}, MinVersion: tls.VersionTLS12,
				ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: known}
		}})
	return f
}

// client writes a client's certificate and key into files.
func (f *front) client(t *testing.T, c tls.Certificate) *x509.Certificate {
	t.Helper()
	private, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	f.cert, f.key = filepath.Join(dir, "client.crt"), filepath.Join(dir, "client.key")
	for file, block := range map[string]*pem.Block{
		f.cert: {Type: "CERTIFICATE", Bytes: c.Certificate[0]}, f.key: {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(c.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	return parsed
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
		"DATABASE_URL=" + address.String(), "CLIENT_CERT=" + f.cert, "CLIENT_KEY=" + f.key, "PGTZ=UTC", "TZ=UTC", "PGOPTIONS=", "LC_ALL=C.UTF-8", "NO_COLOR=1"}
}

// certificate is one of 127.0.0.1's, for a server or for a client of that name.
func certificate(t *testing.T, name string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
