// Package pgcatalog reads a server's catalogs into a catalog.Catalog, and tells
// what a login could do there. It uses the session's own connection and leaves
// no trace on it. PostgreSQL 14 to 18.
package pgcatalog

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgairlock/pgairlock/policy/catalog"
)

// Options narrow what is read.
type Options struct {
	// SystemOnly keeps what is in pg_catalog and information_schema: a snapshot
	// of the server itself, whatever the database.
	SystemOnly bool
}

// Fetch reads the catalogs over conn, which has to be idle outside a
// transaction, and which stays the caller's. It is one round trip in one
// snapshot, under whatever settings the session has. TOAST tables and temporary
// objects, the session's own too, are left out.
//
// After an error of the server conn is as it was before and can be used; after
// one of the connection or of ctx it is closed.
func Fetch(ctx context.Context, conn *pgconn.PgConn, o Options) (*catalog.Catalog, error) {
	r := newReader(o)
	if err := exchange(ctx, conn, r.queries()); err != nil {
		return nil, err
	}
	d, err := r.finish()
	if err != nil {
		return nil, fmt.Errorf("read the catalogs: %w", err)
	}
	return catalog.New(d)
}

// reader gathers the rows of the catalogs.
type reader struct {
	options Options
	data    catalog.Data

	version    string                 // server_version_num
	path       string                 // search_path of a fresh session
	schemas    map[catalog.OID]string // those whose objects are kept
	extensions map[member]string      // member → extension
	checked    map[catalog.OID]bool   // domains with CHECK constraints of their own
	columns    []attribute
	names      map[string]string // one copy of each column's name: most occur many times
}

// member is an object of an extension: pg_depend's classid and objid.
type member struct{ class, object catalog.OID }

// attribute is a column with its relation's OID.
type attribute struct {
	relation catalog.OID
	column   catalog.Column
}

func newReader(o Options) *reader {
	return &reader{
		options:    o,
		schemas:    map[catalog.OID]string{},
		extensions: map[member]string{},
		checked:    map[catalog.OID]bool{},
		names:      map[string]string{},
	}
}

// finish puts the rows together, in an order that depends on the content only,
// so that equal catalogs have equal digests.
func (r *reader) finish() (catalog.Data, error) {
	d := &r.data
	version, err := strconv.Atoi(r.version)
	if err != nil {
		return catalog.Data{}, fmt.Errorf("server_version_num is %q", r.version)
	}
	d.ServerVersion = version
	slices.Sort(d.Schemas)
	d.Path = searchPath(r.path, d.Role, d.Schemas)
	slices.SortFunc(d.Relations, func(a, b *catalog.Relation) int { return cmp.Compare(a.OID, b.OID) })
	slices.SortFunc(d.Functions, func(a, b *catalog.Function) int { return cmp.Compare(a.OID, b.OID) })
	slices.SortFunc(d.Operators, func(a, b *catalog.Operator) int { return cmp.Compare(a.OID, b.OID) })
	slices.SortFunc(d.Types, func(a, b *catalog.Type) int { return cmp.Compare(a.OID, b.OID) })
	slices.SortFunc(d.Casts, func(a, b catalog.Cast) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Target, b.Target))
	})
	r.distributeColumns()
	r.deriveTypes()
	if r.options.SystemOnly {
		dropForeignCasts(d)
	}
	return *d, nil
}

// distributeColumns gives each relation its columns, all of which share one
// array.
func (r *reader) distributeColumns() {
	slices.SortFunc(r.columns, func(a, b attribute) int {
		return cmp.Or(cmp.Compare(a.relation, b.relation), cmp.Compare(a.column.Num, b.column.Num))
	})
	columns := make([]catalog.Column, len(r.columns))
	for i, a := range r.columns {
		columns[i] = a.column
	}
	at := 0
	for _, relation := range r.data.Relations {
		for at < len(r.columns) && r.columns[at].relation < relation.OID {
			at++ // of a relation that is left out
		}
		from := at
		for at < len(r.columns) && r.columns[at].relation == relation.OID {
			at++
		}
		if from < at {
			relation.Columns = columns[from:at:at]
		}
	}
}

// deriveTypes fills in what follows from other types: a domain is checked if the
// domain under it is, and an array belongs to its element's extension.
func (r *reader) deriveTypes() {
	byOID := make(map[catalog.OID]*catalog.Type, len(r.data.Types))
	for _, t := range r.data.Types {
		byOID[t.OID] = t
	}
	for _, t := range r.data.Types {
		for base := t; base != nil && base.Kind == 'd'; base = byOID[base.Base] {
			t.Checked = t.Checked || r.checked[base.OID]
		}
		if element := byOID[t.Element]; element != nil && t.Extension == "" {
			t.Extension = element.Extension
		}
	}
}

// dropForeignCasts drops casts between types that are not there.
func dropForeignCasts(d *catalog.Data) {
	there := make(map[catalog.OID]bool, len(d.Types))
	for _, t := range d.Types {
		there[t.OID] = true
	}
	d.Casts = slices.DeleteFunc(d.Casts, func(c catalog.Cast) bool { return !there[c.Source] || !there[c.Target] })
}
