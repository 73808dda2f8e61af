package strictyaml

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// JSONSchema is a JSON Schema, or a part of one.
type JSONSchema map[string]any

// Schemer is a type with a Decoder of its own that says what it accepts.
type Schemer interface{ JSONSchema() JSONSchema }

// Schema writes the JSON Schema (draft 2020-12) of files that are decoded into
// values of doc's type.
func Schema(id, title string, doc any) ([]byte, error) {
	s := SchemaOf(reflect.TypeOf(doc))
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["$id"] = id
	s["title"] = title
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(s); err != nil {
		return nil, fmt.Errorf("json schema of %T: %w", doc, err)
	}
	return b.Bytes(), nil
}

// SchemaOf is the schema of one Go type.
func SchemaOf(t reflect.Type) JSONSchema {
	if t.Kind() == reflect.Pointer {
		return SchemaOf(t.Elem())
	}
	zero := reflect.New(t)
	if s, ok := zero.Interface().(Schemer); ok {
		return s.JSONSchema()
	}
	if e, ok := zero.Elem().Interface().(Enum); ok {
		return enumSchema(e.Values())
	}
	switch t.Kind() {
	case reflect.Struct:
		return structSchema(t)
	case reflect.Slice:
		return JSONSchema{"type": "array", "items": SchemaOf(t.Elem())}
	case reflect.Bool:
		return JSONSchema{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return JSONSchema{"type": "integer"}
	}
	return JSONSchema{"type": "string"}
}

const laterNote = "Not supported in this version. "

func structSchema(t reflect.Type) JSONSchema {
	properties, required := JSONSchema{}, []string{}
	for _, f := range fieldsOf(t) {
		p := SchemaOf(t.Field(f.index).Type)
		doc := f.doc
		if f.later {
			doc = strings.TrimSpace(laterNote + doc)
			p["deprecated"] = true
		}
		if doc != "" {
			p["description"] = doc
		}
		properties[f.key] = p
		if f.required {
			required = append(required, f.key)
		}
	}
	s := JSONSchema{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

func enumSchema(values []EnumValue) JSONSchema {
	var any []JSONSchema
	for _, v := range values {
		s := JSONSchema{"const": v.Name}
		doc := v.Doc
		if v.Later {
			doc = strings.TrimSpace(laterNote + doc)
			s["deprecated"] = true
		}
		if doc != "" {
			s["description"] = doc
		}
		any = append(any, s)
	}
	return JSONSchema{"oneOf": any}
}

// JSONSchema is the value's own.
func (l Located[T]) JSONSchema() JSONSchema { return SchemaOf(reflect.TypeFor[T]()) }

// JSONSchema is a mapping of anything to the value's schema.
func (m Map[T]) JSONSchema() JSONSchema {
	return JSONSchema{"type": "object", "additionalProperties": SchemaOf(reflect.TypeFor[T]())}
}

// JSONSchema is secret:NAME.
func (s SecretRef) JSONSchema() JSONSchema {
	return JSONSchema{"type": "string", "pattern": "^secret:[A-Za-z0-9_.-]{1,63}$"}
}

// JSONSchema is a duration's pattern.
func (d Duration) JSONSchema() JSONSchema {
	return JSONSchema{"type": "string", "pattern": "^(\\d+d)?(\\d+h)?(\\d+m)?(\\d+s)?(\\d+ms)?$", "minLength": 2}
}

// JSONSchema is a size's pattern.
func (z Size) JSONSchema() JSONSchema {
	return JSONSchema{"type": "string", "pattern": "^\\d+(B|KiB|MiB|GiB|TiB)$"}
}

// JSONSchema is a number above zero.
func (c Count) JSONSchema() JSONSchema { return JSONSchema{"type": "integer", "minimum": 1} }

// JSONSchema is the bound's schema or the word unlimited.
func (l Limit[T]) JSONSchema() JSONSchema {
	return JSONSchema{"oneOf": []JSONSchema{{"const": unlimited}, SchemaOf(reflect.TypeFor[T]())}}
}
