package policy_test

import (
	"reflect"
	"testing"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/policy/catalog"
)

// dice makes facts of the fuzzer's bytes.
type dice struct {
	bytes []byte
	at    int
}

func (d *dice) roll(n int) int {
	if len(d.bytes) == 0 {
		return 0
	}
	b := d.bytes[d.at%len(d.bytes)]
	d.at++
	return (int(b) + d.at/len(d.bytes)) % n
}

func pick[T any](d *dice, list []T) T { return list[d.roll(len(list))] }

func (d *dice) facts(cat *catalog.Catalog) *policy.Facts {
	data := cat.Data()
	kinds := []policy.Kind{"", policy.KindEmpty, policy.KindSelect, policy.KindInsert, policy.KindDelete, policy.KindCopyTo,
		policy.KindExplain, policy.KindPrepare, policy.KindExecute, policy.KindTransaction, policy.KindSet, policy.KindDDL, policy.KindOther, "made up"}
	commands := []policy.Command{policy.Select, policy.Insert, policy.Update, policy.Delete, policy.Merge}
	settings := []string{"search_path", "statement_timeout", "role", "timezone", "app.x", "", "datestyle", "pgairlock.on_behalf_of"}
	values := []string{"", "off", "public", "0", "\"", "iso,", "5s", "9999999999999999999d", "\x00"}
	f := &policy.Facts{Kind: pick(d, kinds), Inner: pick(d, kinds), Risk: policy.Risk(d.roll(6)), WithoutWhere: d.roll(2) == 1,
		ReturnsRows: d.roll(2) == 1, Explain: []string{pick(d, []string{"analyze", "settings", "x"})},
		Copy: pick(d, []policy.CopyVia{policy.CopyNone, policy.CopyStdio, policy.CopyFile, "x"})}
	if d.roll(8) == 0 {
		f.RedLine = "never"
	}
	for range d.roll(3) {
		f.Commands = append(f.Commands, pick(d, commands))
	}
	for range d.roll(4) {
		rel := pick(d, append(data.Relations, nil))
		f.Relations = append(f.Relations, policy.RelationUse{Relation: rel, Needs: policy.Privilege(d.roll(256))})
		if rel != nil && len(rel.Columns) > 0 {
			f.Columns = append(f.Columns, policy.ColumnUse{Relation: rel, Column: pick(d, rel.Columns).Name, Needs: policy.Privilege(d.roll(256)),
				Via: pick(d, []policy.ColumnVia{policy.ByName, policy.ByStar, policy.ByJoin, policy.BySystem})})
		}
	}
	for range d.roll(3) {
		f.Functions = append(f.Functions, policy.FunctionUse{Name: "f", Via: pick(d, []string{"call", "operator"}),
			Candidates: []*catalog.Function{pick(d, append(data.Functions, nil)), pick(d, data.Functions)}[:d.roll(3)]})
	}
	for range d.roll(2) {
		f.Operators = append(f.Operators, policy.OperatorUse{Name: "=", Candidates: []*catalog.Operator{pick(d, append(data.Operators, nil))}})
		f.Types = append(f.Types, policy.TypeUse{Type: pick(d, append(data.Types, nil))})
	}
	for range d.roll(3) {
		f.Settings = append(f.Settings, policy.SettingUse{Name: pick(d, settings), Op: pick(d, []policy.SettingOp{policy.SetSession, policy.Reset, policy.ShowOne, policy.ShowAll, "x"}),
			Value: pick(d, values), Literal: d.roll(2) == 1})
	}
	if d.roll(6) == 0 {
		f.Problems = append(f.Problems, policy.Problem{Rule: pick(d, []string{"", "syntax", "unresolved-column"}), Server: d.roll(2) == 1, Name: "x"})
	}
	return f
}

// FuzzDecide: Decide always answers, always the same, and a rule that denies
// never lets through what was refused without it.
func FuzzDecide(f *testing.F) {
	const deny = "  - name: a denial\n    match: {tables: [public.*], commands: [select]}\n    verdict: deny\n"
	set, stricter := load(f, rulesPolicy), load(f, rulesPolicy+deny)
	cat := shop(f)
	f.Add([]byte{2, 0, 1, 2, 3})
	f.Add([]byte("a select of something"))
	f.Fuzz(func(t *testing.T, bytes []byte) {
		facts := (&dice{bytes: bytes}).facts(cat)
		for _, agent := range set.Agents() {
			d := policy.Decide(set, policy.Request{Agent: agent, Facts: facts, Catalog: cat})
			again := policy.Decide(set, policy.Request{Agent: agent, Facts: facts, Catalog: cat})
			if !reflect.DeepEqual(d, again) {
				t.Fatalf("two answers: %+v and %+v", d, again)
			}
			if d.Verdict != policy.Allow && d.Refusal() == nil || d.Verdict == policy.Allow && d.Refusal() != nil {
				t.Fatalf("verdict %s with refusal %+v", d.Verdict, d.Refusal())
			}
			if d.Risk < facts.Risk {
				t.Fatalf("risk lowered from %s to %s", facts.Risk, d.Risk)
			}
			same, _ := stricter.Agent(agent.Name)
			if strict := policy.Decide(stricter, policy.Request{Agent: same, Facts: facts, Catalog: cat}); strict.Verdict < d.Verdict {
				t.Fatalf("%s with one more denial: %s, before: %s", agent.Name, strict.Verdict, d.Verdict)
			}
			policy.Decide(set, policy.Request{Agent: agent, Facts: facts})
		}
	})
}

func FuzzLoad(f *testing.F) {
	f.Add(shopPolicy)
	f.Add(rulesPolicy)
	f.Add(agentWith("tables: {\"\\\"a.b\": all, public.*x: all}\nfunctions: [\"a.b(\"]"))
	f.Fuzz(func(t *testing.T, src string) {
		set, err := policy.Load("p", []byte(src))
		if (set == nil) != (err != nil) {
			t.Fatalf("%v and %v", set, err)
		}
	})
}
