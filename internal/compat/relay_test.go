package compat_test

import (
	"encoding/binary"
	"io"
	"net"
	"testing"
)

// relay is a real server's address where the bytes on the way to (up) and from
// (down) it are bent. nil leaves them alone.
func relay(tb testing.TB, server string, up, down func(io.Writer) io.Writer) (address string) {
	tb.Helper()
	servers := make(chan string, 1)
	servers <- server
	return switched(tb, servers, up, down)
}

func carry(client net.Conn, server string, up, down func(io.Writer) io.Writer) {
	defer client.Close()
	behind, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer behind.Close()
	bent := func(w io.Writer, bend func(io.Writer) io.Writer) io.Writer {
		if bend == nil {
			return w
		}
		return bend(w)
	}
	done := make(chan struct{}, 2)
	pass := func(to net.Conn, from net.Conn, bend func(io.Writer) io.Writer) {
		_, _ = io.Copy(struct{ io.Writer }{bent(to, bend)}, struct{ io.Reader }{from})
		done <- struct{}{}
	}
	go pass(behind, client, up)
	go pass(client, behind, down)
	<-done // either end closes both
}

// crumbs writes in pieces of those sizes, over and over, up to a number of
// bytes, and whole after that.
type crumbs struct {
	to    io.Writer
	sizes []int
	left  int
	turn  int
}

func (c *crumbs) Write(b []byte) (int, error) {
	written := 0
	for written < len(b) {
		size := len(b) - written
		if c.left > 0 {
			size = min(size, c.sizes[c.turn%len(c.sizes)])
			c.turn++
		}
		n, err := c.to.Write(b[written : written+size])
		written, c.left = written+n, c.left-n
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// inCrumbs cuts the first so many bytes into pieces.
func inCrumbs(bytes int, sizes ...int) func(io.Writer) io.Writer {
	return func(w io.Writer) io.Writer { return &crumbs{to: w, sizes: sizes, left: bytes} }
}

// without drops the server's messages of one kind.
type without struct {
	to      io.Writer
	kind    byte
	pending []byte
}

func (f *without) Write(b []byte) (int, error) {
	f.pending = append(f.pending, b...)
	for len(f.pending) >= 5 {
		size := 1 + int(binary.BigEndian.Uint32(f.pending[1:]))
		if len(f.pending) < size {
			break
		}
		if f.pending[0] != f.kind {
			if _, err := f.to.Write(f.pending[:size]); err != nil {
				return 0, err
			}
		}
		f.pending = f.pending[size:]
	}
	return len(b), nil
}

// withoutKind drops the server's messages of that kind.
func withoutKind(kind byte) func(io.Writer) io.Writer {
	return func(w io.Writer) io.Writer { return &without{to: w, kind: kind} }
}

// switched is an address behind which the server can be replaced: each
// connection goes to the one that is in the channel.
func switched(tb testing.TB, servers chan string, up, down func(io.Writer) io.Writer) (address string) {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server := <-servers
			servers <- server
			go carry(client, server, up, down)
		}
	}()
	return listener.Addr().String()
}
