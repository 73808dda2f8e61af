// Package bypass runs the attack corpus in testdata/bypass: every case goes
// through a proxy to a real server, and two oracles look at what became of it:
// the server's state and every byte the client received. Beside the attacks it
// generates honest statements whose answers have to be a direct connection's.
//
// It is test support: nothing but tests imports it.
package bypass

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Case is one attack or one honest look-alike.
type Case struct {
	ID       string // category letter and number: "A002"
	Name     string
	Source   string // file:line
	Why      string
	Profile  string // agent of policy.yaml; "ro" if the file says nothing
	Expect   Expectation
	Reasons  []Reason          // one per message of a case that is refused, else nil
	Volatile bool              // values differ from run to run, only their shape is compared
	Extended bool              // messages are scripts of the extended protocol
	Startup  map[string]string // startup parameters beside user and database
	Setup    string            // run by the superuser before, with Teardown after
	Teardown string
	Messages []string // one simple Query each, or one script each
}

// Category is the letter that the ID starts with.
func (c *Case) Category() string { return c.ID[:1] }

// Expectation is the outcome a case must have.
type Expectation struct {
	Outcome  Outcome
	Rows     int    // Limit: how many rows come through in all
	SQLSTATE string // Error
}

// Outcome is the kind of an Expectation.
type Outcome string

// Outcomes.
const (
	Deny  Outcome = "deny"  // refused by one of the case's reasons
	Allow Outcome = "allow" // answered as a direct connection answers, up to the row limit
	Limit Outcome = "limit" // answered with so many rows and a notice
	Error Outcome = "error" // ended by the server or a budget with this SQLSTATE
	Close Outcome = "close" // the connection is closed
)

// Reason is what must have become of one message of a refused case.
type Reason struct {
	Any   bool     // no matter what
	Pass  bool     // not refused
	Rules []string // refused by one of these; the first is what the case is about and must be among the decision's reasons
}

// Load reads all *.txt of a folder, in the order of their names.
func Load(dir string) ([]Case, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	var all []Case
	seen := map[string]string{}
	for _, file := range files {
		cases, err := LoadFile(file)
		if err != nil {
			return nil, err
		}
		for _, c := range cases {
			if first := seen[c.ID]; first != "" {
				return nil, fmt.Errorf("%s: case %s is at %s already", c.Source, c.ID, first)
			}
			seen[c.ID] = c.Source
		}
		all = append(all, cases...)
	}
	return all, nil
}

// LoadFile reads one file of cases. The file says how many it holds, so that a
// damaged one is not mistaken for a short one.
func LoadFile(file string) ([]Case, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	p := parser{file: filepath.Base(file), want: -1}
	scan := bufio.NewScanner(strings.NewReader(string(text)))
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		p.line++
		if err := p.take(scan.Text()); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", p.file, p.line, err)
		}
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", p.file, err)
	}
	if err := p.finish(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", p.file, p.line, err)
	}
	if p.want != len(p.cases) {
		return nil, fmt.Errorf("%s: %d cases, but the file's first lines announce %d", p.file, len(p.cases), p.want)
	}
	return p.cases, nil
}

// parser reads the format that testdata/bypass/README.md describes.
type parser struct {
	file   string
	line   int
	want   int
	cases  []Case
	open   *Case // being read
	inBody bool
	quoted bool
}

func (p *parser) take(line string) error {
	switch {
	case strings.HasPrefix(line, "=== "):
		if err := p.finish(); err != nil {
			return err
		}
		id, name, ok := strings.Cut(line[4:], " ")
		if !ok || len(id) < 2 {
			return fmt.Errorf("%q is not an id and a name", line)
		}
		p.open = &Case{ID: id, Name: name, Profile: "ro", Source: fmt.Sprintf("%s:%d", p.file, p.line)}
		p.inBody, p.quoted = false, false
		return nil
	case p.open == nil:
		if n, ok := strings.CutPrefix(line, "cases: "); ok {
			var err error
			p.want, err = strconv.Atoi(n)
			return err
		}
		if line == "" || line[0] == '#' {
			return nil
		}
		return fmt.Errorf("%q stands before the first case", line)
	case line == "---":
		p.inBody = true
		p.open.Messages = append(p.open.Messages, "")
		return nil
	case p.inBody:
		last := &p.open.Messages[len(p.open.Messages)-1]
		*last += line + "\n"
		return nil
	}
	key, value, ok := strings.Cut(line, ": ")
	if !ok {
		return fmt.Errorf("%q is no key with a value", line)
	}
	return p.header(key, value)
}

