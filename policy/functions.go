package policy

import (
	"fmt"
	"strings"

	"github.com/pgairlock/pgairlock/policy/catalog"
)

// opening says who may call a function.
type opening uint8

// Openings, in rising order of restriction.
const (
	openToAll      opening = iota // anyone
	openToMetadata                // with metadata: all
	openByList                    // where a policy lists it
	openToWriters                 // it changes something
	openToNobody                  // a red line
)

var openings = map[string]opening{
	"allow": openToAll, "metadata": openToMetadata, "deny": openByList,
	"write": openToWriters, "never": openToNobody,
}

type functionKey struct{ extension, name string } // extension "" is pg_catalog

type functionEntry struct {
	name      string // with * at its end in a prefix entry: what is before it
	extension string
	args      string // with parentheses; "" stands for all overloads
	class     string
	open      opening
	reason    string
}

func (ref *reference) readFunction(f []string) error {
	open, ok := openings[f[4]]
	if !ok {
		return fmt.Errorf("unknown access %q", f[4])
	}
	e := functionEntry{extension: f[0], name: f[1], class: f[3], open: open, reason: f[5]}
	if e.extension == "-" {
		e.extension = ""
	}
	if f[2] != "*" {
		args, found := strings.CutPrefix(f[2], e.name)
		if !found {
			return fmt.Errorf("signature %q is not one of %s", f[2], e.name)
		}
		e.args = args
	}
	if prefix, ok := strings.CutSuffix(e.name, "*"); ok {
		e.name = prefix
		ref.prefixes = append(ref.prefixes, e)
		return nil
	}
	key := functionKey{e.extension, e.name}
	ref.functions[key] = append(ref.functions[key], e)
	return nil
}

// function judges a function of the server or of an extension by itself,
// without a policy. An overload without an entry counts as the most restricted
// one of its name; a name without an entry counts by its volatility.
func (ref *reference) function(f *catalog.Function) functionEntry {
	entries := ref.functions[functionKey{f.Extension, f.Name}]
	var worst *functionEntry
	for i := range entries {
		e := &entries[i]
		if e.args != "" && strings.HasSuffix(f.Signature(), e.args) && len(f.Signature()) == signatureLen(f, e.args) {
			return *e
		}
		if worst == nil || e.open > worst.open {
			worst = e
		}
	}
	if worst != nil {
		return *worst
	}
	for _, e := range ref.prefixes {
		if e.extension == f.Extension && strings.HasPrefix(f.Name, e.name) {
			return e
		}
	}
	if f.Volatility == 'i' || f.Volatility == 's' {
		return functionEntry{name: f.Name, open: openToAll}
	}
	return functionEntry{name: f.Name, open: openByList, class: "volatile", reason: "VOLATILE, and not among the functions known to be harmless"}
}

// signatureLen is the length of f's signature if its arguments are args.
func signatureLen(f *catalog.Function, args string) int {
	n := len(f.Name) + len(args)
	if f.Schema != "pg_catalog" {
		n += len(f.Schema) + 1
	}
	return n
}

// callableSet is the functions or operators that a policy lists.
type callableSet struct {
	names      map[catalog.Name]bool     // all overloads
	signatures map[catalog.Name][]string // argument lists
}

func (s *callableSet) add(c callable) {
	if c.args == "" {
		if s.names == nil {
			s.names = make(map[catalog.Name]bool)
		}
		s.names[c.name] = true
		return
	}
	if s.signatures == nil {
		s.signatures = make(map[catalog.Name][]string)
	}
	s.signatures[c.name] = append(s.signatures[c.name], c.args)
}

func (s *callableSet) hasFunction(f *catalog.Function) bool {
	name := catalog.Name{Schema: f.Schema, Name: f.Name}
	if s.names[name] {
		return true
	}
	for _, args := range s.signatures[name] {
		if strings.HasSuffix(f.Signature(), args) && len(f.Signature()) == signatureLen(f, args) {
			return true
		}
	}
	return false
}

// serverOwn says whether a schema's functions come with the server itself.
func serverOwn(schema string) bool { return schema == "pg_catalog" || schema == "information_schema" }

// function says whether the agent may call f; entry tells why not.
func (a *Agent) function(f *catalog.Function) (entry functionEntry, ok bool) {
	switch {
	case serverOwn(f.Schema) && f.Extension == "":
		entry = a.ref.function(f)
		if f.Schema == "information_schema" && entry.open == openToAll {
			entry = functionEntry{name: f.Name, open: openToMetadata, class: "catalog", reason: "it belongs to the information schema"}
		}
	case f.Extension != "":
		entry = a.ref.function(f)
		if entry.open == openToAll && !a.hasExtension(f.Extension) {
			entry = functionEntry{name: f.Name, open: openByList, class: "extension",
				reason: "part of extension " + f.Extension + ", which the policy does not list"}
		}
	default:
		entry = functionEntry{name: f.Name, open: openByList, class: "user", reason: "not among the agent's functions"}
	}
	switch entry.open {
	case openToAll:
		return entry, true
	case openToMetadata:
		return entry, a.Metadata == MetadataAll || a.listsFunction(f)
	case openByList:
		return entry, a.listsFunction(f)
	case openToWriters:
		return entry, a.Access != ReadOnly
	}
	return entry, false
}

func (a *Agent) listsFunction(f *catalog.Function) bool {
	for _, p := range a.permissions {
		if p.functions.hasFunction(f) {
			return true
		}
	}
	return false
}

func (a *Agent) hasExtension(name string) bool {
	for _, p := range a.permissions {
		if p.extensions[name] {
			return true
		}
	}
	return false
}

// harmless says whether a function of an extension that the policy does not
// list may stand beside a built-in one of its name: whichever of the two the
// server chooses, only a result is computed.
func (a *Agent) harmless(f *catalog.Function) bool {
	if _, vetted := a.ref.extensions[f.Extension]; !vetted || f.Extension == "" {
		return false
	}
	return a.ref.function(f).open == openToAll
}
