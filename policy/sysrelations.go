package policy

import (
	"fmt"

	"github.com/pgairlock/pgairlock/policy/catalog"
)

// exposure says who may read a relation or column of the system catalogs.
type exposure uint8

const (
	exposedToMetadata exposure = iota // with metadata: all
	exposedByList                     // where a policy lists the relation by its name
	exposedToNobody
)

var exposures = map[string]exposure{
	"open": exposedToMetadata, "closed": exposedByList, "never": exposedToNobody,
}

type exposed struct {
	to     exposure
	reason string
}

type systemRelation struct {
	exposed
	columns map[string]exposed // those that differ from the relation
}

func (ref *reference) readRelation(f []string) error {
	to, ok := exposures[f[2]]
	if !ok {
		return fmt.Errorf("unknown class %q", f[2])
	}
	name, err := qualified(f[0])
	if err != nil {
		return err
	}
	if f[1] == "*" {
		ref.relations[name] = &systemRelation{exposed: exposed{to, f[3]}, columns: make(map[string]exposed)}
		return nil
	}
	r := ref.relations[name]
	if r == nil {
		return fmt.Errorf("column %s comes before its relation %s", f[1], f[0])
	}
	r.columns[f[1]] = exposed{to, f[3]}
	return nil
}

// systemColumn tells who may read a column of a system relation; column "" is
// the relation itself.
func (ref *reference) systemColumn(schema, name, column string) exposed {
	r := ref.relations[catalog.Name{Schema: schema, Name: name}]
	if r == nil {
		return exposed{exposedByList, "not among the known system relations"}
	}
	if c, ok := r.columns[column]; ok {
		return c
	}
	return r.exposed
}

// readsSystem says whether the agent may read a column of a system relation;
// why tells the reason it may not.
func (a *Agent) readsSystem(schema, name, column string) (why exposed, ok bool) {
	why = a.ref.systemColumn(schema, name, column)
	switch why.to {
	case exposedToMetadata:
		return why, a.Metadata == MetadataAll || a.grants(schema, name, Read, column)
	case exposedByList:
		return why, a.grants(schema, name, Read, column)
	}
	return why, false
}
