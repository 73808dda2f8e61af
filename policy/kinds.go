package policy

import (
	"fmt"
	"slices"
	"strings"
)

// kindClass says what a read-only agent may do with a kind of statement.
type kindClass uint8

const (
	unknown   kindClass = iota
	reads               // judged by what it uses
	wraps               // judged by the statement in it
	explains            // wraps, and has options
	transacts           // controls a transaction
	copiesOut           // COPY … TO
	changes             // a write
	notOpen             // neither reads nor writes tables, and not offered
)

// kinds has a class for every kind of statement that is known. Whatever is not
// here is refused.
var kinds = map[Kind]kindClass{
	KindEmpty:       reads,
	KindSelect:      reads,
	KindDeallocate:  reads,
	KindFetch:       reads,
	KindClose:       reads,
	KindSet:         reads, // by its settings
	KindShow:        reads, // by its settings
	KindDiscard:     reads,
	KindUnlisten:    reads, // it only lets go
	KindExplain:     explains,
	KindPrepare:     wraps,
	KindExecute:     wraps,
	KindDeclare:     wraps,
	KindTransaction: transacts,
	KindCopyTo:      copiesOut,
	KindInsert:      changes,
	KindUpdate:      changes,
	KindDelete:      changes,
	KindMerge:       changes,
	KindCopyFrom:    changes,
	KindTruncate:    changes,
	KindDDL:         changes,
	KindMaintenance: changes,
	KindLock:        changes,
	KindCall:        notOpen,
	KindDo:          notOpen,
	KindListen:      notOpen,
	KindNotify:      notOpen,
}

// kindRefusal judges a statement by its kind; nil: nothing against it.
func (d *decider) kindRefusal(k Kind) *refusal {
	switch kinds[k] {
	case reads:
		return nil
	case wraps:
		return innerPasses(d)
	case explains:
		return explainPasses(d)
	case transacts:
		return transactionPasses(d)
	case copiesOut:
		return copyPasses(d)
	case changes:
		return writes(d)
	}
	return notOffered(d)
}

func writes(d *decider) *refusal {
	return &refusal{rule: "read-only", state: stateReadOnly, pos: -1,
		message: fmt.Sprintf("%s is refused: agent %q only reads", d.writing(), d.agent.Name),
		hint:    "Only SELECT and what goes with it is open to this agent."}
}

// writing names what writes: the statement, or the command inside it where its
// own name would tell nothing.
func (d *decider) writing() string {
	if tag := d.tag(); d.facts.Kind != KindSelect && d.facts.Inner != KindSelect {
		return tag
	}
	for _, c := range d.facts.Commands {
		if c != Select {
			return fmt.Sprintf("%s inside %s", strings.ToUpper(string(c)), d.tag())
		}
	}
	return d.tag()
}

func notOffered(d *decider) *refusal {
	return &refusal{rule: "statement-kind", state: stateDenied, pos: -1,
		message: fmt.Sprintf("%s is not open to agent %q", d.tag(), d.agent.Name),
		hint:    "Use SELECT, EXPLAIN, SHOW, cursors, prepared statements and transactions."}
}

// innerPasses judges a statement that wraps another by the inner one's kind.
func innerPasses(d *decider) *refusal {
	switch {
	case d.facts.Inner == KindSelect:
		return nil
	case d.facts.Inner == "" && len(d.facts.Problems) > 0:
		return nil // what it wraps is not known: that problem refuses it, in better words
	case kinds[d.facts.Inner] == changes:
		return writes(d)
	}
	return notOffered(d)
}

// explainOptions are those that change nothing and show nothing but the plan.
// SETTINGS is not one: it lists configuration parameters.
var explainOptions = []string{"analyze", "verbose", "costs", "buffers", "timing", "summary", "format",
	"wal", "generic_plan", "memory", "serialize"}

func explainPasses(d *decider) *refusal {
	for _, o := range d.facts.Explain {
		if !slices.Contains(explainOptions, o) {
			return &refusal{rule: "explain", state: stateDenied, pos: -1,
				message: fmt.Sprintf("EXPLAIN option %s is not open to agent %q", strings.ToUpper(o), d.agent.Name),
				hint:    "Open are " + strings.ToUpper(strings.Join(explainOptions, ", ")) + "."}
		}
	}
	if d.facts.Inner == KindSelect || d.facts.Inner == KindExecute {
		return nil
	}
	r := innerPasses(d)
	if r != nil && r.rule == "statement-kind" {
		r.rule, r.message = "explain", fmt.Sprintf("EXPLAIN is open to agent %q for SELECT only", d.agent.Name)
	}
	return r
}

// twoPhase are the transaction statements that outlive or reach into other
// sessions.
var twoPhase = []string{"PREPARE TRANSACTION", "COMMIT PREPARED", "ROLLBACK PREPARED"}

func transactionPasses(d *decider) *refusal {
	if slices.Contains(twoPhase, d.facts.Tag) {
		r := notOffered(d)
		r.hint = "Use BEGIN, COMMIT and ROLLBACK."
		return r
	}
	return nil
}

func copyPasses(d *decider) *refusal {
	switch {
	case d.facts.Copy != CopyStdio:
		return &refusal{rule: "red-line", state: stateDenied, pos: -1, hard: true,
			message: "COPY to a file or program of the server is never open", hint: "Use COPY … TO STDOUT, or SELECT."}
	case !d.agent.CopyToStdout:
		return &refusal{rule: "copy", state: stateDenied, pos: -1,
			message: fmt.Sprintf("COPY … TO STDOUT is not open to agent %q", d.agent.Name),
			hint:    "Use SELECT; a policy can open COPY with copy: {to_stdout: limited}."}
	case d.facts.Inner == KindSelect || d.facts.Inner == "":
		return nil
	}
	return innerPasses(d)
}

// tag is the statement's name for messages.
func (d *decider) tag() string {
	switch {
	case d.facts.Inner != "" && kinds[d.facts.Inner] != reads:
		return d.facts.Tag + " of " + strings.ToUpper(string(d.facts.Inner))
	case d.facts.Tag != "":
		return d.facts.Tag
	case d.facts.Kind == "" || d.facts.Kind == KindOther:
		return "this kind of statement"
	}
	return strings.ToUpper(string(d.facts.Kind))
}

// kind judges the statement by its kind. Data-modifying CTEs make a write of
// any kind.
func (d *decider) kind() {
	r := d.kindRefusal(d.facts.Kind)
	if r == nil && slices.ContainsFunc(d.facts.Commands, func(c Command) bool { return c != Select }) {
		r = writes(d)
	}
	if r != nil {
		d.refuse(r)
	}
}
