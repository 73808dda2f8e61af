package statement

import "github.com/pgairlock/pgairlock/policy/catalog"

// candidate is a function or operator that matches a call by name and number
// of arguments. args are the types it takes for the arguments of this call,
// variadic ones spread and named ones in the call's order.
type candidate struct {
	args     []catalog.OID
	fn       *catalog.Function
	op       *catalog.Operator
	at       int  // position of its schema in the search path
	variadic bool // arguments were spread
}

// feasible keeps the candidates that every argument could be coerced to.
func (r *resolver) feasible(in []catalog.OID, cands []candidate) []candidate {
	out := cands[:0:0]
	for _, c := range cands {
		if r.matches(in, c.args) {
			out = append(out, c)
		}
	}
	return out
}

func (r *resolver) matches(in, args []catalog.OID) bool {
	generic := false
	for i, t := range in {
		if !r.canCoerce(t, args[i], implicit) {
			return false
		}
		generic = generic || polymorphic(args[i])
	}
	return !generic || r.consistent(in, args)
}

// exact finds the candidate whose argument types are just those of the call.
func exact(in []catalog.OID, cands []candidate) (candidate, bool) {
	for _, c := range cands {
		if equalTypes(in, c.args) {
			return c, true
		}
	}
	return candidate{}, false
}

func equalTypes(a, b []catalog.OID) bool {
	for i := range a {
		if a[i] != b[i] || a[i] == anything {
			return false
		}
	}
	return true
}

// choose reduces feasible candidates as func_select_candidate does. What is
// left is the winner, or all that could win when an argument's type is not
// known, or the rivals of an ambiguous call.
func (r *resolver) choose(in []catalog.OID, cands []candidate) []candidate {
	if len(cands) <= 1 {
		return cands
	}
	base := make([]catalog.OID, len(in))
	unknowns := 0
	for i, t := range in {
		if t == anything {
			return cands
		}
		if t == unknownOID {
			unknowns++
			base[i] = t
		} else {
			base[i] = r.base(t)
		}
	}
	cands = best(cands, func(c candidate) int { return r.exactMatches(base, c) })
	if len(cands) == 1 {
		return cands
	}
	cands = best(cands, func(c candidate) int { return r.preferredMatches(base, c) })
	if len(cands) == 1 || unknowns == 0 {
		return cands
	}
	if kept, ok := r.byCategory(base, cands); ok {
		cands = kept
		if len(cands) == 1 {
			return cands
		}
	}
	if only, ok := r.byKnownType(base, cands, unknowns); ok {
		return only
	}
	return cands
}

// best keeps the candidates with the highest score.
func best(cands []candidate, score func(candidate) int) []candidate {
	top := -1
	var out []candidate
	for _, c := range cands {
		switch s := score(c); {
		case s > top:
			top, out = s, append(out[:0:0], c)
		case s == top:
			out = append(out, c)
		}
	}
	return out
}

func (r *resolver) exactMatches(base []catalog.OID, c candidate) int {
	n := 0
	for i, t := range base {
		if t != unknownOID && c.args[i] == t {
			n++
		}
	}
	return n
}

func (r *resolver) preferredMatches(base []catalog.OID, c candidate) int {
	n := 0
	for i, t := range base {
		if t == unknownOID {
			continue
		}
		if c.args[i] == t {
			n++
			continue
		}
		want, _ := r.category(t)
		if have, preferred := r.category(c.args[i]); preferred && have == want {
			n++
		}
	}
	return n
}

// byCategory resolves the unknown arguments' categories: a string if any
// candidate takes one, else the one category that all take.
func (r *resolver) byCategory(base []catalog.OID, cands []candidate) ([]candidate, bool) {
	category := make([]catalog.Char, len(base))
	preferred := make([]bool, len(base))
	for i, t := range base {
		if t != unknownOID {
			continue
		}
		conflict := false
		for _, c := range cands {
			cat, pref := r.category(c.args[i])
			switch {
			case category[i] == 0:
				category[i], preferred[i] = cat, pref
			case cat == category[i]:
				preferred[i] = preferred[i] || pref
			case cat == 'S':
				category[i], preferred[i] = cat, pref
			default:
				conflict = true
			}
		}
		if conflict && category[i] != 'S' {
			return nil, false
		}
	}
	var out []candidate
next:
	for _, c := range cands {
		for i, t := range base {
			if t != unknownOID {
				continue
			}
			cat, pref := r.category(c.args[i])
			if cat != category[i] || (preferred[i] && !pref) {
				continue next
			}
		}
		out = append(out, c)
	}
	return out, len(out) > 0
}

