package compat_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgairlock/pgairlock/internal/pgtest"
)

const (
	sslRequest = 80877103
	gssRequest = 80877104
)

// TestStartupSettings: what a client sets at start-up holds, or it is told.
// pgbouncer dropped such settings in silence: JDBC's floats came out rounded.
func TestStartupSettings(t *testing.T) {
	l := start(t, pgtest.Options{}, nil)
	for _, c := range []struct {
		name     string
		settings []string
		show     []string
	}{
		{"JDBC's", []string{"client_encoding", "UTF8", "DateStyle", "ISO", "TimeZone", "Europe/Zurich", "extra_float_digits", "2"},
			[]string{"SHOW client_encoding", "SHOW datestyle", "SHOW timezone", "SHOW extra_float_digits", "SELECT 0.1::float8 + 0.2::float8"}},
		{"fewer digits", []string{"extra_float_digits", "-10"}, []string{"SELECT 1.0::float8 / 3"}},
		{"asyncpg's quotes", []string{"client_encoding", "'utf-8'"}, []string{"SHOW client_encoding"}},
		{"lib/pq's", []string{"client_encoding", "UTF8", "datestyle", "ISO, MDY"}, []string{"SHOW datestyle"}},
		{"node's", []string{"application_name", "it's a name", "statement_timeout", "700", "lock_timeout", "300"},
			[]string{"SHOW application_name", "SHOW statement_timeout", "SHOW lock_timeout"}},
		{"options", []string{"options", `-c work_mem=5MB --application_name=a\ b -c geqo=off`}, []string{"SHOW work_mem", "SHOW application_name", "SHOW geqo"}},
		{"search_path", []string{"search_path", "public"}, []string{"SHOW search_path", "SELECT current_schema()"}},
		{"names in capitals", []string{"TIMEZONE", "UTC", "IntervalStyle", "iso_8601"}, []string{"SHOW timezone", "SELECT interval '1 day'"}},
	} {
		for _, agent := range strings.Fields(everyone) {
			t.Run(c.name+"/"+agent, func(t *testing.T) {
				direct, proxied := open(t, l.direct(agent), c.settings...), open(t, l.through(agent), c.settings...)
				for _, sql := range c.show {
					if want, got := direct.answer(sql), proxied.answer(sql); fmt.Sprint(got) != fmt.Sprint(want) {
						t.Errorf("%s: %s, directly %s", sql, got, want)
					}
				}
				sameSettings(t, direct, proxied)
			})
		}
	}
}

// sameSettings holds the ParameterStatus messages of two greetings against each
// other, but for who is logged in.
func sameSettings(t *testing.T, direct, proxied *peer) {
	t.Helper()
	count := 0
	for _, p := range []*peer{direct, proxied} {
		for _, m := range p.greeting {
			name, value, _ := strings.Cut(string(m.body), "\x00")
			if m.kind != 'S' {
				continue
			}
			count++
			if other := direct.parameter(name); other != proxied.parameter(name) || other != strings.TrimRight(value, "\x00") {
				t.Errorf("%s: %q, directly %q", name, proxied.parameter(name), other)
			}
		}
	}
	if count < 24 {
		t.Errorf("only %d settings were reported", count)
	}
}

// TestBadStartup: an error of the server's own stays the server's own.
func TestBadStartup(t *testing.T) {
	l := start(t, pgtest.Options{}, nil)
	for _, c := range []struct {
		name     string
		settings []string
		want     string
	}{
		{"no such setting", []string{"no_such_setting", "1"}, "E:42704"},
		{"no such setting in options", []string{"options", "-c no_such_setting=1"}, "E:42704"},
		{"a value that is none", []string{"extra_float_digits", "many"}, "E:22023"},
		{"a zone that is none", []string{"TimeZone", "Mars/Olympus"}, "E:22023"},
	} {
		for _, agent := range strings.Fields(everyone) {
			t.Run(c.name+"/"+agent, func(t *testing.T) {
				for _, at := range []place{l.direct(agent), l.through(agent)} {
					p := dial(t, at.address)
					p.write(at.startup(version3, c.settings...))
					last := p.login(at)
					if word(last) != c.want || errorField(last.body, 'S') != "FATAL" {
						t.Errorf("%s: %s %s", at.name, word(last), last.body)
					}
					if end := p.next(); end.kind != 0 {
						t.Errorf("%s: after it, %s", at.name, word(end))
					}
				}
			})
		}
	}
}

