package statement

import (
	_ "embed" // the table of node types
	"fmt"
	"reflect"
	"strings"
	"sync"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

//go:embed coverage.txt
var coverageText string

// handling is what is done with a type of node.
type handling uint8

const (
	unmapped handling = iota
	active            // read by a handler that marks it
	passive           // read by the handler of what holds it
	opaque            // never entered
	internal          // refused
)

var handlings = map[string]handling{"active": active, "passive": passive, "opaque": opaque, "internal": internal}

// nodeType is one line of coverage.txt.
type nodeType struct {
	handling handling
	fields   map[string]fieldRole
}

// fieldRole is what a field of a node may hold.
type fieldRole uint8

const (
	enter fieldRole = iota + 1 // messages
	plain                      // scalars
	unset                      // nothing
)

// parseCoverage reads coverage.txt.
func parseCoverage(text string) (map[string]nodeType, error) {
	types := make(map[string]nodeType)
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.Fields(line)
		h := handlings[words[0]]
		if h == unmapped || len(words) < 2 {
			return nil, fmt.Errorf("coverage.txt:%d: not a node type: %s", i+1, line)
		}
		if _, twice := types[words[1]]; twice {
			return nil, fmt.Errorf("coverage.txt:%d: %s is there twice", i+1, words[1])
		}
		nt := nodeType{handling: h, fields: make(map[string]fieldRole)}
		role := enter
		for _, w := range words[2:] {
			switch {
			case w == "|":
				role = plain
			case strings.HasPrefix(w, "!"):
				nt.fields[w[1:]] = unset
			default:
				nt.fields[w] = role
			}
		}
		types[words[1]] = nt
	}
	return types, nil
}

// plan is how the sweep goes through one Go struct of the tree.
type plan struct {
	name     string
	handling handling
	fields   []planField
}

type planField struct {
	index int
	role  fieldRole
}

var nodeStruct = reflect.TypeFor[pg_query.Node]()

// nodeOneof is the index of the field of Node that holds the message.
var nodeOneof = func() int {
	f, _ := nodeStruct.FieldByName("Node")
	return f.Index[0]
}()

// plans compiles coverage.txt against the Go structs of the tree, once. A type
// or a field that the table lacks has no plan and is reported by the sweep.
var plans = sync.OnceValue(func() map[reflect.Type]*plan {
	table, err := parseCoverage(coverageText)
	if err != nil {
		return nil // every node is unmapped then
	}
	out := make(map[reflect.Type]*plan)
	var add func(t reflect.Type)
	add = func(t reflect.Type) {
		if out[t] != nil || t == nodeStruct {
			return
		}
		nt := table[t.Name()]
		p := &plan{name: t.Name(), handling: nt.handling}
		out[t] = p
		for i := range t.NumField() {
			f := t.Field(i)
			name := protoName(f)
			if name == "" {
				continue
			}
			role := nt.fields[name]
			if role != plain {
				p.fields = append(p.fields, planField{i, role})
			}
			if m := messageOf(f.Type); m != nil {
				add(m)
			}
		}
	}
	for _, w := range nodeWrappers() {
		add(w)
	}
	return out
})

// nodeWrappers are the structs of all messages that a Node can hold.
func nodeWrappers() []reflect.Type {
	fields := (*pg_query.Node)(nil).ProtoReflect().Descriptor().Oneofs().Get(0).Fields()
	out := make([]reflect.Type, 0, fields.Len())
	for i := range fields.Len() {
		n := new(pg_query.Node)
		m := n.ProtoReflect()
		v := m.NewField(fields.Get(i))
		out = append(out, reflect.TypeOf(v.Message().Interface()).Elem())
	}
	return out
}

// protoName is the field's name in the schema; "" for the fields that protobuf
// adds and for oneofs, whose members are constants' values.
func protoName(f reflect.StructField) string {
	for _, part := range strings.Split(f.Tag.Get("protobuf"), ",") {
		if name, ok := strings.CutPrefix(part, "name="); ok {
			return name
		}
	}
	return ""
}

// messageOf is the message struct that a field holds or lists, nil if it holds
// scalars.
func messageOf(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct {
		return t.Elem()
	}
	return nil
}

// sweeper goes through a whole tree, without knowing what anything means, and
// reports nodes that no handler has read.
type sweeper struct {
	plans  map[reflect.Type]*plan
	read   map[any]struct{}
	report func(what string)
}

// sweepTree sweeps the tree under n.
func sweepTree(n *pg_query.Node, read map[any]struct{}, report func(what string)) {
	s := sweeper{plans: plans(), read: read, report: report}
	s.message(reflect.ValueOf(n))
}

// message sweeps the message that the non-nil pointer v leads to.
func (s *sweeper) message(v reflect.Value) {
	t := v.Type().Elem()
	if t == nodeStruct {
		inner := v.Elem().Field(nodeOneof)
		if !inner.IsNil() {
			s.message(inner.Elem().Elem().Field(0))
		}
		return
	}
	p := s.plans[t]
	switch {
	case p == nil || p.handling == unmapped || p.handling == internal:
		s.report(t.Name())
		return
	case p.handling == opaque:
		return
	case p.handling == active:
		if _, ok := s.read[v.Interface()]; !ok {
			s.report(p.name)
			return
		}
	}
	for _, f := range p.fields {
		s.field(p, v.Elem(), f)
	}
}

func (s *sweeper) field(p *plan, v reflect.Value, f planField) {
	fv := v.Field(f.index)
	if fv.IsZero() {
		return
	}
	switch {
	case f.role != enter:
		s.report(p.name + "." + protoName(v.Type().Field(f.index)))
	case fv.Kind() == reflect.Slice:
		for i := range fv.Len() {
			if e := fv.Index(i); !e.IsNil() {
				s.message(e)
			}
		}
	default:
		s.message(fv)
	}
}
