package policy

import (
	"sort"
	"strings"
)

// columnSet is a set of a relation's columns. The zero value is empty.
type columnSet struct {
	all   bool
	names map[string]bool
}

func (c columnSet) has(column string) bool { return c.all || c.names[column] }
func (c columnSet) empty() bool            { return !c.all && len(c.names) == 0 }

// grant is what one entry of a policy permits on a relation.
type grant struct {
	read, insert, update columnSet
	delete               bool
}

// columns is the set that a use with these needs may touch; several needs at
// once are asked for one by one.
func (g *grant) columns(need Privilege) columnSet {
	switch need {
	case Read:
		return g.read
	case Insertion:
		return g.insert
	case Updating:
		return g.update
	case Deletion:
		return columnSet{all: g.delete}
	}
	return columnSet{}
}

// tableSet is the tables of one agent or group, by schema.
type tableSet map[string]*schemaTables

// schemaTables is what one agent or group says about the tables of a schema.
// The most exact entry that matches a table counts: its name, then the longest
// prefix.
type schemaTables struct {
	exact map[string]*grant
	wild  []prefixGrant // longest prefix first
}

type prefixGrant struct {
	prefix string
	grant  *grant
}

func (t tableSet) add(p pattern, g *grant) {
	s := t[p.name.Schema]
	if s == nil {
		s = &schemaTables{exact: make(map[string]*grant)}
		t[p.name.Schema] = s
	}
	if !p.wild {
		s.exact[p.name.Name] = g
		return
	}
	s.wild = append(s.wild, prefixGrant{p.name.Name, g})
	sort.SliceStable(s.wild, func(i, j int) bool { return len(s.wild[i].prefix) > len(s.wild[j].prefix) })
}

// find gives the entry that counts for a table, nil if there is none.
func (s *schemaTables) find(name string) *grant {
	if g := s.exact[name]; g != nil {
		return g
	}
	for _, w := range s.wild {
		if strings.HasPrefix(name, w.prefix) {
			return w.grant
		}
	}
	return nil
}

// grants says whether any of the agent's entries permits the privilege on a
// column of a relation; column "" asks for any column at all.
func (a *Agent) grants(schema, name string, need Privilege, column string) bool {
	for _, s := range a.tables[schema] {
		g := s.find(name)
		if g == nil {
			continue
		}
		set := g.columns(need)
		if column == "" && !set.empty() || column != "" && set.has(column) {
			return true
		}
	}
	return false
}

// grantsAll says whether an entry permits the privilege on all columns: only
// then are system columns open too.
func (a *Agent) grantsAll(schema, name string, need Privilege) bool {
	for _, s := range a.tables[schema] {
		if g := s.find(name); g != nil && g.columns(need).all {
			return true
		}
	}
	return false
}
