package audit

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// frame is what every record has: its place in the chain.
type frame struct {
	n    int64
	time time.Time
	kind string
	prev hexHash
	hash hexHash // as the line says
	body []byte  // what hash is of; aliases the line
}

const (
	framePrefix = `{"v":`
	tailLength  = len(prevKey) + len(hexHash{}) + len(hashKey) + len(hexHash{}) + len(lineEnd)
)

// parseFrame reads a line without its line feed. It looks only at the fixed
// beginning and end: whatever is between can't imitate them, because a quote
// inside of a JSON string has a backslash before it.
func parseFrame(line []byte) (frame, error) {
	var f frame
	rest, ok := bytes.CutPrefix(line, []byte(framePrefix))
	if !ok || len(line) < tailLength {
		return f, errors.New("is not a record of this log")
	}
	version, rest, err := cutNumber(rest, `,"n":`)
	if err != nil {
		return f, err
	}
	if version != formatVersion {
		return f, fmt.Errorf("has format version %d, this program reads %d", version, formatVersion)
	}
	if f.n, rest, err = cutNumber(rest, `,"time":"`); err != nil {
		return f, err
	}
	stamp, rest, ok := bytes.Cut(rest, []byte(`","type":"`))
	if !ok {
		return f, errors.New("has no time or type")
	}
	if f.time, err = time.Parse(time.RFC3339Nano, string(stamp)); err != nil {
		return f, errors.New("has a time that is none")
	}
	kind, _, ok := bytes.Cut(rest, []byte(`"`))
	if !ok {
		return f, errors.New("has no type")
	}
	f.kind = kindName(kind)
	return f, f.tail(line)
}

// tail reads prev and hash from the end of line.
func (f *frame) tail(line []byte) error {
	tail := line[len(line)-tailLength:]
	prev, ok1 := bytes.CutPrefix(tail, []byte(prevKey))
	if !ok1 || !copyHash(&f.prev, prev) {
		return errors.New("has no prev where it belongs")
	}
	hash, ok2 := bytes.CutPrefix(prev[len(f.prev):], []byte(hashKey))
	if !ok2 || !copyHash(&f.hash, hash) || string(hash[len(f.hash):]) != lineEnd {
		return errors.New("has no hash where it belongs")
	}
	f.body = line[:len(line)-len(hashKey)+1-len(f.hash)-len(lineEnd)]
	return nil
}

// copyHash takes the hash at the start of b; only lower case digits are one.
func copyHash(to *hexHash, b []byte) bool {
	if len(b) < len(to) {
		return false
	}
	for _, c := range b[:len(to)] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	copy(to[:], b)
	return true
}

// cutNumber takes the number before the first next off b.
func cutNumber(b []byte, next string) (int64, []byte, error) {
	digits, rest, ok := bytes.Cut(b, []byte(next))
	if !ok || len(digits) > 19 {
		return 0, nil, errors.New("does not begin as a record of this log")
	}
	n, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil || n < 1 {
		return 0, nil, errors.New("has a number that is none")
	}
	return n, rest, nil
}

// kindName spares an allocation for the kinds that matter to the chain.
func kindName(kind []byte) string {
	switch string(kind) {
	case kindStatement:
		return kindStatement
	case kindCheckpoint:
		return kindCheckpoint
	}
	return string(kind)
}
