package policy

import (
	"slices"

	"github.com/pgairlock/pgairlock/policy/catalog"
)

// rule is a compiled rule of the policy file. All its conditions must hold for
// it to match; an empty one always does.
type rule struct {
	name     string
	source   string
	enforced bool
	deny     bool
	risk     Risk

	tables       []pattern
	commands     []Command
	columns      []string
	functions    callableSet
	byFunction   bool
	withoutWhere bool
}

// matches tells whether the rule is about the statement, and where.
func (r *rule) matches(f *Facts) (pos int, ok bool) {
	pos = -1
	if r.withoutWhere && !f.WithoutWhere {
		return -1, false
	}
	if len(r.commands) > 0 && !slices.ContainsFunc(f.Commands, r.names) {
		return -1, false
	}
	if r.byFunction {
		if pos, ok = r.matchFunction(f); !ok {
			return -1, false
		}
	}
	switch {
	case len(r.columns) > 0:
		return r.matchColumn(f)
	case len(r.tables) > 0:
		return r.matchTable(f)
	}
	return pos, true
}

func (r *rule) names(c Command) bool { return slices.Contains(r.commands, c) }

// needs are the privileges that the rule's commands take; all if it has none.
func (r *rule) needs() Privilege {
	if len(r.commands) == 0 {
		return ^Privilege(0)
	}
	var p Privilege
	for _, c := range r.commands {
		switch c {
		case Select:
			p |= Read | Locking
		case Insert:
			p |= Insertion
		case Update:
			p |= Updating
		case Delete:
			p |= Deletion
		case Merge:
			p |= Insertion | Updating | Deletion
		}
	}
	return p
}

func (r *rule) aboutTable(rel *catalog.Relation) bool {
	name := catalog.Name{Schema: rel.Schema, Name: rel.Name}
	return slices.ContainsFunc(r.tables, func(p pattern) bool { return p.matches(name) })
}

func (r *rule) matchTable(f *Facts) (int, bool) {
	needs := r.needs()
	for i := range f.Relations {
		u := &f.Relations[i]
		if u.Relation != nil && u.Needs&needs != 0 && r.aboutTable(u.Relation) {
			return u.Pos, true
		}
	}
	return -1, false
}

func (r *rule) matchColumn(f *Facts) (int, bool) {
	needs := r.needs()
	for i := range f.Columns {
		u := &f.Columns[i]
		if u.Relation != nil && u.Needs&needs != 0 && slices.Contains(r.columns, u.Column) && r.aboutTable(u.Relation) {
			return u.Pos, true
		}
	}
	return -1, false
}

func (r *rule) matchFunction(f *Facts) (int, bool) {
	for i := range f.Functions {
		if slices.ContainsFunc(f.Functions[i].Candidates, func(c *catalog.Function) bool { return c != nil && r.functions.hasFunction(c) }) {
			return f.Functions[i].Pos, true
		}
	}
	return -1, false
}

// closes says whether the rule alone refuses every read of the column, or of
// the relation where column is "".
func (r *rule) closes(rel *catalog.Relation, column string) bool {
	if !r.deny || !r.enforced || r.byFunction || r.withoutWhere || len(r.tables) == 0 {
		return false
	}
	if len(r.commands) > 0 && !slices.Contains(r.commands, Select) {
		return false
	}
	if len(r.columns) > 0 && !slices.Contains(r.columns, column) {
		return false
	}
	return r.aboutTable(rel)
}
