package statement

import (
	"slices"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/policy/catalog"
)

// call is a function call with its arguments read.
type call struct {
	schema, name string
	in           []catalog.OID
	values       []value
	names        []string // of named arguments, "" for positional ones; nil if none is named
	variadic     bool     // VARIADIC was written before the last argument
	kind         catalog.Char
	pos          int
}

// outcome is what a call was resolved to.
type outcome struct {
	value
	columns []column // its OUT and TABLE columns, if all candidates agree
	set     bool
}

// funcCall reads a call wherever an expression may stand.
func (a *analyzer) funcCall(s *scope, f *pg_query.FuncCall) value {
	out := a.invoke(s, f, 0)
	return out.value
}

// invoke reads and resolves a call. kind is 'p' for CALL, else 0.
func (a *analyzer) invoke(s *scope, f *pg_query.FuncCall, kind catalog.Char) outcome {
	a.mark(f)
	pos := int(f.Location)
	parts := a.nameParts(f.Funcname)
	c := call{variadic: f.FuncVariadic, kind: kind, pos: pos}
	a.callArgs(s, f, &c)
	a.callDecorations(s, f)
	if len(parts) == 0 {
		return outcome{}
	}
	if a.newSyntax(f, parts) {
		return outcome{}
	}
	if a.readBefore(parts) {
		parts = parts[1:]
	}
	var ok bool
	if c.schema, c.name, ok = a.qualified(parts, pos); !ok {
		return outcome{}
	}
	out := a.resolveCall(&c, len(parts) == 1)
	a.settingFunction(f, &c)
	return out
}

// callArgs reads the arguments; those of WITHIN GROUP come after the direct
// ones.
func (a *analyzer) callArgs(s *scope, f *pg_query.FuncCall, c *call) {
	add := func(v value, name string) {
		c.values = append(c.values, v)
		c.in = append(c.in, v.typ)
		c.names = append(c.names, name)
	}
	named := false
	for _, n := range f.Args {
		if na, ok := n.GetNode().(*pg_query.Node_NamedArgExpr); ok {
			a.mark(na.NamedArgExpr)
			named = true
			add(a.expr(s, na.NamedArgExpr.Arg), na.NamedArgExpr.Name)
			continue
		}
		add(a.expr(s, n), "")
	}
	for _, n := range f.AggOrder {
		v := a.sortBy(s, n, nil)
		if f.AggWithinGroup {
			add(v, "")
		}
	}
	if !named {
		c.names = nil
	}
}

// callDecorations reads FILTER and OVER.
func (a *analyzer) callDecorations(s *scope, f *pg_query.FuncCall) {
	a.settle(a.optional(s, f.AggFilter), boolOID)
	if f.Over != nil {
		a.window(s, f.Over)
	}
}

// newSyntax refuses calls that only newer servers read as syntax.
func (a *analyzer) newSyntax(f *pg_query.FuncCall, parts []string) bool {
	if f.Funcformat == pg_query.CoercionForm_COERCE_SQL_SYNTAX && parts[len(parts)-1] == "system_user" {
		return a.skew("SYSTEM_USER", 160000, int(f.Location))
	}
	return false
}

// readBefore says whether the server's grammar reads the name, which this
// parser has made pg_catalog's, as an ordinary one.
func (a *analyzer) readBefore(parts []string) bool {
	return len(parts) == 2 && parts[0] == "pg_catalog" && parts[1] == "json_object" && a.cat.ServerVersion() < 160000
}

