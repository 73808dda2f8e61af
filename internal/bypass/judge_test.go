package bypass_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/pgairlock/pgairlock/internal/bypass"
	"github.com/pgairlock/pgairlock/internal/pgcatalog"
	"github.com/pgairlock/pgairlock/internal/pgtest"
	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/policy/catalog"
	"github.com/pgairlock/pgairlock/policy/statement"
)

// judge is the verdict without a proxy, as `pgairlock explain` gives it.
type judge struct {
	set      *policy.Set
	catalogs map[string]*catalog.Catalog // by agent
}

func newJudge(t *testing.T, l *lab, set *policy.Set) *judge {
	t.Helper()
	j := &judge{set: set, catalogs: map[string]*catalog.Catalog{}}
	for _, a := range set.Agents() {
		c, err := pgcatalog.Fetch(t.Context(), pgtest.Connect(t, l.direct(a.Name)), pgcatalog.Options{})
		if err != nil {
			t.Fatal(err)
		}
		j.catalogs[a.Name] = c
	}
	return j
}

// session judges texts one after the other, as one connection sends them.
type session struct {
	in       statement.Input
	prepared map[string]*policy.Facts
	cursors  map[string]bool
}

func (j *judge) session(t *testing.T, agent string) *session {
	t.Helper()
	a, ok := j.set.Agent(agent)
	if !ok {
		t.Fatalf("policy.yaml has no agent %s", agent)
	}
	s := &session{prepared: map[string]*policy.Facts{}, cursors: map[string]bool{}}
	s.in = statement.Input{Set: j.set, Agent: a, ResetPath: a.SearchPath, Env: statement.Env{
		Catalog: j.catalogs[agent], Path: a.SearchPath,
		Prepared: func(name string) (*policy.Facts, bool) { f, ok := s.prepared[name]; return f, ok },
		Cursor:   func(name string) bool { return s.cursors[name] },
	}}
	return s
}

func (s *session) judge(text string) statement.Judgement {
	s.in.Text = text
	j := statement.Judge(s.in)
	if j.Refusal != nil {
		return j
	}
	for i := range j.Parts {
		switch f := &j.Parts[i].Facts; f.Kind {
		case policy.KindPrepare:
			s.prepared[f.Name] = f
		case policy.KindDeclare:
			s.cursors[f.Name] = true
		}
	}
	return j
}

// TestVerdicts judges every case without a proxy: a case that fails here fails
// in TestCorpus, but here it is seen sooner and by itself.
func TestVerdicts(t *testing.T) {
	cases := corpus(t)
	l := newLab(t)
	j := newJudge(t, l, loadPolicy(t))
	for _, category := range categories {
		t.Run(category.letter, func(t *testing.T) {
			var score score
			for i := range cases {
				if c := &cases[i]; c.Category() == category.letter && c.Setup == "" && c.Startup == nil && !c.Extended {
					score.add(t, c.ID+" "+c.Name+" ("+c.Source+")", verdicts(j.session(t, c.Profile), l, c))
				}
			}
			fmt.Printf("verdicts in category %s: %s\n", category.letter, score)
		})
	}
}

func verdicts(s *session, l *lab, c *bypass.Case) []string {
	var wrong []string
	for i, m := range c.Messages {
		got := s.judge(l.expand.Replace(m))
		want := bypass.Reason{Pass: true}
		if c.Reasons != nil {
			want = c.Reasons[i]
		}
		switch {
		case want.Any:
		case want.Pass && got.Refusal != nil:
			wrong = append(wrong, fmt.Sprintf("message %d: refused by %s: %s", i+1, got.Refusal.Rule, got.Refusal.Message))
		case !want.Pass && got.Refusal == nil:
			wrong = append(wrong, fmt.Sprintf("message %d: verdict %s", i+1, got.Verdict))
		case !want.Pass && (!slices.Contains(want.Rules, got.Refusal.Rule) || !slices.Contains(rules(&got), want.Rules[0])):
			wrong = append(wrong, fmt.Sprintf("message %d: refused by %s (of %v), not for %v: %s", i+1, got.Refusal.Rule, rules(&got), want.Rules, got.Refusal.Message))
		}
	}
	return wrong
}
