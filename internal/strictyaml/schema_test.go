package strictyaml_test

import (
	"encoding/json"
	"testing"

	"github.com/pgairlock/pgairlock/internal/strictyaml"
)

func TestSchema(t *testing.T) {
	text, err := strictyaml.Schema("https://example.com/shelf", "shelf", shelf{})
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Schema               string                    `json:"$schema"`
		Type                 string                    `json:"type"`
		AdditionalProperties *bool                     `json:"additionalProperties"`
		Required             []string                  `json:"required"`
		Properties           map[string]map[string]any `json:"properties"`
	}
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	p := s.Properties
	switch {
	case s.Schema != "https://json-schema.org/draft/2020-12/schema", s.Type != "object",
		s.AdditionalProperties == nil || *s.AdditionalProperties, len(s.Required) != 1 || s.Required[0] != "title",
		len(p) != 12,
		p["title"]["type"] != "string", p["title"]["description"] != "What it is called.",
		p["width"]["type"] != "integer", p["open"]["type"] != "boolean", p["tags"]["type"] != "array",
		p["lamp"]["deprecated"] != true,
		len(p["colour"]["oneOf"].([]any)) != 3, len(p["shade"]["oneOf"].([]any)) != 3, len(p["rows"]["oneOf"].([]any)) != 2:
		t.Fatalf("%s", text)
	}
}
