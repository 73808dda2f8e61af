package statement_test

import (
	"fmt"
	"testing"

	"github.com/pgairlock/pgairlock/policy/catalog"
	"github.com/pgairlock/pgairlock/policy/statement"
)

// TestGivenTypes: the types of a Parse message count as those of PREPARE do,
// whether or not the text uses the parameter.
func TestGivenTypes(t *testing.T) {
	c := libraryCatalog(t, 150000)
	facts := func(text string, types ...catalog.OID) string {
		tree, err := statement.Parse(text, statement.Limits{})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		f := statement.Analyze(tree, statement.Env{Catalog: c, Path: []string{"public"}, ParamTypes: types})[0]
		out := ""
		for _, u := range f.Types {
			out += u.Type.String() + " "
		}
		for _, p := range f.Problems {
			out += p.Rule + " "
		}
		return out
	}
	for _, ty := range c.Data().Types {
		if ty.OID == 705 {
			continue // "unknown" is no type given: the use decides
		}
		want := facts(fmt.Sprintf(`PREPARE p(%q.%q) AS SELECT 1`, ty.Schema, ty.Name))
		if want == "" {
			t.Errorf("%s: PREPARE uses no type", ty)
		}
		for _, text := range []string{"SELECT 1", "SELECT $1", "SHOW timezone", "SELECT $2"} {
			if got := facts(text, ty.OID, 0); got != want {
				t.Errorf("%s with $1 of type %s: %s, want %s", text, ty, got, want)
			}
		}
	}
	for _, none := range []catalog.OID{0, 705} {
		if got := facts("SELECT 1", none); got != "" {
			t.Errorf("type %d: %s", none, got)
		}
	}
	if got := facts("SELECT 1", 4_000_000_000); got != "unresolved-type " {
		t.Errorf("a type that does not exist: %q", got)
	}
}
