package audit

import (
	"encoding/base64"
	"time"
)

// The records that the log writes about itself.
const (
	kindHeader     = "header"
	kindCheckpoint = "checkpoint"
	kindReopened   = "reopened"
	kindPruned     = "pruned"
	kindClosed     = "closed"
	kindStatement  = "statement"
)

// unsignedNote is in the header of a file without a key.
const unsignedNote = "unsigned: no checkpoint key is configured, so whoever can write this file can rewrite it unseen"

// header is the first record of every file.
type header struct {
	chain     string // the chain's id, the same in all its files
	file      int64  // the file's number in the chain, from 1
	publicKey string // "" for an unsigned file
	redacted  bool   // literals in statements were replaced
}

func (*header) kind() string { return kindHeader }

func (h *header) appendTo(e *encoder) {
	e.own("chain", h.chain)
	e.number("file_number", h.file)
	if h.publicKey == "" {
		e.own("note", unsignedNote)
	} else {
		e.own("public_key", h.publicKey)
	}
	e.own("statements", h.statements())
}

// statements tells readers whether statement texts are as they were judged.
func (h *header) statements() string {
	if h.redacted {
		return "literals_redacted"
	}
	return "full"
}

// checkpoint signs everything up to the record before it.
type checkpoint struct {
	count     int64
	head      hexHash
	signature []byte
}

func (*checkpoint) kind() string { return kindCheckpoint }

func (c *checkpoint) appendTo(e *encoder) {
	e.number("count", c.count)
	e.own("head", string(c.head[:]))
	e.own("signature", base64.StdEncoding.EncodeToString(c.signature))
}

// reopened says that a process went on with a chain that another had begun.
type reopened struct {
	clean    bool   // the chain ended with a closed record
	tornFile string // where an unfinished last line was put
	torn     int64  // bytes of it
	tornHash string
}

func (*reopened) kind() string { return kindReopened }

func (r *reopened) appendTo(e *encoder) {
	e.flag("clean", r.clean)
	if r.torn > 0 {
		e.text("torn_file", r.tornFile)
		e.number("torn_bytes", r.torn)
		e.own("torn_sha256", r.tornHash)
	}
}

// pruned says that a file of the chain is about to be deleted for its age.
type pruned struct {
	file        string
	first, last int64 // its records
	closed      time.Time
}

func (*pruned) kind() string { return kindPruned }

func (p *pruned) appendTo(e *encoder) {
	e.text("file", p.file)
	e.number("first", p.first)
	e.number("last", p.last)
	e.own("closed", p.closed.UTC().Format(time.RFC3339))
}

// closed says that the log was closed in order. Only a checkpoint follows it.
type closed struct {
	unwritten int // slots that were still reserved and have no record
}

func (*closed) kind() string { return kindClosed }

func (c *closed) appendTo(e *encoder) { e.number("unwritten", int64(c.unwritten)) }
