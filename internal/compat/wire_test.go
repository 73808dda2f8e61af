package compat_test

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/xdg-go/scram"
)

// place is where a login leads: to the server, or to the proxy before it.
type place struct {
	name                     string
	address                  string
	user, password, database string
	settings                 []string // start-up parameters: name, value, …
}

// message is a server message.
type message struct {
	kind byte
	body []byte
}

// peer is a client that writes every byte itself, the login included.
type peer struct {
	conn     net.Conn
	in       *bufio.Reader
	greeting []message // from AuthenticationOk to ReadyForQuery
	pid      uint32
	key      []byte
	tb       testing.TB
}

// patience is how long an answer may take.
const patience = time.Minute

// version3 is protocol 3.0; the minor version is added to it.
const version3 = 3 << 16

// packet is a message without a type, as they come before the login.
func packet(code uint32, body ...byte) []byte {
	out := binary.BigEndian.AppendUint32(nil, uint32(8+len(body)))
	return append(binary.BigEndian.AppendUint32(out, code), body...)
}

// words are strings that each end in a zero byte.
func words(all ...string) []byte {
	var out []byte
	for _, s := range all {
		out = append(append(out, s...), 0)
	}
	return out
}

// startup is the place's StartupMessage, with more parameters.
func (p place) startup(version uint32, more ...string) []byte {
	all := append([]string{"user", p.user, "database", p.database}, p.settings...)
	return packet(version, append(words(append(all, more...)...), 0)...)
}

// dial opens a connection on which nothing has been said.
func dial(tb testing.TB, address string) *peer {
	tb.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		tb.Fatal(err)
	}
	return newPeer(tb, conn)
}

func newPeer(tb testing.TB, conn net.Conn) *peer {
	tb.Cleanup(func() { _ = conn.Close() })
	return &peer{conn: conn, in: bufio.NewReader(conn), tb: tb}
}

// open logs in with more start-up parameters.
func open(tb testing.TB, at place, more ...string) *peer {
	tb.Helper()
	p := dial(tb, at.address)
	p.write(at.startup(version3, more...))
	if last := p.login(at); last.kind != 'Z' {
		tb.Fatalf("%s: no login: %s", at.name, word(last))
	}
	return p
}

// login answers the server's questions up to its ReadyForQuery or its error.
func (p *peer) login(at place) message {
	p.tb.Helper()
	client, err := scram.SHA256.NewClient(at.user, at.password, "")
	if err != nil {
		p.tb.Fatal(err)
	}
	conversation := client.NewConversation()
	for {
		m := p.next()
		if m.kind == 'R' {
			if answer := p.proof(conversation, m.body); answer != nil {
				p.write(typed('p', answer))
				continue
			}
		}
		p.greeting = append(p.greeting, m)
		switch m.kind {
		case 'K':
			p.pid, p.key = binary.BigEndian.Uint32(m.body), m.body[4:]
		case 'Z', 'E', 0:
			return m
		}
	}
}

// proof is the answer to an authentication request, nil if none is wanted.
func (p *peer) proof(conversation *scram.ClientConversation, body []byte) []byte {
	p.tb.Helper()
	switch kind, challenge := binary.BigEndian.Uint32(body), string(body[4:]); kind {
	case 10:
		p.offered(challenge)
		first, err := conversation.Step("")
		if err != nil {
			p.tb.Fatal(err)
		}
		return append(binary.BigEndian.AppendUint32(words("SCRAM-SHA-256"), uint32(len(first))), first...)
	case 11, 12:
		answer, err := conversation.Step(challenge)
		if err != nil {
			p.tb.Fatal(err)
		}
		if kind == 11 {
			return []byte(answer)
		}
	}
	return nil
}

// offered fails the test if the server offers to bind the proof to a channel
// that is not there: this client speaks no TLS.
func (p *peer) offered(list string) {
	p.tb.Helper()
	if mechanisms := strings.TrimRight(list, "\x00"); mechanisms != "SCRAM-SHA-256" {
		p.tb.Errorf("without TLS, %q is offered", mechanisms)
	}
}

func (p *peer) write(b []byte) {
	p.tb.Helper()
	_ = p.conn.SetWriteDeadline(time.Now().Add(time.Minute))
	if _, err := p.conn.Write(b); err != nil {
		p.tb.Fatalf("write: %v", err)
	}
}

// next reads a message. At the end of the stream its kind is 0.
func (p *peer) next() message {
	p.tb.Helper()
	m, err := p.within(patience)
	if err != nil {
		p.tb.Fatal(err)
	}
	return m
}

