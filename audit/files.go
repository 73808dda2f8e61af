package audit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	stampLayout = "20060102T150405Z"
	// maxLine bounds what is read as one record: a statement of the largest
	// size, every byte of it escaped.
	maxLine = 64 << 20
	// How often and after what time the rest of an unfinished line is looked for.
	finishTries = 5
	finishPause = 10 * time.Millisecond
)

// rotated is a file that the log has finished with.
type rotated struct {
	path   string
	number int64 // in the chain
	closed time.Time
}

// rotatedName is where the current file goes when it is full.
func rotatedName(path string, number int64, at time.Time) string {
	ext := filepath.Ext(path)
	return fmt.Sprintf("%s-%06d-%s%s", strings.TrimSuffix(path, ext), number, at.UTC().Format(stampLayout), ext)
}

// parseRotated reads a name that rotatedName made for the same current file.
func parseRotated(current, name string) (rotated, bool) {
	ext := filepath.Ext(current)
	rest, ok1 := strings.CutPrefix(name, strings.TrimSuffix(filepath.Base(current), ext)+"-")
	rest, ok2 := strings.CutSuffix(rest, ext)
	digits, stamp, ok3 := strings.Cut(rest, "-")
	if !ok1 || !ok2 || !ok3 || len(digits) < 6 {
		return rotated{}, false
	}
	number, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || number < 1 {
		return rotated{}, false
	}
	at, err := time.Parse(stampLayout, stamp)
	if err != nil {
		return rotated{}, false
	}
	return rotated{path: filepath.Join(filepath.Dir(current), name), number: number, closed: at}, true
}

// rotatedFiles are the finished files of the log at path, oldest first.
func rotatedFiles(path string) ([]rotated, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("list audit files: %w", err)
	}
	var list []rotated
	for _, entry := range entries {
		if r, ok := parseRotated(path, entry.Name()); ok && entry.Type().IsRegular() {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b rotated) int {
		return int(a.number - b.number)
	})
	return list, nil
}

// Files are the files of the log at path in the order of the chain: finished
// ones, then path itself. At least one exists, or the error is fs.ErrNotExist.
func Files(path string) ([]string, error) {
	list, err := rotatedFiles(path)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, r := range list {
		files = append(files, r.path)
	}
	if _, err := os.Stat(path); err == nil {
		files = append(files, path)
	} else if !errors.Is(err, fs.ErrNotExist) || len(files) == 0 {
		return nil, fmt.Errorf("audit file: %w", err)
	}
	return files, nil
}

// errUnfinished ends lineReader on a last line without a line feed.
var errUnfinished = errors.New("the last line is unfinished")

// lineReader reads lines without copying where it can.
type lineReader struct {
	r    *bufio.Reader
	long []byte
	line int64 // number of the line last read
	size int64 // bytes of all whole lines read
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 256<<10)}
}

// next is the next line without its line feed, valid until the next call;
// io.EOF after the last; errUnfinished with what there is of an unfinished one.
func (l *lineReader) next() ([]byte, error) {
	l.long = l.long[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		switch {
		case err == nil && len(l.long) == 0:
			l.count(len(part))
			return part[:len(part)-1], nil
		case err == nil:
			l.long = append(l.long, part...)
			l.count(len(l.long))
			return l.long[:len(l.long)-1], nil
		case errors.Is(err, io.EOF) && len(part)+len(l.long) > 0:
			l.long = append(l.long, part...)
			return l.long, errUnfinished
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
		if l.long = append(l.long, part...); len(l.long) > maxLine {
			return nil, fmt.Errorf("line %d is longer than %d bytes", l.line+1, maxLine)
		}
	}
}

// finish goes on with a line that next found unfinished, for a moment: a running
// log may be in the middle of writing it.
func (l *lineReader) finish() ([]byte, error) {
	for range finishTries {
		time.Sleep(finishPause)
		part, err := l.r.ReadBytes('\n')
		l.long = append(l.long, part...)
		if err == nil {
			l.count(len(l.long))
			return l.long[:len(l.long)-1], nil
		}
		if !errors.Is(err, io.EOF) {
			return nil, err
		}
	}
	return l.long, errUnfinished
}

func (l *lineReader) count(n int) {
	l.line++
	l.size += int64(n)
}

// syncDir makes created, renamed and deleted names last.
func syncDir(path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}
