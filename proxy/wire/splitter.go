package wire

import "encoding/binary"

// Limits bound what one message may announce, in bytes of body.
type Limits struct {
	Statement int // text of a statement: Query and Parse; longer ones are passed over, marked TooLong
	Message   int // any other message that has to be held whole, and any message at all: values, rows, COPY data
}

// DefaultLimits are the limits where nothing else is configured: statements of
// 1 MiB, and the 1 GiB that the server itself does not exceed.
func DefaultLimits() Limits { return Limits{Statement: 1 << 20, Message: 1<<30 - 1} }

// smallMessage bounds messages that hold little more than a name, as the
// server's own PQ_SMALL_MESSAGE_LIMIT does.
const smallMessage = 10_000

// wholeMessage bounds server messages that have to be held whole: descriptions
// of 1,664 columns, errors with their context, notifications.
const wholeMessage = 64 << 20

// Piece is a message or, for a message that is not held whole, a part of it.
type Piece struct {
	Type    byte
	Length  int    // of the whole body
	Raw     []byte // the bytes as they came, header included where First
	First   bool
	Last    bool
	TooLong bool // a statement over Limits.Statement: its text is not kept
}

// Body is the piece without the message's header.
func (p *Piece) Body() []byte {
	if p.First {
		return p.Raw[header:]
	}
	return p.Raw
}

// Splitter cuts a byte stream into messages. The zero value is not ready: see
// NewFrontend and NewBackend.
type Splitter struct {
	limits   Limits
	server   bool
	kind     byte
	length   int
	left     int // bytes of body still to come of a message that comes in pieces
	tooLong  bool
	inPieces bool
}

// NewFrontend cuts what a client sends.
func NewFrontend(l Limits) *Splitter { return &Splitter{limits: l} }

// NewBackend cuts what a server sends.
func NewBackend(l Limits) *Splitter { return &Splitter{limits: l, server: true} }

// Next takes one piece off the front of buf. The piece aliases buf. Without an
// error and with an empty piece (Raw is nil), more bytes are needed: need is
// the number of bytes that buf has to hold at least.
func (s *Splitter) Next(buf []byte) (p Piece, need int, err error) {
	if s.inPieces {
		return s.next(buf)
	}
	if len(buf) < header {
		return Piece{}, header, nil
	}
	kind := buf[0]
	announced := binary.BigEndian.Uint32(buf[1:])
	if announced < 4 || announced > uint32(s.limits.Message)+4 {
		return Piece{}, 0, violation("invalid message length %d of message type %q", announced, kind)
	}
	length := int(announced) - 4
	start, tooLong, err := s.start(kind, length)
	if err != nil {
		return Piece{}, 0, err
	}
	if len(buf) < header+start {
		return Piece{}, header + start, nil
	}
	if start == length {
		return Piece{Type: kind, Length: length, Raw: buf[:header+length], First: true, Last: true}, 0, nil
	}
	take := min(len(buf)-header, length)
	s.kind, s.length, s.left, s.tooLong = kind, length, length-take, tooLong
	s.inPieces = s.left > 0
	return Piece{Type: kind, Length: length, Raw: buf[:header+take], First: true, Last: s.left == 0, TooLong: tooLong}, 0, nil
}

func (s *Splitter) next(buf []byte) (Piece, int, error) {
	if len(buf) == 0 {
		return Piece{}, 1, nil
	}
	take := min(len(buf), s.left)
	s.left -= take
	s.inPieces = s.left > 0
	return Piece{Type: s.kind, Length: s.length, Raw: buf[:take], Last: s.left == 0, TooLong: s.tooLong}, 0, nil
}

// start says how many bytes of body have to be there before the message's first
// piece can be handed out: all of them for messages that are held whole.
func (s *Splitter) start(kind byte, length int) (start int, tooLong bool, err error) {
	if s.server {
		start, err = s.serverStart(kind, length)
		return start, false, err
	}
	return s.clientStart(kind, length)
}

func (s *Splitter) clientStart(kind byte, length int) (start int, tooLong bool, err error) {
	switch kind {
	case Query, Parse:
		// a Parse also carries its statement's name and its parameters' types
		if length > s.limits.Statement+smallMessage {
			return min(length, NameLimit+1), true, nil
		}
		return length, false, nil
	case Bind:
		if length <= smallMessage {
			return length, false, nil
		}
		return 2 * (NameLimit + 1), false, nil
	case FunctionCall:
		return min(length, oidSize), false, nil
	case CopyData:
		return 0, false, nil
	case Describe, Execute, Close, CopyFail:
		if length > smallMessage {
			return 0, false, violation("invalid message length %d of message type %q", length+4, kind)
		}
		return length, false, nil
	case Sync, Flush, Terminate, CopyDone:
		if length != 0 {
			return 0, false, violation("invalid message length %d of message type %q", length+4, kind)
		}
		return 0, false, nil
	}
	return 0, false, violation("invalid frontend message type %d", kind)
}

func (s *Splitter) serverStart(kind byte, length int) (int, error) {
	switch kind {
	case DataRow, CopyData, FunctionCallResponse:
		return 0, nil
	case ParseComplete, BindComplete, CloseComplete, EmptyQueryResponse, NoData, PortalSuspended, CopyDone:
		if length != 0 {
			return 0, violation("invalid message length %d of message type %q", length+4, kind)
		}
		return 0, nil
	case ReadyForQuery:
		if length != 1 {
			return 0, violation("invalid message length %d of message type %q", length+4, kind)
		}
		return 1, nil
	case NotificationResponse, CommandComplete, ErrorResponse, CopyInResponse, CopyOutResponse, NoticeResponse,
		ParameterStatus, RowDescription, ParameterDescription:
		if length > wholeMessage {
			return 0, violation("invalid message length %d of message type %q", length+4, kind)
		}
		return length, nil
	}
	return 0, violation("invalid backend message type %d", kind)
}
