package rig

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Process is a proxy that runs.
type Process struct {
	Target
	Name string
	PID  int
	Log  string // path

	cmd    *exec.Cmd
	exited chan struct{}
}

const (
	startLimit = 30 * time.Second
	stopLimit  = 60 * time.Second
)

// launch runs a program and waits until it takes connections on its port.
func (r *Rig) launch(ctx context.Context, name string, port int, cmd *exec.Cmd) (*Process, error) {
	p := &Process{Name: name, Target: Target{Host: "127.0.0.1", Port: port, User: Reader, Password: r.Password}, Log: r.Dir + "/" + name + ".log",
		cmd: cmd, exited: make(chan struct{})}
	log, err := os.OpenFile(p.Log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p.PID = cmd.Process.Pid
	go func() { // ends with the program: Stop ends it
		_ = cmd.Wait() // how it ended is in its log
		close(p.exited)
	}()
	for end := time.Now().Add(startLimit); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		select {
		case <-p.exited:
			text, _ := os.ReadFile(p.Log)
			return nil, fmt.Errorf("%s ended: %s", name, lastLines(string(text)))
		default:
		}
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(p.Host, strconv.Itoa(port)))
		if err == nil {
			return p, conn.Close()
		}
	}
	return nil, errors.Join(fmt.Errorf("%s does not listen", name), p.Stop())
}

// Running says whether the program has not ended by itself.
func (p *Process) Running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// Signal sends a signal.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// Stop ends the program as a service manager does, and waits.
func (p *Process) Stop() error {
	_ = p.Signal(syscall.SIGTERM) // fails if it has ended
	select {
	case <-p.exited:
		return nil
	case <-time.After(stopLimit):
		_ = p.Signal(syscall.SIGKILL)
		<-p.exited
		return fmt.Errorf("%s did not end within %s", p.Name, stopLimit)
	}
}

// tick is the unit of CPU times in /proc: USER_HZ, 100 a second on Linux.
const tick = 10 * time.Millisecond

// CPU is the processor time that the process has used, of all its threads.
func (p *Process) CPU() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID))
	if err != nil {
		return 0, err
	}
	// the name, in parentheses, may hold blanks
	fields := strings.Fields(string(text)[strings.LastIndexByte(string(text), ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields", p.PID, len(fields))
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * tick, err
}

// Memory is the process's own memory in bytes: what would be free without it.
func (p *Process) Memory() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", p.PID))
	if err != nil {
		return 0, err
	}
	var total int64
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 3 && (fields[0] == "Private_Clean:" || fields[0] == "Private_Dirty:") {
			n, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				return 0, err
			}
			total += n << 10
		}
	}
	return total, nil
}

// Descriptors is how many files and sockets the process has open.
func (p *Process) Descriptors() (int, error) {
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.PID))
	return len(list), err
}
