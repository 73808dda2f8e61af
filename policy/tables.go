package policy

import (
	"sort"
	"strings"

	"github.com/pgairlock/pgairlock/policy/catalog"
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

// tableSet is the tables of one agent or group. The most exact pattern that
// matches a relation counts: its name, then the longest prefix.
type tableSet struct {
	exact map[catalog.Name]*grant
	wild  map[string][]prefixGrant // by schema, longest prefix first
}

type prefixGrant struct {
	prefix string
	grant  *grant
}

func (t *tableSet) add(p pattern, g *grant) {
	if !p.wild {
		if t.exact == nil {
			t.exact = make(map[catalog.Name]*grant)
		}
		t.exact[p.name] = g
		return
	}
	if t.wild == nil {
		t.wild = make(map[string][]prefixGrant)
	}
	list := append(t.wild[p.name.Schema], prefixGrant{p.name.Name, g})
	sort.SliceStable(list, func(i, j int) bool { return len(list[i].prefix) > len(list[j].prefix) })
	t.wild[p.name.Schema] = list
}

// find gives the entry that counts for a relation, nil if there is none.
func (t *tableSet) find(schema, name string) *grant {
	if g := t.exact[catalog.Name{Schema: schema, Name: name}]; g != nil {
		return g
	}
	for _, w := range t.wild[schema] {
		if strings.HasPrefix(name, w.prefix) {
			return w.grant
		}
	}
	return nil
}
