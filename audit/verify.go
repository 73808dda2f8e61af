package audit

import (
	"cmp"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// VerifyOptions say what the files have to prove.
type VerifyOptions struct {
	// Keys are the public keys that are trusted (PublicKey's text). Without
	// any, each file's own key is taken: that shows that the file agrees with
	// itself, not who wrote it.
	Keys []string
	// Expect is a head noted elsewhere that has to be among the records; the
	// zero Head: nothing is expected.
	Expect Head
}

// Report is what Verify found.
type Report struct {
	Files   int       `json:"files"`
	Chain   string    `json:"chain"`   // the chain's id
	First   int64     `json:"first"`   // number of the first record
	Last    int64     `json:"last"`    // number of the last good record
	Head    Head      `json:"head"`    // the last good record
	Covered int64     `json:"covered"` // the last record that a signature covers; before First: none
	Signed  time.Time `json:"signed"`  // when that signature was made
	Trusted bool      `json:"trusted"` // keys were given, and every file is signed with one of them
	Clean   bool      `json:"clean"`   // the log was closed in order
	Fault   *Fault    `json:"fault"`   // the first thing wrong; nil: everything given is as it was written
	Notes   []string  `json:"notes"`   // what could not be found out, in sentences
}

// OK says that nothing was found wrong. Notes tell what could not be found out.
func (r *Report) OK() bool { return r.Fault == nil }

// Uncovered is how many good records at the end no signature covers.
func (r *Report) Uncovered() int64 {
	if r.First == 0 {
		return 0
	}
	return r.Last - max(r.Covered, r.First-1)
}

// Verify checks the chain over the given files, in the order of their first
// records. It reads every byte once and keeps no more than a line in memory. The
// error is about reading, not about what was read.
func Verify(opt VerifyOptions, files ...string) (*Report, error) {
	v := &verifier{chain: chain{head: noHash}, expect: opt.Expect}
	for _, text := range opt.Keys {
		key, err := parseKey(text)
		if err != nil {
			return nil, err
		}
		v.trusted = append(v.trusted, key)
	}
	files = inOrder(files)
	report := &Report{Files: len(files)}
	for i, path := range files {
		fault, err := verifyOne(v, path, files[i+1:])
		if err != nil {
			return nil, err
		}
		if fault != nil {
			report.Fault = fault
			break
		}
	}
	report.fill(v, opt, files)
	return report, nil
}

func (r *Report) fill(v *verifier, opt VerifyOptions, files []string) {
	r.Chain, r.First, r.Last, r.Covered, r.Signed = v.id, v.first, v.chain.n, v.covered, v.signed
	r.Head = Head{Record: v.chain.n, Hash: string(v.chain.head[:])}
	r.Trusted = len(v.trusted) > 0 && r.Fault == nil
	r.Clean = v.clean() && r.Fault == nil
	if r.Fault == nil && opt.Expect.Record > r.Last {
		r.Fault = &Fault{
			File: files[len(files)-1], Record: r.Last + 1, Kind: Cut,
			What: fmt.Sprintf("the files end with record %d, the head noted elsewhere is record %d: the end was cut off", r.Last, opt.Expect.Record),
		}
	}
	if r.Fault == nil && opt.Expect.Record > 0 && opt.Expect.Record < r.First {
		r.note("the head noted elsewhere, record %d, is before the first record given", opt.Expect.Record)
	}
	switch {
	case r.First > 1 && v.pruned >= r.First-1:
		r.note("records 1 to %d were deleted for their age, a record says so", r.First-1)
	case r.First > 1:
		r.note("records 1 to %d are in files that were not given, and nothing in these files says that they were deleted for their age", r.First-1)
	}
	switch {
	case r.First == 0:
		return
	case v.key == nil:
		r.note("unsigned: whoever could write the file could rewrite it unseen")
	case len(v.trusted) == 0:
		r.note("the key was taken from the file itself: give the trusted public key to prove who wrote it")
	}
	if n := r.Uncovered(); n > 0 && v.key != nil {
		r.note("%d records at the end come after the last checkpoint and are not covered by a signature", n)
	}
	if r.Fault == nil && !r.Clean {
		r.note("the log was not closed in order: it is being written, its process was killed, or its end was cut off")
	}
}

func (r *Report) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// verifyOne checks one file; rest are those that follow, to tell a record that
// is gone from one that only stands elsewhere.
func verifyOne(v *verifier, path string, rest []string) (*Fault, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	defer f.Close()
	r := newLineReader(f)
	for {
		line, err := r.next()
		if errors.Is(err, errUnfinished) && len(rest) == 0 {
			line, err = r.finish()
		}
		var fault *Fault
		switch {
		case errors.Is(err, io.EOF) && r.line == 0:
			fault = v.fault(Cut, "the file is empty")
		case errors.Is(err, io.EOF):
			return nil, nil
		case errors.Is(err, errUnfinished):
			fault = v.fault(Cut, "the file ends within record %d", v.chain.n+1)
			r.line++
		case err != nil:
			return nil, fmt.Errorf("read audit file %s: %w", path, err)
		default:
			fault = v.next(line, r.line == 1)
		}
		if fault == nil {
			continue
		}
		fault.File, fault.Line = path, r.line
		if fault.Kind == Missing {
			explainGap(fault, r, rest)
		}
		return fault, nil
	}
}

// explainGap looks for the missing record in what follows, and if it is there,
// the fault is one of order. What can't be read ends the search.
func explainGap(fault *Fault, r *lineReader, rest []string) {
	at := findRecord(fault.Record, r, fault.File)
	for _, path := range rest {
		if at != "" {
			break
		}
		f, err := os.Open(path)
		if err != nil {
			return
		}
		at = findRecord(fault.Record, newLineReader(f), path)
		f.Close()
	}
	if at != "" {
		fault.Kind = Reordered
		fault.What = fmt.Sprintf("record %d belongs here and stands at %s", fault.Record, at)
	}
}

// findRecord is where the record with number n and a hash that fits it stands.
func findRecord(n int64, r *lineReader, path string) string {
	for {
		line, err := r.next()
		if err != nil {
			return ""
		}
		if f, err := parseFrame(line); err == nil && f.n == n && hashOf(f.body) == f.hash {
			return fmt.Sprintf("%s:%d", path, r.line)
		}
	}
}

// inOrder sorts files by their first records' numbers; files without a readable
// one come last.
func inOrder(files []string) []string {
	type numbered struct {
		path string
		n    int64
	}
	list := make([]numbered, len(files))
	for i, path := range files {
		n, err := firstRecord(path)
		if err != nil {
			n = 1<<63 - 1
		}
		list[i] = numbered{path, n}
	}
	slices.SortStableFunc(list, func(a, b numbered) int { return cmp.Compare(a.n, b.n) })
	sorted := make([]string, len(list))
	for i, f := range list {
		sorted[i] = f.path
	}
	return sorted
}

// trustedKey says whether key is one of the trusted ones.
func trustedKey(trusted []ed25519.PublicKey, key ed25519.PublicKey) bool {
	return slices.ContainsFunc(trusted, func(k ed25519.PublicKey) bool { return k.Equal(key) })
}
