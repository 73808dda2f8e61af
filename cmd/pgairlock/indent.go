package main

import (
	"bytes"
	"io"
	"strings"
)

// indented writes lines with a margin.
func indented(w io.Writer, columns int) io.Writer {
	return &margin{out: w, blanks: []byte(strings.Repeat(" ", columns)), fresh: true}
}

type margin struct {
	out    io.Writer
	blanks []byte
	fresh  bool // the next byte begins a line
}

func (m *margin) Write(p []byte) (int, error) {
	var b bytes.Buffer
	for _, line := range bytes.SplitAfter(p, []byte{'\n'}) {
		if len(line) == 0 {
			continue
		}
		if m.fresh {
			b.Write(m.blanks)
		}
		b.Write(line)
		m.fresh = line[len(line)-1] == '\n'
	}
	_, err := m.out.Write(b.Bytes())
	return len(p), err
}
