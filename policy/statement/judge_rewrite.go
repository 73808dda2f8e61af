package statement

import (
	"fmt"

	"github.com/pgairlock/pgairlock/policy"
)

// rewrite holds every statement to its rows, by editing the text where that is
// possible and by the counts of its part in any case. The edited text is
// parsed, compared and judged like any other before it may be sent.
func (j *Judgement) rewrite(in Input, tree *Tree) {
	plans, at, err := j.plan(tree)
	if err == nil && len(j.Edits) > 0 {
		j.Send = apply(j.Text, j.Edits)
		at, err = j.judgeAgain(in, tree, plans)
	}
	if err != nil {
		j.refuseRewrite(at, err)
		return
	}
	if len(j.Edits) > 0 {
		j.Verdict = max(j.Verdict, policy.Rewrite)
	}
}

// plan fills in the parts' counts and collects the edits. An error comes with
// the index of its statement.
func (j *Judgement) plan(tree *Tree) (plans []capping, at int, err error) {
	plans = make([]capping, len(tree.Stmts))
	src := lexed{text: tree.Text}
	for i := range tree.Stmts {
		p := &j.Parts[i]
		p.Bytes = p.Decision.Obligations.Bytes
		rows := p.Decision.Obligations.Rows
		if rows <= 0 {
			continue
		}
		if countsRows(&p.Facts) {
			p.Rows = rows
		}
		if plans[i], err = capRows(&src, tree.Stmts[i], &p.Facts, rows); err != nil {
			return nil, i, err
		}
		p.Asked = plans[i].asked
		j.Edits = append(j.Edits, plans[i].edits...)
	}
	return plans, 0, nil
}

// countsRows says whether a statement's rows are data. Those of EXPLAIN and
// SHOW are not.
func countsRows(f *policy.Facts) bool {
	switch f.Kind {
	case policy.KindExplain, policy.KindShow:
		return false
	case policy.KindCopyTo:
		return true
	}
	return f.ReturnsRows
}

// judgeAgain takes the edited text through the pipeline: it must parse to the
// same statements, be allowed, and need no further edit. An error comes with
// the index of its statement.
func (j *Judgement) judgeAgain(in Input, was *Tree, plans []capping) (at int, err error) {
	is, err := Parse(j.Send, in.Limits)
	if err != nil {
		return 0, fmt.Errorf("the rewritten text: %w", err)
	}
	if len(is.Stmts) != len(was.Stmts) {
		return 0, errChanged
	}
	for i := range plans {
		if err := plans[i].verify(was.Stmts[i].Node, is.Stmts[i].Node); err != nil {
			return i, err
		}
	}
	again := Judgement{Text: j.Send}
	if again.Parts, err = judgeParts(in, is); err != nil {
		return 0, fmt.Errorf("the rewritten text: %w", err)
	}
	for i := range again.Parts {
		was, is := &j.Parts[i].Decision, &again.Parts[i].Decision
		if is.Verdict > was.Verdict || is.Risk > was.Risk || is.Obligations != was.Obligations {
			return i, fmt.Errorf("the rewritten text is judged differently: %s, %s", is.Verdict, is.Risk)
		}
	}
	if _, at, err = again.plan(is); err != nil {
		return at, err
	}
	if len(again.Edits) > 0 {
		return 0, errChanged
	}
	return 0, nil
}

// refuseRewrite denies the text because statement i could not be rewritten.
func (j *Judgement) refuseRewrite(i int, cause error) {
	d := &j.Parts[i].Decision
	*d = policy.Decision{
		Verdict: policy.Deny,
		Risk:    d.Risk,
		Reasons: append([]policy.Reason{{
			Rule: "rewrite", Verdict: policy.Deny, Enforced: true, SQLSTATE: "0A000", Pos: -1,
			Message: "the statement can't be limited to the allowed number of rows: " + cause.Error(),
			Hint:    "Give the query a constant LIMIT of its own.",
		}}, d.Reasons...),
	}
	j.Verdict, j.Send, j.Edits = policy.Deny, j.Text, nil
	j.refuse(i)
}
