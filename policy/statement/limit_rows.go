package statement

import (
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"

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
	uses := make(map[int]*policy.FunctionUse, len(facts.Functions))
	for i := range facts.Functions {
		uses[facts.Functions[i].Pos] = &facts.Functions[i]
	}
	return shape{facts, uses}.most(sel)
}

type shape struct {
	facts *policy.Facts
	uses  map[int]*policy.FunctionUse // by position
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
	case !s.oneRowPerRow(sel):
		return 0, false
	case len(sel.FromClause) == 0 && len(sel.GroupClause) == 0:
		return 1, true
	case len(sel.GroupClause) == 0 && (sel.HavingClause != nil || s.aggregates(sel.TargetList)):
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

// oneRowPerRow says whether nothing outside FROM can multiply rows, which
// set-returning functions do in the target list, ORDER BY and DISTINCT ON,
// however they are called. Those in FROM and WITH only make rows of a source.
func (s shape) oneRowPerRow(sel *pg_query.SelectStmt) bool {
	var inFrom map[int]bool
	for i := range s.facts.Functions {
		u := &s.facts.Functions[i]
		if len(u.Candidates) > 0 && !returnsSet(u) {
			continue
		}
		if inFrom == nil {
			inFrom = callsIn(slices.Concat(sel.WithClause.GetCtes(), sel.FromClause))
		}
		if u.Pos < 0 || !inFrom[u.Pos] {
			return false
		}
	}
	return true
}

func returnsSet(u *policy.FunctionUse) bool {
	for _, f := range u.Candidates {
		if f.Set {
			return true
		}
	}
	return false
}

// callsIn are the positions of all function calls below the nodes.
func callsIn(nodes []*pg_query.Node) map[int]bool {
	found := map[int]bool{}
	for _, n := range nodes {
		visitMessages(n.ProtoReflect(), func(m protoreflect.Message) bool {
			if call, ok := m.Interface().(*pg_query.FuncCall); ok {
				found[int(call.Location)] = true
			}
			return true
		})
	}
	return found
}

// aggregates says whether one of the targets has an aggregate of this very
// query: not one of a sub-select and not a window function.
func (s shape) aggregates(targets []*pg_query.Node) bool {
	found := false
	for _, t := range targets {
		visitMessages(t.ProtoReflect(), func(m protoreflect.Message) bool {
			switch n := m.Interface().(type) {
			case *pg_query.SubLink:
				return false
			case *pg_query.FuncCall:
				found = found || n.Over == nil && s.isAggregate(int(n.Location))
			}
			return !found
		})
	}
	return found
}

// isAggregate says whether the call at a position can only be an aggregate.
func (s shape) isAggregate(pos int) bool {
	u := s.uses[pos]
	if u == nil || len(u.Candidates) == 0 {
		return false
	}
	for _, f := range u.Candidates {
		if f.Kind != 'a' {
			return false
		}
	}
	return true
}
