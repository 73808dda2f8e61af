// Package catalog is an immutable picture of one database as one role sees it:
// relations with their columns, functions, operators, types, casts. Names in
// statements are resolved against it. It is a value: it does no I/O, and once
// built nothing in it changes, so that sessions share it without locks.
package catalog

import "fmt"

// OID is PostgreSQL's object identifier.
type OID = uint32

// Char is one of the catalogs' "char" codes. In JSON it is a one-letter string.
type Char byte

// MarshalText writes the letter.
func (c Char) MarshalText() ([]byte, error) {
	if c == 0 {
		return nil, nil
	}
	return []byte{byte(c)}, nil
}

// UnmarshalText reads the letter; an empty text is 0.
func (c *Char) UnmarshalText(text []byte) error {
	switch len(text) {
	case 0:
		*c = 0
	case 1:
		*c = Char(text[0])
	default:
		return fmt.Errorf("catalog: %q is not a one-letter code", text)
	}
	return nil
}

// Kinds of relation, as pg_class.relkind has them.
const (
	Table            = 'r'
	PartitionedTable = 'p'
	View             = 'v'
	MaterializedView = 'm'
	ForeignTable     = 'f'
	Sequence         = 'S'
	Index            = 'i'
	PartitionedIndex = 'I'
	Toast            = 't'
	Composite        = 'c'
)

// Relation is a row of pg_class with the live columns of pg_attribute.
type Relation struct {
	OID     OID      `json:"oid"`
	Schema  string   `json:"schema"`
	Name    string   `json:"name"`
	Kind    Char     `json:"kind"`              // pg_class.relkind
	RowType OID      `json:"row_type"`          // pg_class.reltype; 0 for indexes and sequences' like
	Columns []Column `json:"columns,omitempty"` // in attnum order, dropped ones left out, attnum > 0

	byName map[string]int
}

// Column is a row of pg_attribute with attnum > 0.
type Column struct {
	Num       int16  `json:"num"`
	Name      string `json:"name"`
	Type      OID    `json:"type"`
	Generated bool   `json:"generated,omitempty"` // GENERATED ALWAYS AS (…): COPY of the table leaves it out
}

// Column finds a column by its exact name.
func (r *Relation) Column(name string) (Column, bool) {
	i, ok := r.byName[name]
	if !ok {
		return Column{}, false
	}
	return r.Columns[i], true
}

// ColumnByNum finds a column by attnum.
func (r *Relation) ColumnByNum(num int16) (Column, bool) {
	for _, c := range r.Columns {
		if c.Num == num {
			return c, true
		}
	}
	return Column{}, false
}

// String is schema.name, unquoted: for messages, not for SQL.
func (r *Relation) String() string { return r.Schema + "." + r.Name }

// System says whether the relation is the server's own.
func (r *Relation) System() bool {
	return r.Schema == "pg_catalog" || r.Schema == "information_schema" || r.Schema == "pg_toast"
}

// Function is a row of pg_proc.
type Function struct {
	OID        OID      `json:"oid"`
	Schema     string   `json:"schema"`
	Name       string   `json:"name"`
	Kind       Char     `json:"kind"`                // pg_proc.prokind: f function, a aggregate, w window, p procedure
	Args       []OID    `json:"args,omitempty"`      // input argument types (proargtypes)
	ArgNames   []string `json:"arg_names,omitempty"` // names of the input arguments, "" where unnamed; nil if none is named
	Defaults   int      `json:"defaults,omitempty"`  // how many trailing input arguments have defaults
	Variadic   OID      `json:"variadic,omitempty"`  // element type if the last argument is VARIADIC
	Result     OID      `json:"result"`
	Set        bool     `json:"set,omitempty"`        // returns a set
	Out        []Column `json:"out,omitempty"`        // OUT and TABLE columns in order, when there are any
	Volatility Char     `json:"volatility,omitempty"` // i s v
	Definer    bool     `json:"definer,omitempty"`    // SECURITY DEFINER
	Language   string   `json:"language,omitempty"`
	Extension  string   `json:"extension,omitempty"` // the extension it belongs to

	signature string
}

// Signature is schema.name(type, type) with format_type's names; pg_catalog's
// functions are written without their schema, as psql's \df does.
func (f *Function) Signature() string { return f.signature }

// Operator is a row of pg_operator.
type Operator struct {
	OID       OID    `json:"oid"`
	Schema    string `json:"schema"`
	Name      string `json:"name"`
	Left      OID    `json:"left"` // 0 for a prefix operator
	Right     OID    `json:"right"`
	Result    OID    `json:"result"`
	Function  OID    `json:"function"`
	Extension string `json:"extension,omitempty"`
}

// Type is a row of pg_type.
type Type struct {
	OID       OID    `json:"oid"`
	Schema    string `json:"schema"`
	Name      string `json:"name"`
	Kind      Char   `json:"kind"`     // pg_type.typtype: b c d e m p r
	Category  Char   `json:"category"` // pg_type.typcategory
	Preferred bool   `json:"preferred,omitempty"`
	Relation  OID    `json:"relation,omitempty"` // pg_type.typrelid of a composite type
	Element   OID    `json:"element,omitempty"`  // element type of a true array (typcategory A)
	Array     OID    `json:"array,omitempty"`    // its array type
	Base      OID    `json:"base,omitempty"`     // base type of a domain
	Checked   bool   `json:"checked,omitempty"`  // a domain with CHECK constraints, its own or inherited
	Extension string `json:"extension,omitempty"`
}

// String is the type's name as format_type would write it for messages.
func (t *Type) String() string {
	if t.Schema == "pg_catalog" {
		return t.Name
	}
	return t.Schema + "." + t.Name
}

// Cast is a row of pg_cast.
type Cast struct {
	Source   OID  `json:"source"`
	Target   OID  `json:"target"`
	Function OID  `json:"function,omitempty"` // 0: binary coercible or through I/O
	Context  Char `json:"context"`            // e explicit, a assignment, i implicit
}
