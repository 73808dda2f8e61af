package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Summary says in a few lines what the policy gives the agent, for the agent
// itself: access, tables with their columns, limits. It holds no secret.
func (a *Agent) Summary() string {
	lines := []string{"access: " + string(a.Access), "metadata: " + string(a.Metadata)}
	if len(a.SearchPath) > 0 {
		lines = append(lines, "search_path: "+strings.Join(a.SearchPath, ", "))
	}
	if a.Access != Observe {
		lines = append(lines, "tables:")
		for _, schema := range slices.Sorted(maps.Keys(a.tables)) {
			lines = append(lines, readable(schema, a.tables[schema])...)
		}
	}
	l := a.Limits
	if l.Rows > 0 {
		lines = append(lines, fmt.Sprintf("rows: %d for each statement", l.Rows))
	}
	if l.Bytes > 0 {
		lines = append(lines, fmt.Sprintf("bytes: %d for each statement", l.Bytes))
	}
	if l.StatementTimeout > 0 {
		lines = append(lines, "statement_timeout: "+l.StatementTimeout.String())
	}
	return strings.Join(lines, "\n")
}

// readable lists the tables of a schema that can be read, one a line.
func readable(schema string, says []*schemaTables) []string {
	seen := map[string][]columnSet{}
	for _, s := range says {
		for name, g := range s.exact {
			seen[name] = append(seen[name], g.read)
		}
		for _, w := range s.wild {
			seen[w.prefix+"*"] = append(seen[w.prefix+"*"], w.grant.read)
		}
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		columns := map[string]bool{}
		all := false
		for _, set := range seen[name] {
			all = all || set.all
			maps.Copy(columns, set.names)
		}
		switch {
		case all:
			lines = append(lines, fmt.Sprintf("  %s.%s: all columns", schema, name))
		case len(columns) > 0:
			lines = append(lines, fmt.Sprintf("  %s.%s: %s", schema, name, strings.Join(slices.Sorted(maps.Keys(columns)), ", ")))
		}
	}
	return lines
}
