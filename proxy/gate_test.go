package proxy

import (
	"fmt"
	"testing"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/policy/policytest"
	"github.com/pgairlock/pgairlock/policy/statement"
)

// lookUp finds the verdict on a text as a session does, or reaches it.
func lookUp(v *view, k *scratch, text, types string) *judged {
	k.set([]byte(text), []byte(types))
	if j := v.known(k); j != nil {
		return j
	}
	if j := v.like(k, []byte(text), []byte(types)); j != nil {
		return j
	}
	j := v.judge(text, []byte(types), sessionNames{}, statement.Limits{})
	v.remember(k, j)
	return j
}

// TestKnownTextAllocatesNothing: a verdict that was reached before is found
// again without a byte of garbage, and by its exact text and types alone.
func TestKnownTextAllocatesNothing(t *testing.T) {
	v, k := testView(t), &scratch{}
	const text, int4 = "SELECT count(*) FROM orders", "\x00\x00\x00\x17"
	plain, typed := lookUp(v, k, text, ""), lookUp(v, k, text, int4)
	if plain.Refusal != nil {
		t.Fatalf("refused: %+v", plain.Refusal)
	}
	if plain == typed || lookUp(v, k, text, "") != plain || lookUp(v, k, text, int4) != typed {
		t.Error("verdicts of other parameter types are mixed up")
	}
	raw := []byte(text)
	allocated := testing.AllocsPerRun(1000, func() {
		k.set(raw, nil)
		if v.known(k) != plain {
			t.Fatal("not known")
		}
	})
	if allocated != 0 {
		t.Errorf("%v allocations", allocated)
	}
}

// TestOtherConstants: a text that differs in constants only is not parsed again,
// and the second time it costs no garbage either.
func TestOtherConstants(t *testing.T) {
	v, k := testView(t), &scratch{}
	first := lookUp(v, k, "SELECT id FROM orders WHERE id = 1", "")
	second := lookUp(v, k, "SELECT id FROM orders WHERE id = 4711", "")
	if second.Like != &first.Judgement || second.Send != "SELECT id FROM orders WHERE id = 4711 LIMIT 1001" {
		t.Errorf("second: like %p, send %q", second.Like, second.Send)
	}
	if lookUp(v, k, "SELECT id FROM orders WHERE id = 4711", "") != second {
		t.Error("the second text was not remembered")
	}
	for _, text := range []string{
		"SELECT id FROM orders WHERE id = 1 LIMIT 7", "SELECT id FROM orders WHERE id = 1.5", "SELECT id FROM orders WHERE id = '1'",
		"SELECT id FROM orders WHERE id  = 1", "SELECT ssn FROM orders WHERE id = 1",
	} {
		if j := lookUp(v, k, text, ""); j.Like != nil {
			t.Errorf("%q was taken for like %q", text, j.Like.Text)
		}
	}
	if j := lookUp(v, k, "SELECT ssn FROM orders WHERE id = 2", ""); j.Like != nil || j.Refusal == nil {
		t.Errorf("a refusal was taken over: %+v", j.Judgement)
	}
}

// TestTypesAreNoOutline: the numbers of parameter types are the client's own. A
// text with types that spell out how a longer text goes on is not that text.
func TestTypesAreNoOutline(t *testing.T) {
	const longer = "SELECT count(*) FROM orders WHERE id > 1 AND '2000-01-01' < date "
	for _, types := range []string{"s  \x00", "s;;\x00", "i  \x00", "s  \x00\x00\x00\x00\x17"} {
		v, k := testView(t), &scratch{}
		for _, end := range []string{"'2020-01-01'  ", "'2020-01-01';;", "1  "} {
			lookUp(v, k, longer+end, "")
			lookUp(v, k, longer+end, "\x00\x00\x00\x17")
		}
		if j := lookUp(v, k, longer, types); j.Like != nil || j.Refusal == nil {
			t.Errorf("types %q: the verdict of %q was taken over", types, j.Like.Text)
		}
	}
}

// TestMemoryIsBounded: the older half is forgotten, and judged again.
func TestMemoryIsBounded(t *testing.T) {
	var m memory
	for i := range 10 * generation {
		m.add(fmt.Append(nil, i), &judged{})
	}
	if n := len(m.young) + len(m.old); n > 2*generation {
		t.Errorf("%d verdicts are remembered", n)
	}
	if m.find(fmt.Append(nil, 10*generation-1)) == nil || m.find([]byte("0")) != nil {
		t.Error("not the oldest were forgotten")
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
	v, k := testView(b), &scratch{}
	text := []byte("SELECT total FROM orders WHERE id = 7")
	lookUp(v, k, string(text), "")
	b.ReportAllocs()
	for b.Loop() {
		k.set(text, nil)
		if v.known(k) == nil {
			b.Fatal("not known")
		}
	}
}

func BenchmarkOtherConstants(b *testing.B) {
	v, k := testView(b), &scratch{}
	lookUp(v, k, "SELECT total FROM orders WHERE id = 0", "")
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		if lookUp(v, k, fmt.Sprintf("SELECT total FROM orders WHERE id = %d", i), "").Like == nil && i < 1_000_000_000 {
			b.Fatal("judged anew")
		}
	}
}
