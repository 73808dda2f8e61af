package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pgairlock/pgairlock/policy/catalog"
)

// privilegeVerbs word a privilege for messages.
var privilegeVerbs = map[Privilege]string{
	Read: "read", Insertion: "insert into", Updating: "update", Deletion: "delete from", Truncation: "truncate", Locking: "lock rows of",
}

// writesRelation says whether a use of a relation changes or locks it.
const changing = Insertion | Updating | Deletion | Truncation | Locking

func (d *decider) relations() {
	for i := range d.facts.Relations {
		u := &d.facts.Relations[i]
		if u.Relation == nil {
			d.refuse(&refusal{rule: "unresolved-relation", state: stateDenied, pos: u.Pos, hard: true,
				message: "a relation of the statement is not known"})
			continue
		}
		if u.Needs&changing != 0 && d.agent.Access == ReadOnly {
			d.refuseChange(u)
			if u.Needs&Read == 0 {
				continue
			}
		}
		for _, need := range privileges {
			if u.Needs&need == 0 || need&changing != 0 && d.agent.Access == ReadOnly {
				continue
			}
			if !d.agent.permits(u.Relation, need, "") {
				d.refuse(d.relationRefusal(u, need))
				break
			}
		}
	}
}

// refuseChange refuses a write of a read-only agent at the table it would
// change; statements that are writes by their kind were refused already.
func (d *decider) refuseChange(u *RelationUse) {
	if slices.ContainsFunc(d.reasons, func(r Reason) bool { return r.Rule == "read-only" }) {
		return
	}
	r := writes(d)
	r.pos = u.Pos
	if u.Needs&changing == Locking {
		r.message = fmt.Sprintf("locking rows of %s is refused: agent %q only reads", u.Relation, d.agent.Name)
		r.hint = "Leave FOR UPDATE or FOR SHARE out."
	}
	d.refuse(r)
}

func (d *decider) relationRefusal(u *RelationUse, need Privilege) *refusal {
	rel := u.Relation
	r := &refusal{rule: "table", state: stateDenied, pos: u.Pos,
		message: fmt.Sprintf("agent %q may not %s %s", d.agent.Name, privilegeVerbs[need], rel)}
	switch {
	case rel.System():
		r.rule = "catalog"
		r.hint = d.catalogHint(rel, "")
	case !isTable(rel.Kind):
		r.message += ": it is not a table or view"
	default:
		r.hint = d.tableHint(rel)
	}
	return r
}

// columns judges column uses. What one table's columns have in common, the way
// they came to be used, is told once.
func (d *decider) columns() {
	type group struct {
		rel  *catalog.Relation
		need Privilege
		via  ColumnVia
	}
	refused := make(map[group][]string)
	first := make(map[group]int)
	var order []group
	for i := range d.facts.Columns {
		u := &d.facts.Columns[i]
		if u.Relation == nil || u.Column == "" {
			d.refuse(&refusal{rule: "unresolved-column", state: stateDenied, pos: u.Pos, hard: true,
				message: "a column of the statement is not known"})
			continue
		}
		for _, need := range privileges {
			if u.Needs&need == 0 || need&changing != 0 && d.agent.Access == ReadOnly || d.agent.permits(u.Relation, need, u.Column) {
				continue
			}
			if !d.agent.permits(u.Relation, need, "") {
				continue // the whole relation was refused
			}
			g := group{u.Relation, need, u.Via}
			if _, ok := refused[g]; !ok {
				order, first[g] = append(order, g), i
			}
			if !slices.Contains(refused[g], u.Column) {
				refused[g] = append(refused[g], u.Column)
			}
		}
	}
	for _, g := range order {
		d.refuse(d.columnRefusal(&d.facts.Columns[first[g]], g.need, refused[g]))
	}
}

func (d *decider) columnRefusal(u *ColumnUse, need Privilege, columns []string) *refusal {
	word := "column"
	if len(columns) > 1 {
		word = "columns"
	}
	r := &refusal{rule: "column", state: stateDenied, pos: u.Pos,
		message: fmt.Sprintf("agent %q may not %s %s %s of %s", d.agent.Name, privilegeVerbs[need], word, strings.Join(columns, ", "), u.Relation)}
	if u.Relation.System() {
		r.rule = "catalog"
		r.hint = d.catalogHint(u.Relation, columns[0])
		return r
	}
	r.hint = d.columnHint(u, need, columns)
	return r
}

