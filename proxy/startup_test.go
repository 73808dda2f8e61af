package proxy_test

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	pg "github.com/jackc/pgx/v5/pgproto3"

	"github.com/pgairlock/pgairlock/internal/proxytest"
	"github.com/pgairlock/pgairlock/proxy"
)

func dialRaw(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	return conn
}

func cancelBy(t *testing.T, address string, request []byte) {
	t.Helper()
	conn := dialRaw(t, address)
	if _, err := conn.Write(request); err != nil {
		t.Fatal(err)
	}
	_, _ = io.ReadAll(conn)
}

// packet is a start-up packet.
func packet(code uint32, body string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(8+len(body)))
	return append(binary.BigEndian.AppendUint32(b, code), body...)
}

func params(words ...string) string { return strings.Join(words, "\x00") + "\x00\x00" }

const (
	version30 = 3 << 16
	version32 = 3<<16 + 2
	sslCode   = 80877103
	gssCode   = 80877104
)

// TestBeforeTheSession shows what is answered to what may come first.
func TestBeforeTheSession(t *testing.T) {
	_, p := startShop(t, shopPolicy, nil)
	user := []string{"user", "reporting", "database", "shop"}
	cases := []struct {
		name  string
		send  []byte
		want  string // of the answer's start, as text
		whole bool   // the connection ends after it
	}{
		{"SSLRequest without TLS configured", packet(sslCode, ""), "N", false},
		{"GSSENCRequest", packet(gssCode, ""), "N", false},
		{"GSSENCRequest, then SSLRequest", append(packet(gssCode, ""), packet(sslCode, "")...), "NN", false},
		{"SSLRequest twice", append(packet(sslCode, ""), packet(sslCode, "")...), "NE 0A000", true},
		{"an old protocol", packet(2<<16, params(user...)), "E 0A000", true},
		{"protocol 3.0", packet(version30, params(user...)), "R", false},
		{"protocol 3.2 is negotiated down", packet(version32, params(user...)), "vR", false},
		{"an unknown protocol extension", packet(version30, params(append(user, "_pq_.x", "1")...)), "vR", false},
		{"replication", packet(version30, params(append(user, "replication", "database")...)), "E 42501", true},
		{"a parameter twice", packet(version30, params(append(user, "Application_Name", "a", "application_name", "b")...)), "E 42501", true},
		{"a parameter twice, once in options", packet(version30, params(append(user, "datestyle", "ISO", "options", "-c datestyle=ISO")...)), "R", false},
		{"a switch in options", packet(version30, params(append(user, "options", "-d 5")...)), "E 42501", true},
		{"options with settings", packet(version30, params(append(user, "options", "-c datestyle=ISO --extra-float-digits=3")...)), "R", false},
		{"no user", packet(version30, params("database", "shop")), "E 28000", true},
		{"no terminator", packet(version30, "user\x00reporting"), "E 08P01", true},
		{"too short", []byte{0, 0, 0, 7, 0, 3, 0}, "", false},
		{"too long", append([]byte{0, 1, 0, 0}, 0, 3, 0, 0), "", true},
		{"something else entirely", []byte("GET / HTTP/1.1\r\n\r\n"), "", true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			conn := dialRaw(t, p.Address)
			for i := range c.send { // a byte at a time: nothing may be taken to come whole
				if _, err := conn.Write(c.send[i : i+1]); err != nil {
					break
				}
			}
			if got := answer(t, conn, c.want); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if c.whole {
				if b, _ := io.ReadAll(conn); len(b) != 0 {
					t.Errorf("more came: %q", b)
				}
			}
		})
	}
}

