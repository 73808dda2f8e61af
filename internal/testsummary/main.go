// Command testsummary reads the output of go test -json and prints what a
// person wants to see of it: a line per package, the output of what failed, what
// tests print themselves (scores, warnings; not their logs), and a closing line
// with the counts. It fails if a test failed or was skipped, or
// if none ran: a suite that tests nothing must not look green.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// event is one line of test2json, or of the build that precedes a test.
type event struct {
	Action     string
	Package    string
	ImportPath string // of build events
	Test       string
	Elapsed    float64 // seconds
	Output     string
}

func main() {
	if err := summarise(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "testsummary:", err)
		os.Exit(1)
	}
}

// summary counts, and keeps the output of tests that are still running.
type summary struct {
	out     io.Writer
	outputs map[[2]string]*strings.Builder // package, test ("" for the package's own)
	passed, failed,
	skipped int
	broken []string // packages that failed
}

func summarise(in io.Reader, out io.Writer) error {
	s := &summary{out: out, outputs: map[[2]string]*strings.Builder{}}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			s.line(line)
		}
		if errors.Is(err, io.EOF) {
			return s.close()
		}
		if err != nil {
			return err
		}
	}
}

// line takes one line; what is not JSON is the go command speaking.
func (s *summary) line(text string) {
	var e event
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		fmt.Fprint(s.out, text)
		return
	}
	key := [2]string{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(s.out, e.Output)
	case "output":
		if s.outputs[key] == nil {
			s.outputs[key] = &strings.Builder{}
		}
		s.outputs[key].WriteString(e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			s.endPackage(e)
		} else {
			s.endTest(e)
		}
		delete(s.outputs, key)
	}
}

func (s *summary) output(e event) string {
	if b := s.outputs[[2]string{e.Package, e.Test}]; b != nil {
		return b.String()
	}
	return ""
}

func (s *summary) endTest(e event) {
	switch e.Action {
	case "pass":
		s.passed++
		fmt.Fprint(s.out, printed(s.output(e)))
	case "fail":
		s.failed++
		fmt.Fprint(s.out, s.output(e))
	case "skip":
		s.skipped++
		fmt.Fprintf(s.out, "SKIPPED %s %s\n%s", e.Package, e.Test, s.output(e))
	}
}

// printed keeps what a test wrote to standard output: testing indents its logs,
// and its own marks begin with === or ---.
func printed(output string) string {
	var kept strings.Builder
	for line := range strings.Lines(output) {
		if !strings.HasPrefix(line, "===") && !strings.HasPrefix(line, "---") && !strings.HasPrefix(line, " ") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// endPackage prints the package's line; a package without tests gets none.
func (s *summary) endPackage(e event) {
	switch e.Action {
	case "pass":
		fmt.Fprintf(s.out, "ok    %6.1f s  %s\n", e.Elapsed, e.Package)
	case "fail":
		s.broken = append(s.broken, e.Package)
		fmt.Fprintf(s.out, "%sFAIL  %6.1f s  %s\n", s.output(e), e.Elapsed, e.Package)
	}
}

func (s *summary) close() error {
	for key, b := range s.outputs { // tests that never ended: the package died
		if key[1] != "" {
			s.failed++
			fmt.Fprintf(s.out, "UNFINISHED %s %s\n%s", key[0], key[1], b)
		}
	}
	fmt.Fprintf(s.out, "\n%d passed, %d failed, %d skipped\n", s.passed, s.failed, s.skipped)
	switch {
	case s.failed > 0 || len(s.broken) > 0:
		return fmt.Errorf("failed: %s", strings.Join(s.broken, " "))
	case s.skipped > 0:
		return errors.New("tests were skipped")
	case s.passed == 0:
		return errors.New("no test ran")
	}
	return nil
}
