package proxy

import (
	"errors"
	"os"
	"time"

	"github.com/pgairlock/pgairlock/proxy/wire"
)

// minRefresh is how long a picture of the catalog is at least kept, so that
// statements naming what does not exist can't make every one of them a fetch.
const minRefresh = 2 * time.Second

// reading hands the upstream connection from fromServer to an exchange of the
// proxy's own and back.
type reading struct {
	wanted bool // an exchange wants the connection
	parked bool // fromServer has let go of it
	busy   bool // fromServer holds part of a message: not now
}

// park makes fromServer let go of the upstream connection. It returns false if
// the session ended meanwhile or the server is just saying something. The
// caller holds x.mu.
func (x *session) park() bool {
	x.reading.wanted = true
	// wakes the read that fromServer waits in
	_ = x.up.conn.SetReadDeadline(time.Unix(1, 0))
	for !x.reading.parked && !x.reading.busy && !x.ended {
		x.changed.Wait()
	}
	if x.ended || x.reading.busy || !x.flow.AtRest() {
		x.unpark()
		return false
	}
	_ = x.up.conn.SetReadDeadline(time.Time{})
	return true
}

// unpark gives the connection back. The caller holds x.mu.
func (x *session) unpark() {
	x.reading = reading{}
	if !x.ended {
		_ = x.up.conn.SetReadDeadline(time.Time{})
	}
	x.changed.Broadcast()
}

// parkedFor is called by fromServer when a read ended with err while it held
// that many bytes of an unfinished message. It says whether the read ended for
// an exchange of the proxy's own, and is to be repeated; it waits until then.
func (x *session) parkedFor(err error, buffered int) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.reading.wanted || x.ended {
		// a deadline that was taken back before the read saw it
		return !x.ended
	}
	x.reading.parked = buffered == 0
	x.reading.busy = buffered > 0
	x.changed.Broadcast()
	for x.reading.wanted && !x.ended {
		x.changed.Wait()
	}
	return !x.ended
}

// toClientSettings tells the client of settings that changed during an exchange
// of the proxy's own. The caller holds x.mu.
func (x *session) toClientSettings(before, after map[string]string) {
	var out []byte
	for _, name := range sortedKeys(after) {
		if before[name] != after[name] {
			out = wire.AppendSetting(out, name, after[name])
		}
	}
	if len(out) > 0 {
		// nothing is owed, so fromServer writes nothing now
		_, _ = x.client.Write(out)
	}
}
