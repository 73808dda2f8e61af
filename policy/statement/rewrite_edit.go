package statement

import "strings"

// Edit replaces Deleted bytes at byte Offset of the original text by Inserted.
type Edit struct {
	Offset   int
	Deleted  int
	Inserted string
}

// apply makes the edits, which are in rising order and don't overlap.
func apply(text string, edits []Edit) string {
	if len(edits) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, e := range edits {
		b.WriteString(text[at:e.Offset])
		b.WriteString(e.Inserted)
		at = e.Offset + e.Deleted
	}
	b.WriteString(text[at:])
	return b.String()
}
