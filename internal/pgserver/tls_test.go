package pgserver_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pgairlock/pgairlock/internal/pgserver"
)

// selfSigned makes a certificate for 127.0.0.1.
func selfSigned(t *testing.T) *pgserver.TLS {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test server"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return &pgserver.TLS{
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
		Key:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}
}

func TestTLS(t *testing.T) {
	its, other := selfSigned(t), selfSigned(t)
	s := start(t, pgserver.Options{Major: 15, TLS: its})
	trusting := func(certificate []byte) string {
		file := filepath.Join(t.TempDir(), "root.crt")
		if err := os.WriteFile(file, certificate, 0o600); err != nil {
			t.Fatal(err)
		}
		return s.DSN("postgres") + "?sslmode=verify-full&sslrootcert=" + file
	}
	if got, err := ask(t, trusting(its.Certificate), "SELECT ssl::text FROM pg_stat_ssl WHERE pid = pg_backend_pid()"); err != nil || got != "true" {
		t.Errorf("encrypted: %s (%v)", got, err)
	}
	if _, err := ask(t, trusting(other.Certificate), "SELECT 1"); err == nil {
		t.Error("a client that trusts another certificate connected")
	}
	if _, err := ask(t, s.DSN("postgres")+"?sslmode=disable", "SELECT 1"); err != nil {
		t.Errorf("in clear: %v", err)
	}
}
