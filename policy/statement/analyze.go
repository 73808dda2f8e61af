package statement

import (
	"fmt"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/policy/catalog"
)

// Analyze establishes the facts of every statement of t, one Facts for each. A
// tree without statements gives one of kind "empty". It is total: whatever it
// does not know or cannot resolve becomes a Problem of the statement.
func Analyze(t *Tree, env Env) []policy.Facts {
	if len(t.Stmts) == 0 {
		return []policy.Facts{{Kind: policy.KindEmpty}}
	}
	path := effectivePath(env.Path)
	skew := lexicalSkew(t.Text, env.Catalog.ServerVersion())
	out := make([]policy.Facts, len(t.Stmts))
	for i, s := range t.Stmts {
		out[i].Problems = slices.Clone(skew)
		a := &analyzer{
			env:      env,
			resolver: resolver{cat: env.Catalog, path: path},
			f:        &out[i],
			text:     t.Text,
			read:     make(map[any]struct{}, 48),
		}
		a.run(s.Node)
	}
	return out
}

// run establishes the facts of one statement. A fault on the way, which no tree
// that the parser makes is known to cause, refuses the statement: it must not
// end the session, let alone be taken for an answer.
func (a *analyzer) run(n *pg_query.Node) {
	defer func() {
		if recover() != nil {
			a.unmapped("a statement of this shape", -1)
		}
	}()
	a.givenTypes()
	a.statement(n)
	a.sweep(n)
}

// effectivePath is the search path with the implicit pg_catalog.
func effectivePath(path []string) []string {
	if slices.Contains(path, "pg_catalog") {
		return path
	}
	return append([]string{"pg_catalog"}, path...)
}

// analyzer collects the facts of one statement.
type analyzer struct {
	env Env
	resolver
	f    *policy.Facts
	text string
	read map[any]struct{} // nodes that a handler has read

	params  map[int32]catalog.OID // types that parameters got by their use; anything: used, but still open
	columns map[columnKey]struct{}
	nesting int // of queries
}

type columnKey struct {
	relation *catalog.Relation
	column   string
	needs    policy.Privilege
	via      policy.ColumnVia
}

// mark records that a handler has read the node.
func (a *analyzer) mark(node any) { a.read[node] = struct{}{} }

// sweep reports what no handler has read. A statement that already has a
// problem is refused anyway, and its handlers may have stopped early.
func (a *analyzer) sweep(n *pg_query.Node) {
	if n == nil || len(a.f.Problems) > 0 {
		return
	}
	seen := make(map[string]bool)
	sweepTree(n, a.read, func(what string) {
		if !seen[what] {
			seen[what] = true
			a.unmapped(what, -1)
		}
	})
}

func (a *analyzer) problem(p policy.Problem) {
	if len(a.f.Problems) < maxProblems {
		a.f.Problems = append(a.f.Problems, p)
	}
}

// unmapped reports a construct that this package does not know.
func (a *analyzer) unmapped(what string, pos int) {
	a.problem(policy.Problem{
		Rule:     "unmapped-node",
		SQLSTATE: "0A000",
		Message:  fmt.Sprintf("cannot establish what %s does", what),
		Name:     what,
		Pos:      pos,
	})
}

// fail reports what the server refuses as well, in its words.
func (a *analyzer) fail(rule, sqlstate, name string, pos int, format string, args ...any) {
	a.problem(policy.Problem{
		Rule:     rule,
		SQLSTATE: sqlstate,
		Message:  fmt.Sprintf(format, args...),
		Name:     name,
		Server:   true,
		Pos:      pos,
	})
}

// skew reports a construct that the server's own grammar reads differently.
func (a *analyzer) skew(what string, since, pos int) bool {
	version := a.cat.ServerVersion()
	if version >= since {
		return false
	}
	a.problem(policy.Problem{
		Rule:     "grammar-skew",
		SQLSTATE: "42601",
		Message:  fmt.Sprintf("%s needs PostgreSQL %d, the server is %d", what, since/10000, version/10000),
		Name:     what,
		Pos:      pos,
	})
	return true
}

// useColumn records a use of a base relation's column.
func (a *analyzer) useColumn(s source, needs policy.Privilege, via policy.ColumnVia, pos int) {
	if s.use >= 0 && s.use < len(a.f.Relations) {
		a.f.Relations[s.use].Needs |= needs
	}
	key := columnKey{s.relation, s.column, needs, via}
	if _, ok := a.columns[key]; ok {
		return
	}
	if a.columns == nil {
		a.columns = make(map[columnKey]struct{})
	}
	a.columns[key] = struct{}{}
	a.f.Columns = append(a.f.Columns, policy.ColumnUse{Relation: s.relation, Column: s.column, Needs: needs, Via: via, Pos: pos})
}

// readColumn records that a column's value is used.
func (a *analyzer) readColumn(c column, via policy.ColumnVia, pos int) {
	for _, s := range c.sources {
		a.useColumn(s, policy.Read, via, pos)
	}
}

func (a *analyzer) readColumns(cols []column, via policy.ColumnVia, pos int) {
	for _, c := range cols {
		a.readColumn(c, via, pos)
	}
}

func (a *analyzer) command(c policy.Command) {
	if !slices.Contains(a.f.Commands, c) {
		a.f.Commands = append(a.f.Commands, c)
	}
}

func (a *analyzer) risk(r policy.Risk) { a.f.Risk = max(a.f.Risk, r) }

// redLine records why no policy can allow the statement; the first reason
// stays.
func (a *analyzer) redLine(id string) {
	if a.f.RedLine == "" {
		a.f.RedLine = id
	}
}
