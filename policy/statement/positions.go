package statement

import "unicode/utf8"

// Original maps a position in the text that was sent to the place in the
// client's own text that it came from. Both are PostgreSQL's: counted in
// characters, the first one is 1. A position inside inserted text is the place
// where it was inserted; one past the end is the end.
func (j *Judgement) Original(pos int) int {
	if len(j.Edits) == 0 || pos < 1 {
		return pos
	}
	return charPos(j.Text, originalOffset(j.Edits, charOffset(j.Send, pos)))
}

// originalOffset takes a byte offset of the edited text back to the original.
func originalOffset(edits []Edit, sent int) int {
	shift := 0 // how much longer the edited text is so far
	for _, e := range edits {
		start := e.Offset + shift
		if sent < start {
			break
		}
		if sent < start+len(e.Inserted) {
			return e.Offset
		}
		shift += len(e.Inserted) - e.Deleted
	}
	return sent - shift
}

// charPos is the 1-based number of the character at a byte offset.
func charPos(text string, offset int) int {
	return utf8.RuneCountInString(text[:min(max(offset, 0), len(text))]) + 1
}
