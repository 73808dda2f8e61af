package statement

import (
	"fmt"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// smallText is how many bytes a text may have to go to the parser unscanned:
// with one byte a level, the fastest way to nest, it stays far below what a
// thread's stack and the tree's encoding bear.
const smallText = 2 << 10

func tooComplex(what string, limit int) *SyntaxError {
	return &SyntaxError{
		SQLSTATE: "54001",
		Message:  fmt.Sprintf("%s: at most %d are allowed", what, limit),
		Pos:      -1,
		Rule:     "too-complex",
	}
}

// maxOperatorCost bounds the scanner's work on operator characters: about a
// third of a second.
const maxOperatorCost = 8 << 20

// operatorCost finds where a text exceeds that bound; -1 if it does not. The
// scanner takes a whole run of operator characters, keeps what is a token and
// puts the rest back: 100 kB of +-+-… keep it busy for four minutes, in C,
// where nothing can stop it. Runs in strings and comments count as well: to
// know what they are would take a scanner.
func operatorCost(text string) int {
	cost, run := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '~', '!', '@', '#', '^', '&', '|', '`', '?', '+', '-', '*', '/', '%', '<', '>', '=':
			run++
			if cost += run; cost > maxOperatorCost/2 {
				return i
			}
		default:
			run = 0
		}
	}
	return -1
}

// contain refuses texts whose tree could be too deep or too large. It only
// looks at tokens: the scanner is iterative, and linear but for runs of
// operator characters.
func contain(text string, lim Limits) error {
	if len(text) <= smallText && len(text) <= lim.Depth*2 {
		return nil
	}
	if at := operatorCost(text); at >= 0 {
		return &SyntaxError{
			SQLSTATE: "54001",
			Message:  "statement has too long runs of operator characters",
			Pos:      at,
			Rule:     "too-complex",
		}
	}
	scan, err := pg_query.Scan(text)
	if err != nil {
		return syntaxError(text, err)
	}
	if len(scan.Tokens) > lim.Tokens {
		return tooComplex("statement has too many tokens", lim.Tokens)
	}
	var d depth
	for _, tok := range scan.Tokens {
		d.token(tok.Token)
		if d.total() > lim.Depth {
			e := tooComplex("statement is nested too deeply or chains too many operators", lim.Depth)
			e.Pos = int(tok.Start)
			return e
		}
	}
	return nil
}

// depth estimates, from above, how deep the tree of the tokens read so far is.
// Every bracket opens a level. Within a level operators build depth until a
// comma, AND or OR starts the next operand (both are flat lists in the tree);
// joins do until a comma, and set operations until the bracket closes.
type depth struct {
	levels []level
	outer  int // of all levels but the last
	now    level
}

type level struct {
	expr, joins, sets int
	isCase            bool
}

func (l level) sum() int { return l.expr + l.joins + l.sets }

func (d *depth) total() int { return d.outer + d.now.sum() + len(d.levels) }

func (d *depth) push(isCase bool) {
	d.levels = append(d.levels, d.now)
	d.outer += d.now.sum()
	d.now = level{isCase: isCase}
}

func (d *depth) pop() {
	if n := len(d.levels); n > 0 {
		d.now = d.levels[n-1]
		d.levels = d.levels[:n-1]
		d.outer -= d.now.sum()
		d.now.expr++
	}
}

// token counts one token.
func (d *depth) token(t pg_query.Token) {
	switch t {
	case pg_query.Token_ASCII_40, pg_query.Token_ASCII_91: // ( [
		d.push(false)
	case pg_query.Token_ASCII_41, pg_query.Token_ASCII_93: // ) ]
		for d.now.isCase { // a CASE left open is a syntax error anyway
			d.pop()
		}
		d.pop()
	case pg_query.Token_CASE:
		d.push(true)
	case pg_query.Token_END_P:
		if d.now.isCase {
			d.pop()
		}
	case pg_query.Token_ASCII_59: // ;
		*d = depth{levels: d.levels[:0]}
	case pg_query.Token_ASCII_44: // ,
		d.now.expr, d.now.joins = 0, 0
	case pg_query.Token_AND, pg_query.Token_OR, pg_query.Token_ON, pg_query.Token_WHERE,
		pg_query.Token_WHEN, pg_query.Token_THEN, pg_query.Token_ELSE:
		d.now.expr = 0
	case pg_query.Token_JOIN:
		d.now.expr = 0
		d.now.joins++
	case pg_query.Token_SELECT, pg_query.Token_VALUES, pg_query.Token_FROM:
		d.now.expr, d.now.joins = 0, 0
	case pg_query.Token_UNION, pg_query.Token_INTERSECT, pg_query.Token_EXCEPT:
		d.now = level{sets: d.now.sets + 1, isCase: d.now.isCase}
	default:
		if builds(t) {
			d.now.expr++
		}
	}
}

// builds says whether a token can put one expression below another.
func builds(t pg_query.Token) bool {
	switch t {
	case pg_query.Token_ASCII_37, pg_query.Token_ASCII_42, pg_query.Token_ASCII_43, pg_query.Token_ASCII_45, // % * + -
		pg_query.Token_ASCII_47, pg_query.Token_ASCII_60, pg_query.Token_ASCII_61, pg_query.Token_ASCII_62, // / < = >
		pg_query.Token_ASCII_94, pg_query.Token_ASCII_46, // ^ .
		pg_query.Token_Op, pg_query.Token_TYPECAST,
		pg_query.Token_LESS_EQUALS, pg_query.Token_GREATER_EQUALS, pg_query.Token_NOT_EQUALS,
		pg_query.Token_NOT, pg_query.Token_NOT_LA, pg_query.Token_IS, pg_query.Token_ISNULL, pg_query.Token_NOTNULL,
		pg_query.Token_LIKE, pg_query.Token_ILIKE, pg_query.Token_SIMILAR, pg_query.Token_BETWEEN, pg_query.Token_IN_P,
		pg_query.Token_COLLATE, pg_query.Token_AT, pg_query.Token_OPERATOR, pg_query.Token_OVERLAPS,
		pg_query.Token_EXPLAIN, pg_query.Token_PREPARE, pg_query.Token_WITH, pg_query.Token_WITH_LA:
		return true
	}
	return false
}
