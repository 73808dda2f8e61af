package audit

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"
)

// FaultKind says in a word what is wrong with a record.
type FaultKind string

// The kinds of faults.
const (
	Unreadable   FaultKind = "unreadable"    // not a record at all
	Changed      FaultKind = "changed"       // does not fit its own hash, or the record before
	Missing      FaultKind = "missing"       // records before this one are gone
	Reordered    FaultKind = "reordered"     // the record that belongs here comes later
	Inserted     FaultKind = "inserted"      // the record does not belong here
	Cut          FaultKind = "cut"           // the end is missing
	BadSignature FaultKind = "bad signature" // a checkpoint is not signed with the file's key
	WrongKey     FaultKind = "wrong key"     // the file is not signed with a trusted key
)

// Fault is the first thing found wrong.
type Fault struct {
	File   string    `json:"file"`
	Line   int64     `json:"line"`   // from 1; 0: the file as a whole
	Record int64     `json:"record"` // the number that belongs here
	Kind   FaultKind `json:"kind"`
	What   string    `json:"what"` // a sentence
}

// Error is "FILE:LINE: KIND: WHAT".
func (f *Fault) Error() string {
	if f.Line == 0 {
		return fmt.Sprintf("%s: %s: %s", f.File, f.Kind, f.What)
	}
	return fmt.Sprintf("%s:%d: %s: %s", f.File, f.Line, f.Kind, f.What)
}

// verifier checks records one by one. It is the only reader of the chain: Verify
// uses it, and so does Open for the file that it goes on with.
type verifier struct {
	trusted []ed25519.PublicKey // none: each file's own key is taken

	chain   chain  // the last good record
	first   int64  // number of the first record seen; 0: none yet
	id      string // the chain's
	file    int64  // the present file's number
	header  headerFields
	key     ed25519.PublicKey // the present file's; nil: unsigned
	since   int               // records after the last checkpoint, or since the file began
	covered int64             // the last record that a signature covers
	signed  time.Time         // of the last checkpoint
	started time.Time         // of the present file
	last    [2]string         // the kinds of the last two records
	pruned  int64             // the last record said to have been deleted
	expect  Head              // has to be among the records; the zero Head: nothing has to
}

// headerFields are a header record's own.
type headerFields struct {
	Chain      string `json:"chain"`
	File       int64  `json:"file_number"`
	PublicKey  string `json:"public_key"`
	Statements string `json:"statements"`
}

// next checks the record in line; top says that it is the first of its file. A
// fault has no file and line yet. After a fault the verifier is of no more use.
func (v *verifier) next(line []byte, top bool) *Fault {
	f, err := parseFrame(line)
	if err != nil {
		return v.fault(Unreadable, "record %d belongs here, but this line %v", v.chain.n+1, err)
	}
	if hashOf(f.body) != f.hash {
		return v.fault(Changed, "record %d does not fit its own hash", f.n)
	}
	if v.first == 0 {
		v.begin(f)
	}
	if fault := v.place(f); fault != nil {
		return fault
	}
	if fault := v.content(f, line, top); fault != nil {
		return fault
	}
	v.chain = chain{n: f.n, head: f.hash}
	v.last = [2]string{v.last[1], f.kind}
	if v.expect.Record == f.n && v.expect.Hash != string(f.hash[:]) {
		return v.fault(Changed, "record %d has hash %s, the head noted elsewhere says %s", f.n, f.hash[:], v.expect.Hash)
	}
	return nil
}

// begin takes the first record seen as the place where the chain is picked up;
// only the very first record of a chain says itself what is before it.
func (v *verifier) begin(f frame) {
	v.first = f.n
	v.chain = chain{n: f.n - 1, head: f.prev}
	if f.n == 1 {
		v.chain.head = noHash
	}
	v.covered = f.n - 1
}

// place checks a record's number and its link to the record before.
func (v *verifier) place(f frame) *Fault {
	want := v.chain.n + 1
	switch {
	case f.n == want+1:
		return v.fault(Missing, "record %d is gone: record %d follows record %d", want, f.n, v.chain.n)
	case f.n > want:
		return v.fault(Missing, "records %d to %d are gone: record %d follows record %d", want, f.n-1, f.n, v.chain.n)
	case f.n < want:
		return v.fault(Inserted, "record %d stands here where record %d belongs: a record was inserted or repeated", f.n, want)
	case f.prev != v.chain.head && f.n == 1:
		return v.fault(Changed, "record 1 claims to follow another record")
	case f.prev != v.chain.head:
		return v.fault(Changed, "record %d was written after another record %d than the one that stands before it: one of both was replaced, hash and all", f.n, v.chain.n)
	}
	return nil
}

