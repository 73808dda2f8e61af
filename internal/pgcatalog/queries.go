package pgcatalog

import (
	"strings"

	"github.com/pgairlock/pgairlock/policy/catalog"
)

// OIDs that initdb fixes, the same in all majors.
const (
	classType     catalog.OID = 1247 // of pg_type, as pg_depend.classid has it
	classFunction catalog.OID = 1255 // of pg_proc
	classOperator catalog.OID = 2617 // of pg_operator
)

// queries lists what is read. Schemas come first, then what later rows are
// completed with.
func (r *reader) queries() []query {
	return []query{
		{session, r.session},
		{schemas, r.schema},
		{members, r.member},
		{checks, func(row *row) { r.checked[row.oid()] = true }},
		{relations, r.relation},
		{columns, r.column},
		{functions, r.function},
		{operators, r.operator},
		{types, r.aType},
		{casts, r.cast},
	}
}

// reset_val, since the session may have changed its search_path meanwhile.
const session = `
SELECT pg_catalog.current_database(), current_user, pg_catalog.current_setting('server_version_num'),
       (SELECT s.reset_val FROM pg_catalog.pg_settings s WHERE s.name OPERATOR(pg_catalog.=) 'search_path')`

func (r *reader) session(row *row) {
	r.data.Database, r.data.Role, r.version, r.path = row.text(), row.text(), row.text(), row.text()
}

const schemas = `
SELECT n.oid, n.nspname, pg_catalog.has_schema_privilege(n.oid, 'USAGE') FROM pg_catalog.pg_namespace n`

func (r *reader) schema(row *row) {
	oid, name, usable := row.oid(), row.text(), row.bool()
	switch {
	case name == "pg_toast" || strings.HasPrefix(name, "pg_temp_") || strings.HasPrefix(name, "pg_toast_temp_"):
		return // names that start with pg_ are the server's own
	case r.options.SystemOnly && name != "pg_catalog" && name != "information_schema":
		return
	}
	r.schemas[oid] = name
	if usable {
		r.data.Schemas = append(r.data.Schemas, name)
	}
}

const members = `
SELECT d.classid, d.objid, e.extname
FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_extension e ON e.oid OPERATOR(pg_catalog.=) d.refobjid
WHERE d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass
  AND d.deptype OPERATOR(pg_catalog.=) 'e'`

func (r *reader) member(row *row) {
	m := member{row.oid(), row.oid()}
	r.extensions[m] = row.text()
}

const checks = `
SELECT k.contypid FROM pg_catalog.pg_constraint k
WHERE k.contypid OPERATOR(pg_catalog.<>) '0' AND k.contype OPERATOR(pg_catalog.=) 'c'`

const relations = `
SELECT c.oid, c.relname, c.relnamespace, c.relkind, c.reltype FROM pg_catalog.pg_class c
WHERE c.relpersistence OPERATOR(pg_catalog.<>) 't' AND c.relkind OPERATOR(pg_catalog.<>) 't'`

func (r *reader) relation(row *row) {
	relation := &catalog.Relation{OID: row.oid(), Name: row.text()}
	schema, ok := r.schemas[row.oid()]
	if !ok {
		return
	}
	relation.Schema, relation.Kind, relation.RowType = schema, row.char(), row.oid()
	r.data.Relations = append(r.data.Relations, relation)
}

// Not those of indexes and TOAST tables.
const columns = `
SELECT a.attrelid, a.attnum, a.atttypid, a.attgenerated, a.attname
FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) a.attrelid
WHERE a.attnum OPERATOR(pg_catalog.>) '0' AND NOT a.attisdropped
  AND c.relpersistence OPERATOR(pg_catalog.<>) 't'
  AND c.relkind OPERATOR(pg_catalog.=) ANY ('{r,p,v,m,f,S,c}'::pg_catalog."char"[])`

func (r *reader) column(row *row) {
	a := attribute{row.oid(), catalog.Column{Num: row.int2(), Type: row.oid(), Generated: row.char() != 0}}
	name := row.take(-1)
	kept, ok := r.names[string(name)]
	if !ok {
		kept = string(name)
		r.names[kept] = kept
	}
	a.column.Name = kept
	r.columns = append(r.columns, a)
}

