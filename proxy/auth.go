package proxy

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/xdg-go/scram"

	"github.com/pgairlock/pgairlock/policy"
)

// Authentication requests (protocol chapter, AuthenticationXXX).
const (
	authOK           = 0
	authSASL         = 10
	authSASLContinue = 11
	authSASLFinal    = 12

	mechanism     = "SCRAM-SHA-256"
	mechanismPlus = "SCRAM-SHA-256-PLUS" // bound to the TLS channel

	// saslLimit bounds what a client may send while it proves itself.
	saslLimit = 4096

	// scramIterations is the server's default scram_iterations.
	scramIterations = 4096
)

// Verifier is what proves knowledge of a password without holding it
// (pg_authid.rolpassword's form SCRAM-SHA-256$<iterations>:<salt>$<stored>:<server>).
type Verifier struct{ credentials scram.StoredCredentials }

// NewVerifier takes a SCRAM verifier or a password. The error never holds text.
func NewVerifier(text string) (Verifier, error) {
	if strings.HasPrefix(text, mechanism+"$") {
		return parseVerifier(text)
	}
	if text == "" {
		return Verifier{}, errors.New("the password is empty")
	}
	salt := make([]byte, 16)
	if _, err := rand.Read(salt); err != nil {
		return Verifier{}, fmt.Errorf("random salt: %w", err)
	}
	c, err := scram.SHA256.NewClient("", text, "")
	if err != nil {
		// a password that SASLprep forbids is taken as it is, as the server does
		if c, err = scram.SHA256.NewClientUnprepped("", text, ""); err != nil {
			return Verifier{}, errors.New("the password cannot be used for SCRAM")
		}
	}
	credentials, err := c.GetStoredCredentialsWithError(scram.KeyFactors{Salt: string(salt), Iters: scramIterations})
	if err != nil {
		return Verifier{}, errors.New("the password cannot be used for SCRAM")
	}
	return Verifier{credentials}, nil
}

func parseVerifier(text string) (Verifier, error) {
	bad := errors.New("not a SCRAM-SHA-256 verifier: want SCRAM-SHA-256$<iterations>:<salt>$<stored key>:<server key>")
	parts := strings.Split(text, "$")
	if len(parts) != 3 {
		return Verifier{}, bad
	}
	iterations, salt64, ok1 := strings.Cut(parts[1], ":")
	stored64, server64, ok2 := strings.Cut(parts[2], ":")
	n, err1 := strconv.Atoi(iterations)
	salt, err2 := base64.StdEncoding.DecodeString(salt64)
	stored, err3 := base64.StdEncoding.DecodeString(stored64)
	server, err4 := base64.StdEncoding.DecodeString(server64)
	if !ok1 || !ok2 || errors.Join(err1, err2, err3, err4) != nil || n < 1 || len(stored) != sha256.Size || len(server) != sha256.Size {
		return Verifier{}, bad
	}
	return Verifier{scram.StoredCredentials{KeyFactors: scram.KeyFactors{Salt: string(salt), Iters: n}, StoredKey: stored, ServerKey: server}}, nil
}

// agentLogin is an agent that has proved who it is.
type agentLogin struct {
	name   string
	access policy.Access // at login; a session never becomes freer than that
}

// authenticate lets the client prove that it is the agent it names. An unknown
// agent takes the same steps and gets the same answer as a wrong password.
func (s *Server) authenticate(c *client) error {
	name := c.startup.user
	now := s.current.Load()
	agent, known := now.set.Agent(name)
	if known && agent.CertificateName != "" {
		if err := certifies(c, agent.CertificateName); err != nil {
			return err
		}
	} else {
		verifier, has := now.verifiers[name]
		known = known && has
		if !known {
			verifier = s.decoy(name)
		}
		if err := s.scram(c, verifier); err != nil || !known {
			if errors.Is(err, errClosed) {
				return err
			}
			return wrongPassword(name)
		}
	}
	c.agent = &agentLogin{name: name, access: agent.Access}
	_, err := c.conn.Write(authMessage(authOK, nil))
	return err
}

func wrongPassword(name string) error {
	return &refusal{sqlstate: "28P01", message: fmt.Sprintf("password authentication failed for user %q", name), rule: "authentication"}
}

func certifies(c *client, name string) error {
	secured, ok := c.conn.(*tls.Conn)
	if !ok {
		return &refusal{sqlstate: "28000", message: fmt.Sprintf("agent %q logs in by client certificate, which needs TLS", c.startup.user), rule: "authentication"}
	}
	chains := secured.ConnectionState().VerifiedChains
	if len(chains) == 0 || subtle.ConstantTimeCompare([]byte(chains[0][0].Subject.CommonName), []byte(name)) != 1 {
		return &refusal{sqlstate: "28000", message: fmt.Sprintf("certificate authentication failed for user %q", c.startup.user), rule: "authentication"}
	}
	return nil
}

