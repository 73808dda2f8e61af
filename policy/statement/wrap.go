package statement

import (
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/policy/catalog"
)

// inner reads a statement inside another one: its facts are the outer one's,
// its kind becomes Inner. The outer kind and tag are set again by the caller.
func (a *analyzer) inner(n *pg_query.Node) {
	a.statement(n)
	a.f.Inner = a.f.Kind
}

// explain reads EXPLAIN with its options; the last of a repeated option counts.
func (a *analyzer) explain(e *pg_query.ExplainStmt) {
	a.mark(e)
	a.inner(e.Query)
	a.f.Kind, a.f.Tag, a.f.ReturnsRows = policy.KindExplain, "EXPLAIN", true
	a.defElems(e.Options, func(d *pg_query.DefElem) {
		name := strings.ToLower(d.Defname)
		a.f.Explain = append(a.f.Explain, name)
		if name == "analyze" {
			a.f.Analyze = optionOn(d.Arg)
		}
	})
}

// optionOn is a boolean option's value as the server reads it; whatever is not
// plainly off is on.
func optionOn(n *pg_query.Node) bool {
	switch v := n.GetNode().(type) {
	case *pg_query.Node_Integer:
		return v.Integer.Ival != 0
	case *pg_query.Node_Boolean:
		return v.Boolean.Boolval
	case *pg_query.Node_String_:
		switch strings.ToLower(v.String_.Sval) {
		case "false", "off", "0":
			return false
		}
	}
	return true
}

// prepare reads PREPARE: its statement is judged now. Types that it names for
// parameters count for that statement only.
func (a *analyzer) prepare(p *pg_query.PrepareStmt) {
	a.mark(p)
	types := make([]catalog.OID, 0, len(p.Argtypes))
	for _, n := range p.Argtypes {
		t := n.GetTypeName()
		if t == nil {
			a.unmapped("PREPARE with "+nodeName(n), -1)
			continue
		}
		types = append(types, a.typeName(t))
	}
	a.env.ParamTypes = types
	a.inner(p.Query)
	a.f.Kind, a.f.Tag, a.f.Name = policy.KindPrepare, "PREPARE", p.Name
	a.f.ReturnsRows = false
}

// execute reads EXECUTE: its arguments are expressions, and what it runs was
// established when it was prepared.
func (a *analyzer) execute(e *pg_query.ExecuteStmt) {
	a.mark(e)
	a.f.Name = e.Name
	a.exprs(&scope{}, e.Params)
	var prepared *policy.Facts
	if a.env.Prepared != nil {
		if f, ok := a.env.Prepared(e.Name); ok {
			prepared = f
		}
	}
	if prepared == nil {
		a.fail("unresolved-statement", "26000", e.Name, -1, "prepared statement %q does not exist", e.Name)
		return
	}
	a.merged(prepared)
}

// merged adds the facts of a prepared statement. Its positions are those of
// another text.
func (a *analyzer) merged(p *policy.Facts) {
	a.f.Inner = p.Kind
	if p.Kind == policy.KindPrepare {
		a.f.Inner = p.Inner
	}
	for _, c := range p.Commands {
		a.command(c)
	}
	a.risk(p.Risk)
	if p.RedLine != "" {
		a.redLine(p.RedLine)
	}
	for _, u := range p.Relations {
		u.Pos = -1
		a.f.Relations = append(a.f.Relations, u)
	}
	for _, u := range p.Columns {
		u.Pos = -1
		a.f.Columns = append(a.f.Columns, u)
	}
	for _, u := range p.Functions {
		u.Pos = -1
		a.f.Functions = append(a.f.Functions, u)
	}
	for _, u := range p.Operators {
		u.Pos = -1
		a.f.Operators = append(a.f.Operators, u)
	}
	for _, u := range p.Types {
		u.Pos = -1
		a.f.Types = append(a.f.Types, u)
	}
	for _, u := range p.Settings {
		u.Pos = -1
		a.f.Settings = append(a.f.Settings, u)
	}
	for _, u := range p.Problems {
		u.Pos = -1
		a.f.Problems = append(a.f.Problems, u)
	}
	a.f.WithoutWhere = a.f.WithoutWhere || p.WithoutWhere
	a.f.ReturnsRows = p.ReturnsRows || a.f.Inner == policy.KindSelect
}