const functions = `
SELECT p.oid, p.proname, p.pronamespace, p.prokind, p.proargtypes, p.proargnames, p.pronargdefaults, p.provariadic,
       p.prorettype, p.proretset, p.proallargtypes, p.proargmodes, p.provolatile, p.prosecdef, l.lanname
FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_language l ON l.oid OPERATOR(pg_catalog.=) p.prolang`

func (r *reader) function(row *row) {
	f := &catalog.Function{OID: row.oid(), Name: row.text()}
	schema, ok := r.schemas[row.oid()]
	if !ok {
		return
	}
	f.Schema, f.Kind, f.Args = schema, row.char(), row.oids()
	names := row.texts()
	f.Defaults, f.Variadic = int(row.int2()), row.oid()
	f.Result, f.Set = row.oid(), row.bool()
	all, modes := row.oids(), row.elements()
	f.Volatility, f.Definer, f.Language = row.char(), row.bool(), row.text()
	f.Extension = r.extensions[member{classFunction, f.OID}]
	f.ArgNames, f.Out = arguments(names, all, modes, len(f.Args))
	r.data.Functions = append(r.data.Functions, f)
}

// arguments splits pg_proc's lists over all arguments into the names of the
// input ones and the output columns. Both lists of types are absent when all
// arguments are input ones, and the names when none has one.
func arguments(names []string, all []catalog.OID, modes [][]byte, inputs int) (in []string, out []catalog.Column) {
	name := func(i int) string {
		if i < len(names) {
			return names[i]
		}
		return ""
	}
	if len(modes) != len(all) {
		modes = nil
	}
	if modes == nil {
		if names == nil {
			return nil, nil
		}
		for i := range inputs {
			in = append(in, name(i))
		}
		return in, nil
	}
	named := false
	for i, mode := range modes {
		if m := string(mode); m == "o" || m == "b" || m == "t" { // OUT, INOUT, TABLE
			out = append(out, catalog.Column{Num: int16(len(out) + 1), Name: name(i), Type: all[i]})
		}
		if m := string(mode); m == "i" || m == "b" || m == "v" { // IN, INOUT, VARIADIC
			in = append(in, name(i))
			named = named || name(i) != ""
		}
	}
	if !named {
		in = nil
	}
	return in, out
}

// Without shells: operators that were only mentioned as a commutator.
const operators = `
SELECT o.oid, o.oprname, o.oprnamespace, o.oprleft, o.oprright, o.oprresult, o.oprcode::pg_catalog.oid
FROM pg_catalog.pg_operator o WHERE o.oprcode::pg_catalog.oid OPERATOR(pg_catalog.<>) '0'`

func (r *reader) operator(row *row) {
	o := &catalog.Operator{OID: row.oid(), Name: row.text()}
	schema, ok := r.schemas[row.oid()]
	if !ok {
		return
	}
	o.Schema, o.Left, o.Right, o.Result, o.Function = schema, row.oid(), row.oid(), row.oid(), row.oid()
	o.Extension = r.extensions[member{classOperator, o.OID}]
	r.data.Operators = append(r.data.Operators, o)
}

// A true array is one whose subscripts are array_subscript_handler's.
const types = `
SELECT t.oid, t.typname, t.typnamespace, t.typtype, t.typcategory, t.typispreferred, t.typrelid, t.typarray, t.typbasetype,
       CASE WHEN t.typsubscript::pg_catalog.oid OPERATOR(pg_catalog.=)
                 'pg_catalog.array_subscript_handler'::pg_catalog.regproc::pg_catalog.oid
            THEN t.typelem ELSE '0'::pg_catalog.oid END
FROM pg_catalog.pg_type t`

func (r *reader) aType(row *row) {
	t := &catalog.Type{OID: row.oid(), Name: row.text()}
	schema, ok := r.schemas[row.oid()]
	if !ok {
		return
	}
	t.Schema, t.Kind, t.Category, t.Preferred = schema, row.char(), row.char(), row.bool()
	t.Relation, t.Array, t.Base, t.Element = row.oid(), row.oid(), row.oid(), row.oid()
	t.Extension = r.extensions[member{classType, t.OID}]
	r.data.Types = append(r.data.Types, t)
}

const casts = `
SELECT c.castsource, c.casttarget, c.castfunc, c.castcontext FROM pg_catalog.pg_cast c`

func (r *reader) cast(row *row) {
	r.data.Casts = append(r.data.Casts, catalog.Cast{Source: row.oid(), Target: row.oid(), Function: row.oid(), Context: row.char()})
}