// functions judges the functions that may run. Each candidate has to be
// allowed, save that one of a vetted extension may stand beside a built-in one.
func (d *decider) functions() {
	for i := range d.facts.Functions {
		u := &d.facts.Functions[i]
		if len(u.Candidates) == 0 {
			d.refuse(&refusal{rule: "unresolved-function", state: stateDenied, pos: u.Pos, hard: true,
				message: fmt.Sprintf("function %s is not known", u.Name)})
			continue
		}
		builtin := slices.ContainsFunc(u.Candidates, func(f *catalog.Function) bool { return f != nil && serverOwn(f.Schema) })
		for _, f := range u.Candidates {
			if f == nil {
				continue
			}
			e, ok := d.agent.function(f)
			if ok || builtin && d.agent.harmless(f) || u.Via == "operator" && d.operatorAllows(f) || u.samples(f) {
				continue
			}
			d.refuse(d.functionRefusal(u, f, &e))
			break
		}
	}
}

// samples says whether f is a sampling method of the server's own, BERNOULLI or
// SYSTEM: named in TABLESAMPLE it only chooses among rows that the agent may read.
func (u *FunctionUse) samples(f *catalog.Function) bool {
	return u.Via == "sample" && serverOwn(f.Schema)
}

func (d *decider) functionRefusal(u *FunctionUse, f *catalog.Function, e *functionEntry) *refusal {
	r := &refusal{rule: "function", state: stateDenied, pos: u.Pos,
		message: fmt.Sprintf("agent %q may not call %s: %s", d.agent.Name, f.Signature(), e.reason)}
	switch e.open {
	case openToNobody:
		r.rule, r.hard = "red-line", true
	case openToMetadata:
		r.hint = "It is open to agents with metadata: all."
	case openToWriters, openToAll:
	case openByList:
		r.hint = d.functionHint(u, f)
	}
	if hint, ok := alternatives[f.Name]; ok && serverOwn(f.Schema) {
		r.hint = hint
	}
	return r
}

func (d *decider) operators() {
	for i := range d.facts.Operators {
		u := &d.facts.Operators[i]
		for _, o := range u.Candidates {
			if o != nil && d.agent.operator(o, d.catalog) {
				continue
			}
			r := &refusal{rule: "operator", state: stateDenied, pos: u.Pos,
				message: fmt.Sprintf("agent %q may not use operator %s", d.agent.Name, u.Name),
				hint:    "It is not one of the server's own; a policy can open it under operators."}
			if o != nil {
				r.message = fmt.Sprintf("agent %q may not use operator %s.%s", d.agent.Name, o.Schema, o.Name)
				if o.Extension != "" {
					r.hint = "It is part of extension " + o.Extension + "; a policy can open it under extensions."
				}
			}
			d.refuse(r)
			break
		}
	}
}

// operatorAllows says whether f is the function of an operator of the
// statement that the policy opens.
func (d *decider) operatorAllows(f *catalog.Function) bool {
	for i := range d.facts.Operators {
		for _, o := range d.facts.Operators[i].Candidates {
			if o != nil && o.Function == f.OID && d.agent.operator(o, d.catalog) {
				return true
			}
		}
	}
	return false
}

// operator says whether the agent may use an operator outside pg_catalog.
func (a *Agent) operator(o *catalog.Operator, cat *catalog.Catalog) bool {
	if o.Schema == "pg_catalog" {
		return true
	}
	if o.Extension != "" && a.vettedOperator(o, cat) {
		return true
	}
	name := catalog.Name{Schema: o.Schema, Name: o.Name}
	for _, p := range a.permissions {
		if p.operators.names[name] {
			return true
		}
		if cat != nil && slices.Contains(p.operators.signatures[name], operatorArgs(o, cat)) {
			return true
		}
	}
	return false
}

// vettedOperator says whether an extension's operator may be used: the policy
// lists the extension, or it is vetted and the operator only shares its name
// with one of the server's own. What it calls must be harmless too.
func (a *Agent) vettedOperator(o *catalog.Operator, cat *catalog.Catalog) bool {
	if _, vetted := a.ref.extensions[o.Extension]; !vetted {
		return false
	}
	if cat == nil {
		return a.hasExtension(o.Extension)
	}
	if f := cat.FunctionByOID(o.Function); f != nil && f.Extension == o.Extension && a.ref.function(f).open != openToAll {
		return false
	}
	return a.hasExtension(o.Extension) ||
		slices.ContainsFunc(cat.Operators(o.Name), func(b *catalog.Operator) bool { return b.Schema == "pg_catalog" })
}

func operatorArgs(o *catalog.Operator, cat *catalog.Catalog) string {
	if o.Left == 0 {
		return "(" + cat.TypeName(o.Right) + ")"
	}
	return "(" + cat.TypeName(o.Left) + "," + cat.TypeName(o.Right) + ")"
}
