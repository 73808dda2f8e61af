package statement

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pgairlock/pgairlock/policy"
)

// Describe writes a judgement for a person: the verdict, what the statement
// would do, the rules that matched with their places, what the server would
// get, and about a refusal what the agent can do instead and which words in the
// policy would allow it. The error is w's.
func Describe(w io.Writer, j *Judgement) error {
	d := description{}
	d.verdict(j)
	for i := range j.Parts {
		p := &j.Parts[i]
		if len(j.Parts) > 1 {
			d.line("", fmt.Sprintf("%d. %s", i+1, statementName(&p.Facts)))
		}
		d.facts(&p.Facts)
		d.rules(p.Decision.Reasons)
		if j.Refusal == nil {
			d.caps(p)
		}
	}
	switch {
	case j.Refusal != nil:
		d.line("sent", "nothing")
		d.line("instead", j.Refusal.Hint)
		d.line("to allow", strings.Join(policyChanges(j.Parts), "\n"))
	case j.Send != j.Text:
		d.line("sent", j.Send)
	default:
		d.line("sent", "as it is")
	}
	_, err := io.WriteString(w, d.String())
	return err
}

// policyChanges are the words that the policy lacks, for every reason to refuse.
// There are none where one of the reasons is not the policy's to lift.
func policyChanges(parts []Part) []string {
	var out []string
	for i := range parts {
		for k := range parts[i].Decision.Reasons {
			r := &parts[i].Decision.Reasons[k]
			if !r.Enforced || r.Verdict < policy.Hold {
				continue
			}
			change := policyChange(&parts[i].Facts, r)
			if change == "" {
				return nil
			}
			if !slices.Contains(out, change) {
				out = append(out, change)
			}
		}
	}
	return out
}

// description is text in two columns: a label and what it is about.
type description struct{ strings.Builder }

const labelWidth = 11

// line writes nothing where there is nothing to say.
func (d *description) line(label, text string) {
	if text == "" {
		return
	}
	margin := strings.Repeat(" ", labelWidth)
	fmt.Fprintf(d, "%-*s%s\n", labelWidth, label, strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+margin))
}

func (d *description) verdict(j *Judgement) {
	if r := j.Refusal; r != nil {
		d.line(strings.ToUpper(j.Verdict.String()), r.Message)
		at := r.SQLSTATE
		if r.Position > 0 {
			at += fmt.Sprintf(", at character %d", r.Position)
		}
		d.line("", r.Detail+" SQLSTATE "+at+".")
	} else {
		d.line(strings.ToUpper(j.Verdict.String()), statementNames(j.Parts))
	}
	d.line("risk", j.Risk.String())
}

func statementNames(parts []Part) string {
	var names []string
	for i := range parts {
		names = append(names, statementName(&parts[i].Facts))
	}
	if len(names) == 0 {
		return "there is no statement in it"
	}
	return strings.Join(names, "; ")
}

// statementName is what a person calls the statement.
func statementName(f *policy.Facts) string {
	if f.Tag != "" {
		return f.Tag
	}
	return strings.ToUpper(string(f.Kind))
}

// facts tells what the statement touches.
func (d *description) facts(f *policy.Facts) {
	for _, v := range []struct {
		label string
		needs policy.Privilege
	}{
		{"reads", policy.Read}, {"inserts", policy.Insertion}, {"updates", policy.Updating},
		{"deletes", policy.Deletion}, {"truncates", policy.Truncation}, {"locks", policy.Locking},
	} {
		d.line(v.label, strings.Join(relations(f, v.needs), "\n"))
	}
	d.line("calls", strings.Join(callees(f), ", "))
	var settings []string
	for _, s := range f.Settings {
		text := string(s.Op) + " " + s.Name
		if s.Value != "" {
			text += " = " + s.Value
		}
		settings = append(settings, strings.TrimSpace(text))
	}
	d.line("settings", strings.Join(settings, ", "))
	for _, p := range f.Problems {
		d.line("problem", p.Message)
	}
}

// relations lists what the statement does one thing to, with the columns it
// does it to.
func relations(f *policy.Facts, needs policy.Privilege) []string {
	var out []string
	for i, r := range f.Relations {
		if r.Relation == nil || r.Needs&needs == 0 {
			continue
		}
		if slices.ContainsFunc(f.Relations[:i], func(o policy.RelationUse) bool {
			return o.Relation == r.Relation && o.Needs&needs != 0
		}) {
			continue
		}
		var columns []string
		for _, c := range f.Columns {
			if c.Relation == r.Relation && c.Needs&needs != 0 && !slices.Contains(columns, c.Column) {
				columns = append(columns, c.Column)
			}
		}
		text := r.Relation.String()
		if len(columns) > 0 {
			text += " (" + strings.Join(columns, ", ") + ")"
		}
		out = append(out, text)
	}
	return out
}

// callees are the functions that may run, each once.
func callees(f *policy.Facts) []string {
	var out []string
	for _, u := range f.Functions {
		name := u.Name
		if len(u.Candidates) == 1 {
			name = u.Candidates[0].Signature()
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// rules lists every rule that matched, with its place in the policy.
func (d *description) rules(reasons []policy.Reason) {
	for _, r := range reasons {
		text := r.Verdict.String()
		if !r.Enforced {
			text = "would " + text
		}
		text += ": " + r.Rule
		if r.Source != "" {
			text += " (" + r.Source + ")"
		}
		if r.Message != "" {
			text += ": " + r.Message
		}
		d.line("rule", text)
	}
}

// caps tells what is held back of the answer.
func (d *description) caps(p *Part) {
	switch {
	case p.Rows > 0 && p.Bytes > 0:
		d.line("at most", fmt.Sprintf("%d rows, %s", p.Rows, size(p.Bytes)))
	case p.Rows > 0:
		d.line("at most", fmt.Sprintf("%d rows", p.Rows))
	case p.Bytes > 0:
		d.line("at most", size(p.Bytes))
	}
}

// size writes bytes in the largest unit that gives a whole number.
func size(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB"}
	i := 0
	for n >= 1024 && n%1024 == 0 && i < len(units)-1 {
		n, i = n/1024, i+1
	}
	return fmt.Sprintf("%d %s", n, units[i])
}
