package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pgairlock/pgairlock/internal/strictyaml"
	"github.com/pgairlock/pgairlock/policy/catalog"
)

// Load reads and compiles a policy. name is the file's name as errors and
// reasons show it; nothing is opened. The error holds every fault with its
// file:line:column (strictyaml.Errors).
func Load(name string, src []byte) (*Set, error) {
	ref, err := loadReference()
	if err != nil {
		return nil, err
	}
	var words policyFile
	if err := strictyaml.Decode(name, src, &words); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(src)
	l := &loader{ref: ref, set: &Set{Digest: hex.EncodeToString(sum[:]), Mode: words.Mode, agents: make(map[string]*Agent)}}
	l.load(&words)
	if err := l.errs.Err(); err != nil {
		return nil, err
	}
	return l.set, nil
}

// loader compiles the words of a file into a Set and collects the faults that
// only show there.
type loader struct {
	ref    *reference
	set    *Set
	groups map[string]*permissions
	errs   strictyaml.Errors
}

func (l *loader) fail(at strictyaml.Pos, format string, args ...any) {
	l.errs = append(l.errs, strictyaml.Error{Pos: at, Message: fmt.Sprintf(format, args...)})
}

func (l *loader) load(words *policyFile) {
	if words.Version.Value != 1 {
		l.fail(words.Version.Pos, "version %d is not known: this version reads version 1", words.Version.Value)
	}
	if l.set.Mode == "" {
		l.set.Mode = Balanced
	}
	l.groups = make(map[string]*permissions, len(words.Groups))
	for i := range words.Groups {
		g := &words.Groups[i]
		l.groups[g.Key] = l.permissions(g.Value.permissions(), "")
	}
	for i := range words.Agents {
		l.agent(words.Agents[i].Key, words.Agents[i].Pos, &words.Agents[i].Value)
	}
	l.certificates(words)
	for _, c := range words.SecretColumns {
		l.secretColumn(c)
	}
	l.rules(words.Rules)
}

// permissions compiles what an agent or group says. access is "" for a group.
func (l *loader) permissions(w permissionWords, access Access) *permissions {
	p := &permissions{tables: make(tableSet), extensions: make(map[string]bool), types: make(map[catalog.Name]bool)}
	for i := range w.tables {
		l.table(p, &w.tables[i], access)
	}
	for _, s := range w.functions {
		l.function(p, s)
	}
	for _, s := range w.operators {
		if c, err := parseCallable(s.Value); err != nil {
			l.fail(s.Pos, "%v", err)
		} else {
			p.operators.add(c)
		}
	}
	for _, s := range w.types {
		if name, err := qualified(s.Value); err != nil {
			l.fail(s.Pos, "%v", err)
		} else {
			p.types[name] = true
		}
	}
	for _, s := range w.extensions {
		l.extension(p, s)
	}
	return p
}

func (l *loader) table(p *permissions, e *strictyaml.Entry[tableWords], access Access) {
	pat, err := parsePattern(e.Key)
	if err != nil {
		l.fail(e.Pos, "%v", err)
		return
	}
	if serverOwn(pat.name.Schema) {
		if pat.wild {
			l.fail(e.Pos, "%q: system catalogs are opened by metadata, or one by one with their full names", e.Key)
		} else if l.ref.systemColumn(pat.name.Schema, pat.name.Name, "").to == exposedToNobody {
			l.fail(e.Pos, "%q: no policy opens it: %s", e.Key, l.ref.systemColumn(pat.name.Schema, pat.name.Name, "").reason)
		}
	}
	w := &e.Value
	if w.writes != nil && access == ReadOnly {
		l.fail(*w.writes, "insert, update and delete are not supported with access: read_only")
	}
	p.tables.add(pat, &grant{read: l.columns(w.read), insert: l.columns(w.insert), update: l.columns(w.update), delete: w.delete})
	l.set.mentions = append(l.set.mentions, mention{pat, e.Key, e.Pos, w.columns()})
}

func (l *loader) columns(w columnWords) columnSet {
	set := columnSet{all: w.all}
	for _, c := range w.columns {
		name, ok := l.column(c)
		if !ok {
			continue
		}
		if set.names == nil {
			set.names = make(map[string]bool)
		}
		set.names[name] = true
	}
	return set
}

