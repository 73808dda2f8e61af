package wire

import "slices"

// Entry is a client message whose replies are still owed.
type Entry struct {
	Kind     byte   // Query, FunctionCall, Parse, Bind, Describe, Execute, Close or Sync
	What     byte   // of Describe and Close: 'S' statement, 'P' portal
	Internal bool   // the proxy's own message: the client must not see its replies
	CopyIn   bool   // may turn into COPY FROM STDIN
	Note     any    // the driver's
	Number   uint64 // counts up from 1 over the session
	Index    int    // of Query: how many of its statements are finished

	step step
}

// step is how far the replies to an Entry have come.
type step byte

const (
	atStart   step = iota
	inRows         // RowDescription or, of Execute, a row came: rows may follow
	described      // ParameterDescription came
	returned       // FunctionCallResponse came
	copyingOut
	copyingIn
	failed // ErrorResponse came, only ReadyForQuery can follow
)

// Flow is the order of one session after start-up. The server answers in the
// order of the client's messages; Flow holds what is still to be answered. It
// is not safe for concurrent use: its owner serialises calls.
type Flow struct {
	queue    []Entry
	first    int // index of the oldest entry in queue
	number   uint64
	status   byte
	atRest   bool    // nothing was sent since the newest ReadyForQuery
	skipping bool    // the server passes over everything up to the next Sync
	copying  bool    // the server reads COPY data
	eaten    []Entry // Syncs sent ahead of COPY data: answered only if the COPY failed before the server read them
}

// NewFlow starts after the first ReadyForQuery.
func NewFlow(status byte) *Flow { return &Flow{status: status, atRest: true} }

// Status is the transaction status of the newest ReadyForQuery: 'I', 'T', 'E'.
func (f *Flow) Status() byte { return f.status }

// Pending is how many client messages are not fully answered.
func (f *Flow) Pending() int { return len(f.queue) - f.first }

// AtRest says whether nothing is owed and the newest thing the server said was
// ReadyForQuery: between two statements, or inside a transaction block, but not
// in the middle of an extended-protocol series.
func (f *Flow) AtRest() bool { return f.atRest }

// Oldest is the message being answered, nil if nothing is owed. It is valid
// until the next call.
func (f *Flow) Oldest() *Entry {
	if f.first == len(f.queue) {
		return nil
	}
	return &f.queue[f.first]
}

// Skipping says whether the server passes over messages until Sync.
func (f *Flow) Skipping() bool { return f.skipping }

// Copying says whether the server reads COPY data from the client.
func (f *Flow) Copying() bool { return f.copying }

// Admission is what is to be done with a client message.
type Admission byte

// Admissions.
const (
	Take   Admission = iota // judge it, send it
	Ignore                  // the server would pass over it: don't send it
)

// Admit says what is to be done with a client message that comes now.
func (f *Flow) Admit(kind byte) (Admission, error) {
	copyMessage := kind == CopyData || kind == CopyDone || kind == CopyFail
	switch {
	case kind == Terminate:
		return Take, nil
	case f.copying:
		if copyMessage {
			return Take, nil
		}
		// in COPY mode the server ignores both (protocol chapter, "COPY Operations")
		if kind == Sync || kind == Flush {
			return Ignore, nil
		}
		return Ignore, violation("unexpected message type 0x%02X during COPY from stdin", kind)
	case f.skipping && kind != Sync:
		return Ignore, nil
	case copyMessage && !f.copyInAhead():
		return Ignore, nil
	}
	return Take, nil
}

// copyInAhead says whether a message is under way that may yet read COPY data. A
// Query can do so several times, each with an end of data.
func (f *Flow) copyInAhead() bool {
	for i := f.first; i < len(f.queue); i++ {
		if f.queue[i].CopyIn {
			return true
		}
	}
	return false
}

// Sent notes a message that has been sent to the server and gives it a number.
func (f *Flow) Sent(e Entry) uint64 {
	switch e.Kind {
	case Sync:
		f.skipping = false
	case CopyDone, CopyFail:
		if f.copying {
			f.copying = false
			return 0
		}
	case Flush, Terminate, CopyData:
		return 0
	}
	f.atRest = false
	f.number++
	e.Number = f.number
	if f.first == len(f.queue) || f.first > 1024 {
		// what is answered makes room; clearing it lets go of its notes
		n := copy(f.queue, f.queue[f.first:])
		clear(f.queue[n:])
		f.queue, f.first = f.queue[:n], 0
	}
	f.queue = append(f.queue, e)
	return e.Number
}

// Reply is what a server message means.
type Reply struct {
	Entry *Entry  // the client message it belongs to; nil if to none. Valid until the next call of Flow
	Done  bool    // it was the last reply to Entry
	Lost  []Entry // after an error: messages that the server passes over. Valid until the next call of Flow
}

// Reply takes a server message (its first piece) and says what it answers. An
// error means that the server broke the protocol.
func (f *Flow) Reply(kind byte, body []byte) (Reply, error) {
	e := f.Oldest()
	switch kind {
	case NoticeResponse, ParameterStatus, NotificationResponse:
		return Reply{Entry: e}, nil
	case ErrorResponse:
		return f.failure(e), nil
	case ReadyForQuery:
		return f.ready(e, body)
	}
	if e == nil {
		return Reply{}, violation("server sent message type %q, but nothing was asked", kind)
	}
	f.eaten = nil // their answer would have come before this one
	done, ok := false, false
	switch e.Kind {
	case Query:
		ok = f.queryReply(e, kind)
	case Parse:
		done, ok = true, kind == ParseComplete
	case Bind:
		done, ok = true, kind == BindComplete
	case Close:
		done, ok = true, kind == CloseComplete
	case Describe:
		done, ok = describeReply(e, kind)
	case Execute:
		done, ok = f.executeReply(e, kind)
	case FunctionCall:
		ok = kind == FunctionCallResponse && e.step == atStart
		e.step = returned
	}
	if !ok {
		return Reply{}, violation("server sent message type %q in answer to %q", kind, e.Kind)
	}
	if done {
		f.pop()
	}
	return Reply{Entry: e, Done: done}, nil
}

