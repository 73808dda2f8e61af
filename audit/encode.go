package audit

import (
	"math"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// encoder appends fields to a line under construction. It belongs to the
// writing goroutine; its buffer is reused.
type encoder struct {
	buf      []byte
	redact   func(string) string
	literals func(string) string // nil: statements are kept as they are
	first    bool                // the next field is the first of its object or array
}

// key begins a field; without a name, an element of an array.
func (e *encoder) key(name string) {
	if !e.first {
		e.buf = append(e.buf, ',')
	}
	e.first = false
	if name != "" {
		e.buf = append(append(append(e.buf, '"'), name...), '"', ':')
	}
}

// text is a string from outside: it is redacted. An empty one is left out.
func (e *encoder) text(name, value string) {
	if value == "" {
		return
	}
	e.key(name)
	e.buf = appendString(e.buf, e.redact(value))
}

// sql is a statement's text. Redaction comes after the literals were replaced,
// so that it has the last word.
func (e *encoder) sql(name, value string) {
	if value != "" && e.literals != nil {
		value = e.literals(value)
	}
	e.text(name, value)
}

// own is a string that this package made (a digest, a name from a fixed list).
// Redacting it could break the chain.
func (e *encoder) own(name, value string) {
	e.key(name)
	e.buf = appendString(e.buf, value)
}

func (e *encoder) texts(name string, values []string) {
	if len(values) == 0 {
		return
	}
	e.open(name, '[')
	for _, v := range values {
		e.key("")
		e.buf = appendString(e.buf, e.redact(v))
	}
	e.shut(']')
}

func (e *encoder) number(name string, value int64) {
	e.key(name)
	e.buf = strconv.AppendInt(e.buf, value, 10)
}

// float is null for what JSON has no number for.
func (e *encoder) float(name string, value float64) {
	e.key(name)
	if math.IsNaN(value) || math.IsInf(value, 0) {
		e.buf = append(e.buf, "null"...)
		return
	}
	e.buf = strconv.AppendFloat(e.buf, value, 'g', -1, 64)
}

func (e *encoder) flag(name string, value bool) {
	e.key(name)
	e.buf = strconv.AppendBool(e.buf, value)
}

func (e *encoder) open(name string, bracket byte) {
	e.key(name)
	e.buf = append(e.buf, bracket)
	e.first = true
}

func (e *encoder) shut(bracket byte) {
	e.buf = append(e.buf, bracket)
	e.first = false
}

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string. Bytes that are not UTF-8 become
// U+FFFD; control and format characters (DEL, the C1 range, direction marks,
// zero-width ones) are escaped, so that a line shown raw does nothing to a
// terminal and looks like what it is.
func appendString(buf []byte, s string) []byte {
	buf = append(buf, '"')
	done := 0
	for i := 0; i < len(s); {
		c := s[i]
		if ' ' <= c && c < 0x7f && c != '"' && c != '\\' {
			i++
			continue
		}
		r, width := utf8.DecodeRuneInString(s[i:])
		if shownAsIs(r) && (r != utf8.RuneError || width > 1) {
			i += width
			continue
		}
		buf = append(buf, s[done:i]...)
		buf = appendEscape(buf, r)
		i += width
		done = i
	}
	return append(append(buf, s[done:]...), '"')
}

// shownAsIs says whether a character outside of ASCII needs no escape.
func shownAsIs(r rune) bool {
	return r > 0xffff || r >= 0xa0 && r != '\u2028' && r != '\u2029' && !unicode.Is(unicode.Cf, r)
}

// appendEscape writes one character of the basic plane as JSON escapes it.
func appendEscape(buf []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(buf, '\\', byte(r))
	case '\n':
		return append(buf, '\\', 'n')
	case '\t':
		return append(buf, '\\', 't')
	case '\r':
		return append(buf, '\\', 'r')
	}
	return append(buf, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}