// declare reads DECLARE CURSOR.
func (a *analyzer) declare(d *pg_query.DeclareCursorStmt) {
	const cursorHold = 0x0020 // CURSOR_OPT_HOLD
	a.mark(d)
	a.inner(d.Query)
	a.f.Kind, a.f.Tag, a.f.Name = policy.KindDeclare, "DECLARE CURSOR", d.Portalname
	a.f.ReturnsRows = false
	a.f.WithHold = d.Options&cursorHold != 0
}

// copy reads COPY in both directions.
func (a *analyzer) copy(c *pg_query.CopyStmt) {
	a.mark(c)
	if c.Query != nil {
		a.inner(c.Query)
	}
	a.f.Kind, a.f.Tag, a.f.ReturnsRows = policy.KindCopyTo, "COPY", false
	needs := policy.Read
	if c.IsFrom {
		a.f.Kind, needs = policy.KindCopyFrom, policy.Insertion
		a.command(policy.Insert)
		a.risk(policy.L1Append)
	} else if c.Query == nil {
		a.command(policy.Select)
	}
	switch {
	case c.IsProgram:
		a.f.Copy = policy.CopyProgram
		a.redLine("copy-program")
	case c.Filename != "":
		a.f.Copy = policy.CopyFile
		a.redLine("copy-file")
	default:
		a.f.Copy = policy.CopyStdio
	}
	if c.Relation != nil {
		a.copyRelation(c, needs)
	}
	for _, o := range c.Options {
		a.copyOption(o.GetDefElem())
	}
	a.defElems(c.Options, nil)
}

// copyOption takes note of the options of COPY that decide what is a row in its
// output (COPY, "File Formats").
func (a *analyzer) copyOption(o *pg_query.DefElem) {
	value := o.GetArg()
	switch o.GetDefname() {
	case "format":
		a.f.CopyBinary = value.GetString_().GetSval() == "binary"
	case "header":
		text := strings.ToLower(value.GetString_().GetSval())
		off := text == "off" || text == "false" || value.GetBoolean() != nil && !value.GetBoolean().Boolval ||
			value.GetInteger() != nil && value.GetInteger().Ival == 0
		a.f.CopyHeader = !off
	}
}

// copyRelation records the columns that COPY of a relation moves.
func (a *analyzer) copyRelation(c *pg_query.CopyStmt, needs policy.Privilege) {
	it := a.baseItem(c.Relation, needs)
	names := a.nameParts(c.Attlist)
	if it.relation == nil {
		return
	}
	if len(names) == 0 {
		for _, col := range it.columns() {
			a.useColumn(col.sources[0], needs, policy.ByStar, -1)
		}
	}
	for _, name := range names {
		col, ok := it.relation.Column(name)
		if !ok {
			a.fail("unresolved-column", "42703", name, -1, "column %q of relation %q does not exist", name, it.relation.Name)
			continue
		}
		a.useColumn(it.baseColumn(col).sources[0], needs, policy.ByName, -1)
	}
	a.optional(&scope{items: []*item{it}}, c.WhereClause)
}

// createTableAs reads CREATE TABLE AS and CREATE MATERIALIZED VIEW: the query
// is judged like any other.
func (a *analyzer) createTableAs(c *pg_query.CreateTableAsStmt) {
	a.mark(c)
	if c.Into != nil {
		a.into(c.Into)
	}
	a.inner(c.Query)
	a.f.ReturnsRows = false
	tag := "CREATE TABLE AS"
	if c.Objtype == pg_query.ObjectType_OBJECT_MATVIEW {
		tag = "CREATE MATERIALIZED VIEW"
	}
	a.f.Kind, a.f.Tag = policy.KindDDL, tag
	a.risk(policy.L4Irreversible)
}

// createView reads CREATE VIEW.
func (a *analyzer) createView(v *pg_query.ViewStmt) {
	a.mark(v)
	if v.View != nil {
		a.mark(v.View)
	}
	a.nameParts(v.Aliases)
	a.defElems(v.Options, nil)
	a.inner(v.Query)
	a.f.ReturnsRows = false
	a.f.Kind, a.f.Tag = policy.KindDDL, "CREATE VIEW"
	a.risk(policy.L4Irreversible)
}
