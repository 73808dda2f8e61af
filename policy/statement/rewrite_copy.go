package statement

import (
	"errors"
	"strconv"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/policy/catalog"
)

var errCopySyntax = errors.New("COPY in its syntax of before PostgreSQL 9.0 can't be limited: write COPY … TO STDOUT WITH (FORMAT …, DELIMITER …)")

// capCopy turns COPY table TO STDOUT, which takes no limit, into COPY (SELECT
// … LIMIT n) TO STDOUT with the names and options as they were written. It
// names the table with ONLY, as the server itself does for row security: COPY
// of a table leaves its children out. For everything but plain tables the
// server refuses COPY, and the untouched text lets it say so.
func capCopy(src *lexed, st Stmt, facts *policy.Facts, n int64) (capping, error) {
	c := st.Node.GetCopyStmt()
	rel := copiedRelation(c, facts)
	if rel == nil || rel.Kind != catalog.Table {
		return capping{}, nil
	}
	words, err := src.words(st)
	if err != nil {
		return capping{}, err
	}
	const first = 1 // after COPY
	last := first   // of the name
	for last+2 < len(words) && words[last+1].kind == period {
		last += 2
	}
	if last+1 >= len(words) || words[first].kind == pg_query.Token_BINARY {
		return capping{}, errCopySyntax
	}
	name := src.text[words[first].start:words[last].end]
	out := capping{copied: c, asked: n, columns: copiedColumns(rel)}
	columns := columnList(out.columns)
	if len(c.Attlist) > 0 {
		out.columns = attributeNames(c.Attlist)
		list := last + 1
		last = words.closing(list)
		if words[list].kind != parenOpen || last < list+2 {
			return capping{}, errPlace
		}
		columns = src.text[words[list+1].start:words[last-1].end]
	}
	if usesDelimiters(words[last:]) {
		return capping{}, errCopySyntax
	}
	start := words[first].start
	out.edits = []Edit{{
		Offset:   start,
		Deleted:  words[last].end - start,
		Inserted: "(SELECT " + columns + " FROM ONLY " + name + " LIMIT " + strconv.FormatInt(n, 10) + ")",
	}}
	return out, nil
}

// usesDelimiters recognises TO STDOUT [USING] DELIMITERS '…', which COPY of a
// query does not take.
func usesDelimiters(words tokens) bool {
	for _, w := range words {
		if w.kind == pg_query.Token_DELIMITERS {
			return true
		}
	}
	return false
}

// copiedRelation is the relation that COPY names, as it was resolved.
func copiedRelation(c *pg_query.CopyStmt, facts *policy.Facts) *catalog.Relation {
	for _, u := range facts.Relations {
		if u.Relation != nil && u.Relation.Name == c.Relation.Relname {
			return u.Relation
		}
	}
	return nil
}

// copiedColumns are the columns that COPY takes where it names none and SELECT
// * would take more: generated ones are left out. nil stands for *.
func copiedColumns(rel *catalog.Relation) []string {
	var kept []string
	for _, c := range rel.Columns {
		if !c.Generated {
			kept = append(kept, c.Name)
		}
	}
	if len(kept) == len(rel.Columns) {
		return nil
	}
	return kept
}

func columnList(columns []string) string {
	if columns == nil {
		return "*"
	}
	quoted := make([]string, len(columns))
	for i, c := range columns {
		quoted[i] = `"` + strings.ReplaceAll(c, `"`, `""`) + `"`
	}
	return strings.Join(quoted, ", ")
}

func attributeNames(nodes []*pg_query.Node) []string {
	out := make([]string, len(nodes))
	for i, n := range nodes {
		out[i] = n.GetString_().GetSval()
	}
	return out
}

// verifyCopy checks that is does to the table what the original did, held to
// the planned number of rows, and nothing else.
func (c *capping) verifyCopy(is *pg_query.CopyStmt) error {
	limit := is.GetQuery().GetSelectStmt().GetLimitCount()
	if !isNumber(limit, c.asked) {
		return errChanged
	}
	var targets []*pg_query.Node
	for _, name := range c.columns {
		ref := pg_query.MakeColumnRefNode([]*pg_query.Node{pg_query.MakeStrNode(name)}, 0)
		targets = append(targets, pg_query.MakeResTargetNodeWithVal(ref, 0))
	}
	if c.columns == nil {
		star := pg_query.MakeColumnRefNode([]*pg_query.Node{pg_query.MakeAStarNode()}, 0)
		targets = append(targets, pg_query.MakeResTargetNodeWithVal(star, 0))
	}
	from, ok := proto.Clone(c.copied.Relation).(*pg_query.RangeVar)
	if !ok {
		return errChanged
	}
	from.Inh = false // ONLY
	want := &pg_query.CopyStmt{
		Query: &pg_query.Node{Node: &pg_query.Node_SelectStmt{SelectStmt: &pg_query.SelectStmt{
			TargetList:  targets,
			FromClause:  []*pg_query.Node{{Node: &pg_query.Node_RangeVar{RangeVar: from}}},
			LimitCount:  limit,
			LimitOption: pg_query.LimitOption_LIMIT_OPTION_COUNT,
			Op:          pg_query.SetOperation_SETOP_NONE,
		}}},
		Options: c.copied.Options,
	}
	if !sameTree(want, is, nil) {
		return errChanged
	}
	return nil
}
