package policy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pgairlock/pgairlock/policy/catalog"
)

// splitName splits a dotted name of a policy file into its parts. Parts are
// written as in SQL: plain, or in double quotes. A plain part with capitals is
// refused, since SQL would fold it: the author has to say which is meant.
func splitName(s string) ([]string, error) {
	var parts []string
	for rest := s; ; {
		part, after, err := namePart(rest)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", s, err)
		}
		parts = append(parts, part)
		if after == "" {
			return parts, nil
		}
		if after[0] != '.' {
			return nil, fmt.Errorf("%q: unexpected %q", s, after)
		}
		rest = after[1:]
	}
}

var errNoName = errors.New("a part of the name is missing")

// namePart takes the first part off a dotted name.
func namePart(s string) (part, rest string, err error) {
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexAny(s, `."`)
		if end < 0 {
			end = len(s)
		}
		part = s[:end]
		switch {
		case part == "":
			return "", "", errNoName
		case part != strings.ToLower(part):
			return "", "", fmt.Errorf("SQL folds capitals: write %s, or \"%s\" if the name has capitals", strings.ToLower(part), part)
		case strings.ContainsAny(part, " \t,;()'*"):
			return "", "", errors.New("such a name must be in double quotes")
		}
		return part, s[end:], nil
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] != '"':
			b.WriteByte(s[i])
		case i+1 < len(s) && s[i+1] == '"':
			b.WriteByte('"')
			i++
		case b.Len() == 0:
			return "", "", errNoName
		default:
			return b.String(), s[i+1:], nil
		}
	}
	return "", "", errors.New("a double quote is not closed")
}

// qualified splits schema.name.
func qualified(s string) (catalog.Name, error) {
	parts, err := splitName(s)
	switch {
	case err != nil:
		return catalog.Name{}, err
	case len(parts) != 2:
		return catalog.Name{}, fmt.Errorf("%q: want schema.name", s)
	}
	return catalog.Name{Schema: parts[0], Name: parts[1]}, nil
}

// pattern is which tables an entry is about: one, those whose name starts with
// a prefix, or all of a schema (prefix "").
type pattern struct {
	name catalog.Name // Name is the prefix of a wildcard
	wild bool
}

func parsePattern(s string) (pattern, error) {
	trimmed, wild := strings.CutSuffix(s, "*")
	if !wild {
		name, err := qualified(s)
		return pattern{name: name}, err
	}
	if schema, ok := strings.CutSuffix(trimmed, "."); ok {
		parts, err := splitName(schema)
		if err != nil || len(parts) != 1 || strings.Contains(schema, "*") {
			return pattern{}, fmt.Errorf("%q: want schema.name, schema.prefix* or schema.*", s)
		}
		return pattern{catalog.Name{Schema: parts[0]}, true}, nil
	}
	name, err := qualified(trimmed)
	if err != nil || strings.Contains(trimmed, "*") {
		return pattern{}, fmt.Errorf("%q: want schema.name, schema.prefix* or schema.*", s)
	}
	return pattern{name, true}, nil
}

func (p pattern) matches(n catalog.Name) bool {
	if p.name.Schema != n.Schema {
		return false
	}
	if p.wild {
		return strings.HasPrefix(n.Name, p.name.Name)
	}
	return p.name.Name == n.Name
}

// callable is a function or operator as a policy file names it: all of a name,
// or one signature.
type callable struct {
	name catalog.Name
	args string // normalised argument list with parentheses, "" for all
}

func parseCallable(s string) (callable, error) {
	head, args, hasArgs := strings.Cut(s, "(")
	name, err := callableName(strings.TrimSpace(head))
	if err != nil {
		return callable{}, err
	}
	if !hasArgs {
		return callable{name: name}, nil
	}
	args, closed := strings.CutSuffix(strings.TrimSpace(args), ")")
	if !closed {
		return callable{}, fmt.Errorf("%q: want schema.name(type, type)", s)
	}
	return callable{name, normalArgs(args)}, nil
}

// callableName splits schema.name; what follows the schema may be an operator.
func callableName(s string) (catalog.Name, error) {
	schema, rest, err := namePart(s)
	if err != nil || !strings.HasPrefix(rest, ".") {
		return catalog.Name{}, fmt.Errorf("%q: want schema.name", s)
	}
	if op := rest[1:]; op != "" && strings.Trim(op, "+-*/<>=~!@#%^&|`?") == "" {
		return catalog.Name{Schema: schema, Name: op}, nil
	}
	return qualified(s)
}

// typeAliases are other spellings of built-in types, as format_type has them.
var typeAliases = map[string]string{
	"int": "integer", "int4": "integer", "int2": "smallint", "int8": "bigint", "bool": "boolean",
	"float4": "real", "float8": "double precision", "decimal": "numeric", "varchar": "character varying",
	"char": "character", "bpchar": "character", "timestamptz": "timestamp with time zone",
	"timestamp": "timestamp without time zone", "timetz": "time with time zone", "time": "time without time zone",
}

// normalArgs writes an argument list as catalog.Function.Signature does.
func normalArgs(list string) string {
	if strings.TrimSpace(list) == "" {
		return "()"
	}
	args := strings.Split(list, ",")
	for i, a := range args {
		a = strings.Join(strings.Fields(a), " ")
		base, array := strings.CutSuffix(a, "[]")
		if full, ok := typeAliases[base]; ok {
			base = full
		}
		if array {
			base += "[]"
		}
		args[i] = base
	}
	return "(" + strings.Join(args, ",") + ")"
}
