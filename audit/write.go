package audit

import "time"

// Intent says what is about to be done to data, before it is done. For
// l3_critical and l4_irreversible it is written with WriteSync: it is on disk
// before COMMIT is sent.
type Intent struct {
	Actor
	Operation   string
	Sequence    int64
	Database    string
	Text        string
	Fingerprint string
	Kind        string
	Verdict     string
	Risk        string
	Rules       []Rule
	Policy      string // digest
	Catalog     string // digest
	Relations   []Relation
	Rows        int64  // that the preview changed; -1: there was no preview
	Diff        string // digest of the diff
	Idempotency string // the client's own key for retries
	Approvers   []string
	Validators  []Validator
}

// Validator is one validator's judgement of a diff.
type Validator struct {
	Name    string
	Score   float64
	Verdict string // "pass", "hold", "refuse"
}

func (*Intent) kind() string { return "intent" }
func (i *Intent) size() int  { return len(i.Text) + len(i.Claimed) }

func (i *Intent) appendTo(e *encoder) {
	i.Actor.appendTo(e)
	e.text("operation", i.Operation)
	e.number("sequence", i.Sequence)
	e.text("database", i.Database)
	e.sql("statement", i.Text)
	e.text("fingerprint", i.Fingerprint)
	e.text("kind", i.Kind)
	e.text("verdict", i.Verdict)
	e.text("risk", i.Risk)
	appendRules(e, i.Rules)
	e.text("policy", i.Policy)
	e.text("catalog", i.Catalog)
	appendRelations(e, i.Relations)
	e.number("rows", i.Rows)
	e.text("diff", i.Diff)
	e.text("idempotency_key", i.Idempotency)
	e.texts("approvers", i.Approvers)
	if len(i.Validators) > 0 {
		e.open("validators", '[')
		for _, v := range i.Validators {
			e.open("", '{')
			e.text("name", v.Name)
			e.float("score", v.Score)
			e.text("verdict", v.Verdict)
			e.shut('}')
		}
		e.shut(']')
	}
}

// Outcome says what became of an Intent.
type Outcome struct {
	Actor
	Operation string
	Result    string // "committed", "rolled back", "refused", "unknown" (the connection was lost at COMMIT)
	Rows      int64  // changed
	Diff      string // digest of the diff as committed
	SQLSTATE  string
	Reason    string // why it was not committed
	Duration  time.Duration
}

func (*Outcome) kind() string { return "outcome" }
func (o *Outcome) size() int  { return len(o.Reason) + len(o.Claimed) }

func (o *Outcome) appendTo(e *encoder) {
	o.Actor.appendTo(e)
	e.text("operation", o.Operation)
	e.text("result", o.Result)
	e.number("rows", o.Rows)
	e.text("diff", o.Diff)
	e.text("sqlstate", o.SQLSTATE)
	e.text("reason", o.Reason)
	e.number("duration_us", microseconds(o.Duration))
}
