package audit

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"time"
)

const (
	// flushBytes is how much is encoded before it is written.
	flushBytes = 1 << 20
	// tick is how often the clock is looked at while nothing is written.
	tick = 250 * time.Millisecond
	// A failed write is tried again after firstRetry, then in steps twice as
	// long up to lastRetry.
	firstRetry = 50 * time.Millisecond
	lastRetry  = 5 * time.Second
	// rotateRetry is how long the old file is used on after one that could not
	// be rotated.
	rotateRetry = time.Minute
)

// errAbandoned says that Close gave up.
var errAbandoned = errors.New("audit log was closed before the record could be written")

// writer owns the file and the chain. Only its goroutine touches it, from
// openWriter on until run returns.
type writer struct {
	opt     *Options
	queue   *queue
	stats   *counters
	abandon <-chan struct{}

	private    ed25519.PrivateKey // nil: unsigned
	publicKey  string
	enc        encoder // holds lines of which chain already knows
	chain      chain
	chainID    string
	file       *os.File
	number     int64     // of the file in the chain
	size       int64     // of the file, without what is in enc
	begun      time.Time // the file's header
	unsigned   int       // records since the last checkpoint
	signedAt   time.Time // of the last checkpoint or of Open
	dirty      bool      // the file has more than what was synced
	nextRotate time.Time // not before, after a failure
	err        error     // what run leaves to Close to tell
}

// run writes what is queued until stop is closed, then what is left.
func (w *writer) run(stop <-chan struct{}) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	w.prune(w.opt.Now())
	var batch []item
	for {
		select {
		case <-w.queue.wake:
		case <-ticker.C:
		case <-stop:
			w.finish()
			return
		}
		batch = w.queue.take(batch)
		if !w.write(batch) {
			w.finish()
			return
		}
		clear(batch) // let go of the events
		w.housekeep()
	}
}

// write brings a batch to the file and answers those who wait for the disk.
// False means that Close gave up waiting for the disk.
func (w *writer) write(batch []item) bool {
	var waiting []chan<- error
	for from := 0; from < len(batch); {
		to := w.encode(batch, from)
		if err := w.flush(); err != nil {
			w.giveUp(batch[from:], waiting)
			return false
		}
		w.settle(batch[from:to])
		for _, it := range batch[from:to] {
			if it.done != nil {
				waiting = append(waiting, it.done)
			}
		}
		from = to
		w.rotateIfDue(false)
	}
	if len(waiting) > 0 {
		err := w.sync()
		for _, done := range waiting {
			done <- err
		}
	}
	return true
}

// encode appends the items from position from on until there is enough to
// write, with checkpoints where they are due. It returns where it stopped.
func (w *writer) encode(batch []item, from int) int {
	for from < len(batch) && len(w.enc.buf) < flushBytes {
		w.add(batch[from].at, batch[from].event)
		from++
		if w.unsigned >= w.opt.CheckpointRecords {
			w.checkpoint()
		}
	}
	return from
}

func (w *writer) add(at time.Time, b body) {
	w.chain.add(&w.enc, at, b)
	w.unsigned++
}

// checkpoint signs the chain as it is, if there is a key and anything to sign.
func (w *writer) checkpoint() {
	if w.private == nil || w.unsigned == 0 {
		return
	}
	now := w.opt.Now()
	c := &checkpoint{count: w.chain.n, head: w.chain.head}
	c.signature = ed25519.Sign(w.private, checkpointText(w.chainID, c.count, c.head))
	w.add(now, c)
	w.unsigned, w.signedAt = 0, now
	w.stats.checkpoint.Store(&Head{Record: c.count, Hash: string(c.head[:])})
}

// settle gives back what a written part of a batch held.
func (w *writer) settle(part []item) {
	held, bytes := 0, int64(0)
	for _, it := range part {
		if it.held {
			held++
		}
		bytes += int64(it.size)
	}
	w.stats.written.Add(int64(len(part)))
	w.queue.settle(held, bytes)
}

// flush writes the encoded lines, trying again until it works or Close gives
// up. What a failed attempt wrote is not written again.
func (w *writer) flush() error {
	pause := firstRetry
	rest := w.enc.buf
	for len(rest) > 0 {
		n, err := w.file.Write(rest)
		rest = rest[n:]
		w.size += int64(n)
		w.stats.bytes.Add(int64(n))
		if n > 0 {
			w.dirty, pause = true, firstRetry
		}
		if err == nil {
			continue
		}
		w.failed(fmt.Errorf("write audit file, trying again in %s: %w", pause, err))
		select {
		case <-time.After(pause):
			pause = min(2*pause, lastRetry)
		case <-w.abandon:
			w.enc.buf = rest
			return fmt.Errorf("%w: %w", errAbandoned, err)
		}
	}
	if w.enc.buf = w.enc.buf[:0]; cap(w.enc.buf) > 4*flushBytes {
		w.enc.buf = nil // a huge statement's memory is not kept
	}
	return nil
}

// sync brings the file to disk. After an error the system may have forgotten
// what it could not write; that is why the error goes to everybody who waits.
func (w *writer) sync() error {
	if !w.dirty {
		return nil
	}
	w.stats.syncs.Add(1)
	if err := w.file.Sync(); err != nil {
		err = fmt.Errorf("sync audit file: %w", err)
		w.failed(err)
		return err
	}
	w.dirty = false
	return nil
}

func (w *writer) failed(err error) {
	w.stats.diskError.Add(1)
	w.opt.Logger(err)
}

// giveUp answers for records that will never be written.
func (w *writer) giveUp(rest []item, waiting []chan<- error) {
	for _, it := range rest {
		if it.done != nil {
			waiting = append(waiting, it.done)
		}
	}
	for _, done := range waiting {
		done <- errAbandoned
	}
	w.stats.lost.Add(int64(len(rest)))
	w.err = fmt.Errorf("%w: %d records are lost", errAbandoned, w.stats.lost.Load())
	w.opt.Logger(w.err)
}

// housekeep does what is due by the clock. An error of flush means that Close
// gave up; finish, which comes next, meets it again.
func (w *writer) housekeep() {
	now := w.opt.Now()
	if w.unsigned > 0 && now.Sub(w.signedAt) >= w.opt.CheckpointEvery {
		w.checkpoint()
		w.signedAt = now // also without a key: the file is synced at this pace
		if w.flush() != nil {
			return
		}
		// The error was logged; nobody waits for this one.
		_ = w.sync()
	}
	w.rotateIfDue(now.Sub(w.begun) >= w.opt.MaxAge)
}

// finish writes what is left, closes the chain and the file.
func (w *writer) finish() {
	last, outstanding := w.queue.finish()
	if w.err != nil { // write gave up before
		w.giveUp(last, nil)
		w.err = errors.Join(w.err, w.file.Close())
		return
	}
	if !w.write(last) {
		w.err = errors.Join(w.err, w.file.Close())
		return
	}
	w.add(w.opt.Now(), &closed{unwritten: outstanding})
	w.checkpoint()
	w.err = errors.Join(w.flush(), w.sync(), w.file.Close())
}
