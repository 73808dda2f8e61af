package audit

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

// maxShown is how many characters of a statement Render shows.
const maxShown = 160

// The colours of verdicts on a terminal (ANSI).
const (
	colourReset  = "\x1b[0m"
	colourDim    = "\x1b[2m"
	colourRed    = "\x1b[31m"
	colourGreen  = "\x1b[32m"
	colourYellow = "\x1b[33m"
	colourCyan   = "\x1b[36m"
)

// Render is a record as a person reads it: one line without its line feed.
// Nothing from the record can do anything to a terminal; colour is for one.
func Render(r *Record, colour bool) string {
	p := &painter{colour: colour}
	p.dim(r.Time.UTC().Format("2006-01-02 15:04:05.000Z"))
	if r.Type == kindStatement || r.Type == "intent" {
		p.verdict(r)
		p.who(r)
		p.word(oneLine(r.Statement))
		p.effect(r)
		p.rules(r.Rules)
		return p.String()
	}
	p.word(r.Type)
	p.who(r)
	p.other(r)
	return p.String()
}

// painter builds the line; words are separated by two blanks.
type painter struct {
	strings.Builder
	colour bool
}

func (p *painter) word(text string) { p.painted("", text) }

func (p *painter) dim(text string) { p.painted(colourDim, text) }

func (p *painter) painted(colour, text string) {
	if text == "" {
		return
	}
	if p.Len() > 0 {
		p.WriteString("  ")
	}
	if colour == "" || !p.colour {
		p.WriteString(text)
		return
	}
	p.WriteString(colour + text + colourReset)
}

func (p *painter) verdict(r *Record) {
	colour := map[string]string{
		"allow": colourGreen, "rewrite": colourCyan, "dry_run": colourYellow, "hold": colourYellow, "deny": colourRed,
	}[r.Verdict]
	text := clean(r.Verdict)
	if r.Type != kindStatement {
		text = r.Type + " " + text
	}
	if r.WouldHave != "" {
		text += " (would have: " + clean(r.WouldHave) + ")"
	}
	p.painted(colour, fmt.Sprintf("%-7s", text))
	p.word(clean(r.Risk))
}

// who is the agent, for whom, and the start of the session's id.
func (p *painter) who(r *Record) {
	name := clean(r.Agent)
	switch {
	case r.Proved != "":
		name += " for " + clean(r.Proved)
	case r.Claimed != "":
		name += " for " + clean(r.Claimed) + "?"
	}
	p.word(name)
	session := clean(r.Session)
	// Of a time-ordered id only the end tells sessions apart.
	p.dim(session[max(0, len(session)-8):])
}

func (p *painter) effect(r *Record) {
	if r.SQLSTATE != "" {
		p.painted(colourRed, clean(r.SQLSTATE))
	}
	if r.Verdict == "deny" {
		return
	}
	rows := fmt.Sprintf("%d rows", r.Rows)
	if r.Rows == 1 {
		rows = "1 row"
	}
	if r.Limited {
		rows += " (limited)"
	}
	p.word(rows)
	if r.DurationUS > 0 {
		p.dim((time.Duration(r.DurationUS) * time.Microsecond).String())
	}
}

func (p *painter) rules(rules []RecordRule) {
	var names []string
	for _, rule := range rules {
		name := clean(rule.ID)
		if rule.Source != "" {
			name += " (" + clean(rule.Source) + ")"
		}
		if !rule.Enforced {
			name += " not enforced"
		}
		names = append(names, name)
	}
	if len(names) > 0 {
		p.dim("[" + strings.Join(names, ", ") + "]")
	}
}

// other shows what the remaining types have, each with its name.
func (p *painter) other(r *Record) {
	for _, f := range []struct{ name, value string }{
		{"client", r.Client}, {"application", r.Application}, {"database", r.Database}, {"role", r.Role},
		{"operation", r.Operation}, {"result", r.Result}, {"sqlstate", r.SQLSTATE}, {"reason", r.Reason},
		{"where", r.Where}, {"file", r.File}, {"message", r.Message}, {"error", r.Error}, {"note", r.Note},
	} {
		if f.value != "" {
			p.word(f.name + "=" + oneLine(f.value))
		}
	}
}

// clean makes characters visible that a terminal would act on or not show:
// control characters, direction marks, zero-width ones.
func clean(s string) string {
	if strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var b strings.Builder
	for _, c := range s {
		if hidden(c) {
			fmt.Fprintf(&b, "<%U>", c)
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}

func hidden(c rune) bool { return c != ' ' && !unicode.IsPrint(c) }

// oneLine is text with its white space collapsed, cleaned, and cut to what fits.
func oneLine(s string) string {
	s = clean(strings.Join(strings.Fields(s), " "))
	if runes := []rune(s); len(runes) > maxShown {
		return string(runes[:maxShown]) + " …"
	}
	return s
}