func (f *Flow) queryReply(e *Entry, kind byte) bool {
	switch {
	case e.step == failed:
		return false
	case e.step == copyingOut:
		return kind == CopyData || kind == CopyDone || f.completes(e, kind)
	case e.step == inRows:
		return kind == DataRow || f.completes(e, kind)
	case e.step == copyingIn:
		return f.completes(e, kind)
	case kind == RowDescription:
		e.step = inRows
	case kind == CopyOutResponse:
		e.step = copyingOut
	case kind == CopyInResponse:
		return f.startCopy()
	case kind == EmptyQueryResponse:
		e.Index++
	default:
		return f.completes(e, kind)
	}
	return true
}

func (f *Flow) completes(e *Entry, kind byte) bool {
	if kind != CommandComplete {
		return false
	}
	e.step, f.copying = atStart, false
	e.Index++
	return true
}

func (f *Flow) executeReply(e *Entry, kind byte) (done, ok bool) {
	switch kind {
	case DataRow:
		ok = e.step == atStart || e.step == inRows
		e.step = inRows
		return false, ok
	case CopyOutResponse:
		ok = e.step == atStart
		e.step = copyingOut
		return false, ok
	case CopyData, CopyDone:
		return false, e.step == copyingOut
	case CopyInResponse:
		return false, e.step == atStart && f.startCopy()
	case CommandComplete:
		f.copying = false
		return true, true
	case EmptyQueryResponse:
		return true, e.step == atStart
	case PortalSuspended:
		return true, e.step == atStart || e.step == inRows
	}
	return false, false
}

func describeReply(e *Entry, kind byte) (done, ok bool) {
	switch kind {
	case ParameterDescription:
		ok = e.What == 'S' && e.step == atStart
		e.step = described
		return false, ok
	case RowDescription, NoData:
		return true, e.What == 'P' || e.step == described
	}
	return false, false
}

// startCopy enters COPY FROM STDIN. Of what the client has sent ahead, the
// server takes COPY data up to its end and ignores Sync. But when the COPY fails
// before it reads anything (into a view, or in a trigger before the statement),
// Sync is answered as ever.
func (f *Flow) startCopy() bool {
	e := f.Oldest()
	if !e.CopyIn {
		return false
	}
	e.step = copyingIn
	at := f.first + 1
	for at < len(f.queue) {
		sent := f.queue[at]
		if sent.Kind != Sync && sent.Kind != CopyDone && sent.Kind != CopyFail {
			return false
		}
		f.queue = slices.Delete(f.queue, at, at+1)
		if sent.Kind != Sync {
			return true
		}
		f.eaten = append(f.eaten, sent)
	}
	f.copying = true
	return true
}

// failure takes an ErrorResponse. In the extended protocol the server then
// passes over everything up to the next Sync.
func (f *Flow) failure(e *Entry) Reply {
	f.copying = false
	if e == nil {
		// in the middle of a series it comes of a Flush: an interrupt that had to
		// wait for the client's next message, such as statement_timeout
		f.skipping = f.skipping || !f.atRest
		return Reply{}
	}
	if e.Kind == Sync {
		return Reply{Entry: e}
	}
	if e.step != copyingIn {
		f.eaten = nil
	}
	if e.Kind == Query || e.Kind == FunctionCall {
		e.step = failed
		return Reply{Entry: e}
	}
	start := f.first
	at := start + 1
	for at < len(f.queue) && f.queue[at].Kind != Sync {
		at++
	}
	f.skipping = at == len(f.queue)
	f.first = at
	return Reply{Entry: e, Done: true, Lost: f.queue[start+1 : at]}
}

func (f *Flow) ready(e *Entry, body []byte) (Reply, error) {
	switch {
	case f.copying:
		return Reply{}, violation("server sent ReadyForQuery while it reads COPY data")
	case len(body) != 1 || body[0] != 'I' && body[0] != 'T' && body[0] != 'E':
		return Reply{}, violation("server sent an unknown transaction status")
	case e != nil && e.finished():
		f.pop()
	case len(f.eaten) > 0:
		e, f.eaten = &f.eaten[0], f.eaten[1:]
		f.skipping = false
	default:
		return Reply{}, violation("server sent ReadyForQuery while it owed another answer")
	}
	f.status = body[0]
	f.atRest = f.Pending() == 0 && len(f.eaten) == 0
	return Reply{Entry: e, Done: true}, nil
}

// finished says whether ReadyForQuery may come next. To a Query the server sends
// at least one other answer, if only that it was empty.
func (e *Entry) finished() bool {
	switch e.Kind {
	case Sync:
		return true
	case Query:
		return e.step == failed || e.step == atStart && e.Index > 0
	case FunctionCall:
		return e.step == failed || e.step == returned
	}
	return false
}

// SkipToSync makes the client's messages go nowhere up to its next Sync, as
// after an error that the client was told and the server does not know. It
// returns false if messages before a Sync have been sent already.
func (f *Flow) SkipToSync() bool {
	e := f.Oldest()
	f.skipping = e == nil
	return e == nil || e.Kind == Sync
}

// pop drops the oldest entry, and with it ends of COPY data that no statement
// asked for: the server ignores those.
func (f *Flow) pop() {
	f.first++
	for f.first < len(f.queue) && (f.queue[f.first].Kind == CopyDone || f.queue[f.first].Kind == CopyFail) {
		f.first++
	}
}
