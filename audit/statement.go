package audit

import "time"

// Statement is one decision and, unless the statement was refused, what became
// of it.
type Statement struct {
	Actor
	Operation   string // id, see IDs
	Sequence    int64  // of the statement in its session, from 1
	Database    string
	Text        string // as judged
	Sent        string // what the server got, if it is not Text
	Fingerprint string
	Kind        string // "select", "copy to" …
	Verdict     string // "allow", "rewrite", "dry_run", "hold", "deny"
	WouldHave   string // the verdict if every rule had been enforced, if it is another
	Risk        string
	Rules       []Rule // all that matched
	Policy      string // digest
	Catalog     string // digest
	Relations   []Relation
	Rows        int64 // given to the client
	Bytes       int64 // of row data given to the client
	Limited     bool  // rows were withheld
	Duration    time.Duration
	SQLSTATE    string // of the refusal or of the server's error
}

// Rule is a rule that matched.
type Rule struct {
	ID       string
	Verdict  string
	Enforced bool   // false: recorded as "would have"
	Source   string // policy file:line; "" for built-in rules
}

// Relation is a relation that the statement uses.
type Relation struct {
	Name  string // with its schema
	Needs string // what is done to it: "read", "read, update"
}

func (*Statement) kind() string { return "statement" }
func (s *Statement) size() int  { return len(s.Text) + len(s.Sent) + len(s.Claimed) }

func (s *Statement) appendTo(e *encoder) {
	s.Actor.appendTo(e)
	e.text("operation", s.Operation)
	e.number("sequence", s.Sequence)
	e.text("database", s.Database)
	e.sql("statement", s.Text)
	e.sql("sent", s.Sent)
	e.text("fingerprint", s.Fingerprint)
	e.text("kind", s.Kind)
	e.text("verdict", s.Verdict)
	e.text("would_have", s.WouldHave)
	e.text("risk", s.Risk)
	appendRules(e, s.Rules)
	e.text("policy", s.Policy)
	e.text("catalog", s.Catalog)
	appendRelations(e, s.Relations)
	e.number("rows", s.Rows)
	e.number("bytes", s.Bytes)
	if s.Limited {
		e.flag("limited", true)
	}
	e.number("duration_us", microseconds(s.Duration))
	e.text("sqlstate", s.SQLSTATE)
}

func appendRules(e *encoder, rules []Rule) {
	if len(rules) == 0 {
		return
	}
	e.open("rules", '[')
	for i := range rules {
		r := &rules[i]
		e.open("", '{')
		e.text("id", r.ID)
		e.text("verdict", r.Verdict)
		e.flag("enforced", r.Enforced)
		e.text("source", r.Source)
		e.shut('}')
	}
	e.shut(']')
}

func appendRelations(e *encoder, relations []Relation) {
	if len(relations) == 0 {
		return
	}
	e.open("relations", '[')
	for i := range relations {
		e.open("", '{')
		e.text("name", relations[i].Name)
		e.text("needs", relations[i].Needs)
		e.shut('}')
	}
	e.shut(']')
}
