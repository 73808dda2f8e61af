package bypass

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// markers stand in what no agent may see, and nowhere else in the database:
// fixture.sql plants them.
var markers = []string{"LEAK", "SSN-1", "987654"}

// allowed are the columns of policy.yaml's agents.
var allowed = map[string][]string{
	"orders":     nil, // all
	"customers":  {"id", "name", "email"},
	"events":     nil,
	"inv_parent": {"id", "v"},
	"trg_t":      nil,
	"big":        nil,
}

// Leaks is the second oracle: what the client received and should not have.
type Leaks struct {
	columns map[columnKey]string // every column of the database by name, for messages
	open    map[columnKey]bool   // those the agents may read; number 0 is the whole row
	system  map[uint32]bool      // tables of the server's own
}

type columnKey struct {
	table  uint32
	number uint16
}

// NewLeaks learns the object ids of the database that w watches.
func NewLeaks(ctx context.Context, w *Watch) (*Leaks, error) {
	rows, err := w.conn.Query(ctx, `SELECT c.oid, a.attnum, n.nspname, c.relname, a.attname
		FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace`)
	if err != nil {
		return nil, err
	}
	l := &Leaks{columns: map[columnKey]string{}, open: map[columnKey]bool{}, system: map[uint32]bool{}}
	var table uint32
	var number int16
	var schema, relation, column string
	_, err = pgx.ForEachRow(rows, []any{&table, &number, &schema, &relation, &column}, func() error {
		key := columnKey{table, uint16(number)}
		l.columns[key] = schema + "." + relation + "." + column
		l.open[key] = schema == "public" && number > 0 && columnAllowed(relation, column)
		whole := columnKey{table, 0}
		l.columns[whole] = schema + "." + relation + " (whole row)"
		l.open[whole] = schema == "public" && wholeAllowed(relation)
		l.system[table] = schema == "pg_catalog" || schema == "information_schema"
		return nil
	})
	return l, err
}

func wholeAllowed(relation string) bool {
	columns, ok := allowed[relation]
	return ok && columns == nil
}

func columnAllowed(relation, column string) bool {
	columns, ok := allowed[relation]
	if !ok {
		return false
	}
	for _, c := range columns {
		if c == column {
			return true
		}
	}
	return columns == nil
}

// Find lists what a client got that it should not have: columns of tables that
// are closed to it, and markers. A row may hold no marker at all; an error or
// notice may repeat one that stands in the client's own text.
func (l *Leaks) Find(c *Case, answers []Answer, received []byte) []string {
	var found []string
	for _, a := range answers {
		for _, r := range a.Results {
			for _, col := range r.Columns {
				key := columnKey{col.Table, col.Number}
				if col.Table == 0 || l.open[key] || l.system[col.Table] && c.Profile == "ro+catalog" {
					continue
				}
				found = append(found, fmt.Sprintf("column %s is described", l.columns[key]))
			}
			if m := marked(strings.Join(r.Rows, "\n")); m != "" {
				found = append(found, fmt.Sprintf("a row holds %q", m))
			}
		}
	}
	own := strings.Join(c.Messages, "\n")
	for _, m := range markers {
		if !strings.Contains(own, m) && seen(received, m) {
			found = append(found, fmt.Sprintf("%q came to the client", m))
		}
	}
	return found
}

func marked(text string) string {
	for _, m := range markers {
		if seen([]byte(text), m) {
			return m
		}
	}
	return ""
}

// seen looks for a marker as it is and as bytea prints it.
func seen(text []byte, marker string) bool {
	return bytes.Contains(text, []byte(marker)) || bytes.Contains(text, []byte(hex.EncodeToString([]byte(marker))))
}
