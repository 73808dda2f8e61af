package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/pgairlock/pgairlock/internal/config"
)

// defaultPort names the Unix socket where no TCP port does.
const defaultPort = 6432

// listen opens the listeners. The Unix socket has the name that libpq looks
// for: .s.PGSQL.PORT, with TCP's port.
func listen(ctx context.Context, c config.Listen) ([]net.Listener, error) {
	var all []net.Listener
	port := defaultPort
	if c.TCP != "" {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", c.TCP)
		if err != nil {
			return nil, err
		}
		if at, ok := l.Addr().(*net.TCPAddr); ok {
			port = at.Port
		}
		all = append(all, l)
	}
	if c.Unix != "" {
		l, err := listenUnix(ctx, filepath.Join(c.Unix, ".s.PGSQL."+strconv.Itoa(port)))
		if err != nil {
			for _, open := range all {
				err = errors.Join(err, open.Close())
			}
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

// listenUnix makes the socket's folder if it is missing, and takes the place of
// a socket that nobody listens on: its process was killed.
func listenUnix(ctx context.Context, path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	if err := removeDead(ctx, path); err != nil {
		return nil, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	// Whoever connects has to prove who it is, as on TCP.
	if err := os.Chmod(path, 0o777); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// removeDead removes a socket that nobody listens on.
func removeDead(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s is no socket", path)
	}
	dialer := net.Dialer{Timeout: time.Second}
	if conn, err := dialer.DialContext(ctx, "unix", path); err == nil {
		return errors.Join(fmt.Errorf("another process listens on %s", path), conn.Close())
	}
	return os.Remove(path)
}

// serverTLS loads certificates; nil for connections that are not encrypted.
func serverTLS(c *config.TLS) (*tls.Config, error) {
	if c == nil {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(c.Certificate, c.Key)
	if err != nil {
		return nil, fmt.Errorf("tls: %s, %s: %w", c.Certificate, c.Key, err)
	}
	out := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if c.MinVersion == "1.3" {
		out.MinVersion = tls.VersionTLS13
	}
	if c.ClientCA == "" {
		return out, nil
	}
	text, err := os.ReadFile(c.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	out.ClientCAs = x509.NewCertPool()
	if !out.ClientCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("tls: %s holds no certificate", c.ClientCA)
	}
	// Who logs in by password needs none; whoever shows one has to show a good one.
	out.ClientAuth = tls.VerifyClientCertIfGiven
	return out, nil
}
