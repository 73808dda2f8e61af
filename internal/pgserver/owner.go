package pgserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// owner is who runs the server: this process's user, or nobody where that one
// is root, since PostgreSQL refuses to run as root.
type owner struct {
	credential *syscall.Credential // nil: this process's user
}

func newOwner() (owner, error) {
	if os.Geteuid() != 0 {
		return owner{}, nil
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		return owner{}, fmt.Errorf("find a user to run the server as, instead of root: %w", err)
	}
	uid, err := strconv.ParseUint(nobody.Uid, 10, 32)
	if err != nil {
		return owner{}, fmt.Errorf("user nobody: %w", err)
	}
	gid, err := strconv.ParseUint(nobody.Gid, 10, 32)
	if err != nil {
		return owner{}, fmt.Errorf("user nobody: %w", err)
	}
	return owner{&syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
}

// tempDir makes a folder that only the owner can enter. Its name is short: a
// socket's path has at most 107 bytes.
func (o owner) tempDir() (string, error) {
	dir, err := os.MkdirTemp("", "pgairlock-")
	if err != nil {
		return "", err
	}
	if o.credential != nil && !reachable(os.TempDir()) {
		err = fmt.Errorf("user nobody cannot enter %s: set TMPDIR to another folder", os.TempDir())
	} else {
		err = o.take(dir)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(dir))
	}
	return dir, nil
}

// take makes path the owner's.
func (o owner) take(path string) error {
	if o.credential == nil {
		return nil
	}
	return os.Chown(path, int(o.credential.Uid), int(o.credential.Gid))
}

// writeFile writes a file that only the owner can read.
func (o owner) writeFile(path string, content []byte) error {
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return err
	}
	return o.take(path)
}

// command prepares a program run as the owner in dir, in a process group of
// its own: a Ctrl-C at the terminal is the parent's to handle.
func (o owner) command(ctx context.Context, dir, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: o.credential, Setpgid: true}
	return cmd
}

// watch ends the server and removes its folder when its standard input closes
// without a word. The wait is bounded: a process whose parent is gone may stay
// in the process table for ever where nobody reaps it.
const watch = `
read -r word && exit 0
kill -QUIT "$1"
n=0
while kill -0 "$1" 2>/dev/null && [ $n -lt 100 ]; do sleep 0.1; n=$((n+1)); done
rm -rf "$2"
`

// startWatchdog starts a shell that cleans up should this process end without
// Stop, even by SIGKILL: the kernel then closes the pipe. (Pdeathsig would fire
// when the starting thread ends, and leave the folder.) Writing a line to the
// pipe ends the shell.
func startWatchdog(pid int, dir string) (io.WriteCloser, error) {
	cmd := exec.Command("/bin/sh", "-c", watch, "sh", strconv.Itoa(pid), dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the server's watchdog: %w", err)
	}
	go func() { _ = cmd.Wait() }() // ends with the shell, which ends with the pipe
	return pipe, nil
}
