package policy

import (
	"maps"
	"slices"
	"strings"

	"github.com/pgairlock/pgairlock/internal/strictyaml"
)

func (l *loader) agent(name string, at strictyaml.Pos, w *agentWords) {
	a := &Agent{
		Name:              name,
		At:                at,
		Access:            w.Access.Value,
		UnsafePassthrough: w.UnsafePassthrough.Value,
		Databases:         make(map[string]string, len(w.Databases)),
		Metadata:          w.Metadata,
		CopyToStdout:      w.Copy.ToStdout == "limited",
		Limits:            limits(&w.Limits, w.Access.Value),
		ref:               l.ref,
		settings:          make(map[string]bool, len(w.Settings.Free)),
	}
	if len(name) > 63 {
		l.fail(at, "agent name %q is longer than 63 bytes, the longest user name of PostgreSQL", name)
	}
	if a.Metadata == "" {
		a.Metadata = MetadataAll
	}
	if a.UnsafePassthrough && a.Access != Observe {
		l.fail(w.UnsafePassthrough.Pos, "unsafe_passthrough is for access: observe only")
	}
	l.login(a, at, w)
	for _, d := range w.Databases {
		a.Databases[d.Key] = d.Value.Value
	}
	if len(a.Databases) == 0 {
		l.fail(at, "agent %q has no database", name)
	}
	a.permissions = []*permissions{l.permissions(w.permissions(), a.Access)}
	l.agentGroups(a, w.Groups)
	a.tables = make(map[string][]*schemaTables)
	for _, p := range a.permissions {
		for schema, s := range p.tables {
			a.tables[schema] = append(a.tables[schema], s)
		}
	}
	l.searchPath(a, w.SearchPath)
	for _, s := range w.Settings.Free {
		l.freeSetting(a, s)
	}
	l.set.agents[name] = a
}

func (l *loader) login(a *Agent, at strictyaml.Pos, w *agentWords) {
	switch {
	case w.Password != nil && w.Certificate != nil:
		l.fail(w.Password.Pos, "agent %q has a password and a certificate: give one", a.Name)
	case w.Password != nil:
		a.Password = w.Password.Name
	case w.Certificate != nil:
		a.CertificateName = w.Certificate.CommonName.Value
		if a.CertificateName == "" {
			l.fail(w.Certificate.CommonName.Pos, "an empty common name")
		}
	default:
		l.fail(at, "agent %q can't log in: give it password: secret:NAME or certificate: {common_name: …}", a.Name)
	}
}

func (l *loader) agentGroups(a *Agent, groups []strictyaml.Located[string]) {
	seen := make(map[string]bool, len(groups))
	for _, g := range groups {
		p := l.groups[g.Value]
		switch {
		case p == nil:
			msg := "there is no group %q"
			if near, ok := strictyaml.Nearest(g.Value, slices.Collect(maps.Keys(l.groups))); ok {
				msg += ": did you mean " + near + "?"
			}
			l.fail(g.Pos, msg, g.Value)
		case seen[g.Value]:
			l.fail(g.Pos, "group %q is there twice", g.Value)
		default:
			a.permissions = append(a.permissions, p)
		}
		seen[g.Value] = true
	}
}

func (l *loader) searchPath(a *Agent, path []strictyaml.Located[string]) {
	if len(path) == 0 {
		// an observed agent keeps the path that its login has on the server
		if a.Access != Observe {
			a.SearchPath = []string{"public"}
		}
		return
	}
	for _, s := range path {
		parts, err := splitName(s.Value)
		switch {
		case err != nil:
			l.fail(s.Pos, "%v", err)
		case len(parts) != 1:
			l.fail(s.Pos, "%q: want the name of one schema", s.Value)
		case parts[0] == "pg_catalog", strings.HasPrefix(parts[0], "pg_temp"), parts[0] == "$user":
			l.fail(s.Pos, "%s can't be listed: pg_catalog is always searched first, temporary and per-user schemas never", s.Value)
		default:
			a.SearchPath = append(a.SearchPath, parts[0])
		}
	}
}

// freeSetting opens a configuration parameter, if a policy may open it.
func (l *loader) freeSetting(a *Agent, s strictyaml.Located[string]) {
	name := strings.ToLower(s.Value)
	e, known := l.ref.settings[name]
	switch {
	case !known && !strings.Contains(name, "."):
		msg := "%q is not a configuration parameter"
		if near, ok := strictyaml.Nearest(name, slices.Collect(maps.Keys(l.ref.settings))); ok {
			msg += ": did you mean " + near + "?"
		}
		l.fail(s.Pos, msg, s.Value)
	case !known && strings.HasPrefix(name, "pgairlock."):
		l.fail(s.Pos, "%s is not supported in this version", s.Value)
	case name == "search_path":
		l.fail(s.Pos, "search_path is opened by the agent's search_path key")
	case e.class == settingTighter && e.values != "none":
		l.fail(s.Pos, "%s is opened by the agent's limits", s.Value)
	case e.class.hard(), e.class == settingReadOnly:
		l.fail(s.Pos, "no policy opens %s: %s", s.Value, e.reason)
	default:
		a.settings[name] = true
	}
}
