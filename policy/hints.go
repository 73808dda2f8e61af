package policy

import (
	"slices"
	"strings"

	"github.com/pgairlock/pgairlock/internal/strictyaml"
	"github.com/pgairlock/pgairlock/policy/catalog"
)

// alternatives are what to use instead of a built-in function that is refused.
var alternatives = map[string]string{
	"nextval":       "A read-only agent can't draw from a sequence; max(id) of the table shows what was used.",
	"pg_sleep":      "Wait on the client's side.",
	"pg_read_file":  "Server files are never open.",
	"current_query": "The client knows its own statement.",
}

// maxListed bounds how many names a hint lists.
const maxListed = 12

// tableHint names what the agent may read instead of a refused relation.
func (d *decider) tableHint(rel *catalog.Relation) string {
	return d.nearestTable(rel.Schema, rel.Name)
}

// nearestTable names the agent's table that is most like schema.name, or the
// agent's tables; schema may be "".
func (d *decider) nearestTable(schema, name string) string {
	known := d.agent.readable(d.catalog)
	if near, ok := nearestName(catalog.Name{Schema: schema, Name: name}, known); ok {
		return "Did you mean " + near.String() + "?"
	}
	if len(known) == 0 {
		return "No table is open to this agent."
	}
	slices.SortFunc(known, compareNames)
	full := make([]string, 0, maxListed+1)
	for _, n := range known[:min(len(known), maxListed+1)] {
		full = append(full, n.String())
	}
	return "Open to this agent: " + listed(full) + "."
}

// nearestName finds the candidate that is most like n: one of its own schema if
// there is one, else one of any. n itself is no answer.
func nearestName(n catalog.Name, candidates []catalog.Name) (catalog.Name, bool) {
	for _, sameSchema := range []bool{true, false} {
		var bare []string
		for _, c := range candidates {
			if c != n && (!sameSchema || c.Schema == n.Schema) {
				bare = append(bare, c.Name)
			}
		}
		near, ok := strictyaml.Nearest(n.Name, bare)
		if !ok {
			continue
		}
		i := slices.IndexFunc(candidates, func(c catalog.Name) bool {
			return c.Name == near && c != n && (!sameSchema || c.Schema == n.Schema)
		})
		return candidates[i], true
	}
	return catalog.Name{}, false
}

// readable lists the relations that the agent may read, as far as they are
// known: those of the catalog, or without one those that the policy names.
func (a *Agent) readable(cat *catalog.Catalog) []catalog.Name {
	var list []catalog.Name
	if cat != nil {
		for _, rel := range cat.Data().Relations {
			if isTable(rel.Kind) && !rel.System() && a.allows(rel, Read, "") {
				list = append(list, catalog.Name{Schema: rel.Schema, Name: rel.Name})
			}
		}
		return list
	}
	for schema, tables := range a.tables {
		for _, s := range tables {
			for name, g := range s.exact {
				if !serverOwn(schema) && !g.read.empty() {
					list = append(list, catalog.Name{Schema: schema, Name: name})
				}
			}
		}
	}
	slices.SortFunc(list, compareNames)
	return slices.Compact(list)
}

func listed(names []string) string {
	if len(names) > maxListed {
		return strings.Join(names[:maxListed], ", ") + " and others"
	}
	return strings.Join(names, ", ")
}

// columnHint names the columns to write instead of refused ones.
func (d *decider) columnHint(u *ColumnUse, need Privilege, refused []string) string {
	var open []string
	for _, c := range u.Relation.Columns {
		if d.agent.allows(u.Relation, need, c.Name) {
			open = append(open, c.Name)
		}
	}
	list := listed(open)
	switch u.Via {
	case ByStar:
		return "Write the columns instead of *: " + strings.Join(open, ", ") + "."
	case ByWholeRow:
		return "Write the columns instead of the whole row: " + strings.Join(open, ", ") + "."
	case ByJoin:
		return "NATURAL and USING read the columns they join by; join ON columns that are open: " + list + "."
	case BySystem:
		return "System columns are open where all columns of the table are."
	}
	if near, ok := strictyaml.Nearest(refused[0], open); ok {
		return "Did you mean " + near + "? Open are " + list + "."
	}
	return "Open columns of " + u.Relation.String() + ": " + list + "."
}

// catalogHint tells why a system relation is closed, and what to read instead.
func (d *decider) catalogHint(rel *catalog.Relation, column string) string {
	why, _ := d.agent.readsSystem(rel.Schema, rel.Name, column)
	switch {
	case why.to == exposedToMetadata:
		return "System catalogs are open to agents with metadata: all."
	case rel.Schema == "pg_toast":
		return "Read the table itself."
	case column != "":
		var open []string
		for _, c := range rel.Columns {
			if _, ok := d.agent.readsSystem(rel.Schema, rel.Name, c.Name); ok {
				open = append(open, c.Name)
			}
		}
		return "It holds " + why.reason + ". Open are " + strings.Join(open, ", ") + "."
	}
	return "It holds " + why.reason + "."
}

func (d *decider) functionHint(u *FunctionUse, f *catalog.Function) string {
	switch {
	case f.Extension != "":
		return "A policy can open it under extensions or functions."
	case serverOwn(f.Schema):
		return "A policy can open it under functions."
	}
	var open []string
	for _, p := range d.agent.permissions {
		for n := range p.functions.names {
			open = append(open, n.String())
		}
		for n := range p.functions.signatures {
			open = append(open, n.String())
		}
	}
	slices.Sort(open)
	if near, ok := strictyaml.Nearest(f.Schema+"."+f.Name, open); ok {
		return "Did you mean " + near + "?"
	}
	if len(open) > 0 {
		return "Open to this agent are the server's own functions and " + listed(open) + "."
	}
	return "Open to this agent are the server's own functions; a policy can open others under functions."
}

// problemHint finds the allowed name nearest to one that does not exist.
func (d *decider) problemHint(p *Problem) string {
	if p.Name == "" {
		return ""
	}
	switch p.Rule {
	case "unresolved-relation":
		schema, name, ok := strings.Cut(p.Name, ".")
		if !ok {
			schema, name = "", p.Name
		}
		return d.nearestTable(schema, name)
	case "unresolved-column":
		return d.unknownColumnHint(p.Name)
	}
	return ""
}

func (d *decider) unknownColumnHint(name string) string {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		name = name[i+1:]
	}
	var open []string
	for i := range d.facts.Relations {
		rel := d.facts.Relations[i].Relation
		if rel == nil {
			continue
		}
		for _, c := range rel.Columns {
			if d.agent.allows(rel, Read, c.Name) && !slices.Contains(open, c.Name) {
				open = append(open, c.Name)
			}
		}
	}
	if near, ok := strictyaml.Nearest(name, open); ok {
		return "Did you mean " + near + "?"
	}
	if len(open) > 0 {
		return "Open columns: " + listed(open) + "."
	}
	return ""
}

// ruleHint says what would not match the rule.
func (d *decider) ruleHint(r *rule) string {
	switch {
	case r.withoutWhere:
		return "Add a WHERE clause."
	case len(r.columns) > 0:
		return "Leave " + strings.Join(r.columns, ", ") + " out."
	}
	return ""
}
