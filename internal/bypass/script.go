package bypass

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
)

// Run sends a script of the extended protocol in one go and reads all answers.
// Its lines are messages in lower case: query TEXT, parse NAME TEXT, bind
// PORTAL STATEMENT VALUE…, describe PORTAL, execute PORTAL ROWS, close PORTAL,
// flush, sync. "" stands for the unnamed, null for NULL; repeat N repeats a
// line with # in it counted from 1.
func (c *Client) Run(script string) (Answer, error) {
	syncs := 0
	for line := range strings.SplitSeq(script, "\n") {
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
			case *pgproto3.Query, *pgproto3.Sync:
				syncs++
			}
			c.frontend.Send(m)
		}
	}
	return c.collect(syncs)
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
	switch {
	case verb == "query":
		return &pgproto3.Query{String: rest}, nil
	case verb == "parse" && len(words) > 1:
		_, text, _ := strings.Cut(rest, " ")
		return &pgproto3.Parse{Name: words[0], Query: text}, nil
	case verb == "bind" && len(words) > 1:
		return &pgproto3.Bind{DestinationPortal: words[0], PreparedStatement: words[1], Parameters: values(words[2:])}, nil
	case verb == "describe" && len(words) == 1:
		return &pgproto3.Describe{ObjectType: 'P', Name: words[0]}, nil
	case verb == "execute" && len(words) == 2:
		n, err := strconv.ParseInt(words[1], 10, 32)
		if err != nil {
			return nil, fmt.Errorf("script line %q: %w", line, err)
		}
		return &pgproto3.Execute{Portal: words[0], MaxRows: uint32(int32(n))}, nil
	case verb == "close" && len(words) == 1:
		return &pgproto3.Close{ObjectType: 'P', Name: words[0]}, nil
	case verb == "flush":
		return &pgproto3.Flush{}, nil
	case verb == "sync":
		return &pgproto3.Sync{}, nil
	}
	return nil, fmt.Errorf("script line %q is no message", line)
}

func values(words []string) [][]byte {
	var all [][]byte
	for _, w := range words {
		if w == "null" {
			all = append(all, nil)
			continue
		}
		all = append(all, []byte(w))
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
