package catalog

import (
	"fmt"
	"strings"
)

// Data is what a catalog is built from, and its form in a catalog file.
type Data struct {
	Database      string      `json:"database"`
	Role          string      `json:"role"`
	ServerVersion int         `json:"server_version"` // server_version_num, e.g. 150018
	Path          []string    `json:"search_path"`    // current_schemas(false) of a fresh session of the role
	Schemas       []string    `json:"schemas"`
	Relations     []*Relation `json:"relations"`
	Functions     []*Function `json:"functions"`
	Operators     []*Operator `json:"operators"`
	Types         []*Type     `json:"types"`
	Casts         []Cast      `json:"casts"`
}

// Name is a schema-qualified name.
type Name struct{ Schema, Name string }

// String is schema.name, unquoted.
func (n Name) String() string { return n.Schema + "." + n.Name }

// Catalog is Data with indexes. It is immutable.
type Catalog struct {
	data      Data
	digest    string
	schemas   map[string]bool
	relations map[Name]*Relation
	byOID     map[OID]*Relation
	functions map[string][]*Function
	funcByOID map[OID]*Function
	operators map[string][]*Operator
	types     map[Name]*Type
	typeByOID map[OID]*Type
	casts     map[[2]OID]Cast
}

// New indexes d and takes ownership of it.
func New(d Data) (*Catalog, error) {
	c := &Catalog{
		data:      d,
		schemas:   make(map[string]bool, len(d.Schemas)),
		relations: make(map[Name]*Relation, len(d.Relations)),
		byOID:     make(map[OID]*Relation, len(d.Relations)),
		functions: make(map[string][]*Function),
		funcByOID: make(map[OID]*Function, len(d.Functions)),
		operators: make(map[string][]*Operator),
		types:     make(map[Name]*Type, len(d.Types)),
		typeByOID: make(map[OID]*Type, len(d.Types)),
		casts:     make(map[[2]OID]Cast, len(d.Casts)),
	}
	for _, s := range d.Schemas {
		c.schemas[s] = true
	}
	for _, t := range d.Types {
		c.types[Name{t.Schema, t.Name}] = t
		c.typeByOID[t.OID] = t
	}
	for _, r := range d.Relations {
		n := Name{r.Schema, r.Name}
		if c.relations[n] != nil {
			return nil, fmt.Errorf("catalog: relation %s is there twice", n)
		}
		r.byName = make(map[string]int, len(r.Columns))
		for i, col := range r.Columns {
			r.byName[col.Name] = i
		}
		c.relations[n] = r
		c.byOID[r.OID] = r
	}
	for _, f := range d.Functions {
		f.signature = c.signature(f)
		c.functions[f.Name] = append(c.functions[f.Name], f)
		c.funcByOID[f.OID] = f
	}
	for _, o := range d.Operators {
		c.operators[o.Name] = append(c.operators[o.Name], o)
	}
	for _, k := range d.Casts {
		c.casts[[2]OID{k.Source, k.Target}] = k
	}
	c.digest = digest(&c.data)
	return c, nil
}

func (c *Catalog) signature(f *Function) string {
	var b strings.Builder
	if f.Schema != "pg_catalog" {
		b.WriteString(f.Schema)
		b.WriteByte('.')
	}
	b.WriteString(f.Name)
	b.WriteByte('(')
	for i, a := range f.Args {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(c.TypeName(a))
	}
	b.WriteByte(')')
	return b.String()
}

// Data returns what the catalog was built from; the caller must not change it.
func (c *Catalog) Data() *Data { return &c.data }

// Digest identifies the content.
func (c *Catalog) Digest() string { return c.digest }

// ServerVersion is server_version_num.
func (c *Catalog) ServerVersion() int { return c.data.ServerVersion }

// HasSchema says whether the schema exists and the role may use it.
func (c *Catalog) HasSchema(name string) bool { return c.schemas[name] }

// Relation finds a relation by schema and name.
func (c *Catalog) Relation(schema, name string) *Relation { return c.relations[Name{schema, name}] }

// RelationByOID finds a relation by pg_class.oid.
func (c *Catalog) RelationByOID(oid OID) *Relation { return c.byOID[oid] }

// Functions lists all functions of that name, in all schemas.
func (c *Catalog) Functions(name string) []*Function { return c.functions[name] }

// FunctionByOID finds a function by pg_proc.oid.
func (c *Catalog) FunctionByOID(oid OID) *Function { return c.funcByOID[oid] }

// Operators lists all operators of that name, in all schemas.
func (c *Catalog) Operators(name string) []*Operator { return c.operators[name] }

// Type finds a type by schema and pg_type.typname.
func (c *Catalog) Type(schema, name string) *Type { return c.types[Name{schema, name}] }

// TypeByOID finds a type by pg_type.oid.
func (c *Catalog) TypeByOID(oid OID) *Type { return c.typeByOID[oid] }

// Cast finds the entry of pg_cast from source to target.
func (c *Catalog) Cast(source, target OID) (Cast, bool) {
	k, ok := c.casts[[2]OID{source, target}]
	return k, ok
}

// standardNames are format_type's SQL-standard spellings of pg_catalog types.
var standardNames = map[string]string{
	"bool": "boolean", "int2": "smallint", "int4": "integer", "int8": "bigint",
	"float4": "real", "float8": "double precision", "bpchar": "character",
	"varchar": "character varying", "time": "time without time zone",
	"timetz": "time with time zone", "timestamp": "timestamp without time zone",
	"timestamptz": "timestamp with time zone", "varbit": "bit varying",
	"char": `"char"`,
}

// TypeName writes a type as format_type does: SQL names for built-in types,
// schema.name for others, "[]" for arrays.
func (c *Catalog) TypeName(oid OID) string {
	t := c.typeByOID[oid]
	switch {
	case t == nil:
		return fmt.Sprintf("type %d", oid)
	case t.Element != 0 && t.Category == 'A':
		return c.TypeName(t.Element) + "[]"
	case t.Schema == "pg_catalog" && standardNames[t.Name] != "":
		return standardNames[t.Name]
	}
	return t.String()
}
