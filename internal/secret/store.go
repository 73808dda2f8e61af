package secret

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Store holds the configured secrets and the Redactor that knows their values.
// Everything but Reload only reads a snapshot; all methods may be called
// concurrently.
type Store struct {
	sources  map[string]Source // never changed after Load
	reload   sync.Mutex        // one reload at a time, commands may be slow
	now      atomic.Pointer[snapshot]
	redactor *Redactor
}

// snapshot is what one load found.
type snapshot struct {
	secrets  map[string]*Secret
	warnings []string
}

// Load reads every secret. The error names each secret that could not be read
// with its source, never a value; a Store is returned only if all were read.
func Load(ctx context.Context, sources map[string]Source) (*Store, error) {
	s := &Store{sources: maps.Clone(sources), redactor: NewRedactor()}
	if err := s.Reload(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Reload reads every secret again. If one can't be read, all stay as they were.
// The values of before go on being redacted (see Redactor.Set).
func (s *Store) Reload(ctx context.Context) error {
	s.reload.Lock()
	defer s.reload.Unlock()
	next := &snapshot{secrets: make(map[string]*Secret, len(s.sources))}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(s.sources)) {
		if err := next.read(ctx, name, s.sources[name]); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	// The redactor first: a new value must not be in use before it is hidden.
	s.redactor.Set(slices.Collect(maps.Values(next.secrets)))
	s.now.Store(next)
	return nil
}

func (sn *snapshot) read(ctx context.Context, name string, source Source) error {
	if err := checkName(name); err != nil {
		return fmt.Errorf("secret %q: %w", name, err)
	}
	value, warning, err := source.read(ctx)
	if err != nil {
		return fmt.Errorf("secret %s (%s): %w", name, source, err)
	}
	if warning != "" {
		sn.warnings = append(sn.warnings, fmt.Sprintf("secret %s (%s) %s", name, source, warning))
	}
	if len(value) < MinLength {
		sn.warnings = append(sn.warnings, fmt.Sprintf(
			"secret %s (%s) has fewer than %d characters: it can't be hidden in logs and records", name, source, MinLength))
	}
	sn.secrets[name] = New(name, value)
	return nil
}

// Get returns the secret's present value. The error names the nearest thing to
// do about an unknown name.
func (s *Store) Get(name string) (*Secret, error) {
	if found, ok := s.now.Load().secrets[name]; ok {
		return found, nil
	}
	known := s.Names()
	if len(known) == 0 {
		return nil, fmt.Errorf("secret %q is not defined (no secrets are)", name)
	}
	return nil, fmt.Errorf("secret %q is not defined (defined: %s)", name, strings.Join(known, ", "))
}

// Names lists the secrets, sorted.
func (s *Store) Names() []string { return slices.Sorted(maps.Keys(s.sources)) }

// Warnings are what the last load found questionable: files that everybody can
// read, values too short to be redacted. They contain no values.
func (s *Store) Warnings() []string { return slices.Clone(s.now.Load().warnings) }

// Redactor knows the values of all secrets of this store; Reload keeps it
// up to date.
func (s *Store) Redactor() *Redactor { return s.redactor }
