package proxy

import (
	"slices"
	"sync"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/policy/catalog"
	"github.com/pgairlock/pgairlock/policy/statement"
)

// gate is where statements are judged, and the only place: everything that goes
// upstream has a *judged that came from here. It remembers verdicts by exact
// text; a fingerprint would not do, since it takes session_id = 's1' and
// session_id = 's2' for the same.
type gate struct {
	mu    sync.Mutex
	views map[viewKey]*view
}

func newGate() *gate { return &gate{views: map[viewKey]*view{}} }

// viewKey is everything but the text that a verdict depends on.
type viewKey struct {
	set     *policy.Set
	agent   *policy.Agent
	catalog *catalog.Catalog
	path    string // search_path, elements ended by a zero byte
}

// view is the standpoint from which a text is judged: policy, agent, catalog
// and search_path. A verdict holds for its view and no other.
type view struct {
	viewKey
	schemas []string

	mu    sync.RWMutex
	young map[string]*judged
	old   map[string]*judged
}

// judged is a text and what was decided about it from one view. It is immutable.
type judged struct {
	statement.Judgement
	view  *view
	types string // parameter types as sent in Parse
	touch touch
}

// touch is what a statement does to the state that the proxy tracks.
type touch struct {
	path     bool // may change search_path
	named    bool // depends on names known to the session alone: not remembered
	copyIn   bool // may read COPY data
	ends     bool // begins or ends a transaction or a part of one
	declares bool // opens a cursor
}

const (
	// generation is how many verdicts a view keeps young; as many again are old.
	generation = 2048
	// rememberBytes is the length of text up to which verdicts are remembered.
	rememberBytes = 16 << 10
	// manyViews is when views of former search_paths and catalogs are dropped.
	manyViews = 1024
)

// view finds or makes the view for a key.
func (g *gate) view(k viewKey, schemas []string) *view {
	g.mu.Lock()
	defer g.mu.Unlock()
	if v := g.views[k]; v != nil {
		return v
	}
	if len(g.views) >= manyViews {
		clear(g.views)
	}
	v := &view{viewKey: k, schemas: usable(k.catalog, schemas), young: map[string]*judged{}}
	g.views[k] = v
	return v
}

// usable leaves out schemas that do not exist or that the role may not use: the
// server looks for no names there.
func usable(c *catalog.Catalog, schemas []string) []string {
	return slices.DeleteFunc(slices.Clone(schemas), func(name string) bool { return !c.HasSchema(name) })
}

// forget drops all verdicts. Sessions notice by their own keys.
func (g *gate) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.views)
}

// size is how many views there are.
func (g *gate) size() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.views)
}

// known finds the verdict on a text that was judged before, without
// allocating. key is text, a zero byte and the raw parameter types.
func (v *view) known(key []byte) *judged {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if j := v.young[string(key)]; j != nil {
		return j
	}
	return v.old[string(key)]
}

func (v *view) remember(key []byte, j *judged) {
	if len(key) > rememberBytes {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.young) >= generation {
		v.old, v.young = v.young, map[string]*judged{}
	}
	v.young[string(key)] = j
}

// sessionNames are what a statement of one session can refer to.
type sessionNames struct {
	prepared   func(name string) (*policy.Facts, bool)
	cursor     func(name string) bool
	resetPath  []string   // search_path of the session's start
	otherPaths [][]string // those that the end of the open transaction could bring back
}

// judge decides about a text from this view.
func (v *view) judge(text string, types []byte, names sessionNames, limits statement.Limits) *judged {
	in := statement.Input{Text: text, Set: v.set, Agent: v.agent, Limits: limits, ResetPath: names.resetPath, OtherPaths: names.otherPaths, Env: statement.Env{
		Catalog: v.catalog, Path: v.schemas, ParamTypes: paramTypes(types), Prepared: names.prepared, Cursor: names.cursor}}
	j := &judged{Judgement: statement.Judge(in), view: v, types: string(types)}
	for i := range j.Parts {
		j.touch.add(&j.Parts[i].Facts)
	}
	return j
}

func (t *touch) add(f *policy.Facts) {
	switch f.Kind {
	case policy.KindExecute, policy.KindFetch, policy.KindClose, policy.KindDeallocate:
		t.named = true
	case policy.KindTransaction:
		t.ends = true
	case policy.KindDeclare:
		t.declares = true
	case policy.KindDiscard:
		t.path = true
	case policy.KindCopyFrom:
		t.copyIn = true
	case policy.KindDo, policy.KindCall:
		t.path = true // only where policy refuses nothing: their bodies can set anything
	}
	for i := range f.Settings {
		switch s := &f.Settings[i]; {
		case s.Op == policy.ShowOne || s.Op == policy.ShowAll:
		case s.Name == "search_path" || s.Op == policy.ResetAll || s.Name == "role" || s.Name == "session_authorization":
			t.path = true
		}
	}
	for i := range f.Problems {
		if f.Problems[i].Rule == "computed-setting" {
			t.path = true
		}
	}
}

func paramTypes(raw []byte) []catalog.OID {
	if len(raw) == 0 {
		return nil
	}
	types := make([]catalog.OID, len(raw)/4)
	for i := range types {
		types[i] = uint32(raw[4*i])<<24 | uint32(raw[4*i+1])<<16 | uint32(raw[4*i+2])<<8 | uint32(raw[4*i+3])
	}
	return types
}