// byKnownType takes the unknown arguments to be of the one type that all known
// ones have, if that leaves a single candidate.
func (r *resolver) byKnownType(base []catalog.OID, cands []candidate, unknowns int) ([]candidate, bool) {
	if unknowns == len(base) {
		return nil, false
	}
	known := unknownOID
	for _, t := range base {
		switch {
		case t == unknownOID:
		case known == unknownOID:
			known = t
		case known != t:
			return nil, false
		}
	}
	same := make([]catalog.OID, len(base))
	for i := range same {
		same[i] = known
	}
	out := r.feasible(same, cands)
	return out, len(out) == 1
}

// consistent is check_generic_type_consistency, lenient where a range's
// element type is not in the catalog.
func (r *resolver) consistent(in, args []catalog.OID) bool {
	var elem, rng, multi catalog.OID
	array := catalog.OID(0)
	nonArray, enum := false, false
	set := func(have *catalog.OID, t catalog.OID) bool {
		if *have != 0 && *have != t {
			return false
		}
		*have = t
		return true
	}
	for i, want := range args[:len(in)] {
		t := in[i]
		switch want {
		case anyNonArrayOID:
			nonArray = true
		case anyEnumOID:
			enum = true
		case anyElementOID, anyArrayOID, anyRangeOID, anyMultirangeOID:
		case anyCompatibleArrayOID, anyCompatibleRangeOID, anyCompatibleMultirangeOID:
			if t != anything && t != unknownOID && !r.ofFamily(want, t) {
				return false
			}
			continue
		default:
			continue
		}
		if t == anything || t == unknownOID {
			continue
		}
		ok := true
		switch want {
		case anyElementOID, anyNonArrayOID, anyEnumOID:
			ok = set(&elem, t)
		case anyArrayOID:
			ok = set(&array, r.base(t)) && r.ofFamily(want, t)
		case anyRangeOID:
			ok = set(&rng, r.base(t)) && r.ofFamily(want, t)
		case anyMultirangeOID:
			ok = set(&multi, r.base(t)) && r.ofFamily(want, t)
		}
		if !ok {
			return false
		}
	}
	if array != 0 && elem != 0 {
		if e := r.element(array); e != 0 && e != elem {
			return false
		}
	}
	if e := rangeElement(rng); e != 0 && elem != 0 && e != elem {
		return false
	}
	if elem != 0 && nonArray && r.element(elem) != 0 {
		return false
	}
	if elem != 0 && enum {
		if ty := r.cat.TypeByOID(elem); ty != nil && ty.Kind != 'e' {
			return false
		}
	}
	return true
}

// ofFamily says whether t can stand for an array, range or multirange
// pseudo-type.
func (r *resolver) ofFamily(pseudo, t catalog.OID) bool {
	ty := r.cat.TypeByOID(r.base(t))
	if ty == nil {
		return true
	}
	switch pseudo {
	case anyArrayOID, anyCompatibleArrayOID:
		return ty.Category == 'A' || t == anyArrayOID || t == recordArrayOID
	case anyRangeOID, anyCompatibleRangeOID:
		return ty.Kind == 'r'
	case anyMultirangeOID, anyCompatibleMultirangeOID:
		return ty.Kind == 'm'
	}
	return true
}

// actual is the type that the pseudo-type result stands for in a call.
func (r *resolver) actual(result catalog.OID, in, args []catalog.OID) catalog.OID {
	if !polymorphic(result) {
		return result
	}
	elem, compatible := r.bound(in, args)
	switch result {
	case anyElementOID, anyNonArrayOID, anyEnumOID:
		return elem
	case anyArrayOID:
		return r.arrayOf(elem)
	case anyCompatibleOID, anyCompatibleNonArrayOID:
		return compatible
	case anyCompatibleArrayOID:
		return r.arrayOf(compatible)
	}
	for i, want := range args[:len(in)] { // ranges: the argument's own type
		if want == result && in[i] != unknownOID {
			return in[i]
		}
	}
	return anything
}

// bound finds what anyelement and anycompatible stand for in a call.
func (r *resolver) bound(in, args []catalog.OID) (elem, compatible catalog.OID) {
	var parts []catalog.OID
	for i, want := range args[:len(in)] {
		t := in[i]
		if t == anything {
			continue
		}
		switch want {
		case anyElementOID, anyNonArrayOID, anyEnumOID:
			if t != unknownOID {
				elem = t
			}
		case anyArrayOID:
			if e := r.element(t); e != 0 {
				elem = e
			}
		case anyRangeOID, anyMultirangeOID:
			if e := rangeElement(r.base(t)); e != 0 {
				elem = e
			}
		case anyCompatibleOID, anyCompatibleNonArrayOID:
			parts = append(parts, t)
		case anyCompatibleArrayOID:
			if e := r.element(t); e != 0 {
				parts = append(parts, e)
			}
		case anyCompatibleRangeOID, anyCompatibleMultirangeOID:
			parts = append(parts, rangeElement(r.base(t)))
		}
	}
	if len(parts) > 0 {
		compatible, _ = r.common(parts)
	}
	return elem, compatible
}