// decoy is a verifier that nothing matches, with a salt that stays the same for
// a name, so that unknown agents can't be told from known ones.
func (s *Server) decoy(name string) Verifier {
	salt := sha256.Sum256(append(append([]byte{}, s.decoyKey[:]...), name...))
	return Verifier{scram.StoredCredentials{KeyFactors: scram.KeyFactors{Salt: string(salt[:16]), Iters: scramIterations},
		StoredKey: s.decoyKey[:], ServerKey: s.decoyKey[:]}}
}

// scram runs the server's side of SCRAM-SHA-256 (RFC 5802, RFC 7677). Over TLS it
// offers to bind the proof to the channel, so that nobody in the middle can
// pass it on.
func (s *Server) scram(c *client, v Verifier) error {
	server, err := scram.SHA256.NewServer(func(string) (scram.StoredCredentials, error) { return v.credentials, nil })
	if err != nil {
		return err
	}
	offered := []string{mechanism}
	conversation := server.NewConversation()
	if binding, ok := s.channelBinding(c); ok {
		offered = []string{mechanismPlus, mechanism}
		conversation = server.NewConversationWithChannelBinding(binding)
	}
	list := append([]byte(strings.Join(offered, "\x00")), 0, 0)
	if _, err := c.conn.Write(authMessage(authSASL, list)); err != nil {
		return errClosed
	}
	body, err := readSASL(c.conn)
	if err != nil {
		return err
	}
	chosen, rest, ok := cutString(body)
	if !ok || len(rest) < 4 || binary.BigEndian.Uint32(rest) != uint32(len(rest)-4) {
		return &refusal{sqlstate: "08P01", message: "malformed SCRAM message"}
	}
	bound := strings.HasPrefix(string(rest[4:]), "p=")
	if !slices.Contains(offered, chosen) || bound != (chosen == mechanismPlus) {
		return &refusal{sqlstate: "08P01", message: "client selected an invalid SASL authentication mechanism"}
	}
	first, err := conversation.Step(string(rest[4:]))
	if err != nil {
		return err
	}
	if _, err := c.conn.Write(authMessage(authSASLContinue, []byte(first))); err != nil {
		return errClosed
	}
	if body, err = readSASL(c.conn); err != nil {
		return err
	}
	final, err := conversation.Step(string(body))
	if err != nil || !conversation.Valid() {
		return errors.New("proof does not match")
	}
	if _, err := c.conn.Write(authMessage(authSASLFinal, []byte(final))); err != nil {
		return errClosed
	}
	return nil
}

// channelBinding is tls-server-end-point (RFC 5929): the hash of the certificate
// that the client saw, with the hash function of its signature, but at least
// SHA-256. It is offered where that certificate is certain.
func (s *Server) channelBinding(c *client) (scram.ChannelBinding, bool) {
	if _, ok := c.conn.(*tls.Conn); !ok || len(s.options.TLS.Certificates) != 1 {
		return scram.ChannelBinding{}, false
	}
	der := s.options.TLS.Certificates[0].Certificate[0]
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return scram.ChannelBinding{}, false
	}
	var sum []byte
	switch certificate.SignatureAlgorithm {
	case x509.SHA384WithRSA, x509.ECDSAWithSHA384, x509.SHA384WithRSAPSS:
		h := sha512.Sum384(der)
		sum = h[:]
	case x509.SHA512WithRSA, x509.ECDSAWithSHA512, x509.SHA512WithRSAPSS:
		h := sha512.Sum512(der)
		sum = h[:]
	case x509.PureEd25519:
		return scram.ChannelBinding{}, false // has no hash function of its own; the server does not bind either
	default:
		h := sha256.Sum256(der)
		sum = h[:]
	}
	return scram.ChannelBinding{Type: scram.ChannelBindingTLSServerEndpoint, Data: sum}, true
}

// readSASL reads a SASLInitialResponse or SASLResponse.
func readSASL(r io.Reader) ([]byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, errClosed
	}
	length := binary.BigEndian.Uint32(head[1:])
	if head[0] != 'p' || length < 4 || length > saslLimit {
		return nil, &refusal{sqlstate: "08P01", message: "expected SASL response"}
	}
	body := make([]byte, length-4)
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, errClosed
	}
	return body, nil
}

func authMessage(code uint32, body []byte) []byte {
	m := append([]byte{'R'}, binary.BigEndian.AppendUint32(nil, uint32(8+len(body)))...)
	m = binary.BigEndian.AppendUint32(m, code)
	return append(m, body...)
}
