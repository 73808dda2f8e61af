package proxy

import (
	"testing"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/policy/policytest"
	"github.com/pgairlock/pgairlock/policy/statement"
)

// TestKnownTextAllocatesNothing: a verdict that was reached before is found
// again without a byte of garbage, and by its exact text and types alone.
func TestKnownTextAllocatesNothing(t *testing.T) {
	v := testView(t)
	text := []byte("SELECT 1")
	scratch := make([]byte, 0, 256)
	remember := func(types string) *judged {
		j := v.judge(string(text), []byte(types), sessionNames{}, statement.Limits{})
		v.remember(append(append(append(scratch[:0], text...), 0), types...), j)
		return j
	}
	plain, typed := remember(""), remember("\x00\x00\x00\x17")
	if plain.Refusal != nil {
		t.Fatalf("refused: %+v", plain.Refusal)
	}
	for _, c := range []struct {
		types string
		want  *judged
	}{{"", plain}, {"\x00\x00\x00\x17", typed}, {"\x00\x00\x00\x19", nil}} {
		key := append(append(append(scratch[:0], text...), 0), c.types...)
		if got := v.known(key); got != c.want {
			t.Errorf("types %q: another verdict", c.types)
		}
	}
	allocated := testing.AllocsPerRun(1000, func() {
		key := append(append(scratch[:0], text...), 0)
		if v.known(key) != plain {
			t.Fatal("not known")
		}
	})
	if allocated != 0 {
		t.Errorf("%v allocations", allocated)
	}
}

func testView(tb testing.TB) *view {
	tb.Helper()
	set, err := policy.Load("policy.yaml", []byte("version: 1\nagents:\n  a:\n    password: secret:a\n    databases: {d: r}\n    access: read_only\n    tables: {public.orders: all}\n"))
	if err != nil {
		tb.Fatal(err)
	}
	agent, _ := set.Agent("a")
	picture, err := policytest.Catalog("public.orders: id int4, total numeric")
	if err != nil {
		tb.Fatal(err)
	}
	return newGate().view(viewKey{set: set, agent: agent, catalog: picture}, []string{"public"})
}

func BenchmarkKnownText(b *testing.B) {
	v := testView(b)
	text := []byte("SELECT total FROM orders WHERE id = 7")
	key := append(append([]byte(nil), text...), 0)
	v.remember(key, v.judge(string(text), nil, sessionNames{}, statement.Limits{}))
	b.ReportAllocs()
	for b.Loop() {
		if v.known(key) == nil {
			b.Fatal("not known")
		}
	}
}
