package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pgairlock/pgairlock/policy/catalog"
)

// nameTypes look a name up in the system catalogs when a text is cast to them.
// Those of text search are left out: common, and there is nothing in the names.
var nameTypes = []string{"regclass", "regproc", "regprocedure", "regoper", "regoperator", "regtype", "regrole",
	"regnamespace", "regcollation", "regdatabase"}

func (d *decider) types() {
	for i := range d.facts.Types {
		u := &d.facts.Types[i]
		if u.Type == nil {
			d.refuse(&refusal{rule: "unresolved-type", state: stateDenied, pos: u.Pos, hard: true,
				message: "a type of the statement is not known"})
			continue
		}
		why, ok := d.typeAllowed(u.Type, 0)
		if ok {
			continue
		}
		d.refuse(&refusal{rule: "type", state: stateDenied, pos: u.Pos,
			message: fmt.Sprintf("agent %q may not use type %s: %s", d.agent.Name, u.Type, why),
			hint:    d.typeHint(u.Type)})
	}
}

// maxTypeDepth bounds how types are followed into types; the server has no
// deeper ones in practice.
const maxTypeDepth = 32

// typeAllowed says whether values of the type may be made: nothing may run then
// that the policy has not opened, such as a domain's CHECK.
func (d *decider) typeAllowed(t *catalog.Type, depth int) (why string, ok bool) {
	if depth > maxTypeDepth {
		return "it is nested too deeply", false
	}
	if d.listsType(t) {
		return "", true
	}
	if t.Element != 0 && t.Category == 'A' {
		return d.elementAllowed(t.Element, depth)
	}
	switch {
	case serverOwn(t.Schema) && t.Kind != 'c':
		if d.agent.Metadata == MetadataNone && slices.Contains(nameTypes, t.Name) {
			return "it looks names up in the system catalogs", false
		}
		return "", true
	case t.Kind == 'e':
		return "", true
	case t.Kind == 'd':
		if t.Checked {
			return "its CHECK constraint may run functions", false
		}
		return d.elementAllowed(t.Base, depth)
	case t.Kind == 'c':
		return d.rowTypeAllowed(t, depth)
	case t.Extension != "":
		if _, vetted := d.agent.ref.extensions[t.Extension]; vetted && d.agent.hasExtension(t.Extension) {
			return "", true
		}
		return "it is part of extension " + t.Extension + ", which the policy does not list", false
	}
	return "it is not one of the server's own", false
}

func (d *decider) listsType(t *catalog.Type) bool {
	name := catalog.Name{Schema: t.Schema, Name: t.Name}
	return slices.ContainsFunc(d.agent.permissions, func(p *permissions) bool { return p.types[name] })
}

func (d *decider) elementAllowed(oid catalog.OID, depth int) (string, bool) {
	if d.catalog == nil {
		return "what it is made of is not known", false
	}
	t := d.catalog.TypeByOID(oid)
	if t == nil {
		return "what it is made of is not known", false
	}
	return d.typeAllowed(t, depth+1)
}

// rowTypeAllowed judges a composite type by its relation, and by its columns'
// types.
func (d *decider) rowTypeAllowed(t *catalog.Type, depth int) (string, bool) {
	if d.catalog == nil {
		return "what it is made of is not known", false
	}
	rel := d.catalog.RelationByOID(t.Relation)
	if rel == nil {
		return "what it is made of is not known", false
	}
	if rel.Kind != catalog.Composite && !d.agent.allows(rel, Read, "") {
		return "it is the row of a table that is not open", false
	}
	for _, c := range rel.Columns {
		if why, ok := d.elementAllowed(c.Type, depth); !ok {
			return "column " + c.Name + ": " + why, false
		}
	}
	return "", true
}

func (d *decider) typeHint(t *catalog.Type) string {
	if strings.HasPrefix(t.Name, "reg") && t.Schema == "pg_catalog" {
		return "It is open to agents with metadata: all."
	}
	if t.Kind == 'c' {
		return "A policy can open its table under tables, or the type under types."
	}
	if t.Extension != "" {
		return "A policy can open it under extensions or types."
	}
	return "A policy can open it under types."
}
