package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// table is all that was measured.
type table struct {
	ways []*way
	rows []row
}

type row struct {
	scenario *scenario
	samples  [][]sample // by way
}

// median of the samples' values or processor times; false if there are none.
func (r *row) median(way int, of func(sample) float64) (float64, bool) {
	var values []float64
	for _, s := range r.samples[way] {
		values = append(values, of(s))
	}
	if len(values) == 0 {
		return 0, false
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2, true
}

// spread is the range of the samples' values, as parts of their median.
func (r *row) spread(way int) float64 {
	m, ok := r.median(way, value)
	if !ok || m == 0 {
		return 0
	}
	low, high := m, m
	for _, s := range r.samples[way] {
		low, high = min(low, s.value), max(high, s.value)
	}
	return (high - low) / m
}

func value(s sample) float64     { return s.value }
func microtime(s sample) float64 { return float64(s.cpu.Nanoseconds()) / 1000 }

// markdown is the table for people.
func (t *table) markdown(s settings) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d processors, %s, Go %s. Medians of %d rounds of %s each.\n\n", kernel(), runtime.NumCPU(), versions(), strings.TrimPrefix(runtime.Version(), "go"),
		s.rounds, s.duration)
	b.WriteString("| what | way | result | ÷ direct | ÷ pgbouncer | processor time | ÷ pgbouncer | spread |\n|---|---|---|---|---|---|---|---|\n")
	direct, bouncer := t.find("direct"), t.find("pgbouncer")
	for i := range t.rows {
		r := &t.rows[i]
		for n, w := range t.ways {
			got, ok := r.median(n, value)
			if !ok || w.process == nil && r.scenario.unit == "KiB" {
				continue
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %.0f %% |\n", r.scenario.name, w.name, number(got, r.scenario.unit),
				ratio(r, n, direct, value), ratio(r, n, bouncer, value), processor(r, n, w), ratio(r, n, bouncer, microtime), 100*r.spread(n))
		}
	}
	return b.String()
}

func (t *table) find(name string) int {
	return slices.IndexFunc(t.ways, func(w *way) bool { return w.name == name })
}

func ratio(r *row, way, to int, of func(sample) float64) string {
	a, ok := r.median(way, of)
	b, has := r.median(to, of)
	if !ok || !has || a == 0 || b == 0 || way == to {
		return ""
	}
	return fmt.Sprintf("%.2f", a/b)
}

func processor(r *row, way int, w *way) string {
	if w.process == nil || r.scenario.cpu == "" {
		return ""
	}
	us, _ := r.median(way, microtime)
	if us >= 10_000 {
		return fmt.Sprintf("%.0f ms", us/1000)
	}
	return fmt.Sprintf("%.1f µs", us)
}

func number(v float64, unit string) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f %s", v, unit)
	}
	return fmt.Sprintf("%.2f %s", v, unit)
}

func kernel() string {
	text, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return runtime.GOOS
	}
	return "Linux " + strings.TrimSpace(string(text)) + ", " + time.Now().UTC().Format(time.DateOnly)
}

// versions are those of the programs that were measured, as they say themselves.
func versions() string {
	var list []string
	for _, cmd := range [][]string{{"pgbench", "--version"}, {"pgbouncer", "--version"}, {"haproxy", "-v"}} {
		path := cmd[0]
		if found, err := exec.LookPath(path); err == nil {
			path = found
		} else {
			path = "/usr/sbin/" + path
		}
		out, err := exec.Command(path, cmd[1]).Output()
		if err != nil {
			continue
		}
		line, _, _ := strings.Cut(string(out), "\n")
		line, _, _ = strings.Cut(line, " - ")
		list = append(list, strings.TrimSpace(line))
	}
	return strings.Join(list, "; ")
}
