package policy

import "github.com/pgairlock/pgairlock/policy/catalog"

// Verdict is the outcome of a decision. The most restrictive one wins.
type Verdict uint8

// Verdicts, in rising order of restriction.
const (
	Allow Verdict = iota
	Rewrite
	DryRun
	Hold
	Deny
)

var verdictNames = [...]string{"allow", "rewrite", "dry_run", "hold", "deny"}

// String is the verdict's name in output and records.
func (v Verdict) String() string {
	if int(v) < len(verdictNames) {
		return verdictNames[v]
	}
	return "deny"
}

// Request is the question put to Decide.
type Request struct {
	Agent   *Agent
	Facts   *Facts
	Catalog *catalog.Catalog // for hints: the nearest allowed names
}

// Decision is the answer to a Request. It is immutable and may be cached.
type Decision struct {
	Verdict     Verdict
	Risk        Risk
	Obligations Obligations
	Reasons     []Reason // every rule that matched, most restrictive first
}

// Obligations is what has to be done to a statement that is not denied.
type Obligations struct {
	Rows  int64 // at most that many rows for the client; 0: no limit
	Bytes int64 // at most that many bytes of row data; 0: no limit
}

// Reason is one rule that matched.
type Reason struct {
	Rule     string // id of a built-in rule, or the name of a policy rule
	Verdict  Verdict
	Enforced bool   // false: recorded as "would have"
	Source   string // policy file:line; "" for built-in rules
	SQLSTATE string
	Message  string // names the object
	Hint     string // what to do instead
	Pos      int    // byte offset in the statement, -1 if there is none
}

// Refusal is the reason to be shown to the client: the first enforced reason
// with the decision's verdict. It is nil unless the verdict is Deny or Hold.
func (d *Decision) Refusal() *Reason {
	if d.Verdict < Hold {
		return nil
	}
	for i := range d.Reasons {
		if r := &d.Reasons[i]; r.Enforced && r.Verdict == d.Verdict {
			return r
		}
	}
	return nil
}