func (p *parser) header(key, value string) error {
	c := p.open
	switch key {
	case "why":
		c.Why = value
	case "profile":
		c.Profile = value
	case "expect":
		var err error
		c.Expect, err = expectation(value)
		return err
	case "reason":
		for text := range strings.SplitSeq(value, "; ") {
			c.Reasons = append(c.Reasons, reason(text))
		}
	case "startup":
		name, setting, ok := strings.Cut(value, "=")
		if !ok {
			return fmt.Errorf("startup parameter %q has no value", value)
		}
		if c.Startup == nil {
			c.Startup = map[string]string{}
		}
		c.Startup[name] = setting
	case "setup":
		c.Setup = value
	case "teardown":
		c.Teardown = value
	case "volatile":
		c.Volatile = value == "yes"
	case "quoted":
		p.quoted = value == "yes"
	case "protocol":
		c.Extended = value == "extended"
	default:
		return fmt.Errorf("key %q is unknown", key)
	}
	return nil
}

func expectation(value string) (Expectation, error) {
	outcome, rest, _ := strings.Cut(value, " ")
	e := Expectation{Outcome: Outcome(outcome)}
	switch e.Outcome {
	case Deny, Allow, Close:
		if rest != "" {
			return e, fmt.Errorf("expectation %q says more than it can", value)
		}
	case Limit:
		n, err := strconv.Atoi(rest)
		if err != nil {
			return e, fmt.Errorf("expectation %q: %w", value, err)
		}
		e.Rows = n
	case Error:
		if len(rest) != 5 {
			return e, fmt.Errorf("expectation %q has no SQLSTATE", value)
		}
		e.SQLSTATE = rest
	default:
		return e, fmt.Errorf("expectation %q is unknown", value)
	}
	return e, nil
}

func reason(text string) Reason {
	switch text {
	case "-":
		return Reason{Any: true}
	case "pass":
		return Reason{Pass: true}
	}
	return Reason{Rules: strings.Split(text, "|")}
}

// finish checks the case that has been read and keeps it.
func (p *parser) finish() error {
	c := p.open
	if c == nil {
		return nil
	}
	if c.Why == "" || c.Expect.Outcome == "" || len(c.Messages) == 0 {
		return fmt.Errorf("case %s lacks why, expect or a message", c.ID)
	}
	if err := p.messages(); err != nil {
		return fmt.Errorf("case %s: %w", c.ID, err)
	}
	refused := slices.ContainsFunc(c.Reasons, func(r Reason) bool { return len(r.Rules) > 0 })
	switch {
	case c.Expect.Outcome == Deny && (!refused || len(c.Reasons) != len(c.Messages)):
		return fmt.Errorf("case %s has to give one reason for each of its %d messages", c.ID, len(c.Messages))
	case c.Expect.Outcome != Deny && c.Reasons != nil:
		return fmt.Errorf("case %s gives reasons for what is not refused", c.ID)
	case (c.Setup == "") != (c.Teardown == ""):
		return fmt.Errorf("case %s: setup and teardown go together", c.ID)
	}
	p.cases = append(p.cases, *c)
	p.open = nil
	return nil
}

// messages takes the line ends off that belong to the format.
func (p *parser) messages() error {
	for i, m := range p.open.Messages {
		if i == len(p.open.Messages)-1 {
			m = strings.TrimSuffix(m, "\n") // the empty line before the next case
		}
		m = strings.TrimSuffix(m, "\n")
		if p.quoted {
			var err error
			if m, err = strconv.Unquote(m); err != nil {
				return fmt.Errorf("message %d is not a quoted string: %w", i+1, err)
			}
		}
		p.open.Messages[i] = m
	}
	return nil
}
