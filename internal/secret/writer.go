package secret

import (
	"bytes"
	"io"
	"sync"
)

// maxLine is how much of an unfinished line a Writer holds back.
const maxLine = 64 << 10

// Writer redacts what is written to another writer. It passes on whole lines,
// so that a value split over two calls is still found; what is not yet a line
// waits for its end, for Flush, or until it is 64 KiB long. Safe for
// concurrent use.
type Writer struct {
	redactor *Redactor
	mu       sync.Mutex // guards out and held; a log writer serialises its lines anyway
	out      io.Writer
	held     []byte // the unfinished line
}

// NewWriter redacts on the way to out.
func NewWriter(out io.Writer, redactor *Redactor) *Writer {
	return &Writer{redactor: redactor, out: out}
}

// Write takes all of p; the error is that of the writer behind.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	end := bytes.LastIndexByte(p, '\n') + 1
	if end == 0 && len(w.held)+len(p) < maxLine {
		w.held = append(w.held, p...)
		return len(p), nil
	}
	if end == 0 {
		end = len(p)
	}
	text := p[:end]
	if len(w.held) > 0 {
		w.held = append(w.held, text...)
		text = w.held
	}
	err := w.pass(text)
	w.held = append(w.held[:0], p[end:]...)
	return len(p), err
}

// Flush writes out an unfinished line. Call it before the process ends.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.held) == 0 {
		return nil
	}
	err := w.pass(w.held)
	w.held = w.held[:0]
	return err
}

func (w *Writer) pass(text []byte) error {
	_, err := io.WriteString(w.out, w.redactor.Redact(string(text)))
	return err
}
