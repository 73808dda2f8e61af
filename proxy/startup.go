package proxy

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/pgairlock/pgairlock/proxy/wire"
)

// Codes in place of a protocol version (protocol chapter, "Message Formats").
const (
	protocol3     = 3
	cancelRequest = 80877102
	sslRequest    = 80877103
	gssRequest    = 80877104

	// startupLimit is the server's own MAX_STARTUP_PACKET_LENGTH.
	startupLimit = 10_000
)

// errClosed is a connection that ended without anything to say to it: a port
// scan, a cancel request, a client that left.
var errClosed = errors.New("connection closed during start-up")

// negotiation is the state of a connection before its StartupMessage. Nothing
// is read ahead: a client that sends more than it may before TLS has those bytes
// taken for TLS records, and fails.
type negotiation struct {
	conn    net.Conn
	tls     *tls.Config
	tlsDone bool
	gssDone bool
	direct  bool // the handshake came without SSLRequest
}

// read reads one start-up packet: its code and its body.
func (n *negotiation) read() (code uint32, body []byte, err error) {
	var head [8]byte
	if _, err := io.ReadFull(n.conn, head[:]); err != nil {
		return 0, nil, errClosed
	}
	if head[0] == tlsRecord && !n.tlsDone && !n.gssDone && n.tls != nil {
		n.direct = true
		n.conn = &replayed{Conn: n.conn, ahead: head[:]}
		return sslRequest, nil, nil
	}
	length := binary.BigEndian.Uint32(head[:])
	if length < 8 || length > startupLimit {
		return 0, nil, errClosed
	}
	body = make([]byte, length-8)
	if _, err := io.ReadFull(n.conn, body); err != nil {
		return 0, nil, errClosed
	}
	return binary.BigEndian.Uint32(head[4:]), body, nil
}

// next handles encryption requests until a StartupMessage or a CancelRequest
// comes.
func (n *negotiation) next(ctx context.Context) (code uint32, body []byte, err error) {
	for {
		code, body, err = n.read()
		if err != nil {
			return 0, nil, err
		}
		switch code {
		case sslRequest:
			if n.tlsDone {
				return 0, nil, unsupportedProtocol(code)
			}
			n.tlsDone = true
			if err := n.encrypt(ctx); err != nil {
				return 0, nil, err
			}
		case gssRequest:
			if n.gssDone {
				return 0, nil, unsupportedProtocol(code)
			}
			n.gssDone = true
			// never forwarded: a server that says G makes the session unreadable here
			if err := n.say('N'); err != nil {
				return 0, nil, err
			}
		default:
			return code, body, nil
		}
	}
}

// encrypt answers an SSLRequest, or takes a handshake that came without one:
// such a client has to say by ALPN that it means PostgreSQL (protocol chapter,
// "SSL Session Encryption").
func (n *negotiation) encrypt(ctx context.Context) error {
	if n.tls == nil {
		return n.say('N')
	}
	if !n.direct {
		if err := n.say('S'); err != nil {
			return err
		}
	}
	secured := tls.Server(n.conn, n.tls)
	if err := secured.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("TLS handshake: %w", err)
	}
	if n.direct && secured.ConnectionState().NegotiatedProtocol != ALPN {
		_ = secured.Close()
		return errors.New("TLS handshake without SSLRequest and without ALPN")
	}
	n.conn = secured
	return nil
}

func (n *negotiation) say(b byte) error {
	if _, err := n.conn.Write([]byte{b}); err != nil {
		return errClosed
	}
	return nil
}

// ALPN is the protocol's name in TLS. Options.TLS must offer it in NextProtos.
const ALPN = "postgresql"

// tlsRecord is the first byte of a TLS handshake, which no start-up packet of a
// sensible length has.
const tlsRecord = 0x16

// replayed is a connection of which some bytes were read already.
type replayed struct {
	net.Conn
	ahead []byte
}

func (r *replayed) Read(b []byte) (int, error) {
	if len(r.ahead) == 0 {
		return r.Conn.Read(b)
	}
	n := copy(b, r.ahead)
	r.ahead = r.ahead[n:]
	return n, nil
}

func unsupportedProtocol(code uint32) error {
	return &refusal{sqlstate: "0A000", message: fmt.Sprintf("unsupported frontend protocol %d.%d: server supports 3.0 to 3.0", code>>16, code&0xffff)}
}

// begin brings a connection to the point where the agent is known: encryption,
// version, parameters, authentication. It returns nil, nil for a cancel request.
func (s *Server) begin(ctx context.Context, conn net.Conn) (*client, error) {
	if err := conn.SetDeadline(s.now().Add(s.options.StartupTimeout)); err != nil {
		return nil, errClosed
	}
	n := &negotiation{conn: conn, tls: s.options.TLS}
	code, body, err := n.next(ctx)
	if err != nil {
		return &client{conn: n.conn}, err
	}
	c := &client{conn: n.conn}
	if code == cancelRequest {
		s.cancelByKey(ctx, body)
		return nil, nil
	}
	if code>>16 != protocol3 {
		return c, unsupportedProtocol(code)
	}
	if s.options.RequireTLS && n.conn == conn && conn.LocalAddr().Network() != "unix" {
		return c, &refusal{sqlstate: "28000", message: "connections without TLS are not accepted", hint: "Set sslmode=require, or verify-full."}
	}
	asked, refused := parseStartup(body)
	if refused != nil {
		return c, &refusal{sqlstate: refused.sqlstate, message: refused.message, hint: refused.hint, rule: "startup"}
	}
	c.startup = asked
	c.startup.minor = int(code & 0xffff)
	// the version is the server's, as far as it is known
	newest := s.catalogs.newestMinor(asked.database)
	if c.startup.minor > newest || len(asked.unknown) > 0 {
		c.startup.minor = min(c.startup.minor, newest)
		if _, err := c.conn.Write(negotiateVersion(c.startup.minor, asked.unknown)); err != nil {
			return c, errClosed
		}
	}
	if err := s.authenticate(c); err != nil {
		return c, err
	}
	return c, conn.SetDeadline(time.Time{})
}

// negotiateVersion is a NegotiateProtocolVersion that settles on a minor version.
func negotiateVersion(minor int, unknown []string) []byte {
	body := binary.BigEndian.AppendUint32(nil, uint32(protocol3<<16|minor))
	body = binary.BigEndian.AppendUint32(body, uint32(len(unknown)))
	for _, name := range unknown {
		body = append(append(body, name...), 0)
	}
	message := append([]byte{'v'}, binary.BigEndian.AppendUint32(nil, uint32(len(body)+4))...)
	return append(message, body...)
}

// client is a connection from which an agent speaks.
type client struct {
	conn    net.Conn
	startup startup
	agent   *agentLogin
}

// refusal is an error that the client is told, as FATAL during start-up.
type refusal struct{ sqlstate, message, detail, hint, rule string }

func (r *refusal) Error() string { return r.message }

func (r *refusal) report(severity string) wire.Report {
	return wire.Report{Severity: severity, SQLSTATE: r.sqlstate, Message: r.message, Detail: r.detail, Hint: r.hint}
}
