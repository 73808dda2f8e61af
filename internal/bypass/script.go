package bypass

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
)

// Run sends a script of the extended protocol in one go and reads all answers.
// README.md of testdata/bypass lists what its lines can be.
func (c *Client) Run(script string) (Answer, error) {
	syncs := 0
	for line := range strings.SplitSeq(script, "\n") {
		if count, ok := strings.CutPrefix(line, "answers "); ok {
			n, err := strconv.Atoi(count)
			if err != nil {
				return Answer{}, fmt.Errorf("script line %q: %w", line, err)
			}
			syncs = n
			continue
		}
		times := 1
		if rest, ok := strings.CutPrefix(line, "repeat "); ok {
			count, step, _ := strings.Cut(rest, " ")
			n, err := strconv.Atoi(count)
			if err != nil {
				return Answer{}, fmt.Errorf("script line %q: %w", line, err)
			}
			times, line = n, step
		}
		for i := range times {
			m, err := message(strings.ReplaceAll(line, "#", strconv.Itoa(i+1)))
			if err != nil {
				return Answer{}, err
			}
			switch m.(type) {
			case *pgproto3.Query, *pgproto3.Sync, *pgproto3.FunctionCall:
				syncs++
			}
			c.frontend.Send(m)
		}
	}
	return c.collect(max(syncs, 1))
}

// message makes one protocol message of a line.
func message(line string) (pgproto3.FrontendMessage, error) {
	verb, rest, _ := strings.Cut(line, " ")
	words := strings.Fields(rest)
	for i, w := range words {
		if w == `""` {
			words[i] = ""
		}
	}
	known, ok := verbs[verb]
	if !ok || len(words) < known.words {
		return nil, fmt.Errorf("script line %q is no message", line)
	}
	m, err := known.message(words, rest)
	if err != nil {
		return nil, fmt.Errorf("script line %q: %w", line, err)
	}
	return m, nil
}

// verbs are the words that lines of a script begin with.
var verbs = map[string]struct {
	words   int // needed at least
	message func(words []string, rest string) (pgproto3.FrontendMessage, error)
}{
	"query": {0, func(_ []string, rest string) (pgproto3.FrontendMessage, error) {
		return &pgproto3.Query{String: rest}, nil
	}},
	"parse": {2, func(words []string, rest string) (pgproto3.FrontendMessage, error) {
		_, text, _ := strings.Cut(rest, " ")
		return &pgproto3.Parse{Name: words[0], Query: text}, nil
	}},
	"bind": {2, func(words []string, _ string) (pgproto3.FrontendMessage, error) {
		return &pgproto3.Bind{DestinationPortal: words[0], PreparedStatement: words[1], Parameters: values(words[2:])}, nil
	}},
	"describe": {2, func(words []string, _ string) (pgproto3.FrontendMessage, error) {
		return &pgproto3.Describe{ObjectType: kind(words[0]), Name: words[1]}, nil
	}},
	"execute": {2, func(words []string, _ string) (pgproto3.FrontendMessage, error) {
		n, err := strconv.ParseInt(words[1], 10, 32)
		return &pgproto3.Execute{Portal: words[0], MaxRows: uint32(int32(n))}, err
	}},
	"close": {2, func(words []string, _ string) (pgproto3.FrontendMessage, error) {
		return &pgproto3.Close{ObjectType: kind(words[0]), Name: words[1]}, nil
	}},
	"call": {1, func(words []string, _ string) (pgproto3.FrontendMessage, error) {
		oid, err := strconv.ParseUint(words[0], 10, 32)
		return &pgproto3.FunctionCall{Function: uint32(oid), Arguments: values(words[1:])}, err
	}},
	"copydata": {0, func(_ []string, rest string) (pgproto3.FrontendMessage, error) {
		return &pgproto3.CopyData{Data: []byte(rest + "\n")}, nil
	}},
	"copydone": {0, func([]string, string) (pgproto3.FrontendMessage, error) { return &pgproto3.CopyDone{}, nil }},
	"flush":    {0, func([]string, string) (pgproto3.FrontendMessage, error) { return &pgproto3.Flush{}, nil }},
	"sync":     {0, func([]string, string) (pgproto3.FrontendMessage, error) { return &pgproto3.Sync{}, nil }},
	"hangup":   {0, func([]string, string) (pgproto3.FrontendMessage, error) { return &pgproto3.Terminate{}, nil }},
	"bytes": {1, func(words []string, _ string) (pgproto3.FrontendMessage, error) {
		raw, err := hex.DecodeString(strings.Join(words, ""))
		return rawBytes(raw), err
	}},
}

// kind is the object that Describe and Close are about.
func kind(word string) byte {
	if word == "statement" {
		return 'S'
	}
	return 'P'
}

// rawBytes are sent as they are, whatever they mean.
type rawBytes []byte

func (rawBytes) Frontend()                           {}
func (rawBytes) Decode([]byte) error                 { return errors.New("raw bytes are only sent") }
func (r rawBytes) Encode(dst []byte) ([]byte, error) { return append(dst, r...), nil }

// values are words as parameters: null is NULL, %20 and its like are undone.
func values(words []string) [][]byte {
	var all [][]byte
	for _, w := range words {
		if w == "null" {
			all = append(all, nil)
			continue
		}
		text, err := url.PathUnescape(w)
		if err != nil {
			text = w // a per cent sign that means itself
		}
		all = append(all, []byte(text))
	}
	return all
}

// Step sends one step of an honest statement.
func (c *Client) Step(s Step) (Answer, error) {
	if !s.Bound {
		return c.Query(s.Text)
	}
	if s.Text != "" {
		c.frontend.Send(&pgproto3.Parse{Name: s.Name, Query: s.Text, ParameterOIDs: s.Types})
		c.frontend.Send(&pgproto3.Describe{ObjectType: 'S', Name: s.Name})
	}
	formats := make([]int16, len(s.Values))
	for i := range formats {
		formats[i] = s.Format
	}
	c.frontend.Send(&pgproto3.Bind{PreparedStatement: s.Name, Parameters: s.Values, ParameterFormatCodes: formats, ResultFormatCodes: []int16{s.Format}})
	c.frontend.Send(&pgproto3.Describe{ObjectType: 'P'})
	c.frontend.Send(&pgproto3.Execute{MaxRows: s.Rows})
	c.frontend.Send(&pgproto3.Sync{})
	return c.collect(1)
}
