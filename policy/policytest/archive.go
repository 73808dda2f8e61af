package policytest

import (
	"fmt"
	"strings"
)

// archive is a text file that holds several: the txtar format. A line
// "-- NAME --" starts a file; what stands before the first is prose.
type archive struct {
	prose string
	files []section
}

type section struct {
	name, body string
	line       int // of the file that the body's first line is in
}

// readArchive reads the format. A name that is there twice is an error.
func readArchive(text string) (*archive, error) {
	a := &archive{}
	var prose strings.Builder
	body := &prose
	bodies := []*strings.Builder{}
	seen := map[string]bool{}
	for i, line := range strings.SplitAfter(text, "\n") {
		name, ok := marker(line)
		if !ok {
			body.WriteString(line)
			continue
		}
		if seen[name] {
			return nil, fmt.Errorf("line %d: %s is there twice", i+1, name)
		}
		seen[name] = true
		body = &strings.Builder{}
		bodies = append(bodies, body)
		a.files = append(a.files, section{name: name, line: i + 2})
	}
	a.prose = prose.String()
	for i, b := range bodies {
		a.files[i].body = b.String()
	}
	return a, nil
}

// marker is the name in a "-- NAME --" line.
func marker(line string) (string, bool) {
	line = strings.TrimRight(line, " \t\r\n")
	name, ok := strings.CutPrefix(line, "-- ")
	if !ok {
		return "", false
	}
	if name, ok = strings.CutSuffix(name, " --"); !ok {
		return "", false
	}
	name = strings.TrimSpace(name)
	return name, name != ""
}

// text writes the archive back.
func (a *archive) text() string {
	var b strings.Builder
	b.WriteString(a.prose)
	for _, f := range a.files {
		fmt.Fprintf(&b, "-- %s --\n%s", f.name, f.body)
		if f.body != "" && !strings.HasSuffix(f.body, "\n") {
			b.WriteString("\n")
		}
	}
	return b.String()
}
