package statement

import "github.com/pgairlock/pgairlock/policy/catalog"

// Contexts of a cast, as pg_cast.castcontext has them: a cast of one context
// is also available in the later ones.
const (
	implicit   = 'i'
	assignment = 'a'
	explicit   = 'e'
)

// resolver answers questions of type resolution as PostgreSQL's parse_coerce.c
// and parse_func.c do, over one catalog and one search path. Where a type is
// not known (anything), the answer is "it could".
type resolver struct {
	cat  *catalog.Catalog
	path []string // pg_catalog included
	// foreign are the casts whose function is outside pg_catalog; nil until
	// they are asked for.
	foreign      []catalog.Cast
	foreignKnown bool
}

// base is the type below all domains.
func (r *resolver) base(t catalog.OID) catalog.OID {
	for range 32 { // domains over domains; a cycle can't be created
		ty := r.cat.TypeByOID(t)
		if ty == nil || ty.Kind != 'd' || ty.Base == 0 {
			return t
		}
		t = ty.Base
	}
	return t
}

// category is the type's category and whether it is preferred there.
func (r *resolver) category(t catalog.OID) (catalog.Char, bool) {
	switch t {
	case unknownOID:
		return 'X', false
	case anyOID, anyElementOID, anyArrayOID:
		return 'P', false
	}
	ty := r.cat.TypeByOID(t)
	if ty == nil {
		return 0, false
	}
	return ty.Category, ty.Preferred
}

// composite says whether t is a row type (or a domain over one).
func (r *resolver) composite(t catalog.OID) bool {
	ty := r.cat.TypeByOID(r.base(t))
	return ty != nil && ty.Kind == 'c'
}

// element is the element type of an array, 0 if t is none.
func (r *resolver) element(t catalog.OID) catalog.OID {
	if t == recordArrayOID { // a pseudo-type, and so in no array category
		return recordOID
	}
	ty := r.cat.TypeByOID(r.base(t))
	if ty == nil || ty.Category != 'A' {
		return 0
	}
	return ty.Element
}

// arrayOf is t's array type, anything if it is not known.
func (r *resolver) arrayOf(t catalog.OID) catalog.OID {
	if t == unknownOID {
		t = textOID
	}
	if t == recordOID {
		return recordArrayOID
	}
	ty := r.cat.TypeByOID(t)
	if ty == nil {
		return anything
	}
	if ty.Array == 0 && ty.Category == 'A' { // arrays of arrays are arrays
		return t
	}
	return ty.Array
}

// canCoerce says whether a value of type in can become out in the context.
func (r *resolver) canCoerce(in, out catalog.OID, ctx catalog.Char) bool {
	switch {
	case in == anything || out == anything || in == out || out == anyOID || in == unknownOID:
		return true
	case polymorphic(out):
		return true // consistency is checked over all arguments
	case in == recordOID && r.composite(out), out == recordOID && r.composite(in):
		return true
	case in == recordArrayOID && r.composite(r.element(out)), out == recordArrayOID && r.composite(r.element(in)):
		return true
	}
	if r.pathway(in, out, ctx) {
		return true
	}
	// a child table's row can become its parent's: pg_inherits is not known here
	return r.composite(in) && r.composite(out)
}

// pathway is find_coercion_pathway.
func (r *resolver) pathway(in, out catalog.OID, ctx catalog.Char) bool {
	in, out = r.base(in), r.base(out)
	if in == out {
		return true
	}
	if c, ok := r.cat.Cast(in, out); ok {
		return within(c.Context, ctx)
	}
	if a, b := r.element(in), r.element(out); a != 0 && b != 0 && out != 22 && out != 30 { // int2vector, oidvector
		if r.pathway(a, b, ctx) {
			return true
		}
	}
	if ctx == implicit {
		return false
	}
	if cat, _ := r.category(out); cat == 'S' {
		return true // assignment to a string goes through the output function
	}
	if cat, _ := r.category(in); cat == 'S' {
		return ctx == explicit
	}
	return false
}

// within says whether a cast of context have may be used where ctx is.
func within(have, ctx catalog.Char) bool {
	switch ctx {
	case explicit:
		return true
	case assignment:
		return have == assignment || have == implicit
	}
	return have == implicit
}

// castFunctions are the functions outside pg_catalog that a cast from in to
// out may run in the context.
func (r *resolver) castFunctions(in, out catalog.OID, ctx catalog.Char) []*catalog.Function {
	if in == out || in == unknownOID || out == anything {
		return nil
	}
	casts := r.foreignCasts()
	if len(casts) == 0 {
		return nil
	}
	in, out = r.base(in), r.base(out)
	if a, b := r.element(in), r.element(out); b != 0 && (a != 0 || in == anything) {
		in, out = a, b
	}
	var out2 []*catalog.Function
	for _, c := range casts {
		if c.Target != out || !within(c.Context, ctx) || (in != anything && c.Source != in) {
			continue
		}
		if f := r.cat.FunctionByOID(c.Function); f != nil {
			out2 = append(out2, f)
		}
	}
	return out2
}

// foreignCasts are the casts with a function outside pg_catalog.
func (r *resolver) foreignCasts() []catalog.Cast {
	if r.foreignKnown {
		return r.foreign
	}
	r.foreignKnown = true
	for _, c := range r.cat.Data().Casts {
		if c.Function == 0 {
			continue
		}
		if f := r.cat.FunctionByOID(c.Function); f == nil || f.Schema != "pg_catalog" {
			r.foreign = append(r.foreign, c)
		}
	}
	return r.foreign
}

// common is select_common_type: the type that CASE, COALESCE, VALUES and set
// operations give their branches. ok is false if there is none.
func (r *resolver) common(types []catalog.OID) (t catalog.OID, ok bool) {
	t = unknownOID
	same := true
	for _, n := range types {
		if n == anything {
			return anything, true
		}
		same = same && n == types[0]
	}
	if len(types) > 0 && same && types[0] != unknownOID {
		return types[0], true
	}
	for _, n := range types {
		n = r.base(n)
		if n == unknownOID || n == t {
			continue
		}
		if t == unknownOID {
			t = n
			continue
		}
		have, preferred := r.category(t)
		if cat, _ := r.category(n); cat != have {
			return anything, false
		}
		if !preferred && r.canCoerce(t, n, implicit) && !r.canCoerce(n, t, implicit) {
			t = n
		}
	}
	if t == unknownOID {
		t = textOID
	}
	return t, true
}
