package policy

import (
	"reflect"
	"slices"

	"github.com/pgairlock/pgairlock/internal/strictyaml"
)

// tableWords is what a policy says about a table: the word all, a list of
// columns, or a mapping of commands.
type tableWords struct {
	pos                  strictyaml.Pos
	read, insert, update columnWords
	delete               bool
	writes               *strictyaml.Pos // where the first of insert, update and delete stands
}

// columnWords is the word all, a list of columns, or false for none.
type columnWords struct {
	all     bool
	columns []strictyaml.Located[string]
}

// columns lists all columns that the entry names.
func (t *tableWords) columns() []strictyaml.Located[string] {
	return slices.Concat(t.read.columns, t.insert.columns, t.update.columns)
}

type tableMapping struct {
	Read      columnWords                     `yaml:"read" doc:"Columns that may be read."`
	Insert    strictyaml.Located[columnWords] `yaml:"insert" doc:"Columns that may be given in INSERT. Not with access: read_only."`
	Update    strictyaml.Located[columnWords] `yaml:"update" doc:"Columns that may be changed. Not with access: read_only."`
	Delete    strictyaml.Located[bool]        `yaml:"delete" doc:"Whether rows may be deleted. Not with access: read_only."`
	Version   string                          `yaml:"version" later:"true" doc:"The column that counts the row's versions."`
	StageInto string                          `yaml:"stage_into" later:"true" doc:"The table that writes go to instead."`
}

// DecodeYAML reads all, a list of columns, or a mapping.
func (t *tableWords) DecodeYAML(n *strictyaml.Node) {
	t.pos = n.Pos()
	if !n.IsMapping() {
		t.read.DecodeYAML(n)
		return
	}
	var m tableMapping
	if !n.Decode(&m) {
		return
	}
	t.read, t.insert, t.update, t.delete = m.Read, m.Insert.Value, m.Update.Value, m.Delete.Value
	for _, at := range []strictyaml.Pos{m.Insert.Pos, m.Update.Pos, m.Delete.Pos} {
		if at.Line != 0 {
			t.writes = &at
			break
		}
	}
}

// JSONSchema lists the three forms.
func (t tableWords) JSONSchema() strictyaml.JSONSchema {
	forms := columnForms()
	forms = append(forms, strictyaml.SchemaOf(reflect.TypeFor[tableMapping]()))
	return strictyaml.JSONSchema{"oneOf": forms}
}

// DecodeYAML reads all, false, or a list of columns.
func (c *columnWords) DecodeYAML(n *strictyaml.Node) {
	if n.IsList() {
		if !n.Decode(&c.columns) {
			return
		}
		if len(c.columns) == 0 {
			n.Errorf("no column: leave the entry out")
		}
		return
	}
	if text, ok := n.Text(); ok && text == "all" {
		c.all = true
		return
	}
	n.Want("all or a list of columns")
}

// JSONSchema lists the two forms.
func (c columnWords) JSONSchema() strictyaml.JSONSchema {
	return strictyaml.JSONSchema{"oneOf": columnForms()}
}

func columnForms() []strictyaml.JSONSchema {
	return []strictyaml.JSONSchema{
		{"const": "all", "description": "Every column."},
		{"type": "array", "minItems": 1, "items": strictyaml.JSONSchema{"type": "string"}, "description": "These columns."},
	}
}
