package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"
)

// formatVersion is the "v" of every record; another number is another format.
const formatVersion = 1

// hexHash is a SHA-256 in hexadecimal, as records hold it.
type hexHash [2 * sha256.Size]byte

// noHash is the prev of a chain's first record.
var noHash = hexHash([]byte("0000000000000000000000000000000000000000000000000000000000000000"))

func hashOf(body []byte) (h hexHash) {
	sum := sha256.Sum256(body)
	hex.Encode(h[:], sum[:])
	return h
}

// chain is the end of a chain: how many records it has and the last one's hash.
type chain struct {
	n    int64
	head hexHash
}

// begin starts the next record's line in e. Its own fields follow, then end.
func (c *chain) begin(e *encoder, at time.Time, kind string) {
	e.buf = append(e.buf, `{"v":`...)
	e.buf = strconv.AppendInt(e.buf, formatVersion, 10)
	e.buf = append(e.buf, `,"n":`...)
	e.buf = strconv.AppendInt(e.buf, c.n+1, 10)
	e.buf = append(e.buf, `,"time":"`...)
	e.buf = at.UTC().AppendFormat(e.buf, time.RFC3339Nano)
	e.buf = append(e.buf, `","type":"`...)
	e.buf = append(append(e.buf, kind...), '"')
	e.first = false
}

// The fixed end of a line.
const (
	prevKey = `,"prev":"`
	hashKey = `","hash":"`
	lineEnd = `"}`
)

// end closes the line that starts at position start of e's buffer, and moves
// the chain on.
func (c *chain) end(e *encoder, start int) {
	e.buf = append(e.buf, prevKey...)
	e.buf = append(append(e.buf, c.head[:]...), '"')
	c.n++
	c.head = hashOf(e.buf[start:])
	e.buf = append(e.buf, hashKey[1:]...)
	e.buf = append(e.buf, c.head[:]...)
	e.buf = append(e.buf, lineEnd+"\n"...)
}

// add appends a whole record.
func (c *chain) add(e *encoder, at time.Time, b body) {
	start := len(e.buf)
	c.begin(e, at, b.kind())
	b.appendTo(e)
	c.end(e, start)
}
