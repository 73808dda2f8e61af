package strictyaml

import (
	"reflect"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// Decoder is a type that reads its own node, for values with several forms. It
// reports faults with Node.Errorf.
type Decoder interface{ DecodeYAML(n *Node) }

// Enum is a string type with a closed list of values.
type Enum interface{ Values() []EnumValue }

// EnumValue is one value of an Enum.
type EnumValue struct {
	Name  string
	Doc   string
	Later bool // part of the language, not built yet
}

// Node is one value of the file while it is being decoded.
type Node struct {
	yaml *yaml.Node
	d    *decoder
}

// Pos is where the value stands.
func (n *Node) Pos() Pos { return Pos{n.d.file, n.yaml.Line, n.yaml.Column} }

// Errorf reports a fault at the value.
func (n *Node) Errorf(format string, args ...any) { n.d.fail(n.Pos(), format, args...) }

// IsMapping says whether the value is a mapping.
func (n *Node) IsMapping() bool { return n.yaml.Kind == yaml.MappingNode }

// IsList says whether the value is a list.
func (n *Node) IsList() bool { return n.yaml.Kind == yaml.SequenceNode }

// Text is the value if it is a string, written with or without quotes.
func (n *Node) Text() (string, bool) {
	if n.yaml.Kind != yaml.ScalarNode || n.yaml.ShortTag() != "!!str" {
		return "", false
	}
	return n.yaml.Value, true
}

// Number is the value's text if it is a plain number.
func (n *Node) Number() (string, bool) {
	if n.yaml.Kind != yaml.ScalarNode {
		return "", false
	}
	tag := n.yaml.ShortTag()
	return n.yaml.Value, tag == "!!int" || tag == "!!float"
}

// Want reports that the value is not what is wanted, without repeating it: it
// may be a secret in the wrong place.
func (n *Node) Want(what string) { n.Errorf("want %s, not %s", what, n.describe()) }

func (n *Node) describe() string {
	switch {
	case n.IsMapping():
		return "a mapping"
	case n.IsList():
		return "a list"
	}
	switch n.yaml.ShortTag() {
	case "!!null":
		return "nothing"
	case "!!bool":
		return "true or false"
	case "!!int", "!!float":
		return "a number"
	case "!!timestamp":
		return "a date"
	case "!!merge":
		return "the merge key <<"
	}
	return "a text"
}

// Items are the elements of a list.
func (n *Node) Items() []*Node {
	items := make([]*Node, len(n.yaml.Content))
	for i, c := range n.yaml.Content {
		items[i] = &Node{c, n.d}
	}
	return items
}

// Pairs calls each for every key of a mapping, in order, leaving out keys that
// are no text or come a second time: those are reported.
func (n *Node) Pairs(each func(key, value *Node)) {
	if !n.IsMapping() {
		n.Want("a mapping")
		return
	}
	seen := make(map[string]int, len(n.yaml.Content)/2)
	for i := 0; i+1 < len(n.yaml.Content); i += 2 {
		key, value := &Node{n.yaml.Content[i], n.d}, &Node{n.yaml.Content[i+1], n.d}
		name, ok := key.Text()
		if !ok {
			key.Errorf("a key must be a text, not %s: write it in quotes", key.describe())
			continue
		}
		if line, again := seen[name]; again {
			key.Errorf("key %q is there twice: first in line %d", name, line)
			continue
		}
		seen[name] = key.yaml.Line
		each(key, value)
	}
}

// Decode decodes the value into out, a pointer. It reports whether it found no
// fault; after one, what out holds is not to be used.
func (n *Node) Decode(out any) bool {
	before := len(n.d.errs)
	n.decode(reflect.ValueOf(out).Elem())
	return len(n.d.errs) == before
}

func (n *Node) decode(v reflect.Value) {
	if n.yaml.ShortTag() == "!!null" && n.yaml.Kind == yaml.ScalarNode {
		n.Errorf("no value: give one, or leave the key out")
		return
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		n.decode(v.Elem())
		return
	}
	if dec, ok := v.Addr().Interface().(Decoder); ok {
		dec.DecodeYAML(n)
		return
	}
	if enum, ok := v.Interface().(Enum); ok {
		n.decodeEnum(v, enum.Values())
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		n.decodeStruct(v)
	case reflect.Slice:
		n.decodeList(v)
	case reflect.String:
		if s, ok := n.Text(); ok {
			v.SetString(s)
		} else {
			n.Want("a text (in quotes if it looks like something else)")
		}
	case reflect.Bool:
		if n.yaml.Kind == yaml.ScalarNode && n.yaml.ShortTag() == "!!bool" {
			v.SetBool(strings.EqualFold(n.yaml.Value, "true"))
		} else {
			n.Want("true or false")
		}
	case reflect.Int, reflect.Int64:
		n.decodeInt(v)
	default:
		n.Errorf("a value of Go type %s can't be read", v.Type())
	}
}

func (n *Node) decodeInt(v reflect.Value) {
	text, ok := n.Number()
	i, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, 64)
	if !ok || err != nil || v.OverflowInt(i) {
		n.Want("a whole number")
		return
	}
	v.SetInt(i)
}

