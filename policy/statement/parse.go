package statement

import (
	"errors"
	"strings"
	"unicode/utf8"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"github.com/pganalyze/pg_query_go/v6/parser"
)

// Limits bound what Parse hands to the parser. Zero values stand for the
// defaults.
type Limits struct {
	Bytes  int // of the text; default 1 MiB
	Tokens int // default 200,000
	Depth  int // nesting that the text can build; default 1,000
}

const (
	defaultBytes  = 1 << 20
	defaultTokens = 200_000
	defaultDepth  = 1_000
)

func (l Limits) orDefaults() Limits {
	if l.Bytes <= 0 {
		l.Bytes = defaultBytes
	}
	if l.Tokens <= 0 {
		l.Tokens = defaultTokens
	}
	if l.Depth <= 0 {
		l.Depth = defaultDepth
	}
	return l
}

// Parse parses a text with PostgreSQL's grammar. A text that is empty or has
// only comments gives a Tree without statements. The error is a *SyntaxError.
//
// The parser runs in C and a deep tree would overflow its stack, which no
// recover can catch: texts that could build one are refused before it.
func Parse(text string, lim Limits) (*Tree, error) {
	lim = lim.orDefaults()
	if err := checkEncoding(text, lim); err != nil {
		return nil, err
	}
	if err := contain(text, lim); err != nil {
		return nil, err
	}
	res, err := pg_query.Parse(text)
	if err != nil {
		return nil, syntaxError(text, err)
	}
	t := &Tree{Text: text, Stmts: make([]Stmt, 0, len(res.Stmts))}
	for _, raw := range res.Stmts {
		start := int(raw.StmtLocation)
		end := len(text)
		if raw.StmtLen > 0 {
			end = start + int(raw.StmtLen)
		}
		if start < 0 || end > len(text) || start > end || raw.Stmt == nil {
			return nil, &SyntaxError{SQLSTATE: "XX000", Message: "the parser gave a statement outside of its text", Pos: -1, Rule: "syntax"}
		}
		start, end = trim(text, start, end)
		t.Stmts = append(t.Stmts, Stmt{Node: raw.Stmt, Start: start, End: end})
	}
	return t, nil
}

// checkEncoding refuses what the parser would read differently from the
// server: a NUL ends a C string, and invalid UTF-8 never reaches the server's
// lexer.
func checkEncoding(text string, lim Limits) error {
	if len(text) > lim.Bytes {
		return tooComplex("statement is too long", lim.Bytes)
	}
	if i := strings.IndexByte(text, 0); i >= 0 {
		return &SyntaxError{SQLSTATE: "22021", Message: `invalid byte sequence for encoding "UTF8": 0x00`, Pos: i, Rule: "encoding"}
	}
	if !utf8.ValidString(text) {
		pos := 0
		for pos < len(text) {
			r, n := utf8.DecodeRuneInString(text[pos:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			pos += n
		}
		return &SyntaxError{SQLSTATE: "22021", Message: `invalid byte sequence for encoding "UTF8"`, Pos: pos, Rule: "encoding"}
	}
	return nil
}

// syntaxError takes over the parser's words. Its position counts characters
// from 1.
func syntaxError(text string, err error) error {
	out := &SyntaxError{SQLSTATE: "42601", Message: err.Error(), Pos: -1, Rule: "syntax"}
	var pe *parser.Error
	if !errors.As(err, &pe) {
		return out
	}
	out.Message = shorten(pe.Message)
	out.Pos = charOffset(text, pe.Cursorpos)
	if strings.HasPrefix(pe.Message, "memory exhausted") || strings.HasPrefix(pe.Message, "stack depth limit exceeded") {
		out.SQLSTATE, out.Rule = "54001", "too-complex"
	}
	return out
}

// maxMessage bounds a message in bytes: the parser quotes whole tokens.
const maxMessage = 500

func shorten(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	cut := maxMessage
	for cut > 0 && !utf8.RuneStart(message[cut]) {
		cut--
	}
	return message[:cut] + "…"
}

// charOffset turns a 1-based character position into a byte offset, -1 if
// there is none.
func charOffset(text string, char int) int {
	if char <= 0 {
		return -1
	}
	n := 1
	for i := range text {
		if n == char {
			return i
		}
		n++
	}
	return len(text)
}

// trim leaves out white space and comments before and white space after a
// statement.
func trim(text string, start, end int) (int, int) {
	for start < end {
		next := skipSpaceOrComment(text, start, end)
		if next == start {
			break
		}
		start = next
	}
	for end > start && isSpace(text[end-1]) {
		end--
	}
	return start, end
}

func isSpace(b byte) bool {
	return b == ' ' || b == '\t' || b == '\n' || b == '\r' || b == '\f' || b == '\v'
}

// skipSpaceOrComment returns where the white space or the one comment at pos
// ends.
func skipSpaceOrComment(text string, pos, end int) int {
	if isSpace(text[pos]) {
		return pos + 1
	}
	switch rest := text[pos:end]; {
	case strings.HasPrefix(rest, "--"):
		if i := strings.IndexAny(rest, "\r\n"); i >= 0 {
			return pos + i + 1
		}
		return end
	case strings.HasPrefix(rest, "/*"):
		depth := 1
		for i := 2; i < len(rest); i++ {
			switch {
			case strings.HasPrefix(rest[i:], "/*"):
				depth++
				i++
			case strings.HasPrefix(rest[i:], "*/"):
				depth--
				i++
			}
			if depth == 0 {
				return pos + i + 1
			}
		}
	}
	return pos
}