// TestOverriddenSettings: what is given both ways, or twice in options, has the
// value that the server would take, and only that has to be allowed.
func TestOverriddenSettings(t *testing.T) {
	database, p := startShop(t, shopPolicy, nil)
	for _, c := range []struct{ options, parameter, want string }{
		{"-c datestyle=ISO,DMY", "", "ISO, DMY"},
		{"-c datestyle=ISO,DMY", "ISO, YMD", "ISO, YMD"},
		{"-c datestyle=ISO,DMY --DateStyle=ISO,MDY", "", "ISO, MDY"},
		{"-c datestyle=German -c datestyle=ISO,DMY", "", "ISO, DMY"},
		{"-c datestyle=German", "ISO, MDY", "ISO, MDY"},
		{"-c datestyle=ISO,DMY -c client_encoding=SQL_ASCII -c client_encoding=UTF8", "", "ISO, DMY"},
	} {
		for who, dsn := range map[string]string{"directly": database.DSN(), "through the proxy": p.DSN("reporting")} {
			config, err := parseConfig(dsn)
			if err != nil {
				t.Fatal(err)
			}
			config.RuntimeParams["options"] = c.options
			if c.parameter != "" {
				config.RuntimeParams["DateStyle"] = c.parameter
			}
			conn, err := connectConfig(t, config)
			if err != nil {
				t.Errorf("%+v %s: %v", c, who, err)
			} else if got := conn.ParameterStatus("DateStyle"); got != c.want {
				t.Errorf("%+v %s: %s", c, who, got)
			}
		}
	}
}

// An allowed value does not hide the one that takes effect.
func TestOverridingSettingIsJudged(t *testing.T) {
	_, p := startShop(t, shopPolicy, nil)
	config, err := parseConfig(p.DSN("reporting"))
	if err != nil {
		t.Fatal(err)
	}
	config.RuntimeParams["options"] = "-c datestyle=ISO -c datestyle=German"
	var refused *pgconn.PgError
	if _, err := connectConfig(t, config); !errors.As(err, &refused) || refused.Code != "42501" {
		t.Errorf("%v", err)
	}
}

// answer reads as many messages as want tells of, and writes them in its way.
func answer(t *testing.T, conn net.Conn, want string) string {
	t.Helper()
	var got strings.Builder
	for got.Len() < len(want) {
		var kind [1]byte
		if _, err := io.ReadFull(conn, kind[:]); err != nil {
			break
		}
		got.WriteByte(kind[0])
		if kind[0] == 'N' || kind[0] == 'S' {
			continue
		}
		var size [4]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			t.Fatal(err)
		}
		body := make([]byte, binary.BigEndian.Uint32(size[:])-4)
		if _, err := io.ReadFull(conn, body); err != nil {
			t.Fatal(err)
		}
		if kind[0] == 'E' {
			var e pg.ErrorResponse
			if err := e.Decode(body); err != nil {
				t.Fatal(err)
			}
			if e.Severity != "FATAL" {
				t.Errorf("severity %s", e.Severity)
			}
			got.WriteString(" " + e.Code)
		}
	}
	return got.String()
}

// TestLogin shows who gets in.
func TestLogin(t *testing.T) {
	_, p := startShop(t, shopPolicy, nil)
	good := p.DSN("reporting")
	cases := []struct {
		name, dsn, code string
	}{
		{"the right password", good, ""},
		{"a wrong password", strings.Replace(good, proxytest.Password, "wrong", 1), "28P01"},
		{"an unknown agent", strings.Replace(good, "reporting", "nobody", 1), "28P01"},
		{"an unknown database", strings.Replace(good, "dbname=shop", "dbname=other", 1), "42501"},
		{"a setting that may be had", good + " timezone=UTC", ""},
		{"a pinned setting", good + " default_transaction_read_only=off", "42501"},
		{"a longer timeout", good + " statement_timeout=100000", "42501"},
		{"a shorter timeout", good + " statement_timeout=100", ""},
		{"another lexer", good + " standard_conforming_strings=off", "42501"},
		{"another encoding", good + " client_encoding=SJIS", "42501"},
		{"a setting that does not exist", good + " no_such_setting=1", "42704"},
		{"the lexer in options", good + " options='-c standard_conforming_strings=off'", "42501"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			config, err := parseConfig(c.dsn)
			if err != nil {
				t.Fatal(err)
			}
			conn, err := connectConfig(t, config)
			if got := sqlstate(err); got != c.code {
				t.Fatalf("got %s, want %s", got, c.code)
			}
			if conn != nil {
				if rows, err := run(conn, "SELECT 1"); err != nil || rows[0] != "1" {
					t.Errorf("after login: %v %v", rows, err)
				}
			}
		})
	}
}

