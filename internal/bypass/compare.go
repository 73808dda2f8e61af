package bypass

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// RowLimit is the row limit of policy.yaml's agents.
const RowLimit = 100

// Compare lists how a proxy's answers differ from a direct connection's, where
// rows past the limit may be missing and are then owned up to: fewer rows, a
// tag that counts them, a notice. With shapeOnly, values don't matter.
func Compare(direct, proxied []Answer, shapeOnly bool) []string {
	if len(direct) != len(proxied) {
		return []string{fmt.Sprintf("%d answers, %d directly", len(proxied), len(direct))}
	}
	c := comparison{shapeOnly: shapeOnly}
	for i := range direct {
		c.message = i + 1
		c.answer(&direct[i], &proxied[i])
	}
	if c.cut && !c.told && !c.warned || c.told && !c.cut {
		c.add("rows were withheld: %t, the client was told so: %t", c.cut, c.told)
	}
	return c.found
}

type comparison struct {
	shapeOnly bool
	message   int  // counted from 1
	rows      int  // that the proxy let through so far
	cut       bool // rows were withheld
	told      bool // and the client was told so
	warned    bool // or was told at DECLARE that there is a limit
	found     []string
}

func (c *comparison) add(format string, args ...any) {
	c.found = append(c.found, fmt.Sprintf("message %d: ", c.message)+fmt.Sprintf(format, args...))
}

func (c *comparison) differ(what string, have, want any) {
	c.add("%s: %v, directly %v", what, have, want)
}

func (c *comparison) answer(direct, proxied *Answer) {
	if !slices.EqualFunc(direct.Errors, proxied.Errors, sameError) {
		c.differ("errors", proxied.Errors, direct.Errors)
	}
	if direct.Closed != proxied.Closed || direct.Status != proxied.Status {
		c.differ("state", state(proxied), state(direct))
	}
	c.notices(direct, proxied.Notices)
	if len(direct.Results) != len(proxied.Results) {
		c.differ("results", len(proxied.Results), len(direct.Results))
		return
	}
	for i := range direct.Results {
		c.result(&direct.Results[i], &proxied.Results[i])
	}
}

func (c *comparison) result(direct, proxied *Result) {
	if !slices.Equal(direct.Columns, proxied.Columns) {
		c.differ("columns", proxied.Columns, direct.Columns)
	}
	if direct.Empty != proxied.Empty {
		c.differ("empty", proxied.Empty, direct.Empty)
	}
	c.rows += len(proxied.Rows)
	if len(proxied.Rows) < len(direct.Rows) && (c.rows >= RowLimit || c.cut) {
		c.cut = true
		c.cutResult(direct, proxied)
		return
	}
	if direct.Tag != proxied.Tag {
		c.differ("tag", proxied.Tag, direct.Tag)
	}
	if c.shapeOnly && len(proxied.Rows) == len(direct.Rows) {
		return
	}
	if !slices.Equal(direct.Rows, proxied.Rows) {
		c.differ("rows", clip(proxied.Rows), clip(direct.Rows))
	}
}

// cutResult compares a result that the limit has cut: whatever rows came must
// be among the direct ones, each as often as there at most, and counted by the
// tag.
func (c *comparison) cutResult(direct, proxied *Result) {
	left := map[string]int{}
	for _, r := range direct.Rows {
		left[r]++
	}
	for _, r := range proxied.Rows {
		if left[r]--; left[r] < 0 {
			c.add("row %q is not among the direct rows", r)
			break
		}
	}
	word, _, _ := strings.Cut(proxied.Tag, " ")
	if want := word + " " + strconv.Itoa(len(proxied.Rows)); proxied.Tag != "" && proxied.Tag != want {
		c.add("tag %q for %d rows", proxied.Tag, len(proxied.Rows))
	}
}

func (c *comparison) notices(direct *Answer, proxied []Report) {
	declares := slices.ContainsFunc(direct.Results, func(r Result) bool { return r.Tag == "DECLARE CURSOR" })
	for _, n := range proxied {
		switch {
		case slices.Contains(direct.Notices, n):
		case LimitNotice(n) && declares:
			c.warned = true
		case LimitNotice(n):
			c.told = true
		default:
			c.add("notice %q, not sent directly", n.Message)
		}
	}
	for _, n := range direct.Notices {
		if !slices.Contains(proxied, n) {
			c.add("notice %q is lost", n.Message)
		}
	}
}

// sameError says whether a proxy's error is the server's, or the proxy's own
// word for a name that the server does not know either.
func sameError(direct, proxied Report) bool {
	if direct == proxied {
		return true
	}
	rule, ok := Rule(proxied)
	return ok && strings.HasPrefix(rule, "unresolved-") && direct.SQLSTATE == proxied.SQLSTATE && direct.Message == proxied.Message
}

// LimitNotice says whether n tells that rows were withheld.
func LimitNotice(n Report) bool {
	return n.Severity == "NOTICE" && strings.Contains(n.Message, strconv.Itoa(RowLimit)) && strings.Contains(n.Message, "row")
}

func state(a *Answer) string {
	if a.Closed {
		return "closed"
	}
	return string(a.Status)
}

func clip(rows []string) []string {
	if len(rows) > 3 {
		return append(slices.Clone(rows[:3]), fmt.Sprintf("… %d rows", len(rows)))
	}
	return rows
}
