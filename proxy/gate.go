package proxy

import (
	"runtime"
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
	large chan struct{} // room for those who judge large texts
}

func newGate() *gate {
	return &gate{views: map[viewKey]*view{}, large: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
}

// largeText is from how many bytes on only a few texts are judged at a time: the
// largest that pass the parser's limits take a second and hundreds of megabytes.
const largeText = 64 << 10

// queue waits for a turn to judge a text, and returns what ends it.
func (g *gate) queue(text string) (done func()) {
	if len(text) < largeText {
		return func() {}
	}
	g.large <- struct{}{}
	return func() { <-g.large }
}

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

	mu       sync.RWMutex
	texts    memory // verdicts by text and parameter types
	outlines memory // verdicts that hold for every text with the outline, by outline and parameter types
	likes    memory // verdicts that were taken from one of those, by text and parameter types
}

// memory remembers verdicts. When it is full, the older half is forgotten.
type memory struct{ young, old map[string]*judged }

func (m *memory) find(key []byte) *judged {
	if j := m.young[string(key)]; j != nil {
		return j
	}
	return m.old[string(key)]
}

func (m *memory) add(key []byte, j *judged) {
	if m.young == nil || len(m.young) >= generation {
		m.old, m.young = m.young, map[string]*judged{}
	}
	m.young[string(key)] = j
}

// judged is a text and what was decided about it from one view. It is immutable
// once it is remembered.
type judged struct {
	statement.Judgement
	view      *view
	types     string // parameter types as sent in Parse
	touch     touch
	constants []statement.Span // of the text; nil unless it is remembered by its outline
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
	v := &view{viewKey: k, schemas: usable(k.catalog, schemas)}
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

// scratch is a session's room for the keys under which verdicts are remembered.
type scratch struct {
	text, outline []byte
	constants     []statement.Span
	plain         bool // outline and constants are those of text
}

// set takes a text with the parameter types that Parse gave.
func (k *scratch) set(text, types []byte) {
	k.text = append(append(append(k.text[:0], text...), 0), types...)
	k.plain = false
}

// outlined makes the outline of text, and says whether it has one.
func (k *scratch) outlined(text, types []byte) bool {
	if len(text) > rememberBytes {
		return false
	}
	outline, constants, ok := statement.Outline(k.outline[:0], k.constants[:0], text)
	if !ok || len(constants) == 0 {
		return false
	}
	// two zero bytes: no outline holds them, so that no types are taken for a part of one
	k.outline, k.constants, k.plain = append(append(outline, 0, 0), types...), constants, true
	return true
}

// known finds the verdict on a text that was judged before, without
// allocating.
func (v *view) known(k *scratch) *judged {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if j := v.texts.find(k.text); j != nil {
		return j
	}
	return v.likes.find(k.text)
}

// like finds the verdict on a text by one that differs in constants only.
func (v *view) like(k *scratch, text, types []byte) *judged {
	if !k.outlined(text, types) {
		return nil
	}
	v.mu.RLock()
	was := v.outlines.find(k.outline)
	v.mu.RUnlock()
	if was == nil {
		return nil
	}
	j := &judged{Judgement: was.Exchange(string(text), was.constants, k.constants), view: v, types: was.types, touch: was.touch}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.likes.add(k.text, j)
	return j
}

// remember keeps the verdict on the text that k was set to.
func (v *view) remember(k *scratch, j *judged) {
	if len(k.text) > rememberBytes {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.texts.add(k.text, j)
	if k.plain && j.Exchangeable() {
		j.constants = slices.Clone(k.constants)
		v.outlines.add(k.outline, j)
	}
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
