package statement

import (
	"slices"
	"strings"

	"github.com/pgairlock/pgairlock/policy"
)

// A text's statements are judged under so many search_paths at most, and so
// many of them may change what later ones find: each costs another analysis of
// all that follows.
const (
	maxPaths = 8
	maxTurns = 32
)

// scene is what a statement of a text finds when its turn comes: the session
// as Env has it, changed by the statements before it. The server runs a
// statement only if all before it succeeded, so each is taken to have done what
// it says; only what may or may not have happened leaves several search_paths
// possible, and the statement is judged under each.
type scene struct {
	in       Input
	paths    [][]string               // that may be in force; the first is the likeliest
	seen     [][]string               // all that were, or that a transaction's end can bring back
	prepared map[string]*policy.Facts // by this text; nil: it deallocated the name
	cursors  map[string]bool          // by this text; false: it closed the name
	forgot   bool                     // what the session had prepared is gone
	closed   bool                     // what the session had open is gone
	changed  bool                     // since the last analysis
}

func newScene(in Input) *scene {
	return &scene{
		in:    in,
		paths: [][]string{in.Env.Path},
		seen:  addPaths([][]string{in.Env.Path}, in.OtherPaths...),
	}
}

// analyze establishes the facts of the statements from first on as things are
// now, under each search_path that may be in force.
func (s *scene) analyze(tree *Tree, first int) [][]policy.Facts {
	s.changed = false
	rest := Tree{Text: tree.Text, Stmts: tree.Stmts[first:]}
	facts := make([][]policy.Facts, len(s.paths))
	for k, path := range s.paths {
		env := s.in.Env
		env.Path = path
		env.Prepared, env.Cursor = s.findPrepared, s.findCursor
		facts[k] = Analyze(&rest, env)
	}
	return facts
}

func (s *scene) findPrepared(name string) (*policy.Facts, bool) {
	if f, ok := s.prepared[name]; ok {
		return f, f != nil
	}
	if s.forgot || s.in.Env.Prepared == nil {
		return nil, false
	}
	return s.in.Env.Prepared(name)
}

func (s *scene) findCursor(name string) bool {
	if is, ok := s.cursors[name]; ok {
		return is
	}
	return !s.closed && s.in.Env.Cursor != nil && s.in.Env.Cursor(name)
}

// after changes the scene by what a statement does.
func (s *scene) after(f *policy.Facts) {
	switch f.Kind {
	case policy.KindPrepare:
		s.setPrepared(f.Name, f)
	case policy.KindDeallocate:
		s.deallocate(f.Name)
	case policy.KindDeclare:
		s.setCursor(f.Name, true)
	case policy.KindClose:
		s.close(f.Name)
	case policy.KindDiscard:
		if strings.HasSuffix(f.Tag, "ALL") {
			s.deallocate("")
			s.close("")
			s.replacePath(s.in.ResetPath)
		}
	case policy.KindTransaction:
		s.mayBe(s.seen...)
	}
	for i := range f.Settings {
		s.setting(&f.Settings[i], f.Kind == policy.KindSet)
	}
}

func (s *scene) setPrepared(name string, f *policy.Facts) {
	if s.prepared == nil {
		s.prepared = map[string]*policy.Facts{}
	}
	s.prepared[name] = f
	s.changed = true
}

// deallocate forgets one prepared statement, or all where the name is empty.
func (s *scene) deallocate(name string) {
	if name == "" {
		s.prepared, s.forgot, s.changed = nil, true, true
		return
	}
	s.setPrepared(name, nil)
}

func (s *scene) setCursor(name string, is bool) {
	if s.cursors == nil {
		s.cursors = map[string]bool{}
	}
	s.cursors[name] = is
	s.changed = true
}

func (s *scene) close(name string) {
	if name == "" {
		s.cursors, s.closed, s.changed = nil, true, true
		return
	}
	s.setCursor(name, false)
}

// setting follows search_path. SET surely happened; set_config in a SELECT may
// not have been reached.
func (s *scene) setting(u *policy.SettingUse, surely bool) {
	var path []string
	switch {
	case u.Op == policy.ResetAll:
		path = s.in.ResetPath
	case u.Name != "search_path":
		return
	case u.Op == policy.Reset || u.Default:
		path = s.in.ResetPath
	case (u.Op == policy.SetSession || u.Op == policy.SetLocal) && u.Literal:
		path = s.expand(u.Values)
	default: // SHOW, or a computed value, which is a problem of its own
		return
	}
	if surely {
		s.replacePath(path)
		return
	}
	s.mayBe(path)
}

func (s *scene) replacePath(path []string) {
	s.changed = s.changed || len(s.paths) > 1 || !slices.Equal(s.paths[0], path)
	s.paths = [][]string{path}
	s.seen = addPaths(s.seen, path)
}

// mayBe adds search_paths that may be in force from now on.
func (s *scene) mayBe(paths ...[]string) {
	before := len(s.paths)
	s.paths = addPaths(s.paths, paths...)
	s.seen = addPaths(s.seen, paths...)
	s.changed = s.changed || len(s.paths) > before
}

// expand puts the role's name for "$user".
func (s *scene) expand(values []string) []string {
	path := slices.Clone(values)
	for i, v := range path {
		if v == "$user" {
			path[i] = s.in.Env.Catalog.Data().Role
		}
	}
	return path
}

// addPaths returns a new list with those of more that are not in it yet.
func addPaths(paths [][]string, more ...[]string) [][]string {
	out := slices.Clone(paths)
	for _, p := range more {
		if !slices.ContainsFunc(out, func(q []string) bool { return slices.Equal(p, q) }) {
			out = append(out, p)
		}
	}
	return out
}
