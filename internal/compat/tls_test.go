package compat_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgairlock/pgairlock/internal/pgserver"
	"github.com/pgairlock/pgairlock/internal/pgtest"
	"github.com/pgairlock/pgairlock/proxy"
)

// certificate is one for 127.0.0.1, as Go and as PostgreSQL want it.
func certificate(t *testing.T) (tls.Certificate, *pgserver.TLS) {
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
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, &pgserver.TLS{
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}
}

// encrypted is a lab where both the server and the proxy speak TLS, each with a
// certificate of its own.
func encrypted(t *testing.T, major int) *lab {
	t.Helper()
	_, its := certificate(t)
	ours, _ := certificate(t)
	return start(t, pgtest.Options{Major: major, TLS: its}, func(o *proxy.Options) {
		o.TLS = &tls.Config{Certificates: []tls.Certificate{ours}, NextProtos: []string{proxy.ALPN}, MinVersion: tls.VersionTLS12}
	})
}

// shake dials and does the TLS handshake as a client that offers those
// protocols, after an SSLRequest or at once.
func shake(t *testing.T, address string, direct bool, alpn ...string) (*tls.Conn, error) {
	t.Helper()
	p := dial(t, address)
	if !direct {
		p.write(packet(sslRequest))
		if got := p.letter(); got != "S" {
			t.Fatalf("SSLRequest: %s", got)
		}
	}
	conn := tls.Client(p.conn, &tls.Config{InsecureSkipVerify: true, NextProtos: alpn})
	_ = conn.SetDeadline(time.Now().Add(patience))
	return conn, conn.Handshake()
}

// TestDirectTLS: from 17 on, TLS may begin without SSLRequest, if it says by
// ALPN what for. Teleport and neon refused it, or took it without.
func TestDirectTLS(t *testing.T) {
	l := encrypted(t, 18)
	for _, at := range []place{l.direct("reading"), l.through("reading")} {
		for _, c := range []struct {
			name   string
			direct bool
			alpn   []string
			works  bool
		}{
			{"SSLRequest", false, nil, true},
			{"SSLRequest and ALPN", false, []string{"postgresql"}, true},
			{"direct with ALPN", true, []string{"postgresql"}, true},
			{"direct without", true, nil, false},
			{"direct with another's", true, []string{"http/1.1"}, false},
			{"direct with another's first", true, []string{"http/1.1", "postgresql"}, true},
		} {
			t.Run(at.name+"/"+c.name, func(t *testing.T) {
				conn, err := shake(t, at.address, c.direct, c.alpn...)
				var answer [1]byte
				if err == nil {
					if _, err = conn.Write(at.startup(version3)); err == nil {
						_, err = conn.Read(answer[:])
					}
				}
				if works := err == nil && answer[0] == 'R'; works != c.works {
					t.Errorf("works: %v (%v, %q)", works, err, answer)
				}
			})
		}
	}
}

// TestChannelBinding: TLS ends at the proxy and begins anew behind it, so a
// relayed proof can't be bound to both channels (pgt-proxy). Here each side has
// its own: who asks for the binding gets it, and who can't is told.
func TestChannelBinding(t *testing.T) {
	l := encrypted(t, 18)
	for _, c := range []struct{ options, want string }{
		{"sslmode=require channel_binding=require", ""},
		{"sslmode=require channel_binding=prefer", ""},
		{"sslmode=require channel_binding=disable", ""},
		{"sslmode=require sslnegotiation=direct channel_binding=require", ""},
		{"sslmode=disable channel_binding=prefer", ""},
		{"sslmode=disable channel_binding=require", "channel binding"},
	} {
		t.Run(c.options, func(t *testing.T) {
			dsn := strings.Replace(l.proxy.DSN("reading"), "sslmode=disable", c.options, 1)
			conn, err := pgconn.Connect(t.Context(), dsn)
			switch {
			case c.want == "" && err != nil:
				t.Fatal(err)
			case c.want == "":
				_ = conn.Close(t.Context())
			case err == nil || !strings.Contains(err.Error(), c.want):
				t.Errorf("%v", err)
			}
		})
	}
}

// TestChannelBindingIsHeld: a client that believes the server has no binding,
// though one was offered, talks to somebody in the middle; and a proof that is
// bound to another channel is none.
func TestChannelBindingIsHeld(t *testing.T) {
	l := encrypted(t, 15)
	for _, c := range []struct{ name, mechanism, header string }{
		{"believes there is none", "SCRAM-SHA-256", "y,,"},
		{"binds in the mechanism that does not", "SCRAM-SHA-256", "p=tls-server-end-point,,"},
		{"does not bind in the one that does", "SCRAM-SHA-256-PLUS", "n,,"},
		{"another kind of binding", "SCRAM-SHA-256-PLUS", "p=tls-unique,,"},
		{"no such mechanism", "SCRAM-SHA-1", "n,,"},
	} {
		for _, at := range []place{l.direct("reading"), l.through("reading")} {
			t.Run(c.name+"/"+at.name, func(t *testing.T) {
				conn, err := shake(t, at.address, false)
				if err != nil {
					t.Fatal(err)
				}
				p := newPeer(t, conn)
				p.write(at.startup(version3))
				if m := p.next(); m.kind != 'R' || !strings.Contains(string(m.body), "SCRAM-SHA-256-PLUS\x00SCRAM-SHA-256\x00") {
					t.Fatalf("offered: %q", m.body)
				}
				first := c.header + "n=,r=" + strings.Repeat("r", 24)
				p.write(typed('p', append(binary.BigEndian.AppendUint32(words(c.mechanism), uint32(len(first))), first...)))
				last := p.next()
				if last.kind != 'E' || errorField(last.body, 'S') != "FATAL" {
					t.Errorf("%s", word(last))
				}
			})
		}
	}
}

// TestPlaintextBeforeTLS: what was sent before the handshake must not count as
// sent under it (CVE-2021-23214).
func TestPlaintextBeforeTLS(t *testing.T) {
	l := encrypted(t, 15)
	at := l.through("reading")
	p := dial(t, at.address)
	p.write(say(packet(sslRequest), at.startup(version3)))
	_ = p.conn.SetReadDeadline(time.Now().Add(patience))
	var got [2]byte
	n, _ := p.in.Read(got[:1])
	if n == 1 && got[0] == 'S' {
		// an alert, at most, may follow
		if m, err := p.within(patience); err != nil || m.kind != 0 && m.kind != 21 {
			t.Errorf("%v %s", err, fmt.Sprintf("%q", m.kind))
		}
	}
	if n := len(l.proxy.Records.Sessions()); n != 0 {
		t.Errorf("%d sessions", n)
	}
}
