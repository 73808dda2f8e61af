package statement

import (
	"fmt"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// WithoutLiterals is a text for the record: constants are replaced by ? (in
// quotes where they were quoted) and comments are left out, which may hold
// anything. It works on tokens, so that texts that do not parse are covered
// too. Of a text that cannot even be cut into tokens only its length is told.
func WithoutLiterals(text string) string {
	unreadable := fmt.Sprintf("(%d bytes that cannot be read as SQL)", len(text))
	lim := Limits{}.orDefaults()
	if checkEncoding(text, lim) != nil || operatorCost(text) >= 0 {
		return unreadable
	}
	res, err := pg_query.Scan(text)
	if err != nil {
		return unreadable
	}
	var b strings.Builder
	at := 0
	for _, t := range res.Tokens {
		start, end := int(t.Start), int(t.End)
		if start < at || end > len(text) || start > end {
			return unreadable
		}
		b.WriteString(text[at:start])
		at = end
		b.WriteString(shown(t.Token, text[start:end]))
	}
	b.WriteString(text[at:])
	return strings.TrimSpace(b.String())
}

// shown is what stands for one token.
func shown(kind pg_query.Token, token string) string {
	switch kind {
	case pg_query.Token_SCONST, pg_query.Token_USCONST:
		return "'?'"
	case pg_query.Token_BCONST:
		return "b'?'"
	case pg_query.Token_XCONST:
		return "x'?'"
	case pg_query.Token_ICONST, pg_query.Token_FCONST:
		return "?"
	case pg_query.Token_SQL_COMMENT, pg_query.Token_C_COMMENT:
		return ""
	}
	return token
}

// Fingerprint is the same for texts that differ in their literals and their
// layout only; "" for a text without one. It groups records. Nothing may be
// decided by it: it takes texts for the same that are not.
func Fingerprint(text string) string {
	lim := Limits{}.orDefaults()
	if checkEncoding(text, lim) != nil || contain(text, lim) != nil {
		return ""
	}
	id, err := pg_query.Fingerprint(text)
	if err != nil {
		return ""
	}
	return id
}
