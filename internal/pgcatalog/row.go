package pgcatalog

import (
	"encoding/binary"
	"fmt"

	"github.com/pgairlock/pgairlock/policy/catalog"
)

// row reads the columns of one row in order, in the server's binary formats.
// The first misfit is kept in err and ends the exchange; what is read after it
// is zero. The bytes belong to the connection: strings are copied.
type row struct {
	values [][]byte
	err    error
}

// take returns the next column, which has to have size bytes (-1: any number).
// A NULL is nil and fits every size.
func (r *row) take(size int) []byte {
	if r.err != nil {
		return nil
	}
	if len(r.values) == 0 {
		r.err = fmt.Errorf("a row has too few columns")
		return nil
	}
	v := r.values[0]
	r.values = r.values[1:]
	if v != nil && size >= 0 && len(v) != size {
		r.err = fmt.Errorf("a column has %d bytes instead of %d", len(v), size)
		return nil
	}
	return v
}

func (r *row) oid() catalog.OID {
	v := r.take(4)
	if v == nil {
		return 0
	}
	return binary.BigEndian.Uint32(v)
}

func (r *row) int2() int16 {
	v := r.take(2)
	if v == nil {
		return 0
	}
	return int16(binary.BigEndian.Uint16(v))
}

func (r *row) int8() int64 {
	v := r.take(8)
	if v == nil {
		return 0
	}
	return int64(binary.BigEndian.Uint64(v))
}

func (r *row) char() catalog.Char {
	v := r.take(1)
	if v == nil {
		return 0
	}
	return catalog.Char(v[0])
}

func (r *row) bool() bool {
	v := r.take(1)
	return v != nil && v[0] != 0
}

func (r *row) text() string { return string(r.take(-1)) }

// elements splits a one-dimensional array into its elements' bytes; nil for a
// NULL or empty array. Format: dimensions, has-nulls flag, element type, length,
// lower bound, then each element with its length (-1: NULL).
func (r *row) elements() [][]byte {
	v := r.take(-1)
	if len(v) == 0 {
		return nil
	}
	bad := func() [][]byte {
		r.err = fmt.Errorf("a column is not a one-dimensional array")
		return nil
	}
	const header, dimension = 12, 8
	if len(v) < header {
		return bad()
	}
	dimensions := binary.BigEndian.Uint32(v)
	if dimensions == 0 {
		return nil
	}
	if dimensions != 1 || len(v) < header+dimension {
		return bad()
	}
	count := int(binary.BigEndian.Uint32(v[header:]))
	v = v[header+dimension:]
	if count == 0 {
		return nil // an oidvector is never without dimension
	}
	if count > len(v)/4 {
		return bad()
	}
	all := make([][]byte, 0, count)
	for range count {
		if len(v) < 4 {
			return bad()
		}
		size := int32(binary.BigEndian.Uint32(v))
		v = v[4:]
		if size < 0 {
			all = append(all, nil)
			continue
		}
		if int(size) > len(v) {
			return bad()
		}
		all = append(all, v[:size])
		v = v[size:]
	}
	return all
}

func (r *row) oids() []catalog.OID {
	elements := r.elements()
	if elements == nil {
		return nil
	}
	all := make([]catalog.OID, len(elements))
	for i, e := range elements {
		if len(e) != 4 {
			r.err = fmt.Errorf("an array of oids has an element of %d bytes", len(e))
			return nil
		}
		all[i] = binary.BigEndian.Uint32(e)
	}
	return all
}

func (r *row) texts() []string {
	elements := r.elements()
	if elements == nil {
		return nil
	}
	all := make([]string, len(elements))
	for i, e := range elements {
		all[i] = string(e)
	}
	return all
}
