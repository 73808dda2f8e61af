package main

import (
	"slices"
	"testing"

	"github.com/pgairlock/pgairlock/internal/config"
	"github.com/pgairlock/pgairlock/policy"
)

func TestReadCaptures(t *testing.T) {
	const text = `-- what this is
-- @ client=a version=1 action="connect" proto=simple
SELECT 1;
-- a comment that is sent;

-- @ client=a version=1 action="ping" proto=extended stmt=""
;

-- @ client=a version=1 action="cut off" proto=simple`
	want := []capture{{"SELECT 1;\n-- a comment that is sent;", false}, {";", true}}
	if got := readCaptures(text); !slices.Equal(got, want) {
		t.Errorf("%+v, not %+v", got, want)
	}
}

func TestTally(t *testing.T) {
	rows, fewer := answer{shape: "a 2 rows;"}, answer{shape: "a 1 rows;"}
	refused, failed, otherwise := answer{sqlstate: "42501", rule: "table"}, answer{sqlstate: "42P01"}, answer{sqlstate: "42703"}
	for _, c := range []struct {
		name            string
		direct, through answer
		same            bool
		want            string
	}{
		{"equal", rows, rows, true, "| c | 1 | 1 | 1 | 100 |  |"},
		{"other rows", rows, fewer, false, "| c | 1 | 1 | 0 | 0 | another answer 1 |"},
		{"refused", rows, refused, false, "| c | 1 | 1 | 0 | 0 | table 1 |"},
		{"an error of the server's, through the proxy only", rows, failed, false, "| c | 1 | 1 | 0 | 0 | another answer 1 |"},
		{"an error on both sides", failed, otherwise, true, "| c | 1 | 0 | 0 | – |  |"},
		{"an error directly only", failed, rows, false, "| c | 1 | 0 | 0 | – |  |"},
	} {
		got := tally{refused: map[string]int{}}
		if same := got.count(c.direct, c.through); same != c.same || got.row("c") != c.want {
			t.Errorf("%s: same is %t, %s, not %s", c.name, same, got.row("c"), c.want)
		}
		sum := tally{refused: map[string]int{}}
		sum.add(got)
		if sum.row("c") != c.want {
			t.Errorf("%s: the sum is %s", c.name, sum.row("c"))
		}
	}
}

// What is written for the proxy is what it takes.
func TestFiles(t *testing.T) {
	for name, s := range map[string]setting{
		"suites":        {agents: []agent{{"postgres", "", []string{"regression", "postgres"}}, {"pgx_scram", "secret", []string{"postgres"}}}},
		"introspection": {policy: explorer, agents: []agent{{"explorer", "e", []string{"shop"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			texts := files(5432, s)
			c, err := config.Load("/run/pgairlock.yaml", []byte(texts["pgairlock.yaml"]))
			if err != nil {
				t.Fatal(err)
			}
			set, err := policy.Load("policy.yaml", []byte(texts["policy.yaml"]))
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Fit(set); err != nil {
				t.Error(err)
			}
			for _, want := range s.agents {
				a, ok := set.Agent(want.name)
				if !ok || len(a.Databases) != len(want.databases) || a.UnsafePassthrough != (s.policy == "") {
					t.Errorf("agent %s: %+v", want.name, a)
				}
			}
		})
	}
}
