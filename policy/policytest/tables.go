package policytest

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pgairlock/pgairlock/policy/catalog"
)

//go:generate go run snapshot.go

//go:embed pg15.json.gz
var pg15 []byte

// firstOID is the lowest that a server gives to users' objects.
const firstOID catalog.OID = 16384

// kinds are the words that may stand before a relation's name, longest first.
var kinds = []struct {
	word string
	kind catalog.Char
}{
	{"partitioned table ", catalog.PartitionedTable},
	{"materialized view ", catalog.MaterializedView},
	{"foreign table ", catalog.ForeignTable},
	{"sequence ", catalog.Sequence},
	{"table ", catalog.Table},
	{"view ", catalog.View},
}

// aliases are SQL's spellings of types that pg_type has under other names.
var aliases = map[string]string{
	"bigint": "int8", "boolean": "bool", "character": "bpchar", "character varying": "varchar",
	"decimal": "numeric", "double precision": "float8", "int": "int4", "integer": "int4",
	"real": "float4", "smallint": "int2", "time without time zone": "time", "time with time zone": "timetz",
	"timestamp without time zone": "timestamp", "timestamp with time zone": "timestamptz",
}

// Catalog makes the catalog of a stock PostgreSQL 15 that has some relations
// and functions besides its own. It reads them from lines like these:
//
//	public.orders: id int4, total numeric, tags text[]
//	view public.open_orders: id int4
//	function public.order_total(int4) returns numeric
//
// A line may start with table, partitioned table, view, materialized view,
// foreign table, sequence or function; table is meant where nothing is said.
// "returns setof" is a set-returning function, and the words stable, immutable,
// "security definer" may follow. Empty lines and those starting with # are
// passed over. Names are taken as they are, without quotes. An error names the
// line.
func Catalog(lines string) (*catalog.Catalog, error) {
	d, err := snapshot()
	if err != nil {
		return nil, err
	}
	b := builder{data: d, next: firstOID, types: make(map[string]*catalog.Type, len(d.Types))}
	b.schema("public")
	for _, t := range d.Types {
		if t.Schema == "pg_catalog" {
			b.types[t.Name] = t
		} else {
			b.types[t.Schema+"."+t.Name] = t
		}
	}
	for i, line := range strings.Split(lines, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := b.line(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	return catalog.New(*b.data)
}

// snapshot decodes the embedded catalog; each call gives one of its own.
func snapshot() (*catalog.Data, error) {
	z, err := gzip.NewReader(bytes.NewReader(pg15))
	if err != nil {
		return nil, fmt.Errorf("built-in catalog: %w", err)
	}
	d := new(catalog.Data)
	if err := json.NewDecoder(z).Decode(d); err != nil {
		return nil, fmt.Errorf("built-in catalog: %w", err)
	}
	d.Database, d.Role, d.Path = "shop", "airlock_reader", []string{"public"}
	return d, nil
}

// builder adds to a catalog's data.
type builder struct {
	data  *catalog.Data
	next  catalog.OID
	types map[string]*catalog.Type // pg_catalog's by name, others by schema.name
}

func (b *builder) oid() catalog.OID {
	b.next++
	return b.next - 1
}

func (b *builder) schema(name string) {
	if !slices.Contains(b.data.Schemas, name) {
		b.data.Schemas = append(b.data.Schemas, name)
	}
}

func (b *builder) line(line string) error {
	if rest, ok := strings.CutPrefix(line, "function "); ok {
		return b.function(rest)
	}
	kind := catalog.Char(catalog.Table)
	for _, k := range kinds {
		if rest, ok := strings.CutPrefix(line, k.word); ok {
			line, kind = rest, k.kind
			break
		}
	}
	return b.relation(kind, line)
}

// relation reads "schema.name: column type, column type".
func (b *builder) relation(kind catalog.Char, line string) error {
	name, list, ok := strings.Cut(line, ":")
	schema, rel, dotted := strings.Cut(strings.TrimSpace(name), ".")
	if !ok || !dotted {
		return fmt.Errorf("%q: want schema.name: column type, …", line)
	}
	r := &catalog.Relation{OID: b.oid(), Schema: schema, Name: rel, Kind: kind}
	for _, item := range strings.Split(list, ",") {
		col, typ, _ := strings.Cut(strings.TrimSpace(item), " ")
		if col == "" && list == "" {
			break
		}
		t, err := b.typeOf(typ)
		if err != nil {
			return fmt.Errorf("%s, column %q: %w", name, col, err)
		}
		r.Columns = append(r.Columns, catalog.Column{Num: int16(len(r.Columns) + 1), Name: col, Type: t.OID})
	}
	r.RowType = b.rowType(r)
	b.schema(schema)
	b.data.Relations = append(b.data.Relations, r)
	return nil
}

// rowType makes the composite type of a relation and its array type.
func (b *builder) rowType(r *catalog.Relation) catalog.OID {
	row := &catalog.Type{OID: b.oid(), Schema: r.Schema, Name: r.Name, Kind: 'c', Category: 'C', Relation: r.OID}
	array := &catalog.Type{OID: b.oid(), Schema: r.Schema, Name: "_" + r.Name, Kind: 'b', Category: 'A', Element: row.OID}
	row.Array = array.OID
	for _, t := range []*catalog.Type{row, array} {
		b.types[t.Schema+"."+t.Name] = t
		b.data.Types = append(b.data.Types, t)
	}
	return row.OID
}

// function reads "schema.name(type, type) returns type words".
func (b *builder) function(line string) error {
	name, rest, ok1 := strings.Cut(line, "(")
	args, rest, ok2 := strings.Cut(rest, ")")
	result, ok3 := strings.CutPrefix(strings.TrimSpace(rest), "returns ")
	schema, fn, ok4 := strings.Cut(strings.TrimSpace(name), ".")
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return fmt.Errorf("%q: want function schema.name(type, …) returns type", line)
	}
	f := &catalog.Function{OID: b.oid(), Schema: schema, Name: fn, Kind: 'f', Volatility: 'v', Language: "sql"}
	for _, w := range []struct {
		word string
		set  func()
	}{
		{" security definer", func() { f.Definer = true }},
		{" stable", func() { f.Volatility = 's' }},
		{" immutable", func() { f.Volatility = 'i' }},
	} {
		if short, ok := strings.CutSuffix(result, w.word); ok {
			result = short
			w.set()
		}
	}
	result, f.Set = strings.CutPrefix(result, "setof ")
	t, err := b.typeOf(result)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	f.Result = t.OID
	if strings.TrimSpace(args) != "" {
		for _, a := range strings.Split(args, ",") {
			if t, err = b.typeOf(a); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			f.Args = append(f.Args, t.OID)
		}
	}
	b.schema(schema)
	b.data.Functions = append(b.data.Functions, f)
	return nil
}

// typeOf finds a type by its name in pg_type or SQL's; name[] is its array.
func (b *builder) typeOf(name string) (*catalog.Type, error) {
	name = strings.TrimSpace(name)
	element, array := strings.CutSuffix(name, "[]")
	if is, ok := aliases[element]; ok {
		element = is
	}
	if array {
		schema, plain, dotted := strings.Cut(element, ".")
		if dotted {
			element = schema + "._" + plain
		} else {
			element = "_" + element
		}
	}
	t := b.types[element]
	if t == nil {
		return nil, fmt.Errorf("type %q is not known: write it without length or precision, types of a schema as schema.name", name)
	}
	return t, nil
}
