package statement_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/pgairlock/pgairlock/policy/statement"
)

// Analyze is total on any tree, not only on those that the parser makes: each
// message, list and list element of many trees is left out in turn.
func TestTreesWithHoles(t *testing.T) {
	env := statement.Env{Catalog: libraryCatalog(t, 180000), Path: []string{"public"}, Prepared: prepared}
	extra := `SELECT json_object('a': 1), json_array(1), json_objectagg('a': 1), json_arrayagg(1), x IS JSON, json_value('{}', '$' PASSING 1 AS a DEFAULT 2 ON EMPTY) FROM (SELECT 1) x
SELECT * FROM JSON_TABLE('[]'::jsonb, '$' PASSING 1 AS x COLUMNS (a int PATH '$.a' DEFAULT 1 ON EMPTY, NESTED PATH '$.b' COLUMNS (c int EXISTS))) j
EXPLAIN (ANALYZE) SELECT 1
PREPARE p (int) AS SELECT $1
DECLARE c CURSOR FOR SELECT 1
COPY books (id) FROM STDIN WHERE id > 1
COPY (SELECT 1) TO STDOUT (FORMAT csv)
SET TIME ZONE INTERVAL '+01:00' HOUR TO MINUTE
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY
CREATE TABLE t AS SELECT 1
CREATE VIEW v AS SELECT 1
CALL stamp()
LOCK TABLE books
EXECUTE old(1)
REFRESH MATERIALIZED VIEW books
SELECT set_config('a.b', 'c'::text, true), nextval('x'), current_setting('x')
DO LANGUAGE plpgsql 'x'`
	holes := 0
	for _, line := range strings.Split(oracleStatements+extra, "\n") {
		_, text := minimumVersion(line)
		tree, err := statement.Parse(text, statement.Limits{})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for i := range tree.Stmts {
			holes += dig(reflect.ValueOf(tree.Stmts[i].Node).Elem(), func(where string) {
				defer func() {
					if r := recover(); r != nil {
						t.Fatalf("%s\nwithout %s: %v", text, where, r)
					}
				}()
				if len(statement.Analyze(tree, env)) != 1 {
					t.Errorf("%s\nwithout %s: no facts", text, where)
				}
			})
		}
	}
	if holes < 10_000 {
		t.Errorf("only %d holes were tried", holes)
	}
}

// dig empties each pointer, interface and list under v for one call of try.
func dig(v reflect.Value, try func(where string)) int {
	holes := 0
	for i := range v.NumField() {
		f := v.Field(i)
		if !v.Type().Field(i).IsExported() {
			continue
		}
		holes += digField(f, v.Type().Name()+"."+v.Type().Field(i).Name, try)
	}
	return holes
}

func digField(f reflect.Value, where string, try func(where string)) int {
	switch f.Kind() {
	case reflect.Pointer, reflect.Interface:
		if f.IsNil() {
			return 0
		}
		below := f.Elem()
		if below.Kind() == reflect.Pointer {
			below = below.Elem()
		}
		holes := 0
		if below.Kind() == reflect.Struct {
			holes = dig(below, try)
		}
		return holes + without(f, where, try)
	case reflect.Slice:
		if f.Len() == 0 || f.Type().Elem().Kind() != reflect.Pointer {
			return 0
		}
		holes := without(f, where, try)
		for i := range f.Len() {
			holes += digField(f.Index(i), where, try)
		}
		return holes
	}
	return 0
}

func without(f reflect.Value, where string, try func(where string)) int {
	kept := reflect.New(f.Type()).Elem()
	kept.Set(f)
	f.SetZero()
	try(where)
	f.Set(kept)
	return 1
}
