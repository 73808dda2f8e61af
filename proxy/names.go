package proxy

import (
	"time"

	"github.com/pgairlock/pgairlock/policy"
)

// prepared is a prepared statement: by Parse, or by SQL PREPARE. Both share one
// namespace (protocol chapter, "Extended Query"), and DEALLOCATE and Close each
// drop what the other made.
type prepared struct {
	judged *judged // from the newest view
	part   int     // which statement of the text it is
	asked  int64   // rows that the text the server has asks for; 0: it was sent without a LIMIT of the proxy's
	// described is the view under which the columns of the answer were last held
	// against the policy, or are about to be: a Describe for it is on its way.
	described *view
}

func newPrepared(j *judged, part int) *prepared {
	p := &prepared{judged: j, part: part}
	if part < len(j.Parts) {
		p.asked = j.Parts[part].Asked
	}
	return p
}

// meter is a new one for a run of the statement.
func (p *prepared) meter() meter {
	m := newMeter(p.judged, p.part)
	m.asked = p.asked
	return m
}

// facts are those of the statement that runs when it is executed.
func (p *prepared) facts() *policy.Facts { return &p.judged.Parts[p.part].Facts }

// portal is a bound statement, or a cursor that DECLARE made: those share a
// namespace too. A cursor has no place in the record: its FETCHes have.
type portal struct {
	statement *prepared
	meter     meter
	place     Place // in the record; nil once written
	bound     time.Time
	elapsed   time.Duration // spent in Execute so far
	number    uint64        // of the message that made it
	hold      bool          // WITH HOLD: survives its transaction
	executed  bool          // an Execute of it was sent
}

// meter counts what the client gets of one result.
type meter struct {
	rows, bytes int64
	maxRows     int64 // 0: no limit
	maxBytes    int64 // 0: no limit
	asked       int64 // rows that the LIMIT sent along asks for; 0: no LIMIT was sent along
	withheld    int64
	sent        int64  // rows of the current Execute or statement
	told        bool   // the client knows that rows were withheld
	exceeded    string // which limit the server had to be stopped for
}

func newMeter(j *judged, part int) meter {
	if part >= len(j.Parts) {
		return meter{}
	}
	p := &j.Parts[part]
	return meter{maxRows: p.Rows, maxBytes: p.Bytes, asked: p.Asked}
}

// tighten takes over the limits of other where they are stricter.
func (m *meter) tighten(other meter) {
	m.maxRows = stricter(m.maxRows, other.maxRows)
	m.maxBytes = stricter(m.maxBytes, other.maxBytes)
}

func stricter(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// row counts a row of n bytes and says whether the client gets it.
func (m *meter) row(n int64) bool {
	switch {
	case m.exceeded != "":
		return false
	case m.maxRows > 0 && m.rows >= m.maxRows:
		m.withheld++
		if m.asked == 0 {
			m.exceeded = "rows"
		}
		return false
	case m.maxBytes > 0 && m.bytes+n > m.maxBytes:
		m.withheld++
		m.exceeded = "bytes"
		return false
	}
	m.rows++
	m.sent++
	m.bytes += n
	return true
}

// names maps names to what they stand for, as the server will see it when it
// comes to a message sent now. What was sent but not yet confirmed lies over
// what was confirmed; an error takes it away again.
type names[T any] struct {
	confirmed map[string]*T
	sent      map[string]*T
}

func newNames[T any]() names[T] {
	return names[T]{confirmed: map[string]*T{}, sent: map[string]*T{}}
}

func (n *names[T]) find(name string) *T {
	if v := n.sent[name]; v != nil {
		return v
	}
	return n.confirmed[name]
}

// send notes that a message which makes name has been sent.
func (n *names[T]) send(name string, v *T) { n.sent[name] = v }

// confirm notes that the server has made it.
func (n *names[T]) confirm(name string, v *T) {
	n.confirmed[name] = v
	n.lose(name, v)
}

// lose notes that the server did not make it, or no longer has to.
func (n *names[T]) lose(name string, v *T) {
	if v != nil && n.sent[name] == v {
		delete(n.sent, name)
	}
}

func (n *names[T]) drop(name string) { delete(n.confirmed, name) }
