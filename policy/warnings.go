package policy

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pgairlock/pgairlock/internal/strictyaml"
	"github.com/pgairlock/pgairlock/policy/catalog"
)

// mention is a place where the policy names tables, and perhaps columns.
type mention struct {
	pattern pattern
	text    string // as written
	at      strictyaml.Pos
	columns []strictyaml.Located[string]
}

// Warning is something in a policy that is probably not meant.
type Warning struct {
	Pos     strictyaml.Pos
	Message string
}

// String is file:line:column: message.
func (w Warning) String() string { return w.Pos.String() + ": " + w.Message }

// Warnings holds the policy against a database: what it names and the database
// does not have. A policy for several databases names tables that some of them
// lack, so that nothing here is an error. They come in the file's order.
func (s *Set) Warnings(cat *catalog.Catalog) []Warning {
	var list []Warning
	warn := func(at strictyaml.Pos, format string, args ...any) {
		list = append(list, Warning{at, fmt.Sprintf(format, args...)})
	}
	var tables []catalog.Name
	for _, rel := range cat.Data().Relations {
		if isTable(rel.Kind) && !rel.System() {
			tables = append(tables, catalog.Name{Schema: rel.Schema, Name: rel.Name})
		}
	}
	slices.SortFunc(tables, compareNames)
	bySchema := make(map[string][]catalog.Name)
	for _, n := range tables {
		bySchema[n.Schema] = append(bySchema[n.Schema], n)
	}
	for _, m := range s.mentions {
		if !inCatalog(m.pattern, tables, cat) {
			warn(m.at, "%s matches no table of database %s%s", m.text, cat.Data().Database, didYouMean(m, bySchema))
			continue
		}
		rel := cat.Relation(m.pattern.name.Schema, m.pattern.name.Name)
		for _, c := range m.columns {
			parts, err := splitName(c.Value)
			if m.pattern.wild || rel == nil || err != nil {
				continue
			}
			if _, ok := rel.Column(parts[0]); !ok {
				warn(c.Pos, "%s has no column %s", rel, c.Value)
			}
		}
	}
	for _, c := range s.SecretColumns {
		rel := cat.Relation(c.Table.Schema, c.Table.Name)
		if rel == nil {
			warn(c.at, "there is no table %s", c.Table)
		} else if _, ok := rel.Column(c.Column); !ok {
			warn(c.at, "%s has no column %s", rel, c.Column)
		}
	}
	slices.SortStableFunc(list, func(a, b Warning) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
	return list
}

// inCatalog says whether the pattern matches one of the sorted tables, or a
// system relation.
func inCatalog(p pattern, tables []catalog.Name, cat *catalog.Catalog) bool {
	if !p.wild {
		rel := cat.Relation(p.name.Schema, p.name.Name)
		return rel != nil && isTable(rel.Kind)
	}
	i, _ := slices.BinarySearchFunc(tables, p.name, compareNames)
	return i < len(tables) && p.matches(tables[i])
}

func compareNames(a, b catalog.Name) int {
	return cmp.Or(cmp.Compare(a.Schema, b.Schema), cmp.Compare(a.Name, b.Name))
}

// didYouMean looks for a like name in the pattern's own schema only: a policy
// may be long, and so may the list of tables.
func didYouMean(m mention, bySchema map[string][]catalog.Name) string {
	if m.pattern.wild {
		return ""
	}
	if near, ok := nearestName(m.pattern.name, bySchema[m.pattern.name.Schema]); ok {
		return ": did you mean " + near.String() + "?"
	}
	return ""
}