// TestVerifier: an agent's password can be given as a SCRAM verifier.
func TestVerifier(t *testing.T) {
	// made by a server: ALTER ROLE … PASSWORD 'agent-password-of-the-test'
	database, p := startShop(t, shopPolicy, nil)
	admin := connect(t, database.DSN())
	if _, err := run(admin, "CREATE ROLE verifier_of_the_test PASSWORD '"+proxytest.Password+"'"); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = run(admin, "DROP ROLE verifier_of_the_test") }()
	rows, err := run(admin, "SELECT rolpassword FROM pg_authid WHERE rolname = 'verifier_of_the_test'")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, text string
		works      bool
	}{
		{"the server's own", rows[0], true},
		{"of another password", "SCRAM-SHA-256$4096:c2FsdHNhbHRzYWx0c2FsdA==$" + strings.Repeat("A", 43) + "=:" + strings.Repeat("A", 43) + "=", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p.ApplyPasswords(t, shopPolicy, map[string]string{"reporting": c.text})
			config, err := parseConfig(p.DSN("reporting"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := connectConfig(t, config); (err == nil) != c.works {
				t.Errorf("connect: %v", err)
			}
		})
	}
	if _, err := proxy.NewVerifier("SCRAM-SHA-256$broken"); err == nil || strings.Contains(err.Error(), "broken") {
		t.Errorf("a broken verifier: %v", err)
	}
}

// TestTLS: an encrypted session works, plaintext sent ahead of the handshake is
// never taken for the session's first bytes, and plaintext is refused where TLS
// is required.
func TestTLS(t *testing.T) {
	certificate := selfSigned(t)
	_, p := startShop(t, shopPolicy, func(o *proxy.Options) {
		o.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12, NextProtos: []string{proxy.ALPN}}
		o.RequireTLS = true
	})
	secured := strings.Replace(p.DSN("reporting"), "sslmode=disable", "sslmode=require", 1)
	if rows, err := run(connect(t, secured), "SELECT 1"); err != nil || rows[0] != "1" {
		t.Errorf("over TLS: %v %v", rows, err)
	}
	for _, way := range []string{" sslnegotiation=direct", " channel_binding=require", " channel_binding=disable"} {
		if rows, err := run(connect(t, secured+way), "SELECT 1"); err != nil || rows[0] != "1" {
			t.Errorf("with%s: %v %v", way, rows, err)
		}
	}
	anonymous := tls.Client(dialRaw(t, p.Address), &tls.Config{InsecureSkipVerify: true})
	if err := anonymous.Handshake(); err == nil {
		if b, _ := io.ReadAll(anonymous); len(b) > 0 {
			t.Errorf("direct TLS without ALPN was answered: %q", b)
		}
	}
	config, err := parseConfig(p.DSN("reporting"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := connectConfig(t, config); sqlstate(err) != "28000" {
		t.Errorf("in plaintext: %v", err)
	}
	conn := dialRaw(t, p.Address)
	ahead := append(packet(sslCode, ""), packet(version30, params("user", "reporting", "database", "shop"))...)
	if _, err := conn.Write(ahead); err != nil {
		t.Fatal(err)
	}
	got, _ := io.ReadAll(conn)
	if !strings.HasPrefix(string(got), "S") || strings.Contains(string(got), "SCRAM") {
		t.Errorf("plaintext before TLS was answered: %q", got)
	}
}
