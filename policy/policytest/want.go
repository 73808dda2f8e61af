package policytest

import (
	"fmt"
	"strings"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/policy/statement"
)

// judge runs one scenario and writes the outcome as a .want has it.
func (s *story) judge(c scenario) string {
	path := c.agent.SearchPath
	if len(path) == 0 {
		path = s.catalog.Data().Path
	}
	j := statement.Judge(statement.Input{
		Text:      c.sql,
		Set:       s.set,
		Agent:     c.agent,
		Env:       statement.Env{Catalog: s.catalog, Path: path},
		ResetPath: path,
	})
	return outcome(&j)
}

func outcome(j *statement.Judgement) string {
	var b strings.Builder
	b.WriteString(j.Verdict.String())
	if r := j.Refusal; r != nil {
		fmt.Fprintf(&b, " %s %s\n%s\n", r.SQLSTATE, r.Rule, oneLine(r.Message))
		if r.Hint != "" {
			fmt.Fprintf(&b, "hint: %s\n", oneLine(r.Hint))
		}
		return b.String()
	}
	b.WriteString("\n")
	if j.Send != j.Text {
		b.WriteString(changed(j.Text, j.Send))
	}
	for i := range j.Parts {
		for _, r := range j.Parts[i].Decision.Reasons {
			if !r.Enforced && r.Verdict > policy.Rewrite {
				fmt.Fprintf(&b, "would %s: %s: %s\n", r.Verdict, r.Rule, oneLine(r.Message))
			}
		}
	}
	return b.String()
}

// changed shows the lines that are sent otherwise than they came.
func changed(text, sent string) string {
	was, is := strings.Split(text, "\n"), strings.Split(sent, "\n")
	if len(was) != len(is) {
		return "sent: " + oneLine(sent) + "\n"
	}
	var b strings.Builder
	for i := range is {
		if is[i] != was[i] {
			fmt.Fprintf(&b, "sent: %s\n", strings.TrimSpace(is[i]))
		}
	}
	return b.String()
}

// oneLine puts a text on one line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
