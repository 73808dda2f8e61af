package policytest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// errNoStory is returned where a folder holds nothing to run.
var errNoStory = errors.New("no story (*.txtar) is there")

// Run runs every story in dir and its folders and tells on out what came out
// differently, story by story. Each .sql counts as one. update writes the
// .want of those that differ, and nothing else, and counts them as passed. The
// error is of what can't be read or written, or of a story that is wrong in
// itself: all of them, joined; the other stories are run.
func Run(dir string, update bool, out io.Writer) (passed, failed int, err error) {
	names, err := stories(dir)
	if err != nil {
		return 0, 0, err
	}
	if len(names) == 0 {
		return 0, 0, fmt.Errorf("%s: %w", dir, errNoStory)
	}
	var errs []error
	for _, name := range names {
		s, err := readStory(filepath.Join(dir, name))
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
			continue
		}
		p, f := s.run(name, update, out)
		passed, failed = passed+p, failed+f
		if update && f > 0 {
			passed, failed = passed+f, failed-f
			if err := s.rewrite(filepath.Join(dir, name)); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return passed, failed, errors.Join(errs...)
}

// stories lists the story files below dir.
func stories(dir string) ([]string, error) {
	var names []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".txtar" {
			return err
		}
		name, err := filepath.Rel(dir, path)
		names = append(names, name)
		return err
	})
	slices.Sort(names)
	return names, err
}

// run judges every scenario and leaves what it got in its want.
func (s *story) run(name string, update bool, out io.Writer) (passed, failed int) {
	for i := range s.cases {
		c := &s.cases[i]
		got := s.judge(*c)
		if c.given && trimmed(got) == trimmed(c.want) {
			passed++
			continue
		}
		failed++
		if update {
			fmt.Fprintf(out, "%s: %s: written\n", name, c.name)
		} else {
			fmt.Fprintf(out, "%s: %s\n%s%s", name, c.name, indent("want", c.want), indent("got ", got))
		}
		c.want = got
	}
	return passed, failed
}

// trimmed leaves out white space at the ends of lines and of the text.
func trimmed(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t\r")
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// indent writes a text below a label.
func indent(label, text string) string {
	var b strings.Builder
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		fmt.Fprintf(&b, "  %s  %s\n", label, line)
		label = "    "
	}
	return b.String()
}

// rewrite writes the story with the wants that its scenarios now have, each
// after its .sql.
func (s *story) rewrite(path string) error {
	wants := map[string]string{}
	for _, c := range s.cases {
		wants[c.name+".want"] = c.want
	}
	var files []section
	for _, f := range s.archive.files {
		if strings.HasSuffix(f.name, ".want") {
			continue
		}
		files = append(files, f)
		if base, ok := strings.CutSuffix(f.name, ".sql"); ok {
			files = append(files, section{name: base + ".want", body: wants[base+".want"]})
		}
	}
	s.archive.files = files
	return os.WriteFile(path, []byte(s.archive.text()), 0o644)
}
