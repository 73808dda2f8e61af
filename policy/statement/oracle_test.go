package statement_test

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgairlock/pgairlock/internal/pgcatalog"
	"github.com/pgairlock/pgairlock/internal/pgtest"
	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/policy/catalog"
	"github.com/pgairlock/pgairlock/policy/statement"
)

var (
	//go:embed testdata/oracle/fixture.sql
	oracleFixture string
	//go:embed testdata/oracle/statements.sql
	oracleStatements string
)

// TestAgainstServer asks a real server what each statement means. The body of
// a function BEGIN ATOMIC … END is stored as the tree that the server's own
// parse analysis made of it: it tells the privileges that each relation and
// column needs, the functions and the operators. All of them have to be in the
// facts, a statement that the server takes has no problem, and one that it
// refuses for a name has a problem with the server's own SQLSTATE.
func TestAgainstServer(t *testing.T) {
	db := pgtest.Start(t, pgtest.Options{Setup: oracleFixture})
	o := newOracle(t, db)
	for i, text := range strings.Split(strings.TrimSpace(oracleStatements), "\n") {
		since, text := minimumVersion(text)
		t.Run(strconv.Itoa(i+1), func(t *testing.T) {
			if o.env.Catalog.ServerVersion() < since {
				o.checkSkew(t, text)
				return
			}
			o.check(t, text)
		})
	}
	t.Logf("needs: %d; functions: %d, decided exactly: %d; candidates that the server did not choose: %d", o.needed, o.functions, o.exact, o.extra)
	if o.needed < 500 || o.functions < 200 || o.exact < o.functions*9/10 || o.extra > o.functions/10 {
		t.Error("the comparison has lost its grip")
	}
}

// minimumVersion takes a prefix like "17: " off a line: the major version whose
// grammar the statement needs.
func minimumVersion(line string) (since int, text string) {
	if head, rest, ok := strings.Cut(line, ": "); ok {
		if major, err := strconv.Atoi(head); err == nil {
			return major * 10000, rest
		}
	}
	return 0, line
}

type oracle struct {
	conn *pgconn.PgConn
	env  statement.Env

	needed, functions, exact, extra int
}

