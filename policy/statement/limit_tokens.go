package statement

import (
	"fmt"
	"sort"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// token is a word of a text as the server's own scanner cuts it.
type token struct {
	kind       pg_query.Token
	start, end int // byte offsets
}

// tokens are the words of a text in order, comments left out: whatever is
// placed relative to one can't end up inside a comment or a string.
type tokens []token

// scan cuts a text that has been parsed before.
func scan(text string) (tokens, error) {
	res, err := pg_query.Scan(text)
	if err != nil {
		return nil, fmt.Errorf("scan: %w", err)
	}
	out := make(tokens, 0, len(res.Tokens))
	for _, t := range res.Tokens {
		if t.Token == pg_query.Token_SQL_COMMENT || t.Token == pg_query.Token_C_COMMENT {
			continue
		}
		out = append(out, token{kind: t.Token, start: int(t.Start), end: int(t.End)})
	}
	return out, nil
}

// lexed is a text whose words are wanted, if at all, for several statements.
type lexed struct {
	text string
	all  tokens // nil: not scanned yet
}

// words are those of one statement of the text.
func (s *lexed) words(st Stmt) (tokens, error) {
	if s.all == nil {
		all, err := scan(s.text)
		if err != nil {
			return nil, err
		}
		s.all = all
	}
	return s.all.between(st.Start, st.End), nil
}

// between are the tokens that lie in the byte range [start, end).
func (ts tokens) between(start, end int) tokens {
	from := sort.Search(len(ts), func(i int) bool { return ts[i].start >= start })
	to := sort.Search(len(ts), func(i int) bool { return ts[i].start >= end })
	return ts[from:max(from, to)]
}

// keywordBefore is the index of the last token of one of the kinds before the
// byte offset, -1 if there is none. Words that are names there (t.limit) don't
// count.
func (ts tokens) keywordBefore(offset int, kinds ...pg_query.Token) int {
	if offset < 0 {
		return -1
	}
	for i := sort.Search(len(ts), func(i int) bool { return ts[i].start >= offset }) - 1; i >= 0; i-- {
		for _, k := range kinds {
			if ts[i].kind == k && (i == 0 || ts[i-1].kind != period) {
				return i
			}
		}
	}
	return -1
}

const (
	parenOpen    = pg_query.Token_ASCII_40
	parenClose   = pg_query.Token_ASCII_41
	period       = pg_query.Token_ASCII_46
	bracketOpen  = pg_query.Token_ASCII_91
	bracketClose = pg_query.Token_ASCII_93
)

// limitExpr finds the first and the last token of the row count of the LIMIT
// or FETCH FIRST clause that has its leftmost node at the byte offset.
func (ts tokens) limitExpr(offset int) (from, to int, ok bool) {
	key := ts.keywordBefore(offset, pg_query.Token_LIMIT, pg_query.Token_FETCH)
	if key < 0 {
		return 0, 0, false
	}
	from = key + 1
	ends := []pg_query.Token{pg_query.Token_OFFSET, pg_query.Token_FOR}
	if ts[key].kind == pg_query.Token_FETCH {
		from = key + 2 // FIRST or NEXT
		ends = []pg_query.Token{pg_query.Token_ROW, pg_query.Token_ROWS}
	}
	end := ts.clauseEnd(from, ends)
	if end <= from {
		return 0, 0, false
	}
	return from, end - 1, true
}

// clauseEnd is the index after the last token of the clause that starts at
// from: where one of the kinds, or a bracket that closes an outer one, follows.
func (ts tokens) clauseEnd(from int, ends []pg_query.Token) int {
	depth := 0
	for i := from; i < len(ts); i++ {
		switch k := ts[i].kind; k {
		case parenOpen, bracketOpen:
			depth++
		case parenClose, bracketClose:
			if depth--; depth < 0 {
				return i
			}
		default:
			for _, e := range ends {
				if k == e && depth == 0 && i > from && ts[i-1].kind != period {
					return i
				}
			}
		}
	}
	return len(ts)
}

// bracketed are the tokens inside the bracket that opens at index i.
func (ts tokens) bracketed(i int) (tokens, error) {
	if i >= len(ts) || ts[i].kind != parenOpen {
		return nil, errPlace
	}
	end := ts.closing(i)
	if end < 0 {
		return nil, errPlace
	}
	return ts[i+1 : end], nil
}

// closing is the index of the bracket that closes the one at index i, -1 if
// none does.
func (ts tokens) closing(i int) int {
	end := ts.clauseEnd(i+1, nil)
	if end == len(ts) {
		return -1
	}
	return end
}
