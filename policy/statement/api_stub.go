package statement

import "github.com/pgairlock/pgairlock/policy"

// Limits bound what Parse hands to the parser. Zero values stand for the
// defaults.
type Limits struct {
	Bytes  int // of the text; default 1 MiB
	Tokens int // default 200,000
	Depth  int // nesting that one run of tokens can build; default 1,000
}

// Parse parses a text.
func Parse(text string, lim Limits) (*Tree, error) { return &Tree{Text: text}, nil }

// Analyze establishes the facts of every statement of t.
func Analyze(t *Tree, env Env) []policy.Facts { return nil }
