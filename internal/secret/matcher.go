package secret

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
)

// matcher finds any of many patterns in one pass. Every pattern has at least
// four bytes; the first four choose a bit in a filter that is small enough for
// the processor's first cache, and only where that bit is set does a table tell
// which patterns to compare. It is immutable.
type matcher struct {
	filter []uint64 // one bit per hash of four bytes
	shift  uint     // hash to bit number
	table  map[uint32][]pattern
}

// pattern is one way to write one secret.
type pattern struct {
	text   string
	marker string
}

// span is what one replacement covers: text[start:end], for which marker stands.
type span struct {
	start, end int
	marker     string
}

// hashFactor spreads four bytes over 32 bits (Knuth's multiplicative hash).
const hashFactor = 2654435761

// newMatcher compiles the forms of all values, given by secret name.
func newMatcher(values map[string][]string) *matcher {
	seen := make(map[string]string) // form → name; of two owners the lesser name
	for name, list := range values {
		for _, value := range list {
			for _, form := range forms(value) {
				if owner, ok := seen[form]; !ok || name < owner {
					seen[form] = name
				}
			}
		}
	}
	// 64 bits per pattern keep false alarms under 2 %.
	size := uint(max(10, bits.Len(uint(len(seen)*64))))
	m := &matcher{
		filter: make([]uint64, 1<<size/64),
		shift:  32 - size,
		table:  make(map[uint32][]pattern),
	}
	for form, name := range seen {
		m.add(pattern{text: form, marker: Marker(name)})
	}
	for _, list := range m.table {
		slices.SortFunc(list, func(a, b pattern) int {
			return cmp.Or(len(b.text)-len(a.text), cmp.Compare(a.text, b.text))
		})
	}
	return m
}

func (m *matcher) add(p pattern) {
	key := head(p.text, 0)
	bit := key * hashFactor >> m.shift
	m.filter[bit/64] |= 1 << (bit % 64)
	m.table[key] = append(m.table[key], p)
}

// head is the four bytes from i on, which the caller has made sure of.
func head(s string, i int) uint32 {
	return uint32(s[i]) | uint32(s[i+1])<<8 | uint32(s[i+2])<<16 | uint32(s[i+3])<<24
}

// find is the first span that starts at from or later, the longest of those
// that start at the same place.
func (m *matcher) find(s string, from int) (span, bool) {
	if len(m.table) == 0 || from+MinLength > len(s) {
		return span{}, false
	}
	key := head(s, from) << 8 // the loop brings the fourth byte in
	for last := from + MinLength - 1; last < len(s); last++ {
		key = key>>8 | uint32(s[last])<<24
		bit := key * hashFactor >> m.shift
		if m.filter[bit/64]&(1<<(bit%64)) == 0 {
			continue
		}
		start := last - MinLength + 1
		for _, p := range m.table[key] {
			if strings.HasPrefix(s[start:], p.text) {
				return span{start: start, end: start + len(p.text), marker: p.marker}, true
			}
		}
	}
	return span{}, false
}

// replace returns s with hit, its first span, and all later ones replaced.
// Spans that overlap become one region, so that no rest of a value stays behind
// where two of them share characters; each of their markers is written.
func (m *matcher) replace(s string, hit span) string {
	out := make([]byte, 0, len(s)+64)
	done := 0
	for ok := true; ok; {
		out = append(append(out, s[done:hit.start]...), hit.marker...)
		done = hit.end
		last := hit.marker
		var next span
		for next, ok = m.find(s, hit.start+1); ok && next.start < done; next, ok = m.find(s, next.start+1) {
			if next.end > done {
				done = next.end
				if next.marker != last {
					out = append(out, next.marker...)
					last = next.marker
				}
			}
		}
		hit = next
	}
	return string(append(out, s[done:]...))
}
