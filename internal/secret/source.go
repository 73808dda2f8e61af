package secret

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Limits of what a source may give.
const (
	maxValue       = 64 << 10 // bytes; a key file of several certificates fits
	commandTimeout = 10 * time.Second
	// killDelay is how long a command that was told to stop may keep its output
	// open (a child of its own may hold it) before it is left alone.
	killDelay = time.Second
)

// Source says where one secret comes from. Exactly one of Env, File and Command
// is set.
type Source struct {
	Env     string        `yaml:"env,omitempty"`     // name of an environment variable
	File    string        `yaml:"file,omitempty"`    // path of a file that holds the value and nothing else
	Command []string      `yaml:"command,omitempty"` // program and arguments, run without a shell; its standard output is the value
	Timeout time.Duration `yaml:"timeout,omitempty"` // of Command; 0: ten seconds
}

// String names the source as errors do: the variable, the path, or the
// command's program. A command's arguments are left out: they may tell what is
// nobody's business.
func (s Source) String() string {
	switch {
	case s.Env != "":
		return "env " + s.Env
	case s.File != "":
		return "file " + s.File
	case len(s.Command) > 0:
		return "command " + s.Command[0]
	}
	return "no source"
}

// Check tells whether exactly one place is named, and named sensibly.
func (s Source) Check() error {
	places := 0
	for _, set := range []bool{s.Env != "", s.File != "", s.Command != nil} {
		if set {
			places++
		}
	}
	switch {
	case places != 1:
		return fmt.Errorf("needs exactly one of env, file and command, has %d", places)
	case s.Command != nil && (len(s.Command) == 0 || s.Command[0] == ""):
		return errors.New("command names no program")
	case s.Timeout < 0:
		return errors.New("timeout is negative")
	case s.Timeout != 0 && s.Command == nil:
		return errors.New("timeout belongs to a command only")
	}
	return nil
}

// read fetches the value. warning, if not "", is for the operator's log. One
// line end after a file's or command's value is not part of it.
func (s Source) read(ctx context.Context) (value, warning string, err error) {
	if err := s.Check(); err != nil {
		return "", "", err
	}
	switch {
	case s.Env != "":
		value, err = readEnv(s.Env)
	case s.File != "":
		value, warning, err = readFile(s.File)
	default:
		value, err = s.run(ctx)
	}
	if err == nil && value == "" {
		err = errors.New("is empty")
	}
	return value, warning, err
}

func readEnv(name string) (string, error) {
	value, ok := os.LookupEnv(name)
	if !ok {
		return "", errors.New("is not set")
	}
	return value, nil
}

func readFile(path string) (value, warning string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", "", bare(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", "", bare(err)
	}
	if info.IsDir() {
		return "", "", errors.New("is a directory")
	}
	if mode := info.Mode().Perm(); mode&0o004 != 0 {
		warning = fmt.Sprintf("can be read by every user of the machine (mode %04o): chmod o-r it", mode)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxValue+1))
	if err != nil {
		return "", "", bare(err)
	}
	if len(data) > maxValue {
		return "", "", fmt.Errorf("is larger than %d bytes", maxValue)
	}
	return trimLineEnd(string(data)), warning, nil
}

// bare takes the path out of a file error, since the source names it already.
func bare(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}

func (s Source) run(ctx context.Context) (string, error) {
	timeout := s.Timeout
	if timeout == 0 {
		timeout = commandTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	out := &limited{left: maxValue}
	cmd := exec.CommandContext(ctx, s.Command[0], s.Command[1:]...)
	cmd.Stdout = out // standard error is discarded: it may repeat the value
	cmd.WaitDelay = killDelay
	err := cmd.Run()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "", fmt.Errorf("gave no answer within %s", timeout)
	case ctx.Err() != nil:
		return "", ctx.Err()
	case out.over:
		return "", fmt.Errorf("printed more than %d bytes", maxValue)
	case err != nil:
		return "", fmt.Errorf("%w (its output is not shown, run it by hand)", err)
	}
	return trimLineEnd(out.buf.String()), nil
}

func trimLineEnd(s string) string {
	s, _ = strings.CutSuffix(s, "\n")
	s, _ = strings.CutSuffix(s, "\r")
	return s
}

// limited keeps the first bytes of a command's output and swallows the rest.
type limited struct {
	buf  bytes.Buffer
	left int
	over bool
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.buf.Write(p[:n])
	l.left -= n
	l.over = l.over || n < len(p)
	return len(p), nil
}
