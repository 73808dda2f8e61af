// Package secret holds credentials. It reads them by name from the environment,
// from files and from commands, keeps them in a type that can't be printed, and
// replaces their values in whatever text is about to leave the process.
//
// A value leaves the package only through Secret.Reveal. No error of this
// package contains a value, a command's output or a command's arguments.
package secret

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Secret is a named value that prints as [credential:NAME] whatever the verb or
// the encoder. It is immutable; a reload makes new ones. The zero Secret has an
// empty name and an empty value.
type Secret struct {
	name string
	// A closure, not a string: packages that print by reflection (fmt on an
	// unexported field of another struct, dumpers in tests) follow strings and
	// pointers and never call a method, but they can't look into a function.
	value func() string
}

// New is a secret of the given name and value, for values that come from
// elsewhere than a Source (a password typed in, a generated key).
func New(name, value string) *Secret {
	return &Secret{name: name, value: func() string { return value }}
}

// Name is the name under which the configuration refers to the secret.
func (s Secret) Name() string { return s.name }

// Reveal is the value itself. The caller must hand it to its one use and keep
// it out of errors, logs and structures that may be printed.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return s.value()
}

// String is [credential:NAME].
func (s Secret) String() string { return Marker(s.name) }

// GoString is [credential:NAME], for %#v.
func (s Secret) GoString() string { return s.String() }

// Format prints [credential:NAME] for every verb, so that no flag or mistaken
// verb (%x, %d) gets at the value.
func (s Secret) Format(state fmt.State, _ rune) {
	// An error here is the destination's, and fmt has no way to report it.
	_, _ = state.Write([]byte(s.String()))
}

// MarshalJSON is "[credential:NAME]".
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// MarshalText is [credential:NAME]; YAML and XML encoders use it.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Marker is what stands in place of the value of the secret called name.
func Marker(name string) string { return "[credential:" + name + "]" }

// refPrefix begins a reference to a secret in configuration and policy files.
const refPrefix = "secret:"

// ParseRef reads a reference such as "secret:shop_reader" and returns the
// secret's name. Its error never quotes the text, which may well be a password
// that somebody wrote in clear.
func ParseRef(text string) (string, error) {
	name, ok := strings.CutPrefix(text, refPrefix)
	if !ok {
		return "", fmt.Errorf("a secret in clear: write %sNAME and say under secrets where NAME comes from", refPrefix)
	}
	if err := checkName(name); err != nil {
		return "", fmt.Errorf("reference to a secret: %w", err)
	}
	return name, nil
}

// checkName keeps names to what can stand in a marker without being mistaken
// for text around it.
func checkName(name string) error {
	if name == "" || len(name) > 63 {
		return fmt.Errorf("a name has 1 to 63 characters, this one has %d", len(name))
	}
	for i := range len(name) {
		c := name[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && !strings.ContainsRune("_.-", rune(c)) {
			return fmt.Errorf("a name has letters, digits, '_', '.' and '-' only (byte %d does not fit)", i+1)
		}
	}
	return nil
}
