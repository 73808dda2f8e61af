package secret

import (
	"slices"
	"sync"
	"sync/atomic"
)

// MinLength is how many bytes a value needs to be replaced. Shorter ones would
// turn up by chance in every other word; Store warns of them.
const MinLength = 4

// keepRetired is how many former values of one secret stay hidden after
// reloads: a session that was opened with an old password may still quote it.
const keepRetired = 8

// Redactor replaces known secret values by [credential:NAME]. It is safe for
// concurrent use; Redact never waits for Set.
type Redactor struct {
	mu      sync.Mutex          // guards values
	values  map[string][]string // by name, the newest first; what matcher is built from
	matcher atomic.Pointer[matcher]
}

// NewRedactor knows the given secrets.
func NewRedactor(secrets ...*Secret) *Redactor {
	r := &Redactor{values: make(map[string][]string)}
	r.Set(secrets)
	return r
}

// Set makes secrets the current ones. Former values, also of secrets that are
// gone, stay hidden until eight newer ones of the same name have come.
func (r *Redactor) Set(secrets []*Secret) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range secrets {
		r.learn(s.Name(), s.Reveal())
	}
	r.matcher.Store(newMatcher(r.values))
}

// Add makes one more secret known, for values that no Store holds.
func (r *Redactor) Add(s *Secret) { r.Set([]*Secret{s}) }

// learn puts value in front of the former ones. The caller holds mu.
func (r *Redactor) learn(name, value string) {
	old := slices.DeleteFunc(r.values[name], func(v string) bool { return v == value })
	r.values[name] = append([]string{value}, old[:min(len(old), keepRetired)]...)
}

// Redact returns s with every known value replaced, also where it is written as
// URL, base64, hexadecimal, SQL, JSON or connection-string text. Values shorter
// than MinLength are left. Without a match s itself is returned and nothing is
// allocated.
func (r *Redactor) Redact(s string) string {
	m := r.matcher.Load()
	hit, ok := m.find(s, 0)
	if !ok {
		return s
	}
	return m.replace(s, hit)
}
