package bypass_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pgairlock/pgairlock/internal/bypass"
)

// categories that must be there, with how many cases each has at least: a file
// that is lost or emptied is no success.
var categories = []struct {
	letter string
	least  int
}{{"A", 188}, {"B", 126}, {"C", 72}, {"D", 49}, {"E", 57}, {"F", 147}, {"K", 72}}

// TestCorpus runs every case through a proxy to a real server.
func TestCorpus(t *testing.T) {
	cases := corpus(t)
	l := newLab(t)
	f := newFront(t, l)
	r := f.runner(l)
	for _, category := range categories {
		t.Run(category.letter, func(t *testing.T) {
			before, err := l.watch.State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var score score
			for i := range cases {
				c := &cases[i]
				if c.Category() != category.letter {
					continue
				}
				wrong, err := r.Run(t.Context(), c)
				if err != nil {
					t.Fatalf("%s: %v", c.ID, err)
				}
				score.add(t, c.ID+" "+c.Name+" ("+c.Source+")", wrong)
			}
			after, err := l.watch.State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if changed := before.Changes(after); changed != nil {
				t.Errorf("category %s changed the server: %v", category.letter, changed)
			}
			fmt.Printf("category %s: %s\n", category.letter, score)
			if score.passed+score.failed < category.least {
				t.Errorf("%d cases ran, there are %d", score.passed+score.failed, category.least)
			}
		})
	}
	if n := len(slices.DeleteFunc(cases, func(c bypass.Case) bool {
		return slices.ContainsFunc(categories, func(k struct {
			letter string
			least  int
		}) bool {
			return k.letter == c.Category()
		})
	})); n > 0 {
		t.Errorf("%d cases are of no category that is run", n)
	}
}

// honestStatements is more than all attacks.
const honestStatements = 700

// TestHonest has as many honest statements answered, and answered as a direct
// connection answers, so that refusing everything fails.
func TestHonest(t *testing.T) {
	l := newLab(t)
	f := newFront(t, l)
	r := f.runner(l)
	var score score
	for i, h := range bypass.Generate(20260301, honestStatements) {
		wrong, err := r.RunHonest(t.Context(), "ro", &h)
		if err != nil {
			t.Fatalf("%s: %v", h.Shape, err)
		}
		var texts []string
		for _, s := range h.Steps {
			texts = append(texts, s.Text)
		}
		score.add(t, fmt.Sprintf("%d %s: %s", i, h.Shape, strings.Join(texts, " | ")), wrong)
	}
	fmt.Printf("honest statements: %s\n", score)
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
		for _, j := range f.record.take() {
			all = append(all, bypass.Decided{Text: j.Text, Rules: rules(j)})
		}
		return all
	}}
}