// resolveCall finds the functions a call could mean and records them.
func (a *analyzer) resolveCall(c *call, bare bool) outcome {
	all := a.functionCandidates(c)
	chosen := a.chooseFunction(c.in, all)
	if len(c.in) == 1 && c.names == nil && !c.variadic && c.kind == 0 {
		if len(chosen) != 1 || !equalTypes(c.in, chosen[0].args) {
			if out, ok := a.castCall(c, chosen); ok {
				return out
			}
		}
		if len(chosen) == 0 && bare {
			if cols, known := a.fields(c.values[0]); known {
				for _, col := range cols {
					if col.name == c.name {
						return outcome{value: col.value}
					}
				}
			}
		}
	}
	if len(chosen) == 0 && len(all) > 0 && allBuiltIn(all) {
		// none of them takes these types, unless one was inferred wrongly here:
		// the server may have the last word
		a.useCall(c, all, "call")
		return outcome{}
	}
	if len(chosen) == 0 {
		a.noFunction(c)
		return outcome{}
	}
	return a.useCall(c, chosen, "call")
}

// noFunction reports a call that no function matches.
func (a *analyzer) noFunction(c *call) {
	name := c.name
	if c.schema != "" {
		name = c.schema + "." + name
	}
	args := make([]string, len(c.in))
	for i, t := range c.in {
		args[i] = a.typeText(t)
		if c.names != nil && c.names[i] != "" {
			args[i] = c.names[i] + " => " + args[i]
		}
	}
	what := "function"
	if c.kind == 'p' {
		what = "procedure"
	}
	a.fail("unresolved-function", "42883", name, c.pos, "%s %s(%s) does not exist", what, name, strings.Join(args, ", "))
}

// castCall is type(x), a cast written as a call: chosen only if no function
// matches exactly.
func (a *analyzer) castCall(c *call, chosen []candidate) (outcome, bool) {
	ty := a.findType(c.schema, c.name)
	if ty == nil || ty.Kind == 'p' {
		return outcome{}, false
	}
	in := c.in[0]
	relabel := in == unknownOID || in == anything || a.base(in) == a.base(ty.OID)
	if cast, ok := a.cat.Cast(a.base(in), a.base(ty.OID)); ok && cast.Function == 0 {
		relabel = true
	}
	if cat, _ := a.category(in); cat == 'S' || ty.Category == 'S' {
		relabel = true // through the types' input and output functions
	}
	if !relabel {
		return outcome{}, false
	}
	a.useType(ty, c.pos)
	a.settle(c.values[0], ty.OID)
	a.coerce(c.values[0], ty.OID, explicit)
	if len(chosen) > 0 && in != unknownOID {
		// whether the server takes the cast or one of the functions depends on
		// pg_cast's method: both are recorded
		out := a.useCall(c, chosen, "call")
		if out.typ != ty.OID {
			out.typ = anything
		}
		return out, true
	}
	return outcome{value: value{typ: ty.OID}}, true
}

// attribute resolves (v).name as the function name(v).
func (a *analyzer) attribute(v value, name string, pos int) (value, bool) {
	c := call{name: name, in: []catalog.OID{v.typ}, values: []value{v}, pos: pos}
	chosen := a.chooseFunction(c.in, a.functionCandidates(&c))
	out := outcome{}
	ok := false
	if ty := a.findType("", name); ty != nil && ty.Kind != 'p' && v.typ != recordOID && !a.composite(v.typ) {
		a.useType(ty, pos)
		a.coerce(v, ty.OID, explicit)
		out.typ = ty.OID
		ok = true
	}
	if len(chosen) > 0 {
		out = a.useCall(&c, chosen, "attribute")
		ok = true
		if name == "current_setting" {
			a.computedSetting(name, pos)
		}
	}
	return out.value, ok
}

// functionCandidates are the functions of the call's name that take its number
// of arguments.
func (a *analyzer) functionCandidates(c *call) []candidate {
	fns := a.cat.Functions(c.name)
	out := make([]candidate, 0, len(fns))
	for _, fn := range fns {
		at := 0
		if c.schema != "" {
			if fn.Schema != c.schema {
				continue
			}
		} else if at = slices.Index(a.path, fn.Schema); at < 0 {
			continue
		}
		args, spread, ok := argsFor(fn, c)
		if ok {
			out = append(out, candidate{args: args, fn: fn, at: at, variadic: spread})
		}
	}
	return hideLater(out)
}

