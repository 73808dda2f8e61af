package catalog_test

import (
	"reflect"
	"testing"

	"github.com/pgairlock/pgairlock/policy/catalog"
)

func full() catalog.Data {
	return catalog.Data{
		Database: "d", Role: "r", ServerVersion: 150000, Path: []string{"public"}, Schemas: []string{"public"},
		Relations: []*catalog.Relation{{OID: 1, Schema: "public", Name: "t", Kind: 'r', RowType: 2, Columns: []catalog.Column{{Num: 1, Name: "a", Type: 23, Generated: true}}}},
		Functions: []*catalog.Function{{OID: 3, Schema: "public", Name: "f", Kind: 'f', Args: []catalog.OID{23}, ArgNames: []string{"x"}, Defaults: 1, Variadic: 23,
			Result: 25, Set: true, Out: []catalog.Column{{Num: 1, Name: "o", Type: 25}}, Volatility: 'v', Definer: true, Language: "sql", Extension: "e"}},
		Operators: []*catalog.Operator{{OID: 4, Schema: "public", Name: "=", Left: 23, Right: 23, Result: 16, Function: 3, Extension: "e"}},
		Types: []*catalog.Type{{OID: 5, Schema: "public", Name: "ty", Kind: 'd', Category: 'S', Preferred: true, Relation: 1, Element: 6, Array: 7, Base: 25,
			Checked: true, Extension: "e"}},
		Casts: []catalog.Cast{{Source: 5, Target: 25, Function: 3, Context: 'i'}},
	}
}

func digestOf(t *testing.T, d catalog.Data) string {
	t.Helper()
	c, err := catalog.New(d)
	if err != nil {
		t.Fatal(err)
	}
	return c.Digest()
}

// TestDigest: every exported field has a say in the digest.
func TestDigest(t *testing.T) {
	want := digestOf(t, full())
	if digestOf(t, full()) != want {
		t.Fatal("the same content has two digests")
	}
	changed := 0
	var walk func(get func(*catalog.Data) reflect.Value, path string)
	walk = func(get func(*catalog.Data) reflect.Value, path string) {
		d := full()
		v := get(&d)
		switch v.Kind() {
		case reflect.Pointer:
			walk(func(d *catalog.Data) reflect.Value { return get(d).Elem() }, path)
		case reflect.Struct:
			for i := range v.NumField() {
				if f := v.Type().Field(i); f.IsExported() {
					walk(func(d *catalog.Data) reflect.Value { return get(d).Field(i) }, path+"."+f.Name)
				}
			}
		case reflect.Slice:
			if v.Len() == 0 {
				t.Fatalf("%s is empty: the test would not see it", path)
			}
			walk(func(d *catalog.Data) reflect.Value { return get(d).Index(0) }, path+"[0]")
		default:
			zero := reflect.Zero(v.Type())
			if v.Equal(zero) {
				if path != ".Functions[0].Out[0].Generated" {
					t.Fatalf("%s is zero: the test would not see it", path)
				}
				return
			}
			v.Set(zero)
			changed++
			if digestOf(t, d) == want {
				t.Errorf("%s has no say in the digest", path)
			}
		}
	}
	walk(func(d *catalog.Data) reflect.Value { return reflect.ValueOf(d).Elem() }, "")
	if changed < 40 {
		t.Errorf("only %d fields were tried", changed)
	}
}
