package policy

import (
	"slices"
)

// builtinRules are the ids of the rules that are not in any policy file.
var builtinRules = []string{
	"red-line", "read-only", "statement-kind", "table", "column", "catalog", "function", "operator",
	"type", "setting", "search-path", "copy", "explain",
	"syntax", "too-complex", "encoding", "grammar-skew", "unmapped-node", "unresolved-relation",
	"unresolved-column", "ambiguous-column", "unresolved-function", "unresolved-operator",
	"unresolved-type", "unresolved-statement", "unresolved-cursor", "computed-setting",
}

// rules compiles the rules and gives each agent those that can match it.
func (l *loader) rules(words []ruleWords) {
	seen := make(map[string]int, len(words))
	for i := range words {
		w := &words[i]
		name := w.Name.Value
		if line, again := seen[name]; again {
			l.fail(w.Name.Pos, "rule %q is there twice: first in line %d", name, line)
		}
		seen[name] = w.Name.Pos.Line
		if name == "" || slices.Contains(builtinRules, name) {
			l.fail(w.Name.Pos, "%q can't be a rule's name: it is empty or a built-in rule's", name)
		}
		r := l.rule(w)
		for _, a := range l.matchedAgents(w) {
			a.rules = append(a.rules, r)
		}
	}
}

func (l *loader) matchedAgents(w *ruleWords) []*Agent {
	if len(w.Match.Agents) == 0 {
		return l.set.Agents()
	}
	var list []*Agent
	for _, name := range w.Match.Agents {
		a, ok := l.set.agents[name.Value]
		if ok {
			list = append(list, a)
			continue
		}
		l.fail(name.Pos, "there is no agent %q", name.Value)
	}
	return list
}

func (l *loader) rule(w *ruleWords) *rule {
	r := &rule{name: w.Name.Value, source: w.At.Short(), enforced: w.Enforce == nil || *w.Enforce, deny: w.Verdict != nil}
	if w.Risk != nil {
		r.risk = Risk(slices.Index(riskNames[:], string(*w.Risk)))
	}
	if w.Verdict == nil && w.Risk == nil {
		l.fail(w.At, "rule %q does nothing: give it a verdict or a risk", r.name)
	}
	l.ruleMatch(r, &w.Match)
	return r
}

func (l *loader) ruleMatch(r *rule, m *matchWords) {
	if len(m.Agents)+len(m.Tables)+len(m.Commands)+len(m.Columns)+len(m.Functions) == 0 && m.WithoutWhere == nil {
		l.fail(m.At, "rule %q matches everything: give it a condition", r.name)
	}
	for _, t := range m.Tables {
		p, err := parsePattern(t.Value)
		if err != nil {
			l.fail(t.Pos, "%v", err)
			continue
		}
		r.tables = append(r.tables, p)
		l.set.mentions = append(l.set.mentions, mention{pattern: p, text: t.Value, at: t.Pos})
	}
	for _, c := range m.Commands {
		r.commands = append(r.commands, Command(c.Value))
	}
	for _, c := range m.Columns {
		if name, ok := l.column(c); ok {
			r.columns = append(r.columns, name)
		}
		if len(m.Tables) == 0 {
			l.fail(c.Pos, "columns need tables: of which table is %s?", c.Value)
		}
	}
	for _, f := range m.Functions {
		r.byFunction = true
		if c, err := parseCallable(f.Value); err != nil {
			l.fail(f.Pos, "%v", err)
		} else {
			r.functions.add(c)
		}
	}
	r.withoutWhere = m.WithoutWhere != nil
	if m.WithoutWhere != nil && !m.WithoutWhere.Value {
		l.fail(m.WithoutWhere.Pos, "without_where can only be true: leave it out otherwise")
	}
}
