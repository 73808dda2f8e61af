package wire_test

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/pgairlock/pgairlock/proxy/wire"
)

// middle is what stands between a client and a server: both splitters and the
// flow, used as a driver uses them.
type middle struct {
	flow       *wire.Flow
	front      side
	back       side
	statements map[string]bool // by name, whether they may read COPY data
	portals    map[string]bool
}

// side is one direction: its splitter and the bytes that are not a piece yet.
type side struct {
	splitter *wire.Splitter
	buf      []byte
	open     bool   // in the middle of a message
	out      []byte // all pieces together
}

// outcome is what became of a message.
type outcome struct {
	server bool
	kind   byte
	number uint64 // of the client's message, or of the one that is answered; 0: none
	ignore bool
	done   bool
	lost   []uint64
}

func newMiddle() *middle {
	return &middle{
		flow:       wire.NewFlow('I'),
		front:      side{splitter: wire.NewFrontend(wire.DefaultLimits())},
		back:       side{splitter: wire.NewBackend(wire.DefaultLimits())},
		statements: map[string]bool{}, portals: map[string]bool{},
	}
}

// feed takes bytes of one direction and returns what became of the messages
// that began in them.
func (m *middle) feed(server bool, data []byte) ([]outcome, error) {
	s := &m.front
	if server {
		s = &m.back
	}
	s.buf = append(s.buf, data...)
	var outcomes []outcome
	for {
		p, need, err := s.splitter.Next(s.buf)
		if err != nil {
			return outcomes, err
		}
		if p.Raw == nil {
			if need <= len(s.buf) {
				return outcomes, fmt.Errorf("%d bytes are there, and %d are asked for", len(s.buf), need)
			}
			return outcomes, nil
		}
		if p.First == s.open {
			return outcomes, fmt.Errorf("piece of %q: first is %t", p.Type, p.First)
		}
		s.open = !p.Last
		s.out = append(s.out, p.Raw...)
		if p.First {
			o, err := m.take(server, &p)
			if err != nil {
				return outcomes, err
			}
			outcomes = append(outcomes, o)
		}
		s.buf = s.buf[len(p.Raw):]
	}
}

func (m *middle) take(server bool, p *wire.Piece) (outcome, error) {
	o := outcome{server: server, kind: p.Type}
	if server {
		r, err := m.flow.Reply(p.Type, p.Body())
		if err != nil {
			return o, err
		}
		if r.Entry != nil {
			o.number = r.Entry.Number
		}
		o.done = r.Done
		for _, e := range r.Lost {
			o.lost = append(o.lost, e.Number)
		}
		return o, nil
	}
	a, err := m.flow.Admit(p.Type)
	if err != nil {
		return o, err
	}
	if a == wire.Ignore {
		o.ignore = true
		return o, nil
	}
	e, err := m.entry(p)
	if err != nil {
		return o, err
	}
	o.number = m.flow.Sent(e)
	return o, nil
}

// entry is what a driver tells the flow of a message.
func (m *middle) entry(p *wire.Piece) (wire.Entry, error) {
	e := wire.Entry{Kind: p.Type}
	switch p.Type {
	case wire.Query:
		text, err := wire.QueryText(p.Body())
		e.CopyIn = readsCopy(text)
		return e, err
	case wire.Parse:
		parse, err := wire.DecodeParse(p.Body())
		// it may fail, and leave a former statement as it was
		m.statements[string(parse.Name)] = m.statements[string(parse.Name)] || readsCopy(parse.Text)
		return e, err
	case wire.Bind:
		portal, statement, err := wire.DecodeBind(p.Body())
		m.portals[string(portal)] = m.portals[string(portal)] || m.statements[string(statement)]
		return e, err
	case wire.Describe, wire.Close:
		what, _, err := wire.DecodeTarget(p.Body())
		e.What = what
		return e, err
	case wire.Execute:
		portal, _, err := wire.DecodeExecute(p.Body())
		e.CopyIn = m.portals[string(portal)]
		return e, err
	}
	return e, nil
}

func readsCopy(text []byte) bool {
	return bytes.Contains(bytes.ToLower(text), []byte("from stdin"))
}

// equal says whether two runs came to the same.
func equal(a, b []outcome) bool {
	return slices.EqualFunc(a, b, func(x, y outcome) bool {
		return x.server == y.server && x.kind == y.kind && x.number == y.number && x.ignore == y.ignore && x.done == y.done && slices.Equal(x.lost, y.lost)
	})
}
