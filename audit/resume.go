package audit

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// openWriter finds the end of the chain, or begins one, and leaves a writer
// whose file is ready to be appended to.
func openWriter(opt *Options, q *queue, stats *counters, abandon <-chan struct{}) (*writer, error) {
	w := &writer{
		opt: opt, queue: q, stats: stats, abandon: abandon,
		enc:   encoder{redact: opt.Redact, literals: opt.Literals},
		chain: chain{head: noHash},
	}
	if opt.Key != nil {
		private, err := privateKey(opt.Key)
		if err != nil {
			return nil, err
		}
		w.private, w.publicKey = private, publicText(private)
	}
	// A leftover of a rotation that did not come to its end: only a header.
	if err := os.Remove(nextName(opt.Path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("audit: %w", err)
	}
	if err := w.resume(); err != nil {
		return nil, err
	}
	w.signedAt = opt.Now()
	return w, nil
}

// resume goes on with the current file, with a new file after the youngest
// finished one, or with a new chain.
func (w *writer) resume() error {
	torn, err := setAsideTorn(w.opt.Path)
	if err != nil {
		return err
	}
	path, current, err := w.newest()
	if err != nil {
		return err
	}
	if path == "" {
		w.chainID = newChainID()
		if err := w.firstFile(); err != nil {
			return fmt.Errorf("audit: %w", err)
		}
		if torn.torn == 0 {
			return nil
		}
		return w.tellReopened(torn)
	}
	v, size, err := verifyFile(path)
	if err != nil {
		return err
	}
	w.chain, w.chainID, w.number, w.size = v.chain, v.id, v.file, size
	w.begun, w.unsigned = v.started, v.since
	torn.clean = v.clean()
	mode := header{redacted: w.opt.Literals != nil}
	switch {
	case !current:
		err = w.firstFile()
	case v.header.PublicKey != w.publicKey || v.header.Statements != mode.statements():
		err = w.nextFile() // one file has one key and one way to write statements
	default:
		w.file, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	}
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return w.tellReopened(torn)
}

// tellReopened writes the record of it, once: Open must not wait for a disk.
func (w *writer) tellReopened(r *reopened) error {
	if r.torn > 0 {
		w.opt.Logger(fmt.Errorf("audit file %s ended within a record: %d bytes are kept in %s", w.opt.Path, r.torn, r.tornFile))
	}
	w.add(w.opt.Now(), r)
	if _, err := w.file.Write(w.enc.buf); err != nil {
		return fmt.Errorf("audit: %w", errors.Join(err, w.file.Truncate(w.size), w.file.Close()))
	}
	w.size += int64(len(w.enc.buf))
	w.enc.buf = w.enc.buf[:0]
	w.dirty = true
	return nil
}

// newest is the file at the end of the chain: the current one, or, after a crash
// within a rotation, the youngest finished one; "" if there is none.
func (w *writer) newest() (path string, current bool, err error) {
	info, err := os.Stat(w.opt.Path)
	switch {
	case err == nil && info.Size() > 0:
		return w.opt.Path, true, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", false, fmt.Errorf("audit: %w", err)
	}
	files, err := rotatedFiles(w.opt.Path)
	if err != nil || len(files) == 0 {
		return "", false, err
	}
	return files[len(files)-1].path, false, nil
}

// firstFile makes the current file where there is none.
func (w *writer) firstFile() error {
	now := w.opt.Now()
	next, err := w.create(now)
	if err != nil {
		return err
	}
	if err := os.Rename(next.file.Name(), w.opt.Path); err != nil {
		next.discard()
		return err
	}
	w.adopt(next, now)
	return nil
}

// nextFile finishes the present file without having written to it.
func (w *writer) nextFile() error {
	old, err := os.OpenFile(w.opt.Path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	w.file = old
	if err := w.rotate(w.opt.Now()); err != nil {
		return errors.Join(err, old.Close())
	}
	return nil
}

// verifyFile checks the whole file at path and returns what is known at its
// end, with its size.
func verifyFile(path string) (*verifier, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, fmt.Errorf("audit: %w", err)
	}
	defer f.Close()
	v := &verifier{chain: chain{head: noHash}}
	r := newLineReader(f)
	for {
		line, err := r.next()
		if errors.Is(err, io.EOF) && r.line > 0 {
			return v, r.size, nil
		}
		if err != nil {
			return nil, 0, fmt.Errorf("audit file %s: %w", path, err)
		}
		if fault := v.next(line, r.line == 1); fault != nil {
			fault.File, fault.Line = path, r.line
			return nil, 0, fmt.Errorf("the audit chain can't be continued, keep the files as evidence and move them elsewhere to begin a new one: %w", fault)
		}
	}
}

// setAsideTorn moves what follows the last line feed of the file at path, which
// a crash leaves of a record, to the end of PATH.torn.
func setAsideTorn(path string) (*reopened, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return &reopened{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	defer f.Close()
	torn, start, err := unfinished(f)
	if err != nil || len(torn) == 0 {
		return &reopened{}, err
	}
	aside := path + ".torn"
	if err := appendFile(aside, append(torn, '\n')); err != nil {
		return nil, fmt.Errorf("audit: keep an unfinished record: %w", err)
	}
	if err := errors.Join(f.Truncate(start), f.Sync()); err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	sum := sha256.Sum256(torn)
	return &reopened{tornFile: aside, torn: int64(len(torn)), tornHash: hex.EncodeToString(sum[:])}, nil
}

// unfinished returns the bytes after f's last line feed and where they start.
func unfinished(f *os.File) ([]byte, int64, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, 0, fmt.Errorf("audit: %w", err)
	}
	const step = 64 << 10
	end := info.Size()
	for start := end; start > 0; {
		from := max(0, start-step)
		part := make([]byte, start-from)
		if _, err := f.ReadAt(part, from); err != nil {
			return nil, 0, fmt.Errorf("audit: %w", err)
		}
		for i := len(part) - 1; i >= 0; i-- {
			if part[i] == '\n' {
				return readRange(f, from+int64(i)+1, end)
			}
		}
		start = from
	}
	return readRange(f, 0, end)
}

func readRange(f *os.File, from, to int64) ([]byte, int64, error) {
	if to-from > maxLine {
		return nil, 0, fmt.Errorf("audit file %s ends with %d bytes without a line feed, that is no unfinished record", f.Name(), to-from)
	}
	part := make([]byte, to-from)
	if _, err := f.ReadAt(part, from); err != nil && len(part) > 0 {
		return nil, 0, fmt.Errorf("audit: %w", err)
	}
	return part, from, nil
}

// appendFile appends data to the file at path and brings it to disk.
func appendFile(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

func newChainID() string {
	var id [16]byte
	// Never fails: without randomness the runtime ends the process.
	_, _ = rand.Read(id[:])
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return format(id)
}
