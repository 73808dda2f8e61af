package statement

import (
	"fmt"

	"github.com/pgairlock/pgairlock/policy"
)

// Bounds on what one statement can make the analysis do: `SELECT *, *, …` over
// wide tables grows much faster than its text. The first two are the server's
// own.
const (
	maxTargets     = 1664   // MaxTupleAttributeNumber
	maxJoinColumns = 32_767 // MaxAttrNumber
	maxItems       = 500    // in one FROM
	maxProblems    = 50     // more tell nobody anything
)

// bounded cuts a list of output columns off at the server's own limit.
func (a *analyzer) bounded(cols []column) []column {
	if len(cols) <= maxTargets {
		return cols
	}
	a.fail("too-complex", "54011", "", -1, "target lists can have at most %d entries", maxTargets)
	return cols[:maxTargets]
}

// boundedJoin cuts the columns of a join off at the server's own limit.
func (a *analyzer) boundedJoin(cols []column) []column {
	if len(cols) <= maxJoinColumns {
		return cols
	}
	a.fail("too-complex", "54011", "", -1, "joins can have at most %d columns", maxJoinColumns)
	return cols[:maxJoinColumns]
}

// boundedItems cuts a FROM list off. The server has no such limit, but no use
// for more items either.
func (a *analyzer) boundedItems(items []*item) []*item {
	if len(items) <= maxItems {
		return items
	}
	a.problem(policy.Problem{
		Rule:     "too-complex",
		SQLSTATE: "54001",
		Message:  fmt.Sprintf("FROM has more than %d items", maxItems),
		Pos:      -1,
	})
	return items[:maxItems]
}
