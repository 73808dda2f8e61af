package main

import (
	"errors"
	"slices"
	"testing"
)

// Only what changes from one probe to the next is logged.
func TestHealthNotesChanges(t *testing.T) {
	h := newHealth()
	down, refused := errors.New("connection refused"), errors.New("password is wrong")
	for i, c := range []struct {
		faults         map[string]error
		broken, mended []string
	}{
		{nil, nil, nil},
		{map[string]error{"shop as reader": down, "stock as reader": down}, []string{"shop as reader", "stock as reader"}, nil},
		{map[string]error{"shop as reader": down, "stock as reader": refused}, []string{"stock as reader"}, nil},
		{map[string]error{"stock as reader": refused}, nil, []string{"shop as reader"}},
		{nil, nil, []string{"stock as reader"}},
	} {
		broken, mended := h.note(c.faults)
		if !slices.Equal(broken, c.broken) || !slices.Equal(mended, c.mended) {
			t.Errorf("probe %d: broken %v, mended %v", i, broken, mended)
		}
		if got := h.fault("shop as reader"); (got != nil) != (c.faults["shop as reader"] != nil) {
			t.Errorf("probe %d: fault of shop is %v", i, got)
		}
	}
}
