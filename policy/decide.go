package policy

import (
	"cmp"
	"slices"

	"github.com/pgairlock/pgairlock/policy/catalog"
)

// Decide judges one statement. It is total and pure: the same request under
// the same Set always gets the same Decision, and what is not understood is
// denied. Every rule is looked at, the most restrictive verdict wins, and no
// order matters.
//
// Decide never answers Rewrite: what has to be done to the statement is in the
// decision's Obligations, and whoever carries them out knows whether the text
// had to change.
func Decide(set *Set, req Request) Decision {
	d := decider{agent: req.Agent, facts: req.Facts, catalog: req.Catalog}
	if set == nil || d.agent == nil || d.facts == nil || set.agents[d.agent.Name] != d.agent {
		return Decision{Verdict: Deny, Risk: L4Irreversible, Reasons: []Reason{{Rule: "red-line", Verdict: Deny,
			Enforced: true, SQLSTATE: stateDenied, Message: "no policy applies to the session", Pos: -1}}}
	}
	d.judge()
	return d.decision()
}

// decider collects the reasons against one statement.
type decider struct {
	agent   *Agent
	facts   *Facts
	catalog *catalog.Catalog // may be nil
	reasons []Reason
	risk    Risk
}

// judge asks every built-in rule and every rule of the policy. The order only
// shapes which of several refusals the client is told first.
func (d *decider) judge() {
	d.risk = d.facts.Risk
	d.redLine()
	known := kinds[d.facts.Kind] != unknown
	if known {
		d.kind()
	}
	for i := range d.facts.Problems {
		d.problem(&d.facts.Problems[i])
	}
	if !known {
		d.kind()
	}
	d.relations()
	d.columns()
	d.functions()
	d.operators()
	d.types()
	for i := range d.facts.Settings {
		if r := d.agent.setting(&d.facts.Settings[i]); r != nil {
			d.refuse(r)
		}
	}
	d.policyRules()
}

// refuse weighs a refusal against the agent's access: an observed agent is only
// held to red lines and to what can't be understood.
func (d *decider) refuse(r *refusal) {
	enforced := true
	if d.agent.Access == Observe {
		enforced = r.hard && !r.soft && !d.agent.UnsafePassthrough
	}
	d.reasons = append(d.reasons, r.reason(enforced))
}

func (d *decider) problem(p *Problem) {
	r := &refusal{rule: p.Rule, state: p.SQLSTATE, message: p.Message, hint: p.Hint, pos: p.Pos, hard: true, soft: p.Server}
	if r.rule == "" {
		r.rule = "unmapped-node"
	}
	if r.state == "" {
		r.state = stateDenied
	}
	if r.hint == "" {
		r.hint = d.problemHint(p)
	}
	d.refuse(r)
}

func (d *decider) policyRules() {
	for _, r := range d.agent.rules {
		pos, ok := r.matches(d.facts)
		if !ok {
			continue
		}
		reason := Reason{Rule: r.name, Verdict: Allow, Enforced: r.enforced && d.agent.Access != Observe, Source: r.source, Pos: pos}
		if r.deny {
			reason.Verdict, reason.SQLSTATE = Deny, stateDenied
			reason.Message = "rule \"" + r.name + "\" refuses it"
			reason.Hint = d.ruleHint(r)
		}
		if r.risk > 0 {
			if reason.Message == "" {
				reason.Message = "rule \"" + r.name + "\" counts it as " + r.risk.String()
			}
			if r.enforced {
				d.risk = max(d.risk, r.risk)
			}
		}
		d.reasons = append(d.reasons, reason)
	}
}

// decision is what the reasons come to.
func (d *decider) decision() Decision {
	out := Decision{Verdict: Allow, Risk: d.risk, Reasons: d.reasons}
	for i := range d.reasons {
		if r := &d.reasons[i]; r.Enforced {
			out.Verdict = max(out.Verdict, r.Verdict)
		}
	}
	slices.SortStableFunc(out.Reasons, func(a, b Reason) int {
		if a.Verdict != b.Verdict {
			return cmp.Compare(b.Verdict, a.Verdict)
		}
		switch {
		case a.Enforced == b.Enforced:
			return 0
		case a.Enforced:
			return -1
		}
		return 1
	})
	if out.Verdict < Deny {
		out.Obligations = d.obligations()
	}
	return out
}

// obligations are the agent's limits, where the statement's answer has rows.
// Plans and parameters are not counted in rows: they are short, and half a plan
// is worse than none.
func (d *decider) obligations() Obligations {
	lim := d.agent.Limits
	switch d.facts.Kind {
	case KindExplain, KindShow:
		return Obligations{Bytes: lim.Bytes}
	}
	if !d.facts.ReturnsRows && d.facts.Kind != KindCopyTo && d.facts.Kind != KindPrepare && d.facts.Kind != KindDeclare {
		return Obligations{}
	}
	rows := lim.Rows
	if rows > 0 && d.onlyCatalogs() {
		rows = max(rows, catalogRows)
	}
	return Obligations{Rows: rows, Bytes: lim.Bytes}
}

// catalogRows is the least limit on rows where only system catalogs are read:
// drivers load the database's types from there at connect, and a part of them
// would be a silent fault.
const catalogRows = 100_000

// onlyCatalogs says whether the statement reads system relations and no others.
func (d *decider) onlyCatalogs() bool {
	for i := range d.facts.Relations {
		if !d.facts.Relations[i].Relation.System() {
			return false
		}
	}
	return len(d.facts.Relations) > 0
}
