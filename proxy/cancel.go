package proxy

import (
	"context"
	"encoding/binary"
	"time"
)

// cancelTimeout bounds the connection that carries a cancel request.
const cancelTimeout = 5 * time.Second

// cancelByKey passes a client's CancelRequest on to the server, if the key is
// one of ours. As the protocol wants it, nobody is told whether it was.
func (s *Server) cancelByKey(ctx context.Context, body []byte) {
	if len(body) < 4 {
		return
	}
	key := cancelKey{pid: binary.BigEndian.Uint32(body), secret: string(body[4:])}
	s.mu.Lock()
	x := s.sessions[key]
	s.mu.Unlock()
	if x == nil {
		s.counters.cancelsUnknown.Add(1)
		return
	}
	s.counters.cancelsPassed.Add(1)
	x.cancelUpstream(ctx, cancelTimeout)
}

// cancelUpstream asks the server to cancel what the session runs, and returns
// when the server has taken the request, or after timeout.
func (x *session) cancelUpstream(ctx context.Context, timeout time.Duration) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer stop()
	if err := x.up.canceller.CancelRequest(ctx); err != nil {
		x.log.Warn().Str("error", x.server.options.Redact(err.Error())).Msg("cancel request")
	}
}

// interrupt cancels, on the proxy's own account, what the server is doing for
// the session now. Nothing new is sent until the request was taken, so that it
// cannot hit a later statement. The caller holds x.mu.
func (x *session) interrupt(ctx context.Context) {
	if x.interrupting {
		return
	}
	x.interrupting = true
	x.server.counters.cancelsOwn.Add(1)
	x.helpers.Add(1)
	go func() {
		defer x.helpers.Done()
		x.cancelUpstream(ctx, cancelTimeout)
		x.mu.Lock()
		x.interrupting = false
		x.changed.Broadcast()
		x.mu.Unlock()
	}()
}

// checkTime cancels a statement that has outlived its limit by more than the
// server itself allows. A statement_timeout starts anew with every Execute and
// can be lost with the server's attention; this clock can't.
func (x *session) checkTime(ctx context.Context, now time.Time) {
	if !x.mu.TryLock() {
		return // at work, perhaps stuck in a write: the others must not wait for it
	}
	defer x.mu.Unlock()
	limit := x.agent.Limits.StatementTimeout
	if limit <= 0 || x.flow == nil || x.flow.Pending() == 0 || x.flow.Copying() {
		return
	}
	oldest := x.flow.Oldest()
	if now.Sub(x.oldestSince) < limit+watchGrace || x.interrupted == oldest.Number {
		return
	}
	x.interrupted = oldest.Number
	x.log.Warn().Dur("limit", limit).Msg("statement outlived its limit: cancelled")
	x.interrupt(ctx)
}

// watchGrace is how much longer than the limit a statement may run before the
// watch cancels it: the server's own statement_timeout comes first.
const watchGrace = time.Second
