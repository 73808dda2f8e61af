package proxy

import (
	"context"
	"time"

	"github.com/pgairlock/pgairlock/policy/statement"
)

// Recorder keeps the evidence of what was asked and decided.
type Recorder interface {
	// Reserve holds a place for one record, so that a statement never runs
	// without one. It waits a moment when there is none, and then fails. intent
	// tells of a statement that may write and is about to be sent: what it holds
	// must be kept before Reserve returns. It is nil for reads and refusals.
	Reserve(ctx context.Context, intent *StatementRecord) (Place, error)
	// Session records that a session began or ended. It may wait.
	Session(ctx context.Context, r SessionRecord) error
}

// Place is a reserved place in the record. Exactly one of its methods is called,
// once; neither waits.
type Place interface {
	Write(r *StatementRecord)
	Release() // nothing was executed, there is nothing to record
}

// SessionRecord tells of the begin or end of a session.
type SessionRecord struct {
	Time       time.Time
	Event      string // "session_start", "session_end", "login_refused"
	Session    string
	Agent      string
	OnBehalfOf string // as claimed by the client
	Address    string
	Program    string // application_name
	Database   string
	Role       string // upstream login
	PID        uint32 // upstream backend
	Access     string
	Policy     string // digest
	SQLSTATE   string
	Reason     string
}

// StatementRecord tells of one statement: what was decided and what came of it.
type StatementRecord struct {
	Time       time.Time // when it was judged
	Session    string
	Agent      string
	OnBehalfOf string
	Database   string
	Role       string
	Number     uint64               // of the message within the session
	Judgement  *statement.Judgement // nil if no text was judged: the message itself was refused
	Refusal    *statement.Refusal   // nil unless refused
	Policy     string               // digest of the Set that decided
	Catalog    string               // digest of the catalog
	Rows       int64
	Bytes      int64
	Withheld   int64 // rows that the limit kept back (at least)
	Duration   time.Duration
	SQLSTATE   string // of the error that the client got, "" if none
}
