package bypass_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pgairlock/pgairlock/internal/bypass"
	"github.com/pgairlock/pgairlock/policy/statement"
)

// categories are those of testdata/bypass, with how many cases each has at
// least: a file that is lost or emptied is no success.
var categories = map[string]int{"A": 188, "B": 126, "C": 72, "D": 48, "E": 58, "F": 147, "K": 72}

// TestBypass runs all that needs a server on one: its parts are listed here in
// the order they run, the ones that change the database last.
func TestBypass(t *testing.T) {
	l := newLab(t)
	f := newFront(t, l, 0)
	t.Run("verdicts", func(t *testing.T) { testVerdicts(t, l, f) })
	t.Run("write targets", func(t *testing.T) { testWriteTargets(t, l, f) })
	t.Run("corpus", func(t *testing.T) { testCorpus(t, l, f) })
	t.Run("heavy texts", func(t *testing.T) { testHeavyTexts(t, f) })
	t.Run("honest statements", func(t *testing.T) { testHonest(t, l, f) })
	t.Run("oracles leave reads alone", func(t *testing.T) { testOraclesLeaveReadsAlone(t, l) })
	t.Run("oracles notice", func(t *testing.T) { testOraclesNotice(t, l) })
	t.Run("state notices", func(t *testing.T) { testStateNotices(t, l) })
}

// testCorpus runs every case through a proxy to a real server.
func testCorpus(t *testing.T, l *lab, f *front) {
	cases := map[string][]bypass.Case{}
	for _, c := range corpus(t) {
		cases[c.Category()] = append(cases[c.Category()], c)
	}
	s := &suite{lab: l, usual: f, anew: newFront(t, l, time.Nanosecond), judge: newJudge(t, l, f.set), seen: map[string]*asked{}}
	for _, letter := range slices.Sorted(maps.Keys(cases)) {
		t.Run(letter, func(t *testing.T) { s.category(t, letter, cases[letter]) })
	}
	t.Run("explain", func(t *testing.T) { testExplain(t, l, s.seen) })
	for letter, least := range categories {
		if len(cases[letter]) < least {
			t.Errorf("category %s has %d cases, there were %d", letter, len(cases[letter]), least)
		}
	}
}

// suite is what the cases share.
type suite struct {
	lab   *lab
	usual *front
	anew  *front // takes the catalog anew for each statement: for cases that make objects first
	judge *judge
	seen  map[string]*asked // by agent: what was decided on first messages
}

func (s *suite) category(t *testing.T, letter string, cases []bypass.Case) {
	before, err := s.lab.watch.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var score score
	for i := range cases {
		c := &cases[i]
		score.add(t, c.ID+" "+c.Name+" ("+c.Source+")", s.run(t, c))
	}
	after, err := s.lab.watch.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if changed := before.Changes(after); changed != nil {
		t.Errorf("category %s changed the server: %v", letter, changed)
	}
	fmt.Printf("category %s: %s\n", letter, score)
}

func (s *suite) run(t *testing.T, c *bypass.Case) []string {
	t.Helper()
	f := s.usual
	if c.Setup != "" {
		f = s.anew
	}
	wrong, err := f.runner(s.lab).Run(t.Context(), c)
	if err != nil {
		t.Fatalf("%s: %v", c.ID, err)
	}
	if c.Setup == "" && c.Startup == nil && !c.Extended {
		s.note(t, c, f.last)
		wrong = append(wrong, disagreements(s.judge.session(t, c.Profile), s.lab, c, f.last)...)
	}
	return wrong
}

// note keeps what was decided on the first message of a case, for explain.
func (s *suite) note(t *testing.T, c *bypass.Case, live []*statement.Judgement) {
	t.Helper()
	if len(live) == 0 || live[0] == nil {
		return // which disagreements reports
	}
	a := s.seen[c.Profile]
	if a == nil {
		a = &asked{live: map[string]verdict{}}
		s.seen[c.Profile] = a
	}
	a.live[c.ID] = liveVerdict(c, live[0])
	line, err := json.Marshal(map[string]string{"id": c.ID, "sql": live[0].Text})
	if err != nil {
		t.Fatal(err)
	}
	a.lines.Write(append(line, '\n'))
}

// honestStatements is how many there are at least: more than all attacks.
const honestStatements = 800

// testHonest has as many honest statements answered, and answered as a direct
// connection answers, so that refusing everything fails.
func testHonest(t *testing.T, l *lab, f *front) {
	r := f.runner(l)
	var score score
	statements := 0
	for i, h := range bypass.Generate(20260301, honestStatements/2) { // a good two statements each
		wrong, err := r.RunHonest(t.Context(), "ro", &h)
		if err != nil {
			t.Fatalf("%s: %v", h.Shape, err)
		}
		var texts []string
		for _, s := range h.Steps {
			texts = append(texts, s.Text)
		}
		statements += len(h.Steps)
		score.add(t, fmt.Sprintf("%d %s: %s", i, h.Shape, strings.Join(texts, " | ")), wrong)
	}
	fmt.Printf("honest: %s, %d statements\n", score, statements)
	if statements < honestStatements {
		t.Errorf("%d statements, not %d", statements, honestStatements)
	}
}

// score counts cases.
type score struct{ passed, failed int }

func (s score) String() string { return fmt.Sprintf("%d passed, %d failed", s.passed, s.failed) }

func (s *score) add(t *testing.T, name string, wrong []string) {
	t.Helper()
	if len(wrong) == 0 {
		s.passed++
		return
	}
	s.failed++
	t.Errorf("%s: %s", name, strings.Join(wrong, "; "))
}

func (f *front) runner(l *lab) *bypass.Runner {
	return &bypass.Runner{Watch: l.watch, Leaks: l.leaks, Expand: l.expand, Direct: l.direct, Proxied: f.dsn, Decided: func() []bypass.Decided {
		var all []bypass.Decided
		f.last = f.record.take()
		for _, j := range f.last {
			d := bypass.Decided{Rules: rules(j)}
			if j != nil {
				d.Text = j.Text
			}
			all = append(all, d)
		}
		return all
	}}
}