// TestVersions: which version of the protocol is spoken is the server's word.
// pgdog compared with 3.0 only, pgagroal took any minor version as it came;
// libpq 19's beta asks for 3.9999 to find such out.
func TestVersions(t *testing.T) {
	extension := []string{"_pq_.test_protocol_negotiation", ""}
	labs := map[int]*lab{}
	for _, major := range []int{15, 18} {
		labs[major] = start(t, pgtest.Options{Major: major}, nil)
		open(t, labs[major].through("watched")) // the server's version is known from the first session on
	}
	for _, c := range []struct {
		major, minor int
		more         []string
		want         string // of NegotiateProtocolVersion: the minor version and the extensions; "" where none comes
	}{
		{15, 0, nil, ""},
		{15, 0, extension, "0 _pq_.test_protocol_negotiation"},
		{15, 2, nil, "0"},
		{15, 9999, nil, "0"},
		{15, 9999, append([]string{"_pq_.x", "1"}, extension...), "0 _pq_.x _pq_.test_protocol_negotiation"},
		{18, 0, nil, ""},
		{18, 0, extension, "0 _pq_.test_protocol_negotiation"},
		{18, 1, nil, ""},
		{18, 2, nil, ""},
		{18, 2, extension, "2 _pq_.test_protocol_negotiation"},
		{18, 9999, append([]string{"_pq_.x", "1"}, extension...), "2 _pq_.x _pq_.test_protocol_negotiation"},
	} {
		t.Run(fmt.Sprintf("%d asked for 3.%d with %d extensions", c.major, c.minor, len(c.more)/2), func(t *testing.T) {
			l := labs[c.major]
			var answers [][]byte
			for _, at := range []place{l.direct("watched"), l.through("watched")} {
				p := dial(t, at.address)
				p.write(at.startup(uint32(version3|c.minor), c.more...))
				if last := p.login(at); last.kind != 'Z' {
					t.Fatalf("%s: %s", at.name, word(last))
				}
				var said []byte
				if p.greeting[0].kind == 'v' {
					said = p.greeting[0].body
				}
				answers = append(answers, said)
				if got := negotiated(said); got != c.want {
					t.Errorf("%s: %q, not %q", at.name, got, c.want)
				}
				p.inStep("Z:I")
			}
			if !bytes.Equal(answers[0], answers[1]) {
				t.Errorf("%q, directly %q", answers[1], answers[0])
			}
		})
	}
}

func negotiated(body []byte) string {
	if body == nil {
		return ""
	}
	text := fmt.Sprint(binary.BigEndian.Uint32(body) & 0xffff)
	if names := strings.TrimRight(string(body[8:]), "\x00"); names != "" {
		text += " " + strings.ReplaceAll(names, "\x00", " ")
	}
	return text
}

// TestKeys: the secret that a session is cancelled by is as long as the version
// says. A server that gives none must not become an empty one, as it did in
// Teleport.
func TestKeys(t *testing.T) {
	l := start(t, pgtest.Options{Major: 18}, nil)
	open(t, l.through("watched"))
	for minor, length := range map[int]int{0: 4, 1: 4, 2: 32} {
		at := l.through("watched")
		p := dial(t, at.address)
		p.write(at.startup(uint32(version3 | minor)))
		if last := p.login(at); last.kind != 'Z' {
			t.Fatalf("3.%d: %s", minor, word(last))
		}
		if len(p.key) != length {
			t.Errorf("3.%d: a key of %d bytes, not %d", minor, len(p.key), length)
		}
		if pid := p.answer("SELECT pg_backend_pid()"); pid[0] != fmt.Sprint(p.pid) {
			t.Errorf("3.%d: pid %d, on the server %s", minor, p.pid, pid[0])
		}
		if got := p.cancelled(t, l, at); got != "T E:57014 Z:I" {
			t.Errorf("3.%d: %s", minor, got)
		}
	}
	t.Run("long ones upstream", func(t *testing.T) {
		proxy := l.front(t, l.database.DSN()+"?max_protocol_version=3.2", nil)
		at := through(proxy, "watched")
		p := open(t, at)
		if got := p.cancelled(t, l, at); got != "T E:57014 Z:I" {
			t.Error(got)
		}
	})
	t.Run("none upstream", func(t *testing.T) {
		proxy := l.front(t, l.relayed(t, relay(t, l.serverAddress(), nil, withoutKind('K'))), nil)
		p := open(t, through(proxy, "watched"))
		if p.key != nil {
			t.Errorf("a key of %d bytes for process %d was invented", len(p.key), p.pid)
		}
		p.inStep("Z:I")
	})
}

// relayed is the superuser's connection string by another address.
func (l *lab) relayed(t *testing.T, address string) string {
	t.Helper()
	config, err := pgconn.ParseConfig(l.database.DSN())
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("postgres://%s:%s@%s/%s?sslmode=disable", config.User, config.Password, address, config.Database)
}

// cancelled starts a long query, cancels it by the key, and returns the answer.
func (p *peer) cancelled(t *testing.T, l *lab, at place) string {
	t.Helper()
	p.write(query("SELECT pg_sleep(60)"))
	l.asleep(t, p)
	p.cancel(t, at)
	return shown(p.until('Z'))
}

