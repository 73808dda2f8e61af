package statement

import (
	"errors"
	"fmt"

	"github.com/pgairlock/pgairlock/policy"
)

// Input is what Judge judges, and for whom.
type Input struct {
	Text   string
	Set    *policy.Set
	Agent  *policy.Agent
	Env    Env
	Limits Limits

	// ResetPath is the search_path that RESET and DISCARD bring back.
	ResetPath []string
	// OtherPaths are the search_paths that an end of the running transaction
	// could bring back: those in force before a SET that it would undo.
	OtherPaths [][]string
}

// Judgement is what becomes of one text: the answer to a Query or Parse
// message, and to `pgairlock explain`.
type Judgement struct {
	Text    string // as the client sent it
	Send    string // what the server is to get: Text itself where nothing was changed
	Edits   []Edit // what makes Send of Text
	Verdict policy.Verdict
	Risk    policy.Risk
	Parts   []Part // one for each statement; one for a text that does not parse
	Refusal *Refusal
	Like    *Judgement // the judgement of a text that differs in constants only, which this one was taken from; nil if there is none
}

// Part is the judgement of one statement of the text.
type Part struct {
	Facts    policy.Facts
	Decision policy.Decision
	Rows     int64 // rows that may go to the client; 0: not counted
	Bytes    int64 // bytes of row data that may go to the client; 0: not counted
	Asked    int64 // rows that a limit put into the text asks the server for; 0: none was
}

// Refusal is what the client is told where a text is denied or held.
type Refusal struct {
	Rule     string
	Source   string // policy file:line; "" for built-in rules
	SQLSTATE string
	Message  string
	Detail   string
	Hint     string
	Position int // in characters of the client's text, the first is 1; 0: none
}

// Judge takes a text through the whole pipeline: parse, establish the facts of
// each statement, decide, edit its limits, and judge the edited text again.
// The most restrictive verdict is the text's: it is run whole or not at all.
// It is total: whatever it can't judge is denied.
func Judge(in Input) Judgement {
	j := Judgement{Text: in.Text, Send: in.Text}
	if in.Set == nil || in.Agent == nil || in.Env.Catalog == nil {
		j.fail(policy.Reason{
			Rule: "red-line", SQLSTATE: "42501", Pos: -1,
			Message: "no statement can be judged without a policy, an agent and a catalog",
		})
		return j
	}
	tree, err := Parse(in.Text, in.Limits)
	if err != nil {
		j.unparsed(in.Agent, err)
		return j
	}
	if j.Parts, err = judgeParts(in, tree); err != nil {
		j.unparsed(in.Agent, err)
		return j
	}
	j.settle()
	if j.Refusal == nil {
		j.rewrite(in, tree)
	}
	return j
}

// judgeParts decides on every statement of a tree, each as its turn finds the
// session.
func judgeParts(in Input, tree *Tree) ([]Part, error) {
	parts := make([]Part, len(tree.Stmts))
	now := newScene(in)
	var facts [][]policy.Facts // under each search_path, of the statements from first on
	first, turns := 0, 0
	for i := range tree.Stmts {
		if i == 0 || now.changed {
			if turns++; turns > maxTurns || len(now.paths) > maxPaths {
				return nil, tooComplex("too many statements of the text change how later ones are read", maxTurns)
			}
			facts, first = now.analyze(tree, i), i
		}
		for k, of := range facts {
			if len(of) != len(tree.Stmts)-first {
				return nil, fmt.Errorf("facts of %d statements were established, not of %d", len(of), len(tree.Stmts)-first)
			}
			f := &of[i-first]
			d := policy.Decide(in.Set, policy.Request{Agent: in.Agent, Facts: f, Catalog: in.Env.Catalog})
			if k == 0 || d.Verdict > parts[i].Decision.Verdict {
				parts[i].Facts, parts[i].Decision = *f, d
			}
		}
		now.after(&parts[i].Facts)
	}
	return parts, nil
}

// settle makes the parts' verdicts the text's.
func (j *Judgement) settle() {
	worst := -1
	for i := range j.Parts {
		d := &j.Parts[i].Decision
		j.Risk = max(j.Risk, d.Risk)
		if worst < 0 || d.Verdict > j.Verdict {
			worst, j.Verdict = i, d.Verdict
		}
	}
	switch {
	case j.Verdict >= policy.Hold:
		j.refuse(worst)
	case j.Verdict == policy.Rewrite: // it is one only if something was changed
		j.Verdict = policy.Allow
	}
}

// refuse fills in the refusal for what was decided on statement i.
func (j *Judgement) refuse(i int) {
	r := j.Parts[i].Decision.Refusal()
	if r == nil { // a verdict without a reason: still no
		r = &policy.Reason{Rule: "statement-kind", SQLSTATE: "42501", Message: "the statement is not allowed", Pos: -1}
	}
	j.Refusal = &Refusal{
		Rule: r.Rule, Source: r.Source, SQLSTATE: r.SQLSTATE,
		Message: r.Message, Detail: "Rule " + r.Rule, Hint: r.Hint,
	}
	if r.Source != "" {
		j.Refusal.Detail += " (" + r.Source + ")"
	}
	j.Refusal.Detail += "."
	if n := len(j.Parts); n > 1 {
		j.Refusal.Detail += fmt.Sprintf(" It is about statement %d of %d; none of them was run.", i+1, n)
	}
	if r.Pos >= 0 {
		j.Refusal.Position = charPos(j.Text, r.Pos)
	}
}

// syntaxHints are the hints that the server gives with some of its messages:
// the parser hands over the messages only.
var syntaxHints = map[string]string{
	"LIMIT #,# syntax is not supported": "Use separate LIMIT and OFFSET clauses.",
}

// unparsed is the judgement on a text of which no facts can be established.
// Only an observed agent whose policy lets everything pass can send it.
func (j *Judgement) unparsed(agent *policy.Agent, err error) {
	r := policy.Reason{Rule: "syntax", SQLSTATE: "42601", Message: err.Error(), Pos: -1}
	var se *SyntaxError
	if errors.As(err, &se) {
		r.Rule, r.SQLSTATE, r.Message, r.Pos = se.Rule, se.SQLSTATE, se.Message, se.Pos
		r.Hint = syntaxHints[se.Message]
	}
	if agent.Access == policy.Observe && agent.UnsafePassthrough {
		r.Verdict = policy.Deny
		j.Risk = policy.L4Irreversible
		j.Parts = []Part{{
			Facts:    unknownFacts(r),
			Decision: policy.Decision{Verdict: policy.Allow, Risk: j.Risk, Reasons: []policy.Reason{r}},
		}}
		return
	}
	j.fail(r)
}

// fail denies the whole text for a reason that no statement of it gave.
func (j *Judgement) fail(r policy.Reason) {
	r.Verdict, r.Enforced = policy.Deny, true
	j.Verdict, j.Risk = policy.Deny, policy.L4Irreversible
	j.Send, j.Edits = j.Text, nil
	j.Parts = []Part{{
		Facts:    unknownFacts(r),
		Decision: policy.Decision{Verdict: policy.Deny, Risk: j.Risk, Reasons: []policy.Reason{r}},
	}}
	j.refuse(0)
}

// unknownFacts are those of a text that could not be judged.
func unknownFacts(r policy.Reason) policy.Facts {
	return policy.Facts{
		Kind: policy.KindOther,
		Risk: policy.L4Irreversible,
		Problems: []policy.Problem{{
			Rule: r.Rule, SQLSTATE: r.SQLSTATE, Message: r.Message, Hint: r.Hint, Pos: r.Pos,
		}},
	}
}
