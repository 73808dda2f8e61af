package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pgairlock/pgairlock/bench/rig"
)

func TestTable(t *testing.T) {
	tps := func(values ...float64) (list []sample) {
		for _, v := range values {
			list = append(list, sample{value: v, cpu: time.Duration(v) * time.Microsecond})
		}
		return list
	}
	table := &table{
		ways: []*way{{name: "direct"}, {name: "pgbouncer", process: &rig.Process{}}, {name: "pgairlock", process: &rig.Process{}}},
		rows: []row{{scenario: &scenario{name: "select", unit: "tps", cpu: "transaction"}, samples: [][]sample{{{value: 400}, {value: 100}, {value: 200}}, tps(100, 100, 120, 140), tps(50)}}},
	}
	text := table.markdown(settings{rounds: 3, duration: time.Second})
	for _, line := range []string{
		"| select | direct | 200 tps |  | 1.82 |  |  | 150 % |\n",
		"| select | pgbouncer | 110 tps | 0.55 |  | 110.0 µs |  | 36 % |\n",
		"| select | pgairlock | 50.00 tps | 0.25 | 0.45 | 50.0 µs | 0.45 | 0 % |\n",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("lacks %s in\n%s", line, text)
		}
	}
}

func TestReplace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.md")
	if err := os.WriteFile(file, []byte("before\n"+beginMark+"old\n"+endMark+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := replace(file, "new"); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != "before\n"+beginMark+"\nnew\n"+endMark+"after\n" {
		t.Errorf("%q, %v", got, err)
	}
	if err := replace(file+".gone", "new"); err == nil {
		t.Error("a file that is not there")
	}
	if err := os.WriteFile(file, []byte("no marks"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := replace(file, "new"); err == nil {
		t.Error("a file without marks")
	}
}
