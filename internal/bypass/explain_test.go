package bypass_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/pgairlock/pgairlock/internal/bypass"
	"github.com/pgairlock/pgairlock/policy/statement"
)

// verdict is what was decided on the first message of a case.
type verdict struct {
	ID       string `json:"id"`
	Verdict  string `json:"verdict"`
	SQL      string `json:"sql"` // what the server gets, "" if nothing
	SQLSTATE string `json:"sqlstate"`
	Message  string `json:"message"`
	Hint     string `json:"hint"`
}

func liveVerdict(c *bypass.Case, j *statement.Judgement) verdict {
	v := verdict{ID: c.ID, Verdict: j.Verdict.String()}
	if j.Refusal == nil {
		v.SQL = j.Send
		return v
	}
	v.SQLSTATE, v.Message, v.Hint = j.Refusal.SQLSTATE, j.Refusal.Message, j.Refusal.Hint
	return v
}

// asked is what the command is asked about one agent's statements.
type asked struct {
	lines bytes.Buffer
	live  map[string]verdict
}

// testExplain asks the explain command about the first message of every case
// and compares its answer with what the proxy decided.
func testExplain(t *testing.T, l *lab, seen map[string]*asked) {
	binary := build(t)
	var score score
	for _, agent := range slices.Sorted(maps.Keys(seen)) {
		a := seen[agent]
		cmd := exec.CommandContext(t.Context(), binary, "explain", "--json", "--agent", agent, "--policy", filepath.Join(folder, "policy.yaml"), "--dsn", l.direct(agent))
		cmd.Stdin = &a.lines
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("explain --agent %s: %v: %s", agent, err, errs.String())
		}
		answers := json.NewDecoder(bytes.NewReader(out))
		for range a.live {
			var v verdict
			if err := answers.Decode(&v); err != nil {
				t.Fatalf("explain --agent %s: %v", agent, err)
			}
			live := a.live[v.ID]
			if v.Verdict == "deny" || v.Verdict == "hold" {
				v.SQL = ""
			}
			var wrong []string
			if v != live {
				wrong = append(wrong, fmt.Sprintf("explained as %+v, live it is %+v", v, live))
			}
			score.add(t, v.ID, wrong)
		}
	}
	fmt.Printf("explain: %s\n", score)
}

// build makes the command as this test was made, so that its packages need not
// be compiled again.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "pgairlock")
	args := []string{"build", "-o", binary}
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		args = append(args, "-race")
	}
	if out, err := exec.CommandContext(t.Context(), "go", append(args, "../../cmd/pgairlock")...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return binary
}
