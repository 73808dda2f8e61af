package main

import (
	"slices"
	"strings"
	"sync"

	"github.com/pgairlock/pgairlock/audit"
	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/policy/statement"
)

// aspects is what a record says of a judgement: the same for every run of the
// statement, and for texts that differ from it in constants only.
type aspects struct {
	fingerprint string
	kind        string
	rules       []audit.Rule
	relations   []audit.Relation
	wouldHave   policy.Verdict
}

// aspectCache remembers the aspects of recent judgements: a fingerprint takes a
// parse. When it is full, the older half is forgotten.
type aspectCache struct {
	mu         sync.Mutex
	young, old map[*statement.Judgement]*aspects
}

const (
	manyAspects = 2048     // judgements of a generation
	longText    = 16 << 10 // bytes of a text that is not remembered
)

func (c *aspectCache) of(j *statement.Judgement) *aspects {
	if j.Like != nil {
		j = j.Like
	}
	if known := c.find(j); known != nil {
		return known
	}
	about := &aspects{fingerprint: statement.Fingerprint(j.Text), kind: kinds(j), rules: rules(j), relations: relations(j), wouldHave: wouldHave(j)}
	if len(j.Text) > longText {
		return about
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.young == nil || len(c.young) >= manyAspects {
		c.old, c.young = c.young, make(map[*statement.Judgement]*aspects)
	}
	c.young[j] = about
	return about
}

func (c *aspectCache) find(j *statement.Judgement) *aspects {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.young[j]; known != nil {
		return known
	}
	return c.old[j]
}

// redacted remembers recent texts without their literals. The audit log's one
// writing goroutine uses it.
type redacted struct{ young, old map[string]string }

func (r *redacted) text(text string) string {
	if known, ok := r.young[text]; ok {
		return known
	}
	known, ok := r.old[text]
	if !ok {
		known = statement.WithoutLiterals(text)
	}
	if len(text) > longText {
		return known
	}
	if r.young == nil || len(r.young) >= manyAspects {
		r.old, r.young = r.young, make(map[string]string)
	}
	r.young[text] = known
	return known
}

// kinds names what the text's statements are, each once.
func kinds(j *statement.Judgement) string {
	var list []string
	for i := range j.Parts {
		list = appendNew(list, string(j.Parts[i].Facts.Kind))
	}
	return strings.Join(list, ", ")
}

func appendNew(list []string, word string) []string {
	if slices.Contains(list, word) {
		return list
	}
	return append(list, word)
}

// rules are those that matched with more than allow.
func rules(j *statement.Judgement) []audit.Rule {
	var list []audit.Rule
	seen := map[audit.Rule]bool{}
	for i := range j.Parts {
		for _, reason := range j.Parts[i].Decision.Reasons {
			rule := audit.Rule{ID: reason.Rule, Verdict: reason.Verdict.String(), Enforced: reason.Enforced, Source: reason.Source}
			if reason.Verdict > policy.Allow && !seen[rule] {
				seen[rule] = true
				list = append(list, rule)
			}
		}
	}
	return list
}

// wouldHave is the verdict if every rule were enforced.
func wouldHave(j *statement.Judgement) policy.Verdict {
	worst := policy.Allow
	for i := range j.Parts {
		for _, reason := range j.Parts[i].Decision.Reasons {
			worst = max(worst, reason.Verdict)
		}
	}
	return worst
}

// relations are those that the text names, with all that is done to each.
func relations(j *statement.Judgement) []audit.Relation {
	var order []string
	needs := map[string]policy.Privilege{}
	for i := range j.Parts {
		for _, use := range j.Parts[i].Facts.Relations {
			if use.Relation == nil {
				continue
			}
			name := use.Relation.String()
			order = appendNew(order, name)
			needs[name] |= use.Needs
		}
	}
	var list []audit.Relation
	for _, name := range order {
		list = append(list, audit.Relation{Name: name, Needs: privileges(needs[name])})
	}
	return list
}

func privileges(p policy.Privilege) string {
	var words []string
	for _, one := range []struct {
		bit  policy.Privilege
		word string
	}{
		{policy.Read, "read"}, {policy.Insertion, "insert"}, {policy.Updating, "update"}, {policy.Deletion, "delete"},
		{policy.Truncation, "truncate"}, {policy.Locking, "lock"},
	} {
		if p&one.bit != 0 {
			words = append(words, one.word)
		}
	}
	return strings.Join(words, ", ")
}
