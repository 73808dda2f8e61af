package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"
)

// firstInherited is the first file descriptor that systemd passes
// (SD_LISTEN_FDS_START in sd_listen_fds(3)).
const firstInherited = 3

// inherited are the listeners that were opened for this process before it
// began, as systemd does for a socket unit (sd_listen_fds(3)): connections that
// come while one process ends and the next begins wait there. None if nobody
// did.
func inherited(getenv func(string) string, pid, first int) ([]net.Listener, error) {
	if getenv("LISTEN_PID") != strconv.Itoa(pid) {
		return nil, nil // meant for another process, or for none
	}
	n, err := strconv.Atoi(getenv("LISTEN_FDS"))
	if err != nil || n < 0 {
		return nil, fmt.Errorf("LISTEN_FDS is %q, not a number", getenv("LISTEN_FDS"))
	}
	var all []net.Listener
	for fd := first; fd < first+n; fd++ {
		syscall.CloseOnExec(fd) // programs that fetch secrets must not get it
		file := os.NewFile(uintptr(fd), "inherited socket "+strconv.Itoa(fd))
		l, err := net.FileListener(file)
		if err := errors.Join(err, file.Close()); err != nil {
			for _, open := range all {
				err = errors.Join(err, open.Close())
			}
			return nil, fmt.Errorf("inherited socket %d: %w", fd, err)
		}
		all = append(all, l)
	}
	return all, nil
}

// tellManager tells systemd that the proxy serves, and when ctx ends that it
// stops and how long that may take (sd_notify(3)). Without systemd it does
// nothing.
func (d *daemon) tellManager(ctx context.Context) {
	socket := os.Getenv("NOTIFY_SOCKET")
	if socket == "" {
		return
	}
	tell := func(state string) {
		if err := notify(socket, state); err != nil {
			d.log.Warn().Err(err).Msg("tell systemd")
		}
	}
	tell("READY=1")
	<-ctx.Done()
	patience := d.config.Drain + 2*closeLimit
	tell(fmt.Sprintf("STOPPING=1\nEXTEND_TIMEOUT_USEC=%d", patience.Microseconds()))
}

func notify(socket, state string) error {
	if socket[0] == '@' {
		socket = "\x00" + socket[1:]
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return err
	}
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
	_, err = conn.Write([]byte(state))
	return errors.Join(err, conn.Close())
}
