package statement

import (
	"fmt"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/policy/catalog"
)

// Tree is a text that parsed: one or several statements.
type Tree struct {
	Text  string
	Stmts []Stmt
}

// Stmt is one statement of a text. Start and End are byte offsets into the
// text; neither white space nor the separating semicolon is included.
type Stmt struct {
	Node       *pg_query.Node
	Start, End int
}

// SyntaxError is why a text could not be made into a Tree.
type SyntaxError struct {
	SQLSTATE string
	Message  string // the parser's own words
	Pos      int    // byte offset in the text, -1 if there is none
	Rule     string // "syntax", "too-complex" or "encoding"
}

// Error is the message with its code.
func (e *SyntaxError) Error() string {
	if e.Pos < 0 {
		return fmt.Sprintf("%s (SQLSTATE %s)", e.Message, e.SQLSTATE)
	}
	return fmt.Sprintf("%s at byte %d (SQLSTATE %s)", e.Message, e.Pos, e.SQLSTATE)
}

// Env is what names in statements are resolved against.
type Env struct {
	Catalog *catalog.Catalog
	// Path is the session's search_path as it is set, "$user" already
	// replaced. pg_catalog is searched first unless it is listed.
	Path []string
	// ParamTypes are the types a Parse message gave for $1, $2 …; 0 and
	// missing ones are unknown.
	ParamTypes []catalog.OID
	// Prepared finds the facts of the statement that EXECUTE name runs.
	// nil: no statement is known.
	Prepared func(name string) (*policy.Facts, bool)
	// Cursor says whether a cursor of that name is open for FETCH, MOVE and
	// CLOSE. nil: none is.
	Cursor func(name string) bool
}
