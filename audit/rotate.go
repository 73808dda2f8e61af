package audit

import (
	"fmt"
	"os"
	"time"
)

// nextName is where the next file is made before it gets the log's name. It
// holds nothing but a header.
func nextName(path string) string { return path + ".next" }

// rotateIfDue begins a new file if the present one is full or, by due, old. A
// failure is logged and leaves everything as it was.
func (w *writer) rotateIfDue(due bool) {
	if !due && w.size+int64(len(w.enc.buf)) < w.opt.MaxSize {
		return
	}
	now := w.opt.Now()
	if now.Before(w.nextRotate) {
		return
	}
	w.checkpoint()
	if w.flush() != nil {
		return
	}
	if err := w.rotate(now); err != nil {
		w.nextRotate = now.Add(rotateRetry)
		w.failed(fmt.Errorf("rotate audit file, going on with the old one: %w", err))
		return
	}
	w.stats.rotations.Add(1)
	w.prune(now)
}

// rotate makes the next file with its header, gives the present one its final
// name and the next one the log's name. At every moment either the log's name
// or the youngest finished file is the end of the chain.
func (w *writer) rotate(now time.Time) error {
	if err := w.sync(); err != nil {
		return err
	}
	old, oldName := w.file, rotatedName(w.opt.Path, w.number, now)
	next, err := w.create(now)
	if err != nil {
		return err
	}
	if err := os.Rename(w.opt.Path, oldName); err != nil {
		next.discard()
		return err
	}
	if err := os.Rename(next.file.Name(), w.opt.Path); err != nil {
		next.discard()
		if back := os.Rename(oldName, w.opt.Path); back != nil {
			return fmt.Errorf("%w; and back: %w", err, back)
		}
		return err
	}
	w.adopt(next, now)
	if err := old.Close(); err != nil {
		w.failed(fmt.Errorf("close audit file %s: %w", oldName, err))
	}
	return nil
}

// fresh is a file that has its header and is not yet the log's.
type fresh struct {
	file  *os.File
	size  int64
	chain chain // with the header
}

// create makes the file that follows, on disk, under its temporary name.
func (w *writer) create(now time.Time) (fresh, error) {
	name := nextName(w.opt.Path)
	f, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fresh{}, err
	}
	next := fresh{file: f, chain: w.chain}
	e := encoder{redact: w.opt.Redact}
	next.chain.add(&e, now, &header{
		chain: w.chainID, file: w.number + 1, publicKey: w.publicKey, redacted: w.opt.Literals != nil,
	})
	next.size = int64(len(e.buf))
	if _, err = f.Write(e.buf); err == nil {
		err = f.Sync()
	}
	if err != nil {
		next.discard()
		return fresh{}, err
	}
	return next, nil
}

// discard takes a file back that did not become the log's. Its leftovers do no
// harm, and so their errors are of no interest.
func (f fresh) discard() {
	_ = f.file.Close()
	_ = os.Remove(f.file.Name())
}

// adopt makes the fresh file, which has the log's name by now, the present one.
func (w *writer) adopt(next fresh, now time.Time) {
	w.file, w.size, w.chain = next.file, next.size, next.chain
	w.number++
	w.begun = now
	w.unsigned++ // the header
	w.dirty = false
	w.stats.bytes.Add(next.size)
	if err := syncDir(w.opt.Path); err != nil {
		w.failed(fmt.Errorf("sync the audit files' directory: %w", err))
	}
}

// prune deletes files past Options.Keep, each after a record of it is on disk.
func (w *writer) prune(now time.Time) {
	if w.opt.Keep <= 0 {
		return
	}
	files, err := rotatedFiles(w.opt.Path)
	if err != nil {
		w.failed(err)
		return
	}
	for i, old := range files {
		if now.Sub(old.closed) <= w.opt.Keep {
			return
		}
		after := w.opt.Path
		if i+1 < len(files) {
			after = files[i+1].path
		}
		if err := w.pruneOne(now, old, after); err != nil {
			w.failed(fmt.Errorf("delete old audit file %s: %w", old.path, err))
			return
		}
	}
}

func (w *writer) pruneOne(now time.Time, old rotated, after string) error {
	first, err := firstRecord(old.path)
	if err != nil {
		return err
	}
	next, err := firstRecord(after)
	if err != nil {
		return err
	}
	w.add(now, &pruned{file: old.path, first: first, last: next - 1, closed: old.closed})
	if err := w.flush(); err != nil {
		return err
	}
	if err := w.sync(); err != nil {
		return err
	}
	return os.Remove(old.path)
}

// firstRecord is the number of a file's first record.
func firstRecord(path string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	line, err := newLineReader(f).next()
	if err != nil {
		return 0, fmt.Errorf("read its first record: %w", err)
	}
	fr, err := parseFrame(line)
	if err != nil {
		return 0, fmt.Errorf("its first line %w", err)
	}
	return fr.n, nil
}
