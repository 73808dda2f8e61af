package proxy

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"time"
)

// newID makes an identifier that sorts by time: 48 bits of Unix milliseconds and
// 80 random bits, in hexadecimal.
func newID(now time.Time) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(now.UnixMilli())<<16)
	// crypto/rand.Read never returns an error (its documentation, since Go 1.24)
	_, _ = rand.Read(b[6:])
	return hex.EncodeToString(b[:])
}