func (n *Node) decodeList(v reflect.Value) {
	if !n.IsList() {
		n.Want("a list")
		return
	}
	items := n.Items()
	v.Set(reflect.MakeSlice(v.Type(), len(items), len(items)))
	for i, item := range items {
		item.decode(v.Index(i))
	}
}

func (n *Node) decodeEnum(v reflect.Value, values []EnumValue) {
	names := make([]string, len(values))
	text, ok := n.Text()
	for i, e := range values {
		names[i] = e.Name
		if !ok || e.Name != text {
			continue
		}
		if e.Later {
			n.Errorf("%s is not supported in this version", text)
		}
		v.SetString(text)
		return
	}
	want := "one of " + strings.Join(names, ", ")
	if near, found := Nearest(text, names); ok && found {
		want += " (did you mean " + near + "?)"
	}
	n.Want(want)
}

// field is a struct's field that stands for a key.
type field struct {
	index    int
	key, doc string
	later    bool
	required bool
}

func fieldsOf(t reflect.Type) []field {
	var list []field
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		key := tag.Get("yaml")
		if key == "" {
			continue
		}
		list = append(list, field{i, key, tag.Get("doc"), tag.Get("later") == "true", tag.Get("required") == "true"})
	}
	return list
}

func (n *Node) decodeStruct(v reflect.Value) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Type == reflect.TypeFor[Pos]() && f.Tag.Get("yaml") == "" {
			v.Field(i).Set(reflect.ValueOf(n.Pos()))
		}
	}
	fields := fieldsOf(v.Type())
	found := make(map[string]bool, len(fields))
	n.Pairs(func(key, value *Node) {
		name, _ := key.Text()
		found[name] = true
		f, ok := fieldNamed(fields, name)
		switch {
		case !ok:
			key.Errorf("unknown key %q%s", name, suggest(name, fields))
		case f.later:
			key.Errorf("key %q is not supported in this version", name)
		default:
			value.decode(v.Field(f.index))
		}
	})
	for _, f := range fields {
		if f.required && !found[f.key] && n.IsMapping() {
			n.Errorf("key %q is missing: %s", f.key, f.doc)
		}
	}
}

func fieldNamed(fields []field, name string) (field, bool) {
	for _, f := range fields {
		if f.key == name {
			return f, true
		}
	}
	return field{}, false
}

func suggest(name string, fields []field) string {
	known := make([]string, len(fields))
	for i, f := range fields {
		known[i] = f.key
	}
	if near, ok := Nearest(name, known); ok {
		return ": did you mean " + near + "?"
	}
	return ": known here are " + strings.Join(known, ", ")
}
