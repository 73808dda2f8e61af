package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// painter writes lines for people, in colours where they show.
type painter struct {
	w       io.Writer
	colours bool
}

const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

// paint is text in a colour (an ANSI code).
func (p *painter) paint(code, text string) string {
	if !p.colours || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// line writes one line. An error of the writer shows when the program ends.
func (p *painter) line(format string, args ...any) { fmt.Fprintf(p.w, format+"\n", args...) }

// block writes lines below each other, indented.
func (p *painter) block(indent int, code, text string) {
	for _, line := range strings.Split(strings.Trim(text, "\n"), "\n") {
		p.line("%s%s", strings.Repeat(" ", indent), p.paint(code, strings.TrimRight(line, " ")))
	}
}

// took is a duration as it is worth reading.
func took(d time.Duration) string {
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= 10*time.Millisecond:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
}
