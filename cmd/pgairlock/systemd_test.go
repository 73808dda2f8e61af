package main

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func environment(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

func TestInherited(t *testing.T) {
	opened, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = opened.Close() }()
	file, err := opened.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.Dup(int(file.Fd())) // inherited takes it over
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	pid := os.Getpid()
	for _, c := range []struct {
		name string
		env  map[string]string
		want string
	}{
		{"nothing", nil, ""},
		{"another process's", map[string]string{"LISTEN_PID": "1", "LISTEN_FDS": "1"}, ""},
		{"no number", map[string]string{"LISTEN_PID": strconv.Itoa(pid), "LISTEN_FDS": "x"}, "not a number"},
		{"no socket", map[string]string{"LISTEN_PID": strconv.Itoa(pid), "LISTEN_FDS": "1"}, "inherited socket 9999"},
	} {
		all, err := inherited(environment(c.env), pid, 9999)
		if len(all) != 0 || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v", c.name, all, err)
		}
	}
	all, err := inherited(environment(map[string]string{"LISTEN_PID": strconv.Itoa(pid), "LISTEN_FDS": "1"}), pid, fd)
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	if got, want := all[0].Addr().String(), opened.Addr().String(); got != want {
		t.Errorf("listens on %s, not %s", got, want)
	}
	// what the process closes, the service manager still has: a client waits for
	// the next process instead of being turned away
	if err := all[0].Close(); err != nil {
		t.Fatal(err)
	}
	client, err := net.Dial("tcp", opened.Addr().String())
	if err != nil {
		t.Fatalf("between two processes: %v", err)
	}
	_ = client.Close()
}

func TestNotify(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = manager.Close() }()
	t.Setenv("NOTIFY_SOCKET", path)
	s := newHouse(t, nil).serve(t)
	heard := func() string {
		t.Helper()
		buffer := make([]byte, 100)
		n, err := manager.Read(buffer)
		if err != nil {
			t.Fatal(err)
		}
		return string(buffer[:n])
	}
	if got := heard(); got != "READY=1" {
		t.Errorf("at first: %q", got)
	}
	s.stop(t)
	if got := heard(); got != "STOPPING=1\nEXTEND_TIMEOUT_USEC=25000000" {
		t.Errorf("at the end: %q", got)
	}
}
