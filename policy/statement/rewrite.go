package statement

import (
	"errors"
	"fmt"
	"math"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/pgairlock/pgairlock/policy"
)

// capping is how one statement is held to a number of rows by its text.
type capping struct {
	sel    *pg_query.SelectStmt // the SELECT whose limit changes; nil for COPY table
	copied *pg_query.CopyStmt   // COPY table, which becomes COPY of a SELECT
	change limitChange
	asked  int64 // rows the new text asks for
	edits  []Edit

	columns []string // that the SELECT in place of a copied table names; nil: *
}

var errChanged = errors.New("the rewritten text does not mean the same")

// capRows plans the edits that hold a statement to rows rows; rows is
// positive. One more is asked for where the proxy can hold it back, so that it
// knows whether there was more; a cursor can't be told that.
//
// EXPLAIN is left alone: a limit would show another plan.
func capRows(src *lexed, st Stmt, facts *policy.Facts, rows int64) (capping, error) {
	more := min(rows, math.MaxInt64/4) + 1
	switch n := st.Node.Node.(type) {
	case *pg_query.Node_SelectStmt, *pg_query.Node_PrepareStmt:
		return capSelect(src, st, facts, more)
	case *pg_query.Node_DeclareCursorStmt:
		return capSelect(src, st, facts, more-1)
	case *pg_query.Node_CopyStmt:
		switch c := n.CopyStmt; {
		case c.IsFrom || c.IsProgram || c.Filename != "":
		case c.Relation != nil:
			return capCopy(src, st, facts, more)
		default:
			return capSelect(src, st, facts, more)
		}
	}
	return capping{}, nil
}

// capSelect caps the SELECT that a statement is or contains.
func capSelect(src *lexed, st Stmt, facts *policy.Facts, n int64) (capping, error) {
	sel := innerSelect(st.Node)
	if sel == nil || sel.IntoClause != nil {
		return capping{}, nil
	}
	c := capping{sel: sel, change: changeFor(sel, facts, n), asked: n}
	if c.change == keepLimit {
		return capping{}, nil
	}
	words, err := src.words(st)
	if err != nil {
		return capping{}, err
	}
	if st.Node.GetCopyStmt() != nil { // COPY ( … ) TO
		if words, err = words.bracketed(1); err != nil {
			return capping{}, err
		}
	}
	c.edits, err = limitEdits(sel, words, c.change, n)
	return c, err
}

// verify compares the statement that was parsed from the edited text with the
// original: they must be equal in all but the limit, and that must be the
// planned one.
func (c *capping) verify(was, is *pg_query.Node) error {
	if c.copied != nil {
		return c.verifyCopy(is.GetCopyStmt())
	}
	if !sameTree(was, is, c.sel) {
		return errChanged
	}
	if c.sel == nil {
		return nil
	}
	return c.verifyLimit(innerSelect(is))
}

// innerSelect is the SELECT that capRows looks at.
func innerSelect(n *pg_query.Node) *pg_query.SelectStmt {
	switch n := n.Node.(type) {
	case *pg_query.Node_SelectStmt:
		return n.SelectStmt
	case *pg_query.Node_PrepareStmt:
		return n.PrepareStmt.Query.GetSelectStmt()
	case *pg_query.Node_DeclareCursorStmt:
		return n.DeclareCursorStmt.Query.GetSelectStmt()
	case *pg_query.Node_CopyStmt:
		return n.CopyStmt.Query.GetSelectStmt()
	}
	return nil
}

func (c *capping) verifyLimit(is *pg_query.SelectStmt) error {
	if is == nil || is.LimitOption != pg_query.LimitOption_LIMIT_OPTION_COUNT {
		return errChanged
	}
	switch c.change {
	case addLimit, replaceLimit:
		if !isNumber(is.LimitCount, c.asked) {
			return fmt.Errorf("%w: limit is not %d", errChanged, c.asked)
		}
	case wrapLimit:
		n, ok := wrapped(is.LimitCount)
		if !ok || n != c.asked {
			return fmt.Errorf("%w: limit is not held to %d", errChanged, c.asked)
		}
		if !sameTree(c.sel.LimitCount, is.LimitCount.GetMinMaxExpr().Args[0].GetTypeCast().GetArg(), nil) {
			return fmt.Errorf("%w: limit's own expression differs", errChanged)
		}
	}
	return nil
}

// isNumber says whether a node is the constant n. The parser makes an Integer
// of what fits 32 bits and a Float of what doesn't.
func isNumber(node *pg_query.Node, n int64) bool {
	c := node.GetAConst()
	if c == nil || c.Isnull {
		return false
	}
	if n <= math.MaxInt32 {
		return c.GetIval() != nil && int64(c.GetIval().Ival) == n
	}
	return c.GetFval().GetFval() == fmt.Sprint(n)
}
