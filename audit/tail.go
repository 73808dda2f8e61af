package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// poll is how often Tail looks for more.
const poll = 200 * time.Millisecond

// Tail calls show for the records that filter chooses: the last of those that
// the log's present file has, at most as many as given, and then each that
// comes, over all rotations, until ctx ends (then it returns nil) or show
// returns an error.
func Tail(ctx context.Context, path string, last int, filter Filter, show func(*Record) error) error {
	t := &tailer{path: path, filter: filter, show: show}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	defer func() { t.file.Close() }()
	t.file = f
	if err := t.catchUp(last); err != nil {
		return err
	}
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for {
		if err := t.follow(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// tailer reads a log as it grows.
type tailer struct {
	path   string
	filter Filter
	show   func(*Record) error
	file   *os.File
	number int64  // of file in the chain
	part   []byte // an unfinished line
	buf    [64 << 10]byte
}

// catchUp reads what the present file has, and shows the last of it.
func (t *tailer) catchUp(last int) error {
	var lines [][]byte
	show := t.show
	t.show = func(r *Record) error {
		lines = append(lines, bytes.Clone(r.Line))
		if len(lines) > last {
			lines = lines[1:]
		}
		return nil
	}
	err := t.drain()
	t.show = show
	if err != nil {
		return err
	}
	for _, line := range lines {
		if err := t.take(line); err != nil {
			return err
		}
	}
	return nil
}

// follow shows what has come, going from file to file.
func (t *tailer) follow() error {
	for {
		// Whether there is a next file has to be known before the last look at
		// this one, which is complete as soon as there is.
		next, err := t.next()
		if err != nil {
			return err
		}
		if err := t.drain(); err != nil {
			return err
		}
		if next == "" {
			return nil
		}
		f, err := os.Open(next)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // renamed in between: the next look finds it
		}
		if err != nil {
			return fmt.Errorf("audit: %w", err)
		}
		if again, err := t.next(); err != nil || again != next {
			// It was rotated in between, and f may be a file too far.
			f.Close()
			if err != nil {
				return err
			}
			continue
		}
		t.file.Close()
		t.file, t.part = f, nil
	}
}

// next is the file that follows the open one; "" while that is the last.
func (t *tailer) next() (string, error) {
	open, err := t.file.Stat()
	if err != nil {
		return "", fmt.Errorf("audit: %w", err)
	}
	current, err := os.Stat(t.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && os.SameFile(open, current) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("audit: %w", err)
	}
	files, err := rotatedFiles(t.path)
	if err != nil {
		return "", err
	}
	for _, r := range files {
		if r.number > t.number {
			return r.path, nil
		}
	}
	return t.path, nil
}

// drain shows all whole lines that the open file has more.
func (t *tailer) drain() error {
	for {
		n, err := t.file.Read(t.buf[:])
		t.part = append(t.part, t.buf[:n]...)
		if takeErr := t.takeLines(); takeErr != nil {
			return takeErr
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("audit: %w", err)
		}
	}
}

func (t *tailer) takeLines() error {
	rest := t.part
	for {
		line, after, ok := bytes.Cut(rest, []byte{'\n'})
		if !ok {
			break
		}
		if err := t.take(line); err != nil {
			return err
		}
		rest = after
	}
	t.part = append(t.part[:0], rest...)
	return nil
}

func (t *tailer) take(line []byte) error {
	record, err := ParseRecord(line)
	if err != nil {
		return fmt.Errorf("%s: %w", t.path, err)
	}
	if record.Type == kindHeader {
		t.number = record.FileNumber
	}
	if t.filter.Match(record) {
		return t.show(record)
	}
	return nil
}
