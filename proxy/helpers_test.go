package proxy_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

func parseConfig(dsn string) (*pgconn.Config, error) { return pgconn.ParseConfig(dsn) }

func connectConfig(t *testing.T, config *pgconn.Config) (*pgconn.PgConn, error) {
	t.Helper()
	conn, err := pgconn.ConnectConfig(t.Context(), config)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = conn.Conn().Close() })
	return conn, nil
}

// selfSigned makes a certificate for 127.0.0.1.
func selfSigned(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "127.0.0.1"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