func newOracle(t *testing.T, db *pgtest.Database) *oracle {
	t.Helper()
	conn := pgtest.Connect(t, db.DSN())
	c, err := pgcatalog.Fetch(t.Context(), conn, pgcatalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &oracle{conn: conn, env: statement.Env{Catalog: c, Path: []string{"public"}}}
}

func (o *oracle) check(t *testing.T, text string) {
	tree, err := statement.Parse(text, statement.Limits{})
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	f := &statement.Analyze(tree, o.env)[0]
	body, code, message := o.analyse(t, text)
	switch {
	case code != "" && !slices.ContainsFunc(f.Problems, func(p policy.Problem) bool { return p.SQLSTATE == code }) && nameErrors[code]:
		t.Errorf("%s\nthe server says %s %s\nproblems: %+v", text, code, message, f.Problems)
	case code != "":
		if !nameErrors[code] {
			t.Logf("%s\nthe server says %s %s", text, code, message)
		}
		if len(f.Problems) > 0 && f.Problems[0].SQLSTATE == code && f.Problems[0].Message != message && nameErrors[code] {
			t.Logf("%s\nthe server says %s\nhere it is     %s", text, message, f.Problems[0].Message)
		}
	case len(f.Problems) > 0:
		t.Errorf("%s\nthe server takes it, here it has problems: %+v", text, f.Problems)
	default:
		o.compare(t, text, f, body)
	}
}

// checkSkew holds that an older server reads the statement otherwise, or not at
// all, and that this is noticed.
func (o *oracle) checkSkew(t *testing.T, text string) {
	tree, err := statement.Parse(text, statement.Limits{})
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	f := &statement.Analyze(tree, o.env)[0]
	if !slices.ContainsFunc(f.Problems, func(p policy.Problem) bool { return p.Rule == "grammar-skew" || p.Server }) {
		t.Errorf("%s\nno problem is found on an older server", text)
	}
	if _, code, _ := o.analyse(t, text); code == "" {
		t.Errorf("%s\nthis server takes it", text)
	}
}

// nameErrors are the codes for names that do not exist or are ambiguous.
var nameErrors = map[string]bool{"42P01": true, "42703": true, "42702": true, "42883": true, "42704": true, "42P09": true}

// analyse has the server analyse a statement: the stored tree, or the code and
// words of its refusal.
func (o *oracle) analyse(t *testing.T, text string) (body, code, message string) {
	t.Helper()
	args, code, message := o.parameterTypes(t, text)
	if code != "" {
		return "", code, message
	}
	sql := "BEGIN; CREATE FUNCTION public.oracle_subject(" + args + ") RETURNS void LANGUAGE sql BEGIN ATOMIC " + text +
		"\n; END; SELECT prosqlbody::text FROM pg_catalog.pg_proc WHERE proname = 'oracle_subject'; ROLLBACK"
	results, err := o.conn.Exec(t.Context(), sql).ReadAll()
	if err != nil {
		var pe *pgconn.PgError
		if !errors.As(err, &pe) {
			t.Fatal(err)
		}
		if _, err := o.conn.Exec(t.Context(), "ROLLBACK").ReadAll(); err != nil {
			t.Fatal(err)
		}
		return "", pe.Code, pe.Message
	}
	for _, r := range results {
		if len(r.Rows) == 1 && len(r.Rows[0]) == 1 {
			return string(r.Rows[0][0]), "", ""
		}
	}
	t.Fatalf("%s\nno tree was stored", text)
	return "", "", ""
}

// parameterTypes are the types that the server gives a statement's parameters
// where nobody says any: the analysis here has to come to the same functions
// without being told them.
func (o *oracle) parameterTypes(t *testing.T, text string) (args, code, message string) {
	t.Helper()
	if !strings.Contains(text, "$1") {
		return "", "", ""
	}
	results, err := o.conn.Exec(t.Context(), "DEALLOCATE ALL; PREPARE oracle_subject AS "+text+
		"\n; SELECT pg_catalog.array_to_string(parameter_types, ',') FROM pg_catalog.pg_prepared_statements WHERE name = 'oracle_subject'").ReadAll()
	if err != nil {
		var pe *pgconn.PgError
		if !errors.As(err, &pe) {
			t.Fatal(err)
		}
		return "", pe.Code, pe.Message
	}
	return string(results[len(results)-1].Rows[0][0]), "", ""
}

// compare holds the facts against the server's tree.
func (o *oracle) compare(t *testing.T, text string, f *policy.Facts, body string) {
	for _, need := range o.needs(t, body) {
		o.needed++
		if !covered(f, need) {
			t.Errorf("%s\nthe server needs %s, facts: %s", text, need, describeFacts(f))
		}
	}
	called := make(map[catalog.OID]bool)
	for _, call := range calls(t, body) {
		fn := o.env.Catalog.FunctionByOID(call.oid)
		called[call.oid] = true
		if fn == nil || fn.Schema == "pg_catalog" && (call.cast || bySyntax(fn.Name)) {
			continue
		}
		o.functions++
		use, ok := useOf(f, fn)
		if !ok {
			t.Errorf("%s\nthe server calls %s, facts: %s", text, fn.Signature(), describeFacts(f))
		}
		if len(use.Candidates) == 1 {
			o.exact++
		}
	}
	for _, u := range f.Functions {
		for _, c := range u.Candidates {
			if !called[c.OID] && u.Via != "sample" {
				o.extra++
				t.Logf("%s\ncould call %s, but does not", text, c.Signature())
			}
		}
	}
	o.compareOperators(t, text, f, body)
}

func (o *oracle) compareOperators(t *testing.T, text string, f *policy.Facts, body string) {
	used := make(map[catalog.OID]bool)
	for _, oid := range numbersAfter(t, body, ":opno ") {
		used[oid] = true
	}
	for _, list := range valuesAfter(body, ":opnos (o ") {
		for _, n := range strings.Fields(strings.TrimSuffix(list, ")")) {
			used[number(t, n)] = true
		}
	}
	for _, op := range o.env.Catalog.Data().Operators {
		if !used[op.OID] || op.Schema == "pg_catalog" {
			continue
		}
		if !slices.ContainsFunc(f.Operators, func(u policy.OperatorUse) bool { return slices.Contains(u.Candidates, op) }) {
			t.Errorf("%s\nthe server uses operator %s.%s(%d,%d), facts: %s", text, op.Schema, op.Name, op.Left, op.Right, describeFacts(f))
		}
	}
	for _, u := range f.Operators {
		for _, c := range u.Candidates {
			if !used[c.OID] {
				o.extra++
				t.Logf("%s\ncould use operator %s.%s(%d,%d), but does not", text, c.Schema, c.Name, c.Left, c.Right)
			}
		}
	}
}

// need is a privilege on a relation or column that the server asks for.
type need struct {
	relation *catalog.Relation
	column   string // "" for the relation itself
	needs    policy.Privilege
}

func (n need) String() string {
	return fmt.Sprintf("%s.%s (%d)", n.relation, n.column, n.needs)
}

// needs reads what a stored tree says about permissions: up to 15 in the range
// table, later beside it.
func (o *oracle) needs(t *testing.T, body string) []need {
	t.Helper()
	var out []need
	mark := ":rtekind 0 :relid "
	if o.env.Catalog.ServerVersion() >= 160000 {
		mark = "{RTEPERMISSIONINFO :relid "
	}
	for _, entry := range strings.Split(body, mark)[1:] {
		oid, rest, _ := strings.Cut(entry, " ")
		rel := o.env.Catalog.RelationByOID(number(t, oid))
		if rel == nil || rel.Schema == "pg_toast" {
			continue
		}
		out = append(out, columnNeeds(t, rel, rest)...)
	}
	return out
}

// permissions are the bits of ACL_… that tree entries hold.
var permissions = []struct {
	bit   uint32
	needs policy.Privilege
}{{1, policy.Insertion}, {2, policy.Read}, {4, policy.Updating}, {8, policy.Deletion}}

func columnNeeds(t *testing.T, rel *catalog.Relation, entry string) []need {
	t.Helper()
	var out []need
	_, perms, ok := strings.Cut(entry, ":requiredPerms ")
	if !ok {
		t.Fatal("a range table entry without permissions: " + entry)
	}
	word, _, _ := strings.Cut(perms, " ")
	for _, p := range permissions {
		if number(t, word)&p.bit != 0 {
			out = append(out, need{rel, "", p.needs})
		}
	}
	for _, set := range []struct {
		field string
		needs policy.Privilege
	}{{":selectedCols (b", policy.Read}, {":insertedCols (b", policy.Insertion}, {":updatedCols (b", policy.Updating}} {
		_, rest, _ := strings.Cut(perms, set.field)
		list, _, _ := strings.Cut(rest, ")")
		for _, w := range strings.Fields(list) {
			for _, name := range attributes(rel, int(number(t, w))-7) { // FirstLowInvalidHeapAttributeNumber
				out = append(out, need{rel, name, set.needs})
			}
		}
	}
	return out
}

// attributes are the columns that an attribute number stands for: 0 is the
// whole row.
func attributes(rel *catalog.Relation, num int) []string {
	if num == 0 {
		var all []string
		for _, c := range rel.Columns {
			all = append(all, c.Name)
		}
		return all
	}
	if num < 0 {
		return []string{map[int]string{-1: "ctid", -2: "xmin", -3: "cmin", -4: "xmax", -5: "cmax", -6: "tableoid"}[num]}
	}
	c, _ := rel.ColumnByNum(int16(num))
	return []string{c.Name}
}

func covered(f *policy.Facts, n need) bool {
	if n.column == "" {
		accepted := n.needs
		if n.needs == policy.Updating { // row locks ask for UPDATE, too
			accepted |= policy.Locking
		}
		return slices.ContainsFunc(f.Relations, func(u policy.RelationUse) bool { return u.Relation == n.relation && u.Needs&accepted != 0 })
	}
	return slices.ContainsFunc(f.Columns, func(u policy.ColumnUse) bool {
		return u.Relation == n.relation && u.Column == n.column && u.Needs&n.needs != 0
	})
}

// calledFunction is a function of a stored tree; cast says that it was not
// written as a call.
type calledFunction struct {
	oid  catalog.OID
	cast bool
}

func calls(t *testing.T, body string) []calledFunction {
	t.Helper()
	var out []calledFunction
	for _, e := range strings.Split(body, ":funcid ")[1:] {
		oid, rest, _ := strings.Cut(e, " ")
		_, format, _ := strings.Cut(rest, ":funcformat ")
		form, _, _ := strings.Cut(format, " ")
		out = append(out, calledFunction{number(t, oid), form == "1" || form == "2"})
	}
	for _, field := range []string{":aggfnoid ", ":winfnoid "} {
		for _, oid := range numbersAfter(t, body, field) {
			out = append(out, calledFunction{oid: oid})
		}
	}
	return out
}

// bySyntax says whether SQL/JSON's aggregates stand for the function: they are
// no names that anybody could replace.
func bySyntax(name string) bool {
	return strings.HasPrefix(name, "json_agg") || strings.HasPrefix(name, "jsonb_agg") ||
		strings.HasPrefix(name, "json_object_agg") || strings.HasPrefix(name, "jsonb_object_agg")
}

func useOf(f *policy.Facts, fn *catalog.Function) (policy.FunctionUse, bool) {
	for _, u := range f.Functions {
		if slices.Contains(u.Candidates, fn) {
			return u, true
		}
	}
	return policy.FunctionUse{}, false
}

func numbersAfter(t *testing.T, body, field string) []catalog.OID {
	t.Helper()
	var out []catalog.OID
	for _, w := range valuesAfter(body, field) {
		word, _, _ := strings.Cut(w, " ")
		out = append(out, number(t, strings.TrimRight(word, ")}")))
	}
	return out
}

// valuesAfter is what follows each occurrence of a field, up to a closing
// bracket.
func valuesAfter(body, field string) []string {
	var out []string
	for _, e := range strings.Split(body, field)[1:] {
		value, _, _ := strings.Cut(e, ")")
		out = append(out, value)
	}
	return out
}

func number(t *testing.T, word string) catalog.OID {
	t.Helper()
	n, err := strconv.ParseUint(word, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return catalog.OID(n)
}

// describeFacts writes facts for a failing test.
func describeFacts(f *policy.Facts) string {
	var b strings.Builder
	for _, r := range f.Relations {
		fmt.Fprintf(&b, "%s:%d ", r.Relation, r.Needs)
	}
	for _, c := range f.Columns {
		fmt.Fprintf(&b, "%s.%s:%d%s ", c.Relation, c.Column, c.Needs, c.Via)
	}
	for _, u := range f.Functions {
		for _, c := range u.Candidates {
			fmt.Fprintf(&b, "%s/%s ", c.Signature(), u.Via)
		}
	}
	for _, u := range f.Operators {
		fmt.Fprintf(&b, "operator %s ", u.Name)
	}
	return b.String()
}
