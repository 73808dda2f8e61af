// Package strictyaml decodes YAML into Go structs and forgives nothing: an
// unknown or repeated key, a second document, a wrong type, an anchor, a tag
// are errors with file, line and column, and all of them are reported at once.
// The same Go types give the file's JSON Schema (see Schema).
//
// A struct's fields carry three tags: yaml:"key" names the key (fields without
// it are left alone), doc:"…" describes it in the schema, and later:"true"
// marks a key that is part of the file's language but not built yet: it is
// refused with "not supported in this version". required:"true" demands it. A
// field of type Pos without a tag is set to where its struct stands.
package strictyaml

import (
	"errors"
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// maxBytes bounds a file: a policy for thousands of agents is far below.
const maxBytes = 32 << 20

// Pos is a place in a file. Lines and columns count from 1.
type Pos struct {
	File         string
	Line, Column int
}

// String is file:line:column; without a column, file:line.
func (p Pos) String() string {
	if p.Column == 0 {
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Short is file:line.
func (p Pos) Short() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// Error is one fault of a file.
type Error struct {
	Pos     Pos
	Message string
}

// Error is file:line:column: message.
func (e Error) Error() string { return e.Pos.String() + ": " + e.Message }

// Errors are all faults of a file, in the file's order.
type Errors []Error

// Error lists the faults, one a line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i := range e {
		lines[i] = e[i].Error()
	}
	return strings.Join(lines, "\n")
}

// Err is nil if there is no fault, else the faults in the file's order.
func (e Errors) Err() error {
	if len(e) == 0 {
		return nil
	}
	sort.SliceStable(e, func(i, j int) bool {
		a, b := e[i].Pos, e[j].Pos
		if a.Line != b.Line {
			return a.Line < b.Line
		}
		return a.Column < b.Column
	})
	return e
}

// Decode decodes the one document of src into out, a pointer to a struct. file
// is the name that positions show. The error is of type Errors.
func Decode(file string, src []byte, out any) error {
	d := &decoder{file: file}
	root := d.parse(src)
	if root != nil {
		d.refuseSharing(root)
	}
	if root != nil && len(d.errs) == 0 {
		(&Node{yaml: root, d: d}).Decode(out)
	}
	return d.errs.Err()
}

type decoder struct {
	file string
	errs Errors
}

// parse reads the one document of src. It returns nil after an error.
func (d *decoder) parse(src []byte) *yaml.Node {
	start := Pos{File: d.file, Line: 1, Column: 1}
	if len(src) > maxBytes {
		d.fail(start, "the file is larger than %d MiB", maxBytes>>20)
		return nil
	}
	dec := yaml.NewDecoder(strings.NewReader(string(src)))
	var doc, second yaml.Node
	if err := dec.Decode(&doc); err != nil {
		d.syntax(err)
		return nil
	}
	if len(doc.Content) != 1 {
		d.fail(start, "the file is empty")
		return nil
	}
	switch err := dec.Decode(&second); {
	case err == nil:
		d.fail(Pos{d.file, second.Line, second.Column}, "a second document: the file must hold one only")
		return nil
	case err.Error() != "EOF":
		d.syntax(err)
		return nil
	}
	return doc.Content[0]
}

var (
	yamlLine   = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)
	anchorName = regexp.MustCompile(`^unknown anchor '.*' referenced$`)
)

// syntax reports what the YAML reader said, without what it quotes of the
// file: that may be a secret in the wrong place.
func (d *decoder) syntax(err error) {
	at, msg := Pos{File: d.file, Line: 1}, err.Error()
	if msg == "EOF" {
		d.fail(Pos{d.file, 1, 1}, "the file is empty")
		return
	}
	if m := yamlLine.FindStringSubmatch(msg); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			at.Line = n
		}
		msg = m[2]
	}
	if anchorName.MatchString(msg) {
		msg = "an alias (*name); a text that starts with * must be written in quotes"
	}
	d.fail(at, "not YAML: %s", msg)
}

// refuseSharing reports anchors, aliases and tags: they hide what a file says,
// and aliases of aliases grow without bounds.
func (d *decoder) refuseSharing(n *yaml.Node) {
	at := Pos{d.file, n.Line, n.Column}
	switch {
	case n.Kind == yaml.AliasNode:
		d.fail(at, "aliases (*name) are not supported: write the value out")
		return
	case n.Anchor != "":
		d.fail(at, "anchors (&name) are not supported: write the value out where it is needed")
	case n.Style&yaml.TaggedStyle != 0:
		d.fail(at, "tags (!name) are not supported")
	}
	for _, c := range n.Content {
		d.refuseSharing(c)
	}
}

func (d *decoder) fail(at Pos, format string, args ...any) {
	d.errs = append(d.errs, Error{at, fmt.Sprintf(format, args...)})
}

// AsErrors gives the single faults of an error of Decode.
func AsErrors(err error) Errors {
	var list Errors
	if errors.As(err, &list) {
		return list
	}
	return nil
}