// argsFor are the types that fn takes for the call's arguments: variadic ones
// spread, named ones in the call's order.
func argsFor(fn *catalog.Function, c *call) (args []catalog.OID, spread, ok bool) {
	given, takes := len(c.in), len(fn.Args)
	if c.names != nil {
		args, ok = namedArgs(fn, c)
		return args, false, ok
	}
	switch {
	case given == takes && (fn.Variadic == 0 || c.variadic):
		return fn.Args, false, true
	case fn.Variadic != 0 && !c.variadic && given >= takes:
		args = make([]catalog.OID, given)
		copy(args, fn.Args[:takes-1])
		for i := takes - 1; i < given; i++ {
			args[i] = fn.Variadic
		}
		return args, true, true
	case given < takes && given+fn.Defaults >= takes:
		return fn.Args[:given], false, true
	}
	return nil, false, false
}

// namedArgs matches positional arguments, then named ones, and checks that
// the rest has defaults.
func namedArgs(fn *catalog.Function, c *call) ([]catalog.OID, bool) {
	if len(fn.ArgNames) == 0 || len(c.in) > len(fn.Args) || fn.Variadic != 0 && !c.variadic {
		return nil, false
	}
	args := make([]catalog.OID, len(c.in))
	filled := make([]bool, len(fn.Args))
	for i, name := range c.names {
		at := i
		if name != "" {
			at = slices.Index(fn.ArgNames, name)
		}
		if at < 0 || at >= len(fn.Args) || filled[at] {
			return nil, false
		}
		filled[at] = true
		args[i] = fn.Args[at]
	}
	for at, f := range filled {
		if !f && at < len(fn.Args)-fn.Defaults {
			return nil, false
		}
	}
	return args, true
}

// chooseFunction is func_get_detail: an exact match, else the best of what the
// arguments can be coerced to.
func (a *analyzer) chooseFunction(in []catalog.OID, cands []candidate) []candidate {
	if len(cands) == 0 {
		return nil
	}
	if c, ok := exact(in, cands); ok {
		return []candidate{c}
	}
	return a.choose(in, a.feasible(in, cands))
}

// useCall records the chosen functions and works out the call's result.
func (a *analyzer) useCall(c *call, chosen []candidate, via string) outcome {
	fns := make([]*catalog.Function, len(chosen))
	for i, ch := range chosen {
		fns[i] = ch.fn
	}
	if via == "call" && fns[0].Kind == 'a' {
		via = "aggregate"
	}
	a.useFunctions(c.name, fns, via, c.pos)
	if len(chosen) == 1 {
		for i, t := range chosen[0].args {
			if !polymorphic(t) {
				a.settle(c.values[i], t)
				a.coerce(c.values[i], t, implicit)
			}
		}
	}
	out := a.resultOf(chosen[0], c.in)
	for _, ch := range chosen[1:] {
		if o := a.resultOf(ch, c.in); o.typ != out.typ || len(o.columns) > 0 || len(out.columns) > 0 {
			return outcome{}
		}
	}
	return out
}

// resultOf is what a call of one candidate gives.
func (a *analyzer) resultOf(ch candidate, in []catalog.OID) outcome {
	out := outcome{set: ch.fn.Set}
	out.typ = a.actual(ch.fn.Result, in, ch.args)
	for _, col := range ch.fn.Out {
		out.columns = append(out.columns, column{name: col.Name, value: value{typ: a.actual(col.Type, in, ch.args)}})
	}
	if out.typ == recordOID && len(out.columns) > 1 {
		out.row = out.columns
	}
	return out
}

// useFunctions records functions that may run; the same ones once.
func (a *analyzer) useFunctions(name string, fns []*catalog.Function, via string, pos int) {
	for _, u := range a.f.Functions {
		if u.Via == via && slices.Equal(u.Candidates, fns) {
			return
		}
	}
	a.f.Functions = append(a.f.Functions, policy.FunctionUse{Name: name, Candidates: fns, Via: via, Pos: pos})
}