func (l *loader) column(c strictyaml.Located[string]) (string, bool) {
	parts, err := splitName(c.Value)
	switch {
	case err != nil:
		l.fail(c.Pos, "%v", err)
	case len(parts) != 1 || strings.Contains(c.Value, "*"):
		l.fail(c.Pos, "%q: want the name of one column", c.Value)
	default:
		return parts[0], true
	}
	return "", false
}

// function adds a function that the policy lists, unless none may.
func (l *loader) function(p *permissions, s strictyaml.Located[string]) {
	c, err := parseCallable(s.Value)
	if err != nil {
		l.fail(s.Pos, "%v", err)
		return
	}
	if serverOwn(c.name.Schema) {
		for _, e := range l.ref.functions[functionKey{"", c.name.Name}] {
			if e.open >= openToWriters && (c.args == "" || e.args == "" || e.args == c.args) {
				l.fail(s.Pos, "%s: no policy opens it: %s", s.Value, e.reason)
				return
			}
		}
	}
	p.functions.add(c)
}

func (l *loader) extension(p *permissions, s strictyaml.Located[string]) {
	e, ok := l.ref.extensions[s.Value]
	if ok {
		p.extensions[e.name] = true
		return
	}
	msg := "extension %q has no vetted list: name what is needed of it under functions, operators and types"
	if near, found := strictyaml.Nearest(s.Value, slices.Collect(maps.Keys(l.ref.extensions))); found {
		msg += " (did you mean " + near + "?)"
	}
	l.fail(s.Pos, msg, s.Value)
}

func (l *loader) secretColumn(c strictyaml.Located[string]) {
	parts, err := splitName(c.Value)
	switch {
	case err != nil:
		l.fail(c.Pos, "%v", err)
	case len(parts) != 3:
		l.fail(c.Pos, "%q: want schema.table.column", c.Value)
	default:
		l.set.SecretColumns = append(l.set.SecretColumns,
			SecretColumn{catalog.Name{Schema: parts[0], Name: parts[1]}, parts[2], c.Pos})
	}
}

// certificates refuses two agents with one certificate.
func (l *loader) certificates(words *policyFile) {
	owner := make(map[string]string)
	for i := range words.Agents {
		c := words.Agents[i].Value.Certificate
		if c == nil {
			continue
		}
		if other, taken := owner[c.CommonName.Value]; taken {
			l.fail(c.CommonName.Pos, "agent %q logs in with that certificate already", other)
		}
		owner[c.CommonName.Value] = words.Agents[i].Key
	}
}

// Limits of an agent that says nothing else.
const (
	defaultRows              = 1000
	defaultBytes             = 16 << 20
	defaultStatementTimeout  = 30 * time.Second
	defaultLockTimeout       = 5 * time.Second
	defaultIdleInTransaction = time.Minute
	defaultSessions          = 20
	defaultConcurrent        = 10
)

// limits applies the defaults. An observed agent is limited in its sessions
// and concurrency only: the rest would change or refuse what it does.
func limits(w *limitsWords, access Access) Limits {
	lim := Limits{
		Rows:              int64(bound(w.Rows, defaultRows)),
		Bytes:             int64(bound(w.Bytes, defaultBytes)),
		StatementTimeout:  time.Duration(bound(w.StatementTimeout, strictyaml.Duration(defaultStatementTimeout))),
		LockTimeout:       time.Duration(bound(w.LockTimeout, strictyaml.Duration(defaultLockTimeout))),
		IdleInTransaction: time.Duration(bound(w.IdleInTransaction, strictyaml.Duration(defaultIdleInTransaction))),
		Sessions:          int(bound(w.Sessions, defaultSessions)),
		Concurrent:        int(bound(w.Concurrent, defaultConcurrent)),
	}
	if access == Observe {
		return Limits{Sessions: lim.Sessions, Concurrent: lim.Concurrent}
	}
	return lim
}

// bound is a limit's value: the default if the file says nothing, zero if it
// says unlimited.
func bound[T any](l *strictyaml.Limit[T], def T) T {
	if l == nil {
		return def
	}
	return l.Value
}
