package bypass_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgairlock/pgairlock/internal/bypass"
	"github.com/pgairlock/pgairlock/internal/pgcatalog"
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
		j.catalogs[a.Name] = fetch(t, l.direct(a.Name))
	}
	return j
}

func fetch(t *testing.T, dsn string) *catalog.Catalog {
	t.Helper()
	conn, err := pgconn.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	c, err := pgcatalog.Fetch(t.Context(), conn, pgcatalog.Options{})
	if err := errors.Join(err, conn.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	return c
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

// testVerdicts judges every case without a proxy: a case that fails here fails
// in testCorpus, but here it is seen sooner and by itself.
func testVerdicts(t *testing.T, l *lab, f *front) {
	cases := corpus(t)
	j := newJudge(t, l, f.set)
	var score score
	for i := range cases {
		if c := &cases[i]; c.Setup == "" && c.Startup == nil && !c.Extended {
			score.add(t, c.ID+" "+c.Name+" ("+c.Source+")", verdicts(j.session(t, c.Profile), l, c))
		}
	}
	fmt.Printf("verdicts: %s\n", score)
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

// disagreements lists where the verdict without a proxy is another than the
// proxy's.
func disagreements(s *session, l *lab, c *bypass.Case, live []*statement.Judgement) []string {
	var wrong []string
	for i, m := range c.Messages {
		text := l.expand.Replace(m)
		at := slices.IndexFunc(live, func(j *statement.Judgement) bool { return j != nil && j.Text == text })
		if at < 0 {
			wrong = append(wrong, fmt.Sprintf("message %d: the proxy recorded no verdict", i+1))
			continue
		}
		got, want := s.judge(text), live[at]
		live = live[at+1:]
		if got.Verdict != want.Verdict || got.Send != want.Send || shown(&got) != shown(want) {
			wrong = append(wrong, fmt.Sprintf("message %d: explained as %s %+v, %q; live it is %s %+v, %q",
				i+1, got.Verdict, shown(&got), got.Send, want.Verdict, shown(want), want.Send))
		}
	}
	return wrong
}

// shown is what a client is shown of a refusal.
func shown(j *statement.Judgement) statement.Refusal {
	if j.Refusal == nil {
		return statement.Refusal{}
	}
	return *j.Refusal
}

// Where an INSERT or DELETE names a table that a CTE is named like too, it is
// the table that it means: the refusal is for writing anyway, so that it does
// not show which of the two was found.
func testWriteTargets(t *testing.T, l *lab, f *front) {
	j := newJudge(t, l, f.set)
	found := 0
	for _, c := range corpus(t) {
		if !slices.Contains([]string{"F055", "F057", "F058"}, c.ID) {
			continue
		}
		found++
		judged := j.session(t, c.Profile).judge(c.Messages[0])
		if len(judged.Parts) != 1 || !slices.ContainsFunc(judged.Parts[0].Facts.Relations, func(r policy.RelationUse) bool {
			return r.Relation.String() == "public.secrets" && r.Needs&^(policy.Read|policy.Locking) != 0
		}) {
			t.Errorf("%s: public.secrets is not found to be written", c.ID)
		}
	}
	if found != 3 {
		t.Errorf("%d of 3 cases found", found)
	}
}
