package statement

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/pgairlock/pgairlock/policy"
)

// errPlace is returned where a limit's place in the text could not be found.
// The statement is refused then: what can't be edited safely isn't sent.
var errPlace = errors.New("the place of LIMIT was not found in the text")

// limitChange is what has to be done to one SELECT's limit.
type limitChange uint8

const (
	keepLimit    limitChange = iota // it already yields few enough rows
	addLimit                        // there is none
	replaceLimit                    // a constant is too large: n takes its place
	wrapLimit                       // an expression: least((expr)::pg_catalog.int8, n)
)

// changeFor decides how sel comes to yield at most n rows. Text can't cap WITH
// TIES: that is left to the counting of the answer.
func changeFor(sel *pg_query.SelectStmt, facts *policy.Facts, n int64) limitChange {
	switch {
	case sel.LimitOption == pg_query.LimitOption_LIMIT_OPTION_WITH_TIES:
		return keepLimit
	case sel.LimitCount == nil:
		if most, ok := mostRows(sel, facts); ok && most <= n {
			return keepLimit
		}
		return addLimit
	}
	if c := sel.LimitCount.GetAConst(); c != nil {
		if c.Isnull {
			return replaceLimit
		}
		if v, ok := numericConstant(c); ok {
			if v <= float64(n) {
				return keepLimit
			}
			return replaceLimit
		}
	}
	if at, ok := wrapped(sel.LimitCount); ok && at <= n {
		return keepLimit
	}
	return wrapLimit
}

// numericConstant is the value of a numeric constant. Numbers too large for a float64
// are infinite, which compares rightly.
func numericConstant(c *pg_query.A_Const) (float64, bool) {
	switch v := c.Val.(type) {
	case *pg_query.A_Const_Ival:
		return float64(v.Ival.GetIval()), true
	case *pg_query.A_Const_Fval:
		f, err := strconv.ParseFloat(v.Fval.GetFval(), 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) || math.IsNaN(f) {
			return 0, false
		}
		return f, true
	}
	return 0, false
}

// wrapped recognises least((expr)::pg_catalog.int8, n) and returns n. LEAST is
// a keyword of the grammar, so no search_path can give it another meaning, and
// it passes over nulls: LIMIT NULL and a null parameter become n.
func wrapped(n *pg_query.Node) (int64, bool) {
	m := n.GetMinMaxExpr()
	if m == nil || m.Op != pg_query.MinMaxOp_IS_LEAST || len(m.Args) != 2 {
		return 0, false
	}
	names := m.Args[0].GetTypeCast().GetTypeName().GetNames()
	if len(names) != 2 || names[0].GetString_().GetSval() != "pg_catalog" || names[1].GetString_().GetSval() != "int8" {
		return 0, false
	}
	c := m.Args[1].GetAConst()
	if c == nil || c.Isnull {
		return 0, false
	}
	v, ok := numericConstant(c)
	if !ok || v < 0 || v > math.MaxInt64/2 {
		return 0, false
	}
	return int64(v), true
}

// limitEdits returns the edits that cap a SELECT at n rows; none where it is
// capped already. body are the tokens of the SELECT.
func limitEdits(sel *pg_query.SelectStmt, body tokens, change limitChange, n int64) ([]Edit, error) {
	number := strconv.FormatInt(n, 10)
	switch change {
	case keepLimit:
		return nil, nil
	case addLimit:
		return addEdits(sel, body, number)
	case replaceLimit:
		from, to, ok := body.limitExpr(firstLocation(sel.LimitCount))
		if !ok {
			return nil, errPlace
		}
		start := body[from].start
		return []Edit{{Offset: start, Deleted: body[to].end - start, Inserted: number}}, nil
	case wrapLimit:
		from, to, ok := body.limitExpr(firstLocation(sel.LimitCount))
		if !ok {
			return nil, errPlace
		}
		return []Edit{
			{Offset: body[from].start, Inserted: "least(("},
			{Offset: body[to].end, Inserted: ")::pg_catalog.int8, " + number + ")"},
		}, nil
	}
	return nil, fmt.Errorf("limit change %d is unknown", change)
}

// addEdits puts LIMIT at the very end of the SELECT, where PostgreSQL takes it
// even after a locking clause, and before OFFSET where there is one: a limit
// may not follow OFFSET … FOR UPDATE.
func addEdits(sel *pg_query.SelectStmt, body tokens, number string) ([]Edit, error) {
	if sel.LimitOffset != nil {
		i := body.keywordBefore(firstLocation(sel.LimitOffset), pg_query.Token_OFFSET)
		if i < 0 {
			return nil, errPlace
		}
		return []Edit{{Offset: body[i].start, Inserted: "LIMIT " + number + " "}}, nil
	}
	if len(body) == 0 {
		return nil, errPlace
	}
	return []Edit{{Offset: body[len(body)-1].end, Inserted: " LIMIT " + number}}, nil
}
