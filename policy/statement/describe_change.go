package statement

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pgairlock/pgairlock/policy"
)

// policyChange says which words in the policy would allow what a reason
// refuses, for the person who owns the policy; "" where none would or it can't
// be told. The reason's position says which of the statement's objects it is
// about.
func policyChange(f *policy.Facts, r *policy.Reason) string {
	if r.Source != "" {
		return fmt.Sprintf("change rule %q at %s", r.Rule, r.Source)
	}
	switch r.Rule {
	case "table":
		for _, u := range f.Relations {
			if u.Pos == r.Pos && u.Relation != nil {
				return "tables: {" + tableWords(f, u.Relation.String(), -1) + "}"
			}
		}
	case "column":
		for _, u := range f.Columns {
			if u.Pos == r.Pos && u.Relation != nil {
				return "tables: {" + tableWords(f, u.Relation.String(), r.Pos) + "}"
			}
		}
	case "function":
		for _, u := range f.Functions {
			if u.Pos == r.Pos && len(u.Candidates) > 0 {
				return "functions: [" + strings.Join(signatures(&u), ", ") + "]"
			}
		}
	case "copy":
		return "copy: {to_stdout: limited}"
	}
	return ""
}

// tableWords is a table's entry with the columns that the statement reads of
// it, at one position or, where that is negative, at all.
func tableWords(f *policy.Facts, table string, pos int) string {
	var columns []string
	for _, c := range f.Columns {
		if c.Relation != nil && c.Relation.String() == table && (pos < 0 || c.Pos == pos) && !slices.Contains(columns, c.Column) {
			columns = append(columns, c.Column)
		}
	}
	if len(columns) == 0 {
		return table + ": all"
	}
	return table + ": [" + strings.Join(columns, ", ") + "]"
}

func signatures(u *policy.FunctionUse) []string {
	var out []string
	for _, f := range u.Candidates {
		s := f.Signature()
		if f.Schema == "pg_catalog" {
			s = "pg_catalog." + s
		}
		out = append(out, s)
	}
	return out
}
