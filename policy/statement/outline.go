package statement

import (
	"unicode/utf8"

	"github.com/pgairlock/pgairlock/policy"
)

// Texts that differ in their constants only are judged alike, as long as no
// constant has a say in the verdict. That spares the parser for the statements
// of an application that writes values into its texts.
//
// It is done for plain texts alone, in which a constant can't be mistaken: there
// are no comments, quoted identifiers, dollar quotes, escape strings, backslashes
// or parameters, and every number ends at white space or punctuation. All that
// is no constant has to be the same byte for byte. Constants from the first
// LIMIT, OFFSET or FETCH on count as text: the limit's own value decides.

// Span is a constant in a text, as byte offsets, quotes included.
type Span struct{ Start, End int }

// kinds of constants in an outline. Their types differ, and so may the
// functions and operators that are chosen.
const (
	stringConstant  = 's'
	integerConstant = 'i' // of up to nine digits: an int4 whatever its value
	decimalConstant = 'd'
)

// Outline appends to key the text with each constant replaced by a zero byte
// and its kind, and to spans where the constants are. ok is false for a text
// that is not plain; key and spans are then worthless.
func Outline(key []byte, spans []Span, text []byte) (outline []byte, constants []Span, ok bool) {
	verbatim := false
	for i := 0; i < len(text); {
		c := text[i]
		start := i
		kind := byte(0)
		switch {
		case isLetter(c):
			for i < len(text) && (isLetter(text[i]) || isDigit(text[i])) {
				i++
			}
			if i < len(text) && text[i] == '\'' {
				return nil, nil, false // E'…', B'…', X'…', N'…'
			}
			verbatim = verbatim || bounds(text[start:i])
		case isDigit(c):
			if i, kind, ok = number(text, i); !ok {
				return nil, nil, false
			}
		case c == '\'':
			if i, ok = quoted(text, i); !ok {
				return nil, nil, false
			}
			kind = stringConstant
		case !isPlain(text, i):
			return nil, nil, false
		default:
			i++
		}
		if kind == 0 || verbatim {
			key = append(key, text[start:i]...)
			continue
		}
		key = append(key, 0, kind)
		spans = append(spans, Span{start, i})
	}
	return key, spans, utf8.Valid(text)
}

func isLetter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// isPlain says whether the byte at i, outside of words and constants, is white
// space or punctuation that begins nothing which could hide a constant.
func isPlain(text []byte, i int) bool {
	c := text[i]
	if c == ' ' || c == '\n' || c == '\t' || c == '\r' {
		return true
	}
	if c < ' ' || c >= 0x7f || c == '"' || c == '$' || c == '\\' {
		return false
	}
	if i+1 < len(text) {
		next := text[i+1]
		if c == '-' && next == '-' || c == '/' && next == '*' || c == '.' && isDigit(next) || c == '&' && next == '\'' {
			return false
		}
	}
	return true
}

// number passes over a number. Longer integers keep their digits in the outline,
// since their size decides on their type: kind is 0 for them.
func number(text []byte, i int) (end int, kind byte, ok bool) {
	start := i
	kind = integerConstant
	for i < len(text) && isDigit(text[i]) {
		i++
	}
	if i-start > 9 {
		kind = 0
	}
	if i+1 < len(text) && text[i] == '.' && isDigit(text[i+1]) {
		kind = decimalConstant
		for i++; i < len(text) && isDigit(text[i]); {
			i++
		}
	}
	if i < len(text) {
		if c := text[i]; isLetter(c) || c == '.' || c == '\'' || c == '$' || c == '"' || c >= 0x80 {
			return 0, 0, false
		}
	}
	return i, kind, true
}

// quoted passes over a string constant. One that goes on after white space is
// not plain.
func quoted(text []byte, i int) (end int, ok bool) {
	for i++; ; i++ {
		switch {
		case i >= len(text) || text[i] == '\\' || text[i] == 0:
			return 0, false
		case text[i] != '\'':
			continue
		case i+1 < len(text) && text[i+1] == '\'':
			i++
			continue
		}
		break
	}
	i++
	rest := i
	for rest < len(text) && text[rest] <= ' ' {
		rest++
	}
	if rest < len(text) && (text[rest] == '\'' || rest == i && (isLetter(text[rest]) || isDigit(text[rest]))) {
		return 0, false
	}
	return i, true
}

// bounds says whether a word begins what limits the number of rows.
func bounds(word []byte) bool {
	switch len(word) {
	case len("limit"): // and fetch
		return foldEqual(word, "limit") || foldEqual(word, "fetch")
	case len("offset"):
		return foldEqual(word, "offset")
	}
	return false
}

func foldEqual(word []byte, lower string) bool {
	for i, c := range word {
		if c|0x20 != lower[i] {
			return false
		}
	}
	return true
}

// Exchangeable says whether no constant of the text had a say in the judgement,
// given that the text is plain: queries and data changes that passed, without
// settings, whose parts need nothing from the session.
func (j *Judgement) Exchangeable() bool {
	if j.Refusal != nil || len(j.Parts) == 0 {
		return false
	}
	for i := range j.Parts {
		f := &j.Parts[i].Facts
		switch f.Kind {
		case policy.KindSelect, policy.KindInsert, policy.KindUpdate, policy.KindDelete:
		default:
			return false
		}
		if len(f.Settings) > 0 || len(f.Problems) > 0 {
			return false
		}
	}
	return true
}

// Exchange is the judgement of a text with the same outline: j's own, with the
// edits where they belong in text. from are the constants of j's text, to those
// of text. Byte offsets in facts and reasons stay those of j's text.
func (j *Judgement) Exchange(text string, from, to []Span) Judgement {
	out := *j
	out.Text, out.Send, out.Like = text, text, j
	if len(j.Edits) == 0 {
		return out
	}
	out.Edits = make([]Edit, len(j.Edits))
	k, shift := 0, 0
	for i, e := range j.Edits {
		for k < len(from) && from[k].End <= e.Offset {
			shift = to[k].End - from[k].End
			k++
		}
		e.Offset += shift
		out.Edits[i] = e
	}
	out.Send = apply(text, out.Edits)
	return out
}
