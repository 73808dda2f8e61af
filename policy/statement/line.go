package statement

import (
	"encoding/json"

	"github.com/pgairlock/pgairlock/policy"
)

// Line is a judgement as one JSON line, the answer to a line {"id":…,"sql":…}.
type Line struct {
	ID       json.RawMessage `json:"id,omitempty"` // as it came
	Verdict  string          `json:"verdict"`      // allow, rewrite, dry_run, hold or deny
	Risk     string          `json:"risk"`
	Rules    []string        `json:"rules"`         // that matched with more than allow, those only tried out too
	SQL      string          `json:"sql,omitempty"` // what the server would get; "" where it gets nothing
	SQLSTATE string          `json:"sqlstate,omitempty"`
	Message  string          `json:"message,omitempty"`
	Hint     string          `json:"hint,omitempty"`
}

// NewLine writes a judgement as a Line.
func NewLine(id json.RawMessage, j *Judgement) Line {
	l := Line{ID: id, Verdict: j.Verdict.String(), Risk: j.Risk.String(), Rules: []string{}, SQL: j.Send}
	if r := j.Refusal; r != nil {
		l.SQL, l.SQLSTATE, l.Message, l.Hint = "", r.SQLSTATE, r.Message, r.Hint
	}
	seen := map[string]bool{}
	for _, p := range j.Parts {
		for _, r := range p.Decision.Reasons {
			if r.Verdict > policy.Allow && !seen[r.Rule] {
				seen[r.Rule] = true
				l.Rules = append(l.Rules, r.Rule)
			}
		}
	}
	return l
}