// content checks the records that hold the chain together.
func (v *verifier) content(f frame, line []byte, top bool) *Fault {
	switch {
	case top && f.kind != kindHeader:
		return v.fault(Missing, "the file does not begin with a header, but with record %d of type %s", f.n, f.kind)
	case !top && f.kind == kindHeader:
		return v.fault(Inserted, "record %d is a header in the middle of a file", f.n)
	case top:
		return v.takeHeader(f, line)
	case f.kind == kindCheckpoint:
		return v.takeCheckpoint(f, line)
	case f.kind == kindPruned:
		v.takePruned(line)
	}
	v.since++
	return nil
}

func (v *verifier) takeHeader(f frame, line []byte) *Fault {
	v.header = headerFields{}
	if err := json.Unmarshal(line, &v.header); err != nil {
		return v.fault(Unreadable, "header record %d: %v", f.n, err)
	}
	h := &v.header
	switch {
	case v.id != "" && h.Chain != v.id:
		return v.fault(Inserted, "the file belongs to chain %s, the one before to %s", h.Chain, v.id)
	case v.id != "" && h.File != v.file+1:
		return v.fault(Inserted, "the file calls itself number %d of its chain, number %d belongs here", h.File, v.file+1)
	}
	v.id, v.file, v.started = h.Chain, h.File, f.time
	v.key = nil
	if h.PublicKey != "" {
		key, err := parseKey(h.PublicKey)
		if err != nil {
			return v.fault(Unreadable, "header record %d: %v", f.n, err)
		}
		v.key = key
	}
	if len(v.trusted) > 0 && !trustedKey(v.trusted, v.key) {
		if v.key == nil {
			return v.fault(WrongKey, "the file says that it is unsigned, a trusted key was expected")
		}
		return v.fault(WrongKey, "the file is signed with %s, which is not trusted", h.PublicKey)
	}
	// Records since the last checkpoint stay uncovered until the next one,
	// whichever file it is in.
	v.since++
	return nil
}

func (v *verifier) takeCheckpoint(f frame, line []byte) *Fault {
	var c struct {
		Count     int64  `json:"count"`
		Head      string `json:"head"`
		Signature string `json:"signature"`
	}
	if err := json.Unmarshal(line, &c); err != nil {
		return v.fault(Unreadable, "checkpoint record %d: %v", f.n, err)
	}
	if c.Count != v.chain.n || c.Head != string(v.chain.head[:]) {
		return v.fault(BadSignature, "checkpoint record %d is for record %d with hash %s, it stands after record %d with hash %s",
			f.n, c.Count, c.Head, v.chain.n, v.chain.head[:])
	}
	if v.key == nil {
		return v.fault(BadSignature, "record %d is a checkpoint in a file that says it is unsigned", f.n)
	}
	signature, err := base64.StdEncoding.DecodeString(c.Signature)
	if err != nil || !ed25519.Verify(v.key, checkpointText(v.id, c.Count, v.chain.head), signature) {
		return v.fault(BadSignature, "checkpoint record %d is not signed with the key that the file's header names (records %d to %d were covered by it)",
			f.n, v.covered+1, v.chain.n)
	}
	v.covered, v.signed, v.since = c.Count, f.time, 0
	return nil
}

func (v *verifier) takePruned(line []byte) {
	var p struct {
		Last int64 `json:"last"`
	}
	if err := json.Unmarshal(line, &p); err == nil {
		v.pruned = max(v.pruned, p.Last)
	}
}

// clean says that the last process closed the log in order.
func (v *verifier) clean() bool {
	if v.last[1] == kindCheckpoint {
		return v.last[0] == kindClosed
	}
	return v.last[1] == kindClosed
}

func (v *verifier) fault(kind FaultKind, format string, args ...any) *Fault {
	return &Fault{Record: v.chain.n + 1, Kind: kind, What: fmt.Sprintf(format, args...)}
}
