package catalog

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
)

// digest is the hex SHA-256 of everything in d: two pictures with the same
// digest are the same to whoever asks them.
func digest(d *Data) string {
	sum := sha256.New()
	w := &digester{out: bufio.NewWriterSize(sum, 32<<10), sum: sum}
	w.texts(d.Database, d.Role)
	w.number(d.ServerVersion)
	w.list(d.Path)
	w.list(d.Schemas)
	w.number(len(d.Relations))
	for _, r := range d.Relations {
		w.relation(r)
	}
	w.number(len(d.Functions))
	for _, f := range d.Functions {
		w.function(f)
	}
	w.number(len(d.Operators))
	for _, o := range d.Operators {
		w.texts(o.Schema, o.Name, o.Extension)
		w.oids(o.OID, o.Left, o.Right, o.Result, o.Function)
	}
	w.number(len(d.Types))
	for _, t := range d.Types {
		w.texts(t.Schema, t.Name, t.Extension)
		w.oids(t.OID, t.Relation, t.Element, t.Array, t.Base)
		w.flags(byte(t.Kind), byte(t.Category), flag(t.Preferred), flag(t.Checked))
	}
	w.number(len(d.Casts))
	for _, c := range d.Casts {
		w.oids(c.Source, c.Target, c.Function)
		w.flags(byte(c.Context))
	}
	return w.hex()
}

// digester writes values so that none can be taken for another: each text has
// its length before it. Writing to a hash has no errors.
type digester struct {
	out  *bufio.Writer
	sum  hash.Hash
	room [binary.MaxVarintLen64]byte
}

func (w *digester) relation(r *Relation) {
	w.texts(r.Schema, r.Name)
	w.oids(r.OID, r.RowType)
	w.flags(byte(r.Kind))
	w.columns(r.Columns)
}

func (w *digester) function(f *Function) {
	w.texts(f.Schema, f.Name, f.Language, f.Extension)
	w.oids(f.OID, f.Variadic, f.Result)
	w.flags(byte(f.Kind), byte(f.Volatility), flag(f.Set), flag(f.Definer))
	w.number(f.Defaults)
	w.number(len(f.Args))
	w.oids(f.Args...)
	w.list(f.ArgNames)
	w.columns(f.Out)
}

func (w *digester) columns(columns []Column) {
	w.number(len(columns))
	for _, c := range columns {
		w.texts(c.Name)
		w.oids(c.Type)
		w.number(int(c.Num))
		w.flags(flag(c.Generated))
	}
}

func (w *digester) list(words []string) {
	w.number(len(words))
	w.texts(words...)
}

func (w *digester) texts(words ...string) {
	for _, s := range words {
		w.number(len(s))
		_, _ = w.out.WriteString(s)
	}
}

func (w *digester) oids(oids ...OID) {
	for _, o := range oids {
		w.number(int(o))
	}
}

func (w *digester) number(n int) {
	_, _ = w.out.Write(w.room[:binary.PutVarint(w.room[:], int64(n))])
}

func (w *digester) flags(flags ...byte) { _, _ = w.out.Write(flags) }

func (w *digester) hex() string {
	_ = w.out.Flush()
	return hex.EncodeToString(w.sum.Sum(nil))
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}
