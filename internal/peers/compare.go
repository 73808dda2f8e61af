package main

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
)

// outcomes are what the tests of a suite came to on one side, by name: "ok", or
// what went wrong. Two sides are equal where the words are.
type outcomes map[string]string

const (
	passed = "ok"
	absent = "did not run"
	failed = "failed: " // how outcomes begin that are no success
)

// difference is a test whose outcomes are not the same.
type difference struct {
	test, direct, through string
	reason                string // "" for one that is not in the table
}

// report is a comparison.
type report struct {
	equal  int
	failed int          // of the equal ones: failed on both sides
	known  []difference // explained in the table
	differ []difference
	stale  []string // in the table, but equal
	again  bool     // after a second run
	once   []string // differed in the first run only
}

func (r *report) good() bool { return len(r.differ) == 0 && len(r.stale) == 0 && r.equal > 0 }

// judge compares two sides. known are the reasons for known differences by the
// test's name. One that has gone is reported, so that the table stays true.
func judge(direct, through outcomes, known map[string]string) report {
	var r report
	for _, test := range names(direct, through) {
		d := difference{test, orAbsent(direct[test]), orAbsent(through[test]), known[test]}
		switch {
		case d.direct == d.through && d.reason != "":
			r.stale = append(r.stale, test)
		case d.direct == d.through:
			r.equal++
			if strings.HasPrefix(d.direct, failed) {
				r.failed++
			}
		case d.reason != "":
			r.known = append(r.known, d)
		default:
			r.differ = append(r.differ, d)
		}
	}
	for test := range known {
		if direct[test] == "" && through[test] == "" {
			r.stale = append(r.stale, test)
		}
	}
	slices.Sort(r.stale)
	return r
}

// confirmed is the second of two reports, with the differences that both have.
func (r *report) confirmed(second report) report {
	has := func(all []difference, test string) bool {
		return slices.ContainsFunc(all, func(d difference) bool { return d.test == test })
	}
	for _, d := range r.differ {
		if !has(second.differ, d.test) {
			second.once = append(second.once, d.test)
		}
	}
	second.differ = slices.DeleteFunc(second.differ, func(d difference) bool { return !has(r.differ, d.test) })
	second.again = true
	return second
}

func orAbsent(outcome string) string {
	if outcome == "" {
		return absent
	}
	return outcome
}

func names(sides ...outcomes) []string {
	var all []string
	for _, side := range sides {
		for name := range side {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// text is one line, and one more for each difference.
func (r *report) text(s suite) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d %s equal", s.name, r.equal, s.prints)
	if r.failed > 0 {
		fmt.Fprintf(&b, " (%d of them fail directly, too)", r.failed)
	}
	fmt.Fprintf(&b, ", %d differ (expected differences: %d)", len(r.differ), len(r.known))
	if r.again {
		b.WriteString(", in the second of two runs")
	}
	b.WriteString("\n")
	for _, d := range r.known {
		fmt.Fprintf(&b, "  expected: %s: directly %s, through the proxy %s: %s\n", d.test, d.direct, d.through, d.reason)
	}
	for _, d := range r.differ {
		fmt.Fprintf(&b, "  DIFFERS: %s: directly %s, through the proxy %s\n", d.test, d.direct, d.through)
	}
	for _, test := range r.stale {
		fmt.Fprintf(&b, "  NO LONGER DIFFERS: %s: take it out of the table\n", test)
	}
	if len(r.once) > 0 {
		fmt.Fprintf(&b, "  differed in the first run only: %s\n", strings.Join(r.once, ", "))
	}
	if r.equal == 0 {
		b.WriteString("  NOTHING RAN\n")
	}
	return b.String()
}

// readExpected reads the table of known differences: suite, test and reason,
// separated by tabs; lines that begin with # are comments.
func readExpected(file string) (map[string]map[string]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	known := map[string]map[string]string{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) != 3 || slices.Contains(fields, "") {
			return nil, fmt.Errorf("%s:%d: not suite, test and reason, separated by tabs", file, n)
		}
		if known[fields[0]] == nil {
			known[fields[0]] = map[string]string{}
		}
		if known[fields[0]][fields[1]] != "" {
			return nil, fmt.Errorf("%s:%d: %s is there twice", file, n, fields[1])
		}
		known[fields[0]][fields[1]] = fields[2]
	}
	return known, lines.Err()
}

// split takes apart what a suite found on both sides: names of the proxy's side
// begin with the word "through".
func split(both outcomes) pair {
	p := pair{outcomes{}, outcomes{}}
	for name, outcome := range both {
		if rest, ok := strings.CutPrefix(name, throughPrefix); ok {
			p.through[rest] = outcome
		} else {
			p.direct[name] = outcome
		}
	}
	return p
}

const throughPrefix = "through "