// cancel sends a CancelRequest as libpq does: on a connection of its own, and
// waiting until the server closes it.
func (p *peer) cancel(tb testing.TB, at place) {
	tb.Helper()
	request := packet(80877102, append(binary.BigEndian.AppendUint32(nil, p.pid), p.key...)...)
	if want := 12 + len(p.key); len(request) != want {
		tb.Fatalf("a CancelRequest of %d bytes, not %d", len(request), want)
	}
	other := dial(tb, at.address)
	other.write(request)
	if m := other.next(); m.kind != 0 {
		tb.Errorf("a CancelRequest was answered: %s", word(m))
	}
	_ = other.conn.Close()
}

// TestFirstPackets: the first packet may ask for GSSAPI, then for TLS, then
// begin, all on one socket. Teleport did not know the first. A proxy must answer
// it itself: a server that agrees makes the session unreadable.
func TestFirstPackets(t *testing.T) {
	l := start(t, pgtest.Options{}, nil) // neither has TLS
	for _, c := range []struct {
		name  string
		first [][]byte
		want  string // one letter for each
	}{
		{"GSSAPI, then TLS", [][]byte{packet(gssRequest), packet(sslRequest)}, "NN"},
		{"TLS, then GSSAPI", [][]byte{packet(sslRequest), packet(gssRequest)}, "NN"},
		{"GSSAPI only", [][]byte{packet(gssRequest)}, "N"},
		{"TLS twice", [][]byte{packet(sslRequest), packet(sslRequest)}, "NE"},
		{"GSSAPI twice", [][]byte{packet(gssRequest), packet(gssRequest)}, "NE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := l.through("reading")
			p := dial(t, at.address)
			var got string
			for _, b := range c.first {
				p.write(b)
				got += p.letter()
			}
			if got != c.want {
				t.Fatalf("%s, not %s", got, c.want)
			}
			if strings.HasSuffix(got, "E") {
				return
			}
			p.write(at.startup(version3))
			if last := p.login(at); last.kind != 'Z' {
				t.Errorf("no login: %s", word(last))
			}
		})
	}
}

// letter is the one byte that answers a request for encryption, or E for a
// FATAL 0A000.
func (p *peer) letter() string {
	p.tb.Helper()
	_ = p.conn.SetReadDeadline(time.Now().Add(patience))
	first, err := p.in.Peek(1)
	if err != nil {
		p.tb.Fatal(err)
	}
	if first[0] != 'E' {
		_, _ = p.in.Discard(1)
		return string(first)
	}
	if m := p.next(); word(m) != "E:0A000" || errorField(m.body, 'S') != "FATAL" {
		p.tb.Errorf("%s", m.body)
	}
	if end := p.next(); end.kind != 0 {
		p.tb.Errorf("after it, %s", word(end))
	}
	return "E"
}

// TestPacketsInPieces: a login may be large, and come byte by byte from both
// sides. pgbouncer took it for whole and small.
func TestPacketsInPieces(t *testing.T) {
	l := start(t, pgtest.Options{}, nil)
	large := strings.Repeat("x", 9000)
	for _, c := range []struct {
		name string
		at   place
	}{
		{"direct", l.direct("reading")},
		{"byte by byte from the client", l.through("reading").by(relay(t, l.proxy.Address, inCrumbs(1<<20, 1), nil))},
		{"byte by byte to the client", l.through("reading").by(relay(t, l.proxy.Address, nil, inCrumbs(1<<20, 1)))},
		{"in pieces from the server", through(l.front(t, l.relayed(t, relay(t, l.serverAddress(), nil, inCrumbs(1<<18, 1, 2, 3, 5, 7, 11))), nil), "reading")},
		{"in pieces to the server", through(l.front(t, l.relayed(t, relay(t, l.serverAddress(), inCrumbs(1<<20, 1, 4, 6), nil)), nil), "reading")},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := open(t, c.at, "application_name", large)
			p.write(say(parse("s", "SELECT id, total, status FROM orders WHERE id = $1"), describe('S', "s"), bind("", "s", []byte("7")), execute("", 0), sync,
				query("SELECT 1; SELECT 1/0")))
			want := "1 t T 2 D:7,10.5,open C:SELECT_1 Z:I T D:1 C:SELECT_1 E:22012 Z:I"
			if got := shown(p.take(messagesIn(want))); got != want {
				t.Errorf("\n got %s\nwant %s", got, want)
			}
			p.inStep("Z:I")
		})
	}
}

// by is the place, reached by another address.
func (p place) by(address string) place {
	p.address = address
	return p
}

// TestTooLargeStartup: over 10,000 bytes the server just closes.
func TestTooLargeStartup(t *testing.T) {
	l := start(t, pgtest.Options{}, nil)
	for _, at := range []place{l.direct("reading"), l.through("reading")} {
		p := dial(t, at.address)
		p.write(at.startup(version3, "application_name", strings.Repeat("x", 10_000)))
		if m := p.next(); m.kind != 0 {
			t.Errorf("%s: %s", at.name, word(m))
		}
	}
}
