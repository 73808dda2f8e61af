package statement_test

import (
	"cmp"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/policy/catalog"
	"github.com/pgairlock/pgairlock/policy/statement"
)

// FuzzAnalyze: Analyze is total and deterministic, and a name of the catalog
// that stands where a relation can be is reported, unless a WITH query has it
// or the statement is refused.
func FuzzAnalyze(f *testing.F) {
	files, err := filepath.Glob("testdata/facts/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, block := range strings.Split(string(content), "\n\n") {
			text, _ := splitBlock(block)
			f.Add(text)
		}
	}
	for _, line := range strings.Split(oracleStatements, "\n") {
		_, text := minimumVersion(line)
		f.Add(text)
	}
	envs := make([]statement.Env, 0, 2)
	for _, version := range []int{150000, 180000} {
		envs = append(envs, statement.Env{Catalog: libraryCatalog(f, version), Path: []string{"public", "archive"}, Prepared: prepared})
	}
	f.Fuzz(func(t *testing.T, text string) {
		tree, err := statement.Parse(text, statement.Limits{})
		if err != nil {
			return
		}
		for _, env := range envs {
			got := statement.Analyze(tree, env)
			if again := statement.Analyze(tree, env); !reflect.DeepEqual(got, again) {
				t.Fatalf("two answers to one question:\n%+v\n%+v", got, again)
			}
			if len(got) != max(len(tree.Stmts), 1) {
				t.Fatalf("%d facts for %d statements", len(got), len(tree.Stmts))
			}
			for i, s := range tree.Stmts {
				for _, p := range got[i].Problems {
					if p.Rule == "unmapped-node" {
						t.Fatalf("not mapped: %s", p.Message)
					}
				}
				checkNamed(t, &got[i], s.Node, env.Catalog)
			}
		}
	})
}

// checkNamed holds the relations that a query names against its facts.
func checkNamed(t *testing.T, f *policy.Facts, n *pg_query.Node, c *catalog.Catalog) {
	t.Helper()
	if len(f.Problems) > 0 || f.Kind == policy.KindDDL || f.Kind == policy.KindMaintenance {
		return
	}
	named, queries := namesIn(n)
	for _, name := range named {
		rel := c.Relation(cmp.Or(name.Schema, "public"), name.Name)
		if rel == nil || name.Schema == "" && slices.Contains(queries, name.Name) {
			continue
		}
		if !slices.ContainsFunc(f.Relations, func(u policy.RelationUse) bool { return u.Relation == rel }) {
			t.Fatalf("%s is named, but not reported: %s", name, describeFacts(f))
		}
	}
}

// namesIn finds all relations and WITH queries that a tree names, by
// reflection: what row locks name are aliases.
func namesIn(n *pg_query.Node) (named []catalog.Name, queries []string) {
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer, reflect.Interface:
			if v.IsNil() || !v.CanInterface() {
				return
			}
			switch m := v.Interface().(type) {
			case *pg_query.LockingClause:
				return
			case *pg_query.RangeVar:
				named = append(named, catalog.Name{Schema: m.Schemaname, Name: m.Relname})
			case *pg_query.CommonTableExpr:
				queries = append(queries, m.Ctename)
			}
			walk(v.Elem())
		case reflect.Struct:
			for i := range v.NumField() {
				if v.Type().Field(i).IsExported() {
					walk(v.Field(i))
				}
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		}
	}
	walk(reflect.ValueOf(n))
	return named, queries
}
