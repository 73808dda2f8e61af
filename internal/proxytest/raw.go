package proxytest

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// patience is how long a message is waited for. It only ends a test that hangs:
// machines that run tests are busy.
const patience = time.Minute

// Raw is a client that says exactly what the test wants, message by message.
type Raw struct {
	Conn net.Conn
	PID  uint32
	Key  []byte
	tb   testing.TB
	seen []byte
}

// Dial logs in and hands the connection over.
func Dial(tb testing.TB, dsn string) *Raw {
	tb.Helper()
	config, err := pgconn.ParseConfig(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	ctx := tb.Context()
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		tb.Fatalf("connect: %v", err)
	}
	if err := conn.SyncConn(ctx); err != nil {
		tb.Fatal(err)
	}
	hijacked, err := conn.Hijack()
	if err != nil {
		tb.Fatal(err)
	}
	r := &Raw{Conn: hijacked.Conn, PID: hijacked.PID, Key: hijacked.SecretKey, tb: tb}
	tb.Cleanup(func() { _ = r.Conn.Close() })
	return r
}

// Send writes messages in one piece.
func (r *Raw) Send(messages ...pgproto3.FrontendMessage) {
	r.tb.Helper()
	var out []byte
	for _, m := range messages {
		var err error
		if out, err = m.Encode(out); err != nil {
			r.tb.Fatal(err)
		}
	}
	r.Write(out)
}

// Write writes bytes.
func (r *Raw) Write(b []byte) {
	r.tb.Helper()
	if _, err := r.Conn.Write(b); err != nil {
		r.tb.Fatalf("write: %v", err)
	}
}

// Next reads one message: its type and body. At the end of the stream the type
// is 0.
func (r *Raw) Next(wait time.Duration) (byte, []byte) {
	r.tb.Helper()
	_ = r.Conn.SetReadDeadline(time.Now().Add(wait))
	var head [5]byte
	if _, err := io.ReadFull(r.Conn, head[:]); err != nil {
		if ne, ok := err.(net.Error); ok && ne.Timeout() {
			r.tb.Fatalf("no message within %s; so far: %s", wait, r.seen)
		}
		return 0, nil
	}
	body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
	if _, err := io.ReadFull(r.Conn, body); err != nil {
		r.tb.Fatalf("half a message: %v", err)
	}
	return head[0], body
}

// Read reads messages up to and including n of a type and writes them as words:
// a type, and for some what matters of them: "E:42501", "C:SELECT 1", "Z:I".
// ParameterStatus is left out.
func (r *Raw) Read(until byte, n int) string {
	r.tb.Helper()
	var words []string
	for n > 0 {
		kind, body := r.Next(patience)
		if kind == 'S' {
			continue
		}
		words = append(words, word(kind, body))
		r.seen = []byte(strings.Join(words, " "))
		if kind == until {
			n--
		}
		if kind == 0 {
			break
		}
	}
	return strings.Join(words, " ")
}

// Silent fails the test if anything comes within wait.
func (r *Raw) Silent(wait time.Duration) {
	r.tb.Helper()
	_ = r.Conn.SetReadDeadline(time.Now().Add(wait))
	var b [1]byte
	if n, err := r.Conn.Read(b[:]); n > 0 {
		r.tb.Fatalf("expected silence, got message %q", b[0])
	} else if ne, ok := err.(net.Error); !ok || !ne.Timeout() {
		r.tb.Fatalf("expected silence, got %v", err)
	}
}

func word(kind byte, body []byte) string {
	switch kind {
	case 0:
		return "EOF"
	case 'E', 'N':
		return fmt.Sprintf("%c:%s", kind, errorField(body, 'C'))
	case 'C':
		return "C:" + strings.TrimRight(string(body), "\x00")
	case 'Z':
		return "Z:" + string(body)
	case 'D':
		return "D:" + row(body)
	}
	return string(kind)
}

// row is the values of a DataRow, separated by commas.
func row(body []byte) string {
	var values []string
	n := int(binary.BigEndian.Uint16(body))
	body = body[2:]
	for range n {
		size := int32(binary.BigEndian.Uint32(body))
		body = body[4:]
		if size < 0 {
			values = append(values, "NULL")
			continue
		}
		values = append(values, string(body[:size]))
		body = body[size:]
	}
	return strings.Join(values, ",")
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
