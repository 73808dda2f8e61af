package statement

import (
	"reflect"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/pgairlock/pgairlock/policy"
)

// mostRows is how many rows sel yields at most, where its shape alone proves
// it: such a text needs no limit and keeps its identity in pg_stat_statements.
// Whatever is not certain is not bounded.
func mostRows(sel *pg_query.SelectStmt, facts *policy.Facts) (int64, bool) {
	if sel == nil || facts == nil || len(facts.Problems) > 0 || len(facts.Operators) > 0 {
		return 0, false
	}
	s := shape{sets: map[string]bool{}, aggregates: map[string]bool{}}
	for i := range facts.Functions {
		u := &facts.Functions[i]
		if len(u.Candidates) == 0 {
			return 0, false
		}
		for _, f := range u.Candidates {
			if f.Set && u.Via != "call" {
				return 0, false // no call that could be looked for in the tree
			}
			s.sets[f.Name] = s.sets[f.Name] || f.Set
			was, seen := s.aggregates[f.Name]
			s.aggregates[f.Name] = f.Kind == 'a' && (was || !seen)
		}
	}
	return s.most(sel)
}

// shape is what a statement's facts say about its function calls, by the
// functions' bare names. Facts tell the same function once, so a call's
// position says nothing.
type shape struct {
	sets       map[string]bool // it may be set-returning
	aggregates map[string]bool // it can only be an aggregate
}

func (s shape) most(sel *pg_query.SelectStmt) (int64, bool) {
	if sel.LimitOption != pg_query.LimitOption_LIMIT_OPTION_WITH_TIES {
		if c := sel.LimitCount.GetAConst(); c != nil && c.GetIval() != nil {
			return int64(max(c.GetIval().GetIval(), 0)), true
		}
	}
	switch {
	case sel.Op != pg_query.SetOperation_SETOP_NONE:
		return s.mostOfSets(sel)
	case len(sel.ValuesLists) > 0: // VALUES takes no set-returning functions
		return int64(len(sel.ValuesLists)), true
	case len(sel.GroupClause) > 0 || s.multiplies(sel):
		return 0, false
	case len(sel.FromClause) == 0, sel.HavingClause != nil, s.aggregated(sel.TargetList):
		return 1, true
	}
	return 0, false
}

func (s shape) mostOfSets(sel *pg_query.SelectStmt) (int64, bool) {
	left, ok := s.most(sel.Larg)
	if !ok || sel.Op != pg_query.SetOperation_SETOP_UNION {
		return left, ok
	}
	right, ok := s.most(sel.Rarg)
	return left + right, ok
}

// multiplies says whether a set-returning function outside FROM and WITH may
// make several rows of one.
func (s shape) multiplies(sel *pg_query.SelectStmt) bool {
	for _, n := range slices.Concat(sel.TargetList, sel.SortClause, sel.DistinctClause, sel.WindowClause) {
		if hasCall(n, true, func(c *pg_query.FuncCall) bool { return s.sets[bareName(c)] }) {
			return true
		}
	}
	return false
}

// aggregated says whether one of the targets has an aggregate of this very
// query: not one of a sub-select and not a window function.
func (s shape) aggregated(targets []*pg_query.Node) bool {
	for _, n := range targets {
		if hasCall(n, false, func(c *pg_query.FuncCall) bool { return c.Over == nil && s.aggregates[bareName(c)] }) {
			return true
		}
	}
	return false
}

// hasCall says whether a call at or below n is as is says; sub-selects are
// looked into where deep.
func hasCall(n *pg_query.Node, deep bool, is func(*pg_query.FuncCall) bool) bool {
	found := false
	visitTree(reflect.ValueOf(n), treeFields(), func(v reflect.Value) bool {
		switch n := v.Interface().(type) {
		case *pg_query.SubLink:
			return deep && !found
		case *pg_query.FuncCall:
			found = found || is(n)
		}
		return !found
	})
	return found
}

// bareName is the called function's name without its schema.
func bareName(c *pg_query.FuncCall) string {
	if len(c.Funcname) == 0 {
		return ""
	}
	return c.Funcname[len(c.Funcname)-1].GetString_().GetSval()
}
