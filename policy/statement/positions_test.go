package statement_test

import (
	"testing"
	"unicode/utf8"

	"github.com/pgairlock/pgairlock/policy/statement"
)

// Every character of what was sent comes from its own place in the client's
// text, an inserted one from where it was inserted.
func TestOriginal(t *testing.T) {
	s := newShop(t, 100)
	for _, c := range limits {
		j := s.judge(t, c.text)
		for i, want := range origins(&j) {
			if got := j.Original(i + 1); got != want {
				t.Fatalf("%s\nsent as %s\ncharacter %d comes from %d, want %d", j.Text, j.Send, i+1, got, want)
			}
		}
	}
}

// origins writes down character by character where the sent text comes from.
func origins(j *statement.Judgement) []int {
	var from []int
	pos, at := 1, 0
	keep := func(upTo int) {
		for range j.Text[at:upTo] {
			from = append(from, pos)
			pos++
		}
		at = upTo
	}
	for _, e := range j.Edits {
		keep(e.Offset)
		for range e.Inserted {
			from = append(from, pos)
		}
		at += e.Deleted
		pos += utf8.RuneCountInString(j.Text[e.Offset:at])
	}
	keep(len(j.Text))
	return from
}

func TestOriginalOfKnownPlaces(t *testing.T) {
	s := newShop(t, 100)
	j := s.judge(t, "SELECT 'é' AS a FROM orders LIMIT 10*1000 OFFSET $1; SELECT 1")
	if want := "SELECT 'é' AS a FROM orders LIMIT least((10*1000)::pg_catalog.int8, 101) OFFSET $1; SELECT 1"; j.Send != want {
		t.Fatal(j.Send)
	}
	for _, c := range []struct {
		name      string
		sent, was int
	}{
		{"before the edit", 22, 22},
		{"least", 35, 35},
		{"10", 42, 35},
		{"::pg_catalog", 50, 42},
		{"OFFSET", 74, 43},
		{"the end", 92, 61},
		{"past the end", 900, 62},
		{"no position", 0, 0},
	} {
		if got := j.Original(c.sent); got != c.was {
			t.Errorf("%s: character %d comes from %d, want %d", c.name, c.sent, got, c.was)
		}
	}
}
