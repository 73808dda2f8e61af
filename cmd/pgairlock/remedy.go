package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/policy/catalog"
	"github.com/pgairlock/pgairlock/policy/statement"
)

// writeRemedy tells which change of the policy would allow what was refused.
func writeRemedy(w io.Writer, agent *policy.Agent, j *statement.Judgement) {
	if j.Refusal == nil {
		return
	}
	label := "to allow"
	for _, line := range remedy(agent, j) {
		fmt.Fprintf(w, "%-11s%s\n", label, line)
		label = ""
	}
}

// remedy is the change of the policy, or why there is none.
func remedy(agent *policy.Agent, j *statement.Judgement) []string {
	lines := map[string][]string{} // key of the agent's entry → its new lines
	var none string
	for i := range j.Parts {
		f := &j.Parts[i].Facts
		for _, r := range j.Parts[i].Decision.Reasons {
			if !r.Enforced || r.Verdict < policy.Hold {
				continue
			}
			if r.Source != "" {
				none = fmt.Sprintf("rule %q at %s says so: change or remove it, or set enforce: false", r.Rule, r.Source)
				continue
			}
			if !remedyOf(lines, agent, f, r.Rule) && none == "" {
				none = noRemedy(r.Rule)
			}
		}
	}
	if none != "" || len(lines) == 0 {
		return []string{none}
	}
	out := []string{fmt.Sprintf("add to agent %s (%s):", agent.Name, agent.At.Short())}
	for _, key := range sortedKeys(lines) {
		out = append(out, "  "+key)
		for _, line := range lines[key] {
			out = append(out, "    "+line)
		}
	}
	return out
}

// remedyOf adds what would allow what one rule refused. False: nothing would.
func remedyOf(lines map[string][]string, agent *policy.Agent, f *policy.Facts, rule string) bool {
	add := func(key string, entry string) {
		if !slices.Contains(lines[key], entry) {
			lines[key] = append(lines[key], entry)
		}
	}
	switch rule {
	case "table", "column":
		for _, entry := range tablesWanted(agent, f) {
			add("tables:", entry)
		}
	case "function":
		for _, u := range f.Functions {
			for _, c := range u.Candidates {
				if c.Schema != "pg_catalog" {
					add("functions:", "- "+c.Signature())
				}
			}
		}
		return len(lines["functions:"]) > 0
	case "operator":
		for _, u := range f.Operators {
			for _, c := range u.Candidates {
				add("operators:", "- "+c.Schema+"."+c.Name)
			}
		}
	case "type":
		for _, u := range f.Types {
			if u.Type != nil && u.Type.Schema != "pg_catalog" {
				add("types:", "- "+u.Type.String())
			}
		}
		return len(lines["types:"]) > 0
	case "setting":
		for _, s := range f.Settings {
			if s.Op == policy.SetSession || s.Op == policy.SetLocal || s.Op == policy.Reset {
				add("settings:", "free: ["+s.Name+"]")
			}
		}
		return len(lines["settings:"]) > 0
	case "copy":
		add("copy:", "to_stdout: limited")
	default:
		return false
	}
	return true
}

// tablesWanted are the entries under tables that the statement lacks.
func tablesWanted(agent *policy.Agent, f *policy.Facts) []string {
	var entries []string
	var done []*catalog.Relation
	for _, u := range f.Relations {
		if u.Relation == nil || u.Relation.System() || slices.Contains(done, u.Relation) {
			continue
		}
		done = append(done, u.Relation)
		var open, lacking []string
		for _, c := range u.Relation.Columns {
			if policy.ReadableColumn(agent, u.Relation, c.Num) {
				open = append(open, c.Name)
			} else if reads(f, u.Relation, c.Name) {
				lacking = append(lacking, c.Name)
			}
		}
		switch {
		case len(lacking) == 0 && agent.AllowsRelation(u.Relation, policy.Read):
		case len(lacking) == 0 || len(open)+len(lacking) == len(u.Relation.Columns):
			entries = append(entries, u.Relation.String()+": all")
		default:
			entries = append(entries, fmt.Sprintf("%s: [%s]", u.Relation, strings.Join(append(open, lacking...), ", ")))
		}
	}
	return entries
}

func reads(f *policy.Facts, rel *catalog.Relation, column string) bool {
	return slices.ContainsFunc(f.Columns, func(c policy.ColumnUse) bool { return c.Relation == rel && c.Column == column })
}

// noRemedy is why no entry of the policy allows what a rule refused.
func noRemedy(rule string) string {
	switch rule {
	case "red-line":
		return "no policy can allow it"
	case "read-only":
		return "the agent's access is read_only: no entry of the policy lets it write"
	case "syntax", "encoding", "too-complex", "grammar-skew":
		return "no policy can: the text has to change"
	case "catalog":
		return "metadata: all opens the system catalogs, but for what holds data, secrets or other sessions' doings"
	}
	return "no entry of the policy does: the statement has to change"
}
