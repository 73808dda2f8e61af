package audit

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"sync"
	"time"
)

// IDs makes identifiers for sessions and operations: UUIDs of version 7
// (RFC 9562), which sort by the time they were made and which PostgreSQL's type
// uuid takes. Within one IDs each is greater than the one before, also within a
// millisecond and when the clock steps back. Safe for concurrent use.
type IDs struct {
	now  func() time.Time
	mu   sync.Mutex
	last uint64 // milliseconds since 1970, and 12 bits that count within one
}

// NewIDs takes its time from now.
func NewIDs(now func() time.Time) *IDs { return &IDs{now: now} }

// Next makes an identifier: 36 characters, lower case.
func (g *IDs) Next() string {
	var id [16]byte
	// Never fails: without randomness the runtime ends the process.
	_, _ = rand.Read(id[:])
	stamp := uint64(g.now().UnixMilli()) << 12

	g.mu.Lock()
	if stamp > g.last {
		g.last = stamp
	} else {
		g.last++ // past 4095 in one millisecond it borrows from the next
	}
	stamp = g.last
	g.mu.Unlock()

	binary.BigEndian.PutUint64(id[:8], stamp>>12<<16|0x7000|stamp&0xfff)
	id[8] = id[8]&0x3f | 0x80
	return format(id)
}

func format(id [16]byte) string {
	var text [36]byte
	hex.Encode(text[0:8], id[0:4])
	hex.Encode(text[9:13], id[4:6])
	hex.Encode(text[14:18], id[6:8])
	hex.Encode(text[19:23], id[8:10])
	hex.Encode(text[24:36], id[10:16])
	for _, i := range []int{8, 13, 18, 23} {
		text[i] = '-'
	}
	return string(text[:])
}
