package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pgairlock/pgairlock/internal/secret"
)

// Options say where and how a Log is kept. Path, Redact and Logger are
// required; everything else has a default.
type Options struct {
	// Path of the current file. Finished files, a lock file and what a crash
	// left unfinished (PATH.torn) lie beside it. All have mode 0600.
	Path string
	// Key is the secret that checkpoints are signed with, of at least 16 bytes;
	// nil: the files are unsigned, and say so.
	Key *secret.Secret
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// Redact is applied to every string that comes from outside.
	Redact func(string) string
	// Literals, if not nil, replaces the literals of a statement's text by
	// something that tells only their kind, before Redact. It is called from
	// one goroutine with texts of any size and content, and has to return
	// something without literals for those that it can't read.
	Literals func(string) string
	// MaxSize is how many bytes a file has when a new one is begun; 0: 128 MiB.
	MaxSize int64
	// MaxAge is how old a file is when a new one is begun; 0: 24 hours.
	MaxAge time.Duration
	// Keep is for how long finished files are kept; 0: for ever.
	Keep time.Duration
	// QueueLen is how many records may be reserved or unwritten; 0: 8192. Every
	// open session holds one place for its end.
	QueueLen int
	// QueueBytes is how much text may be unwritten before reservations wait;
	// 0: 64 MiB.
	QueueBytes int64
	// Wait is how long a reservation waits while the queue is full before it is
	// refused; 0: one second.
	Wait time.Duration
	// CheckpointRecords is after how many records the chain is signed; 0: 1000.
	CheckpointRecords int
	// CheckpointEvery is after what time it is signed if there was any record,
	// and the file brought to disk; 0: ten seconds.
	CheckpointEvery time.Duration
	// Logger is told what goes wrong: disk errors, records that come too late.
	// Called from several goroutines.
	Logger func(error)
}

func (o *Options) complete() error {
	if o.Path == "" || o.Redact == nil || o.Logger == nil {
		return errors.New("audit: Path, Redact and Logger are required")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.MaxSize = orDefault(o.MaxSize, 128<<20)
	o.MaxAge = orDefault(o.MaxAge, 24*time.Hour)
	o.QueueLen = orDefault(o.QueueLen, 8192)
	o.QueueBytes = orDefault(o.QueueBytes, 64<<20)
	o.Wait = orDefault(o.Wait, time.Second)
	o.CheckpointRecords = orDefault(o.CheckpointRecords, 1000)
	o.CheckpointEvery = orDefault(o.CheckpointEvery, 10*time.Second)
	return nil
}

func orDefault[T int | int64 | time.Duration](value, fallback T) T {
	if value <= 0 {
		return fallback
	}
	return value
}

// Log writes records. All methods may be called concurrently.
type Log struct {
	opt    Options
	queue  *queue
	stats  counters
	writer *writer
	lock   *os.File

	stop      chan struct{} // closed: the writing goroutine is to finish
	abandon   chan struct{} // closed: it is to give up what it can't write
	finished  chan struct{} // closed by it at its end
	closeOnce sync.Once
	closeErr  error
}

// Open goes on with the log at Options.Path or begins a new chain. It verifies
// the file that it goes on with, and refuses to go on with one that was tampered
// with; an unfinished last line, which a crash leaves, is put aside in PATH.torn.
// It refuses when another process writes the same log.
func Open(opt Options) (*Log, error) {
	if err := opt.complete(); err != nil {
		return nil, err
	}
	held, err := lock(opt.Path)
	if err != nil {
		return nil, err
	}
	l := &Log{
		opt: opt, queue: newQueue(opt.QueueLen, opt.QueueBytes), lock: held,
		stop: make(chan struct{}), abandon: make(chan struct{}), finished: make(chan struct{}),
	}
	if l.writer, err = openWriter(&l.opt, l.queue, &l.stats, l.abandon); err != nil {
		held.Close()
		return nil, err
	}
	go func() {
		defer close(l.finished)
		l.writer.run(l.stop)
	}()
	return l, nil
}

// Close ends reservations, waits until every reserved Slot is written or
// released, and closes the file with a last checkpoint. When ctx ends first,
// what can't be written is given up: the error says how many records.
func (l *Log) Close(ctx context.Context) error {
	l.closeOnce.Do(func() { l.closeErr = l.close(ctx) })
	return l.closeErr
}

func (l *Log) close(ctx context.Context) error {
	var errs []error
	if err := l.queue.close(ctx); err != nil {
		errs = append(errs, fmt.Errorf("audit log has %d records reserved or unwritten: %w", l.queue.depth(), err))
	}
	giveUp := context.AfterFunc(ctx, func() { close(l.abandon) })
	close(l.stop)
	<-l.finished
	giveUp()
	if l.writer.err != nil {
		errs = append(errs, l.writer.err)
	}
	return errors.Join(append(errs, l.lock.Close())...)
}

// counters are what Stats reports; the writing goroutine and the sessions add
// to them.
type counters struct {
	queued, written, refused, lost     atomic.Int64
	bytes, syncs, rotations, diskError atomic.Int64
	checkpoint                         atomic.Pointer[Head]
}

// Stats is the state of a Log, for metrics. Counters count since Open.
type Stats struct {
	Queued     int64 // events taken
	Written    int64 // events written to the file
	Refused    int64 // reservations refused, for whatever reason
	Lost       int64 // events that came after the log was closed, or that Close gave up
	Bytes      int64 // written
	Syncs      int64 // fsyncs
	Rotations  int64
	DiskErrors int64 // failed attempts to write, sync, rotate or delete
	Held       int   // places taken in the queue, now
	Capacity   int   // places in the queue
	Checkpoint Head  // the last signed one; zero if there is none since Open
}

// Stats may be called at any time.
func (l *Log) Stats() Stats {
	c := &l.stats
	s := Stats{
		Queued: c.queued.Load(), Written: c.written.Load(), Refused: c.refused.Load(), Lost: c.lost.Load(),
		Bytes: c.bytes.Load(), Syncs: c.syncs.Load(), Rotations: c.rotations.Load(), DiskErrors: c.diskError.Load(),
		Held: l.queue.depth(), Capacity: l.opt.QueueLen,
	}
	if head := c.checkpoint.Load(); head != nil {
		s.Checkpoint = *head
	}
	return s
}
