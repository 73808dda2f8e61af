package statement

import (
	"slices"

	"github.com/pgairlock/pgairlock/policy/catalog"
)

// scope is one query level's names, as PostgreSQL's ParseState holds them.
type scope struct {
	parent *scope
	ctes   []*cte
	items  []*item
	// inFrom: FROM is being read, and what items holds so far is only there
	// for an item that is LATERAL.
	inFrom, lateral bool
	refs            int // references that were resolved to this level's items
}

// item is a named thing of FROM: a relation, a sub-select, a function, a join
// with an alias.
type item struct {
	name     string // alias, or the relation's own name
	relation *catalog.Relation
	aliased  bool     // an alias hides the relation's qualified name
	cols     []column // nil for a relation without column aliases
	hidden   []string // columns that USING has merged: not found by bare name
	bare     bool     // its columns are found by bare names
	joined   bool     // it is in a join: bare names don't find its system columns
	open     bool     // what it is could not be resolved: it has any column
	scalar   bool     // its whole row is the value of its only column
	rowType  catalog.OID
	use      int // of its relation in Facts.Relations, -1 if there is none
	// relations used within it: Facts.Relations[from:to]
	from, to int
}

// column is a column of an item.
type column struct {
	name string
	value
	sources []source // base columns that it is; none if it was computed
}

// source is a column of a base relation.
type source struct {
	relation *catalog.Relation
	column   string
	use      int // of the relation in Facts.Relations
}

// value is what is known about an expression's result.
type value struct {
	typ   catalog.OID
	row   []column // of an anonymous record, if they are known
	param int32    // the parameter whose type is still open, 0 if it is none
}

// find looks for a column by its name; n is how many there are, at most 2.
func (it *item) find(name string) (c column, n int) {
	if it.cols == nil && it.relation != nil {
		col, ok := it.relation.Column(name)
		if !ok {
			return column{}, 0
		}
		return it.baseColumn(col), 1
	}
	for _, col := range it.cols {
		if col.name == name {
			if n++; n > 1 {
				return c, n
			}
			c = col
		}
	}
	return c, n
}

func (it *item) baseColumn(col catalog.Column) column {
	return column{
		name:    col.Name,
		value:   value{typ: col.Type},
		sources: []source{{it.relation, col.Name, it.use}},
	}
}

// columns lists all columns of the item.
func (it *item) columns() []column {
	if it.cols != nil || it.relation == nil {
		return it.cols
	}
	out := make([]column, 0, len(it.relation.Columns))
	for _, col := range it.relation.Columns {
		out = append(out, it.baseColumn(col))
	}
	return out
}

// shown lists the columns that `*` and bare names see.
func (it *item) shown() []column {
	cols := it.columns()
	if len(it.hidden) == 0 {
		return cols
	}
	out := make([]column, 0, len(cols))
	for _, c := range cols {
		if !slices.Contains(it.hidden, c.name) {
			out = append(out, c)
		}
	}
	return out
}

// rename lays an alias's column names over the item's columns; too many names
// are an error of the server's.
func (it *item) rename(names []string) (ok bool) {
	if len(names) == 0 {
		return true
	}
	cols := slices.Clone(it.columns())
	for i := range min(len(names), len(cols)) {
		cols[i].name = names[i]
	}
	it.cols = cols
	return len(names) <= len(cols) || it.open
}

// whole is the value of the item used as an expression.
func (it *item) whole() value {
	switch cols := it.columns(); {
	case it.open:
		return value{}
	case it.scalar && len(cols) >= 1:
		return cols[0].value
	case it.rowType != 0:
		return value{typ: it.rowType}
	default:
		return value{typ: recordOID, row: cols}
	}
}

// system finds a system column of the item.
func (it *item) system(name string) (column, bool) {
	if it.relation == nil {
		return column{}, false
	}
	switch it.relation.Kind {
	case catalog.Table, catalog.PartitionedTable, catalog.MaterializedView, catalog.ForeignTable, catalog.Toast, catalog.Sequence:
	default:
		return column{}, false
	}
	var t catalog.OID
	switch name {
	case "tableoid":
		t = oidOID
	case "ctid":
		t = tidOID
	case "xmin", "xmax":
		t = xidOID
	case "cmin", "cmax":
		t = cidOID
	default:
		return column{}, false
	}
	return column{name: name, value: value{typ: t}, sources: []source{{it.relation, name, it.use}}}, true
}

// visible are the items that a reference from a lower level or from this one
// can see at this moment.
func (s *scope) visible() []*item {
	if s.inFrom && !s.lateral {
		return nil
	}
	return s.items
}

// cte finds a WITH query by name, from the innermost level outwards.
func (s *scope) cte(name string) *cte {
	for ; s != nil; s = s.parent {
		for _, c := range s.ctes {
			if c.name == name {
				return c
			}
		}
	}
	return nil
}

// itemByName finds the item that a qualified reference names, and its level.
// ambiguous is true if a level has two.
func (s *scope) itemByName(name string) (found *item, level *scope, ambiguous bool) {
	for ; s != nil; s = s.parent {
		for _, it := range s.visible() {
			if it.name == "" || it.name != name {
				continue
			}
			if found != nil {
				return nil, s, true
			}
			found = it
		}
		if found != nil {
			return found, s, false
		}
	}
	return nil, nil, false
}

// hides says whether a level has an item of that name that cannot be seen from
// where the reference stands.
func (s *scope) hides(name string) bool {
	for ; s != nil; s = s.parent {
		if slices.ContainsFunc(s.items, func(it *item) bool { return it.name == name }) {
			return true
		}
	}
	return false
}

// itemByRelation finds the item that schema.relation names: one without an
// alias.
func (s *scope) itemByRelation(rel *catalog.Relation) (found *item, level *scope, ambiguous bool) {
	for ; s != nil; s = s.parent {
		for _, it := range s.visible() {
			if it.relation != rel || it.aliased || it.name == "" {
				continue
			}
			if found != nil {
				return nil, s, true
			}
			found = it
		}
		if found != nil {
			return found, s, false
		}
	}
	return nil, nil, false
}

// columnByName finds a column by its bare name: the first level that has one
// decides.
func (s *scope) columnByName(name string) (c column, level *scope, n int, system bool) {
	for ; s != nil; s = s.parent {
		open := false
		for _, it := range s.visible() {
			if !it.bare {
				continue
			}
			open = open || it.open
			got, k := it.find(name)
			if k == 0 {
				if sys, ok := it.system(name); ok && !it.joined {
					got, k, system = sys, 1, true
				}
			}
			if k > 0 && !slices.Contains(it.hidden, name) {
				c = got
				n += k
			}
		}
		switch {
		case n > 0:
			return c, s, n, system
		case open: // it could be a column of what could not be resolved
			return column{name: name}, s, 1, false
		}
	}
	return column{}, nil, 0, false
}