// within reads a message; the error is that none came in time.
func (p *peer) within(wait time.Duration) (message, error) {
	_ = p.conn.SetReadDeadline(time.Now().Add(wait))
	var head [5]byte
	_, err := io.ReadFull(p.in, head[:])
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return message{}, fmt.Errorf("no message within %s", wait)
	case err != nil:
		return message{}, nil
	}
	m := message{head[0], make([]byte, binary.BigEndian.Uint32(head[1:])-4)}
	if _, err := io.ReadFull(p.in, m.body); err != nil {
		return message{}, fmt.Errorf("half of a message %q: %w", m.kind, err)
	}
	return m, nil
}

// take reads n messages, fewer if the stream ends or falls silent.
func (p *peer) take(n int) []message {
	var all []message
	for len(all) < n {
		m, err := p.within(patience)
		if err != nil {
			break
		}
		if all = append(all, m); m.kind == 0 {
			break
		}
	}
	return all
}

// until reads up to and including a message of that kind.
func (p *peer) until(kind byte) []message {
	p.tb.Helper()
	var all []message
	for {
		m := p.next()
		all = append(all, m)
		if m.kind == kind || m.kind == 0 {
			return all
		}
	}
}

// silent fails the test if anything comes within wait.
func (p *peer) silent(wait time.Duration) {
	p.tb.Helper()
	if m, err := p.within(wait); err == nil {
		p.tb.Fatalf("expected silence, got %s", word(m))
	}
}

// parameter is a setting as the greeting reports it.
func (p *peer) parameter(name string) string {
	for _, m := range p.greeting {
		if n, value, _ := strings.Cut(string(m.body), "\x00"); m.kind == 'S' && n == name {
			return strings.TrimRight(value, "\x00")
		}
	}
	return ""
}

// answer sends a query and returns its rows.
func (p *peer) answer(sql string) []string {
	p.tb.Helper()
	p.write(query(sql))
	var rows []string
	for _, m := range p.until('Z') {
		switch m.kind {
		case 'D':
			rows = append(rows, row(m.body))
		case 'E':
			p.tb.Fatalf("%s: %s %s", sql, word(m), errorField(m.body, 'M'))
		}
	}
	return rows
}

// shown writes messages as words: a type and, for some, what matters of them.
// Blanks within are underlines, so that words can be counted.
func shown(all []message) string {
	out := make([]string, len(all))
	for i, m := range all {
		out[i] = word(m)
	}
	return strings.Join(out, " ")
}

// messagesIn counts the words, of which some hold bytes that look like blanks.
func messagesIn(words string) int { return strings.Count(words, " ") + 1 }

func word(m message) string {
	text := string(m.kind)
	switch m.kind {
	case 0:
		return "EOF"
	case 'E', 'N':
		text += ":" + errorField(m.body, 'C')
	case 'S':
		name, value, _ := strings.Cut(strings.TrimRight(string(m.body), "\x00"), "\x00")
		text += ":" + name + "=" + value
	case 'C', 'Z':
		text += ":" + strings.TrimRight(string(m.body), "\x00")
	case 'D':
		text += ":" + row(m.body)
	case 'A':
		channel, rest, _ := strings.Cut(string(m.body[4:]), "\x00")
		text += ":" + channel + "," + strings.TrimRight(rest, "\x00")
	}
	return strings.ReplaceAll(text, " ", "_")
}

// row is the values of a DataRow, separated by commas.
func row(body []byte) string {
	values := make([]string, binary.BigEndian.Uint16(body))
	body = body[2:]
	for i := range values {
		size := int32(binary.BigEndian.Uint32(body))
		body = body[4:]
		if size < 0 {
			values[i] = "NULL"
			continue
		}
		values[i], body = string(body[:size]), body[size:]
	}
	return strings.Join(values, ",")
}

func sqlstate(err error) string {
	var known *pgconn.PgError
	if errors.As(err, &known) {
		return known.Code
	}
	return ""
}

func errorField(body []byte, code byte) string {
	for len(body) > 1 {
		value, rest, _ := strings.Cut(string(body[1:]), "\x00")
		if body[0] == code {
			return value
		}
		body = []byte(rest)
	}
	return ""
}

// differs says where two answers differ, "" if nowhere. Of errors and notices,
// what a client acts on is compared: the proxy adds a hint to some, and a parser
// of its own finds some in another file. Of notifications the sender is left out.
func differs(a, b []message) string {
	if len(a) != len(b) {
		return fmt.Sprintf("%d messages and %d: %s and %s", len(a), len(b), shown(a), shown(b))
	}
	for i := range a {
		if essence(a[i]) != essence(b[i]) {
			return fmt.Sprintf("message %d is %q and %q", i+1, essence(a[i]), essence(b[i]))
		}
	}
	return ""
}

func essence(m message) string {
	if !slices.Contains([]byte("ENA"), m.kind) {
		return string(m.kind) + string(m.body)
	}
	if m.kind == 'A' {
		return word(m)
	}
	text := string(m.kind)
	for _, code := range []byte("SVCMP") {
		text += "|" + errorField(m.body, code)
	}
	return text
}
