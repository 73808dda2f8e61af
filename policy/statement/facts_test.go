package statement_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/policy/catalog"
	"github.com/pgairlock/pgairlock/policy/policytest"
	"github.com/pgairlock/pgairlock/policy/statement"
)

var updateFacts = flag.Bool("update", false, "rewrite the expected facts in testdata/facts")

// library is what the statements of testdata/facts are about.
const library = `
public.books: id int4, title text, isbn varchar, price numeric, tags text[], meta jsonb, added timestamptz, stock int4, shelf public.shelf, grade public.grade
public.members: id int4, name text, email text, secret text
public.loans: book_id int4, member_id int4, due date
archive.books: id int4, hidden text
partitioned table public.visits: id int4, at date
view public.due_loans: book_id int4, due date
sequence public.books_id_seq: last_value int8, log_cnt int8, is_called bool
function public.tidy(text) returns text
function public.tidy(int4) returns int4
function public.lower(varchar) returns text
function public.stamp() returns int4
function public.of_member(public.members) returns int4
function archive.hidden() returns int4
function public.pairs(int4) returns setof record
`

// libraryCatalog is a stock PostgreSQL 15 with the library, and with what its
// description has no words for: types, operators and casts of users.
func libraryCatalog(t testing.TB, version int) *catalog.Catalog {
	t.Helper()
	lines := strings.NewReplacer(", shelf public.shelf, grade public.grade", "", "function public.of_member(public.members) returns int4\n", "").Replace(library)
	c, err := policytest.Catalog(lines)
	if err != nil {
		t.Fatal(err)
	}
	d := *c.Data()
	d.ServerVersion, d.Database = version, "library"
	d.Relations = slices.Clone(d.Relations)
	for i, r := range d.Relations {
		if r.String() == "public.books" {
			books := *r
			books.Columns = append(slices.Clone(r.Columns), catalog.Column{Num: 9, Name: "shelf", Type: 90001}, catalog.Column{Num: 10, Name: "grade", Type: 90003})
			d.Relations[i] = &books
		}
		if r.String() == "public.members" {
			d.Functions = append(slices.Clone(d.Functions), &catalog.Function{OID: 90010, Schema: "public", Name: "of_member", Kind: 'f', Args: []catalog.OID{r.RowType}, Result: 23})
		}
	}
	d.Relations = append(d.Relations, &catalog.Relation{OID: 90000, Schema: "public", Name: "shelf", Kind: catalog.Composite, RowType: 90001,
		Columns: []catalog.Column{{Num: 1, Name: "aisle", Type: 25}, {Num: 2, Name: "row", Type: 23}}})
	d.Types = append(slices.Clone(d.Types),
		&catalog.Type{OID: 90001, Schema: "public", Name: "shelf", Kind: 'c', Category: 'C', Relation: 90000},
		&catalog.Type{OID: 90002, Schema: "public", Name: "checked", Kind: 'd', Category: 'N', Base: 23, Checked: true},
		&catalog.Type{OID: 90003, Schema: "public", Name: "grade", Kind: 'e', Category: 'E'},
	)
	d.Functions = append(d.Functions,
		&catalog.Function{OID: 90011, Schema: "public", Name: "text_to_shelf", Kind: 'f', Args: []catalog.OID{25}, Result: 90001},
		&catalog.Function{OID: 90012, Schema: "public", Name: "same", Kind: 'f', Args: []catalog.OID{23, 23}, Result: 16},
		&catalog.Function{OID: 90013, Schema: "public", Name: "alike", Kind: 'f', Args: []catalog.OID{1043, 1043}, Result: 16},
	)
	d.Casts = append(slices.Clone(d.Casts), catalog.Cast{Source: 25, Target: 90001, Function: 90011, Context: 'e'})
	d.Operators = append(slices.Clone(d.Operators),
		&catalog.Operator{OID: 90020, Schema: "public", Name: "===", Left: 23, Right: 23, Result: 16, Function: 90012},
		&catalog.Operator{OID: 90021, Schema: "public", Name: "=", Left: 1043, Right: 1043, Result: 16, Function: 90013},
	)
	out, err := catalog.New(d)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Each file of testdata/facts holds statements, each followed by what is
// established about it. A line "-- server N" sets the server's major version
// from there on, "-- path a, b" the search path.
func TestFacts(t *testing.T) {
	files, err := filepath.Glob("testdata/facts/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { checkFacts(t, file) })
	}
}

func checkFacts(t *testing.T, file string) {
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	env := statement.Env{Catalog: libraryCatalog(t, 150000), Path: []string{"public"}, Prepared: prepared}
	var out strings.Builder
	for _, block := range strings.Split(strings.TrimSpace(string(content)), "\n\n") {
		text, want := splitBlock(block)
		for _, line := range strings.Split(text, "\n") {
			if v, ok := strings.CutPrefix(line, "-- server "); ok {
				var major int
				if _, err := fmt.Sscan(v, &major); err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				env.Catalog = libraryCatalog(t, major*10000)
			}
			if v, ok := strings.CutPrefix(line, "-- path "); ok {
				env.Path = strings.Split(v, ", ")
			}
		}
		got := outcomes(text, env)
		if got != want && !*updateFacts {
			t.Errorf("%s\n--- got\n%s\n--- want\n%s", text, got, want)
		}
		fmt.Fprintf(&out, "%s\n%s\n\n", text, got)
	}
	if *updateFacts {
		if err := os.WriteFile(file, []byte(strings.TrimSpace(out.String())+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// prepared is the statement that EXECUTE old runs.
func prepared(name string) (*policy.Facts, bool) {
	if name != "old" {
		return nil, false
	}
	return &policy.Facts{Kind: policy.KindDelete, Commands: []policy.Command{policy.Delete}, Risk: policy.L4Irreversible, WithoutWhere: true}, true
}

// splitBlock takes the indented lines off a block: the expected facts.
func splitBlock(block string) (text, want string) {
	var t, w []string
	for _, line := range strings.Split(block, "\n") {
		if strings.HasPrefix(line, "    ") {
			w = append(w, line)
		} else {
			t = append(t, line)
		}
	}
	return strings.Join(t, "\n"), strings.Join(w, "\n")
}

// outcomes are the facts of a text as lines that a person can read.
func outcomes(text string, env statement.Env) string {
	tree, err := statement.Parse(text, statement.Limits{})
	if err != nil {
		return "    " + err.Error()
	}
	var lines []string
	for _, f := range statement.Analyze(tree, env) {
		lines = append(lines, factLines(&f)...)
	}
	return strings.Join(lines, "\n")
}

func factLines(f *policy.Facts) []string {
	lines := []string{"    " + headline(f)}
	add := func(label string, words []string) {
		if len(words) > 0 {
			lines = append(lines, "    "+label+": "+strings.Join(words, ", "))
		}
	}
	add("relations", mapped(f.Relations, func(r policy.RelationUse) string { return r.Relation.String() + " " + privileges(r.Needs) }))
	add("columns", mapped(f.Columns, func(c policy.ColumnUse) string {
		word := c.Relation.String() + "." + c.Column
		if c.Needs != policy.Read {
			word += " " + privileges(c.Needs)
		}
		if c.Via != policy.ByName {
			word += " by " + string(c.Via)
		}
		return word
	}))
	add("functions", mapped(f.Functions, func(u policy.FunctionUse) string {
		word := strings.Join(mapped(u.Candidates, (*catalog.Function).Signature), " or ")
		if u.Via != "call" {
			word += " by " + u.Via
		}
		return word
	}))
	add("operators", mapped(f.Operators, func(u policy.OperatorUse) string { return u.Candidates[0].Schema + "." + u.Name }))
	add("types", mapped(f.Types, func(u policy.TypeUse) string { return u.Type.String() }))
	add("settings", mapped(f.Settings, settingWord))
	for _, p := range f.Problems {
		lines = append(lines, fmt.Sprintf("    ! %s %s %s", p.Rule, p.SQLSTATE, p.Message))
	}
	return lines
}

func mapped[T any](list []T, word func(T) string) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = word(v)
	}
	return out
}

func headline(f *policy.Facts) string {
	words := []string{string(f.Kind), "(" + f.Tag + ")", f.Risk.String()}
	if f.Inner != "" {
		words = append(words, "of "+string(f.Inner))
	}
	if len(f.Commands) > 0 {
		words = append(words, fmt.Sprint(f.Commands))
	}
	for _, flag := range []struct {
		on   bool
		word string
	}{{f.RedLine != "", "RED LINE " + f.RedLine}, {f.Analyze, "analyze"}, {f.WithoutWhere, "without where"}, {f.WithHold, "with hold"},
		{f.ReturnsRows, "rows"}, {f.Copy != "", "copy " + string(f.Copy)}, {f.Name != "", "name " + f.Name}, {f.Params > 0, fmt.Sprint("params ", f.Params)},
		{len(f.Explain) > 0, "options " + strings.Join(f.Explain, " ")}} {
		if flag.on {
			words = append(words, flag.word)
		}
	}
	return strings.Join(words, " ")
}

func privileges(p policy.Privilege) string {
	var words []string
	for i, word := range []string{"read", "insert", "update", "delete", "truncate", "lock"} {
		if p&(1<<i) != 0 {
			words = append(words, word)
		}
	}
	return strings.Join(words, "+")
}

func settingWord(s policy.SettingUse) string {
	word := string(s.Op) + " " + s.Name
	switch {
	case s.Default:
		word += " to default"
	case s.Op == policy.ShowOne || s.Op == policy.ShowAll:
	case !s.Literal:
		word += " to something computed"
	default:
		word += fmt.Sprintf(" to %q", s.Values)
	}
	return word
}
