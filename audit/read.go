package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// Record is a record as it is read back. Fields that its type does not have are
// empty.
type Record struct {
	N    int64     `json:"n"`
	Time time.Time `json:"time"`
	Type string    `json:"type"`

	Session     string `json:"session"`
	Agent       string `json:"agent"`
	Claimed     string `json:"on_behalf_of_claimed"`
	Proved      string `json:"on_behalf_of_proved"`
	Client      string `json:"client"`
	Application string `json:"application"`
	Database    string `json:"database"`
	Role        string `json:"role"`

	File       string `json:"file"`        // a reloaded policy's, or one that was deleted
	FileNumber int64  `json:"file_number"` // of a header: the file's place in its chain

	Operation   string           `json:"operation"`
	Sequence    int64            `json:"sequence"`
	Statement   string           `json:"statement"`
	Sent        string           `json:"sent"`
	Fingerprint string           `json:"fingerprint"`
	Kind        string           `json:"kind"`
	Verdict     string           `json:"verdict"`
	WouldHave   string           `json:"would_have"`
	Risk        string           `json:"risk"`
	Rules       []RecordRule     `json:"rules"`
	Relations   []RecordRelation `json:"relations"`
	Policy      string           `json:"policy"`
	Rows        int64            `json:"rows"`
	Bytes       int64            `json:"bytes"`
	Limited     bool             `json:"limited"`
	DurationUS  int64            `json:"duration_us"`
	SQLSTATE    string           `json:"sqlstate"`

	Result  string `json:"result"`
	Reason  string `json:"reason"`
	Where   string `json:"where"`
	Message string `json:"message"`
	Error   string `json:"error"`
	Note    string `json:"note"`

	// Line is the whole record as it stands in the file, without its line
	// feed. It is valid until the function that was given the record returns.
	Line []byte `json:"-"`
}

// RecordRule is a rule that matched, as read back.
type RecordRule struct {
	ID       string `json:"id"`
	Verdict  string `json:"verdict"`
	Enforced bool   `json:"enforced"`
	Source   string `json:"source"`
}

// RecordRelation is a relation that was used, as read back.
type RecordRelation struct {
	Name  string `json:"name"`
	Needs string `json:"needs"`
}

// ParseRecord reads one line of a file. It does not verify it.
func ParseRecord(line []byte) (*Record, error) {
	f, err := parseFrame(line)
	if err != nil {
		return nil, fmt.Errorf("the line %w", err)
	}
	r := &Record{Line: line}
	if err := json.Unmarshal(line, r); err != nil {
		return nil, fmt.Errorf("record %d: %w", f.n, err)
	}
	return r, nil
}

// Filter chooses records. Empty fields choose all.
type Filter struct {
	Agent   string
	Session string // the id, its beginning or its end
	Verdict string
	Table   string // with its schema or without
	Types   []string
	Since   time.Time
	Until   time.Time
}

// Match says whether the filter chooses r.
func (f *Filter) Match(r *Record) bool {
	return (f.Agent == "" || f.Agent == r.Agent) &&
		(strings.HasPrefix(r.Session, f.Session) || strings.HasSuffix(r.Session, f.Session)) &&
		(f.Verdict == "" || f.Verdict == r.Verdict) &&
		(f.Table == "" || r.uses(f.Table)) &&
		(len(f.Types) == 0 || slices.Contains(f.Types, r.Type)) &&
		(f.Since.IsZero() || !r.Time.Before(f.Since)) &&
		(f.Until.IsZero() || r.Time.Before(f.Until))
}

// uses says whether a relation of the record is the given one.
func (r *Record) uses(table string) bool {
	return slices.ContainsFunc(r.Relations, func(rel RecordRelation) bool {
		return rel.Name == table || !strings.Contains(table, ".") && strings.HasSuffix(rel.Name, "."+table)
	})
}

// Show calls show for every record of the files that filter chooses, in the
// files' order, and stops at its first error. An unfinished last line is left
// out: it may be on its way.
func Show(filter Filter, show func(*Record) error, files ...string) error {
	for _, path := range files {
		if err := showFile(filter, show, path); err != nil {
			return err
		}
	}
	return nil
}

func showFile(filter Filter, show func(*Record) error, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	defer f.Close()
	r := newLineReader(f)
	for {
		line, err := r.next()
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, errUnfinished):
			return nil
		case err != nil:
			return fmt.Errorf("read audit file %s: %w", path, err)
		}
		record, err := ParseRecord(line)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", path, r.line, err)
		}
		if filter.Match(record) {
			if err := show(record); err != nil {
				return err
			}
		}
	}
}
