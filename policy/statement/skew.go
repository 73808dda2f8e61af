package statement

import (
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/pgairlock/pgairlock/policy"
)

// lexicalSkew finds tokens that this parser, with the lexer of 17, reads
// otherwise than an older server does:
//
//   - 0x1F, 0o17, 0b11 and 1_000 are numbers from 16 on. 15 refuses them, 14
//     reads the number 0 or 1 and a name right behind it.
//   - a vertical tab is white space from 16 on; before, it is an error.
//
// Other differences between 14 and 18 are words: where a newer grammar reads
// syntax an older one reads a name, the node that is made of it is checked when
// it is met.
func lexicalSkew(text string, version int) []policy.Problem {
	if version >= 160000 || !suspicious(text) {
		return nil
	}
	scan, err := pg_query.Scan(text)
	if err != nil {
		return []policy.Problem{lexical("text that cannot be scanned", 0)}
	}
	var out []policy.Problem
	end := 0
	for _, tok := range scan.Tokens {
		start := int(tok.Start)
		if i := strings.IndexByte(text[end:start], '\v'); i >= 0 {
			out = append(out, lexical("a vertical tab", end+i))
		}
		end = int(tok.End)
		word := text[start:end]
		switch tok.Token {
		case pg_query.Token_ICONST, pg_query.Token_FCONST, pg_query.Token_PARAM:
			if strings.ContainsAny(word, "xXoObB_") {
				out = append(out, lexical("the number "+word, start))
			}
		case pg_query.Token_SCONST, pg_query.Token_USCONST, pg_query.Token_BCONST, pg_query.Token_XCONST:
			if i := tabBetweenParts(word); i >= 0 {
				out = append(out, lexical("a vertical tab", start+i))
			}
		}
	}
	if i := strings.IndexByte(text[end:], '\v'); i >= 0 {
		out = append(out, lexical("a vertical tab", end+i))
	}
	return out
}

func lexical(what string, pos int) policy.Problem {
	return policy.Problem{
		Rule:     "grammar-skew",
		SQLSTATE: "42601",
		Message:  what + " needs PostgreSQL 16",
		Name:     what,
		Pos:      pos,
	}
}

// suspicious is a quick look whether a text can have such a token at all.
func suspicious(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\v':
			return true
		case c < '0' || c > '9' || i+1 == len(text):
		case text[i+1] == '_':
			return true
		case c == '0' && strings.IndexByte("xXoObB", text[i+1]) >= 0:
			return true
		}
	}
	return false
}

// tabBetweenParts finds a vertical tab in the white space that joins the parts
// of a string constant; -1 if there is none.
func tabBetweenParts(token string) int {
	if strings.IndexByte(token, '\v') < 0 {
		return -1
	}
	for i := range len(token) {
		if token[i] != '\'' {
			continue
		}
		tab := -1
		for j := i + 1; j < len(token) && (isSpace(token[j]) || token[j] == '\''); j++ {
			if token[j] == '\v' && tab < 0 {
				tab = j
			}
			if token[j] == '\'' && tab >= 0 {
				return tab
			}
		}
	}
	return -1
}
