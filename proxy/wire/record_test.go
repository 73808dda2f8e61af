package wire_test

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pgairlock/pgairlock/internal/pgtest"
	"github.com/pgairlock/pgairlock/proxy/wire"
)

var update = flag.Bool("update", false, "record the sessions anew, between real clients and real servers")

const (
	recordings  = "../../testdata/wire"
	recordLimit = time.Minute // for one session
)

// TestRecord makes the recordings that TestReplay replays: with -update only,
// since it needs every client that is recorded.
func TestRecord(t *testing.T) {
	if !*update {
		return
	}
	servers := map[int]*pgtest.Database{}
	for i, s := range sessions {
		for _, major := range s.majors {
			db := servers[major]
			if db == nil {
				// a server that nothing else has used gives the same OIDs each time
				db = pgtest.Start(t, pgtest.Options{Major: major, Setup: setup, Settings: map[string]string{}})
				servers[major] = db
			}
			name := recordingName(s, major)
			t.Run(name, func(t *testing.T) {
				database := fmt.Sprintf("recorded_%d", i)
				db.Exec(t, fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s", database, db.Name))
				events, err := record(t.Context(), s, target{host: db.Server.Host, port: db.Server.Port, database: database})
				if err != nil {
					t.Fatal(err)
				}
				text, err := format(s, major, events)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(recordings, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

func recordingName(s session, major int) string {
	return fmt.Sprintf("%s.pg%d.txt", s.name, major)
}

// format writes a recording. The flow numbers it; whoever reads the diff sees
// whether each reply stands with the message that it answers.
func format(s session, major int, events []event) (string, error) {
	var out strings.Builder
	fmt.Fprintf(&out, "# %s PostgreSQL %d.\n", s.about, major)
	m := newMiddle()
	for _, e := range events {
		outcomes, err := m.feed(e.server, e.raw)
		if err != nil {
			return "", fmt.Errorf("%s%w", out.String(), err)
		}
		e.number = outcomes[0].number
		if e.kind == wire.NotificationResponse && e.server {
			binary.BigEndian.PutUint32(e.raw[5:], 1) // the sender's process, another one each time
		}
		line, err := e.line()
		if err != nil {
			return "", err
		}
		out.WriteString(line + "\n")
	}
	return out.String(), nil
}

// target is a server and a database that lets everyone in.
type target struct {
	host     string
	port     int
	database string
}

func (t target) address() string { return net.JoinHostPort(t.host, strconv.Itoa(t.port)) }

func (t target) dsn() string {
	return fmt.Sprintf("postgres://postgres@%s/%s?sslmode=disable", t.address(), t.database)
}

// record runs a session through a forwarder.
func record(ctx context.Context, s session, server target) ([]event, error) {
	ctx, cancel := context.WithTimeout(ctx, recordLimit)
	defer cancel()
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f := &forwarder{listener: l, server: server.address()}
	var done sync.WaitGroup
	done.Go(f.run)
	through := target{host: "127.0.0.1", port: l.Addr().(*net.TCPAddr).Port, database: server.database}
	err = s.run(ctx, through, server)
	time.Sleep(100 * time.Millisecond) // what the client said last is on its way
	err = errors.Join(err, l.Close())
	done.Wait()
	var longest []event
	for _, c := range f.carried {
		if len(c.events) > len(longest) {
			longest = c.events
		}
	}
	if err = errors.Join(err, f.err); err == nil && longest == nil {
		err = errors.New("nothing passed")
	}
	return longest, err
}

// forwarder carries connections to a server and keeps what passes. Programs may
// open one to look around and another for their work: the longest is recorded.
type forwarder struct {
	listener net.Listener
	server   string
	carried  []*carried

	mu  sync.Mutex
	err error
}

// carried is one connection.
type carried struct {
	mu     sync.Mutex
	events []event
}

// run takes connections until the listener is closed and they have ended.
func (f *forwarder) run() {
	var open sync.WaitGroup
	defer open.Wait()
	for {
		client, err := f.listener.Accept()
		if err != nil {
			return
		}
		c := &carried{}
		f.carried = append(f.carried, c)
		open.Go(func() {
			defer client.Close()
			if err := c.carry(client, f.server); err != nil {
				f.mu.Lock()
				f.err = errors.Join(f.err, err)
				f.mu.Unlock()
			}
		})
	}
}

// Codes in place of a protocol version (protocol chapter, "Message Formats").
const (
	sslRequest = 80877103
	gssRequest = 80877104
)

// carry forwards one connection: start-up unseen, then message by message.
func (c *carried) carry(client net.Conn, address string) error {
	server, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer server.Close()
	for {
		packet, err := readPacket(client, 0)
		if err != nil {
			return err
		}
		code := binary.BigEndian.Uint32(packet[4:])
		if code != sslRequest && code != gssRequest {
			if _, err := server.Write(packet); err != nil {
				return err
			}
			break
		}
		if _, err := client.Write([]byte("N")); err != nil {
			return err
		}
	}
	for kind := byte(0); kind != wire.ReadyForQuery; {
		packet, err := readPacket(server, 1)
		if errors.Is(err, io.EOF) {
			return nil // a cancel request, or no admission
		}
		if err != nil {
			return err
		}
		kind = packet[0]
		if _, err := client.Write(packet); err != nil {
			return err
		}
	}
	var replies sync.WaitGroup
	replies.Go(func() {
		c.copy(client, server, true)
		client.Close()
	})
	c.copy(server, client, false)
	replies.Wait() // the server ends after Terminate, or when its client is gone
	return nil
}

// copy forwards messages until one side is gone. Each is in the recording before
// it is sent, so that its answer comes after it.
func (c *carried) copy(to, from net.Conn, server bool) {
	defer to.(*net.TCPConn).CloseWrite()
	for {
		packet, err := readPacket(from, 1)
		if err != nil {
			return
		}
		c.mu.Lock()
		c.events = append(c.events, event{server: server, kind: packet[0], raw: packet})
		c.mu.Unlock()
		if _, err := to.Write(packet); err != nil {
			return
		}
	}
}

// readPacket reads one message whose length stands after a type of 0 or 1 bytes.
func readPacket(r io.Reader, kind int) ([]byte, error) {
	packet := make([]byte, kind+4)
	if _, err := io.ReadFull(r, packet); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(packet[kind:])) - 4
	if n < 0 || n > 1<<26 {
		return nil, fmt.Errorf("a packet of %d bytes", n)
	}
	packet = append(packet, make([]byte, n)...)
	_, err := io.ReadFull(r, packet[kind+4:])
	return packet, err
}
