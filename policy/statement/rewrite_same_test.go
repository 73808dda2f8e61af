package statement

import (
	"strings"
	"testing"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"
)

func parsed(t *testing.T, text string) *pg_query.Node {
	t.Helper()
	tree, err := Parse(text, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return tree.Stmts[0].Node
}

func TestSameTree(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"SELECT a, 'x' FROM t", "/* spaced */ SELECT  a ,\n'x' FROM t", true},
		{"SELECT (a)", "SELECT a", true},
		{"SELECT a FROM t", "SELECT b FROM t", false},
		{"SELECT 1", "SELECT 2", false},
		{"SELECT 1", "SELECT '1'", false},
		{"SELECT NULL", "SELECT ''", false},
		{"SELECT a = 1 AND (b OR c) IS NOT NULL", "SELECT a = 1 AND b OR c IS NOT NULL", false},
		{"SELECT a", "SELECT a LIMIT 1", false},
		{"SELECT a UNION SELECT b", "SELECT a UNION ALL SELECT b", false},
		{"SELECT f(a)", "SELECT f(DISTINCT a)", false},
		{"SELECT a", "SELECT a, a", false},
		{"SELECT a", "VALUES (a)", false},
	} {
		if got := sameTree(parsed(t, c.a), parsed(t, c.b), nil); got != c.same {
			t.Errorf("%s\n%s\nsame is %t", c.a, c.b, got)
		}
		if got := sameTree(parsed(t, c.b), parsed(t, c.a), nil); got != c.same {
			t.Errorf("%s\n%s\nsame is %t", c.b, c.a, got)
		}
	}
}

func TestSameTreePassesOverOneLimit(t *testing.T) {
	a, b := parsed(t, "SELECT a FROM (SELECT 1 LIMIT 2) t LIMIT 3"), parsed(t, "SELECT a FROM (SELECT 1 LIMIT 2) t LIMIT 4")
	inner := parsed(t, "SELECT a FROM (SELECT 1 LIMIT 1) t LIMIT 3")
	top := a.GetSelectStmt()
	if !sameTree(a, b, top) || sameTree(a, b, nil) {
		t.Error("the limit that may differ is not the only one")
	}
	if sameTree(a, inner, top) {
		t.Error("a limit of a sub-select was passed over")
	}
}

// Whatever field of a tree changes, the comparison notices, unless it is a
// place in the text.
func TestSameTreeNoticesEveryField(t *testing.T) {
	const text = `WITH RECURSIVE x (n) AS MATERIALIZED (SELECT 1 UNION ALL SELECT n + 1 FROM x WHERE n < 5)
SELECT DISTINCT ON (o.a) o.a AS k, count(*) FILTER (WHERE b > 1) OVER (PARTITION BY c ORDER BY d DESC NULLS LAST ROWS 3 PRECEDING),
  CASE WHEN o.a IS NULL THEN 'x'::varchar(3) COLLATE "C" ELSE $1 END, (ARRAY[1.5, 2])[1:2], (r).f.*, EXTRACT(epoch FROM ts), ROW(1, B'1'),
  COALESCE(a, least(1, 2)), (SELECT max(y) FROM z WHERE z.q = ANY (ARRAY(SELECT 2)))
FROM ONLY s.orders AS o (a, b) LEFT JOIN LATERAL f(1, v => 2) WITH ORDINALITY g ON true NATURAL JOIN p TABLESAMPLE system (1) REPEATABLE (2)
WHERE a BETWEEN 1 AND 2 OR NOT b LIKE 'x' ESCAPE '!' AND (c, d) IN ((1, 2))
GROUP BY GROUPING SETS ((a), ROLLUP (b, c)) HAVING true WINDOW w AS (PARTITION BY e)
ORDER BY 1 USING OPERATOR(pg_catalog.<) OFFSET 2 FETCH FIRST 5 ROWS ONLY FOR NO KEY UPDATE OF o SKIP LOCKED`
	was, is := parsed(t, text), parsed(t, text)
	changed, places := 0, 0
	eachScalar(is.ProtoReflect(), func(m protoreflect.Message, f protoreflect.FieldDescriptor) {
		old := m.Get(f)
		m.Set(f, another(f, old))
		same := sameTree(was, is, nil)
		m.Set(f, old)
		if place := strings.HasSuffix(string(f.Name()), "location"); place {
			places++
		} else {
			changed++
		}
		if place := strings.HasSuffix(string(f.Name()), "location"); same != place {
			t.Errorf("%s: same is %t", f.FullName(), same)
		}
	})
	if changed < 250 || places < 50 || !sameTree(was, is, nil) {
		t.Errorf("%d fields and %d places were changed", changed, places)
	}
}

// eachScalar calls f with every scalar field of every message below m, set or
// not.
func eachScalar(m protoreflect.Message, f func(protoreflect.Message, protoreflect.FieldDescriptor)) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		d := fields.Get(i)
		switch {
		case d.Kind() != protoreflect.MessageKind:
			if !d.IsList() && (d.ContainingOneof() == nil || m.Has(d)) {
				f(m, d)
			}
		case !m.Has(d):
		case d.IsList():
			for k := range m.Get(d).List().Len() {
				eachScalar(m.Get(d).List().Get(k).Message(), f)
			}
		default:
			eachScalar(m.Get(d).Message(), f)
		}
	}
}

// another is a value that the field does not have.
func another(f protoreflect.FieldDescriptor, v protoreflect.Value) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(!v.Bool())
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(v.Enum() + 1)
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(int32(v.Int()) + 1)
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(v.Int() + 1)
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(uint32(v.Uint()) + 1)
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(v.Uint() + 1)
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(v.Float() + 1)
	}
	return protoreflect.ValueOfString(v.String() + "x")
}
