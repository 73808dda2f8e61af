package policy

import "github.com/pgairlock/pgairlock/policy/catalog"

// isTable says whether a relation is of a kind that a policy can open.
func isTable(kind catalog.Char) bool {
	switch kind {
	case catalog.Table, catalog.PartitionedTable, catalog.View, catalog.MaterializedView, catalog.ForeignTable:
		return true
	}
	return false
}

// privileges are the single ones, in the order in which they are judged.
var privileges = [...]Privilege{Read, Insertion, Updating, Deletion, Truncation, Locking}

// AllowsRelation says whether the agent has every one of the privileges on at
// least one column of the relation. Rules are not looked at, except those that
// close it for reading altogether.
func (a *Agent) AllowsRelation(rel *catalog.Relation, needs Privilege) bool {
	for _, need := range privileges {
		if needs&need != 0 && !a.allows(rel, need, "") {
			return false
		}
	}
	return true
}

// ReadableColumn says whether the agent may read the column with that number
// of the relation. It allocates nothing: every column of every answer is held
// against it. Negative numbers are system columns (ctid, xmin, tableoid …).
func ReadableColumn(a *Agent, rel *catalog.Relation, num int16) bool {
	column, ok := columnName(rel, num)
	return ok && a.allows(rel, Read, column)
}

// systemColumns are the columns every table has, by -attnum.
var systemColumns = [...]string{1: "ctid", 2: "xmin", 3: "cmin", 4: "xmax", 5: "cmax", 6: "tableoid"}

func columnName(rel *catalog.Relation, num int16) (string, bool) {
	if num < 0 && int(-num) < len(systemColumns) {
		return systemColumns[-num], true
	}
	c, ok := rel.ColumnByNum(num)
	return c.Name, ok
}

// allows is what permits says, less what the policy's rules close for reading.
func (a *Agent) allows(rel *catalog.Relation, need Privilege, column string) bool {
	return a.permits(rel, need, column) && (need != Read || !a.closedByRule(rel, column))
}

// permits is the one place that knows what an agent's entries let it do with a
// column of a relation; column "" asks for any at all.
func (a *Agent) permits(rel *catalog.Relation, need Privilege, column string) bool {
	if !isTable(rel.Kind) {
		return false
	}
	if rel.System() {
		_, ok := a.readsSystem(rel.Schema, rel.Name, column)
		return ok && need == Read
	}
	if column != "" && isSystemColumn(rel, column) {
		return a.grantsAll(rel.Schema, rel.Name, need)
	}
	return a.grants(rel.Schema, rel.Name, need, column)
}

// isSystemColumn says whether the name is one of the columns every table has,
// and not one of the relation's own.
func isSystemColumn(rel *catalog.Relation, column string) bool {
	if _, own := rel.Column(column); own {
		return false
	}
	for _, name := range systemColumns {
		if name == column {
			return true
		}
	}
	return false
}

// closedByRule says whether an enforced rule refuses every read of the column.
func (a *Agent) closedByRule(rel *catalog.Relation, column string) bool {
	for _, r := range a.rules {
		if r.closes(rel, column) {
			return true
		}
	}
	return false
}
