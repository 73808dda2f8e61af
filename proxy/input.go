package proxy

import "io"

const (
	// firstRead is the room for what comes from a socket to begin with, in bytes:
	// most sessions are idle most of the time.
	firstRead = 4 << 10
	// readSize is the room of a session that moves much.
	readSize = 32 << 10
)

// input gathers bytes from a socket until a message can be cut off.
type input struct {
	from  io.Reader
	buf   []byte
	start int
	end   int
}

func newInput(r io.Reader) *input { return &input{from: r, buf: make([]byte, firstRead)} }

func (i *input) bytes() []byte { return i.buf[i.start:i.end] }

func (i *input) drop(n int) { i.start += n }

// fill reads until at least need bytes are there.
func (i *input) fill(need int) error {
	i.makeRoom(need)
	for i.end < need {
		n, err := i.from.Read(i.buf[i.end:])
		i.end += n
		if err != nil && i.end < need {
			return err
		}
	}
	return nil
}

// makeRoom moves what is left to the front and fits the room to what is going
// on: a full buffer grows, one that a large message made huge shrinks again.
func (i *input) makeRoom(need int) {
	size := len(i.buf)
	switch {
	case need > size:
		size = need
	case i.end == size && size < readSize:
		size = min(4*size, readSize)
	case size > 4*readSize && max(need, i.end-i.start) <= readSize:
		size = readSize
	}
	if size == len(i.buf) {
		i.end = copy(i.buf, i.bytes())
		i.start = 0
		return
	}
	moved := make([]byte, size)
	i.end = copy(moved, i.bytes())
	i.start, i.buf = 0, moved
}
