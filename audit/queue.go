package audit

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Errors of reserving and writing.
var (
	// ErrFull says that the queue stayed full for as long as Options.Wait: the
	// disk is too slow, full or gone. The statement has to be refused.
	ErrFull = errors.New("audit queue is full")
	// ErrClosed says that the log was closed.
	ErrClosed = errors.New("audit log is closed")
)

// item is an event on its way to the file.
type item struct {
	event Event
	at    time.Time
	size  int
	held  bool         // a reservation is given back once it is on disk
	done  chan<- error // gets one value after fsync; nil if nobody waits
}

// queue stands between the sessions and the writing goroutine. Its bound is kept
// by reservations: there are never more of them than max, and a reserved event
// always finds room, so that put never waits.
type queue struct {
	max      int
	maxBytes int64
	wake     chan struct{} // one token: the writing goroutine has something to do

	mu       sync.Mutex
	held     int           // reservations, those of queued items included
	bytes    int64         // text of the queued items and of those being written
	items    []item        // in the order of put
	room     chan struct{} // closed and replaced when held or bytes falls while somebody waits
	waiting  int
	closing  bool // no more reservations
	finished bool // nobody will take again
}

func newQueue(length int, bytes int64) *queue {
	return &queue{max: length, maxBytes: bytes, wake: make(chan struct{}, 1), room: make(chan struct{})}
}

// reserve takes a place, waiting at most as long as given.
func (q *queue) reserve(ctx context.Context, wait time.Duration) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	var expired <-chan time.Time
	for {
		switch {
		case q.closing:
			return ErrClosed
		case q.held < q.max && q.bytes < q.maxBytes:
			q.held++
			return nil
		}
		if expired == nil {
			timer := time.NewTimer(wait)
			defer timer.Stop()
			expired = timer.C
		}
		if err := q.sleep(ctx, expired); err != nil {
			return err
		}
	}
}

// sleep gives up the lock until there may be room.
func (q *queue) sleep(ctx context.Context, expired <-chan time.Time) error {
	room := q.room
	q.waiting++
	q.mu.Unlock()
	defer func() {
		q.mu.Lock()
		q.waiting--
	}()
	select {
	case <-room:
		return nil
	case <-expired:
		return ErrFull
	case <-ctx.Done():
		return ctx.Err()
	}
}

// put queues an event; false if the log is closed for good.
func (q *queue) put(it item) bool {
	q.mu.Lock()
	if q.finished {
		q.mu.Unlock()
		return false
	}
	q.items = append(q.items, it)
	q.bytes += int64(it.size)
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return true
}

// take hands over all queued items; spare becomes the next queue's memory.
func (q *queue) take(spare []item) []item {
	q.mu.Lock()
	defer q.mu.Unlock()
	items := q.items
	q.items = spare[:0]
	return items
}

// settle gives back n reservations and the memory of texts that are on disk.
func (q *queue) settle(n int, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.held -= n
	q.bytes -= bytes
	q.announce()
}

// announce wakes who waits. The caller holds mu.
func (q *queue) announce() {
	if q.waiting > 0 {
		close(q.room)
		q.room = make(chan struct{})
	}
}

// close ends reservations and waits until all are given back, or for ctx.
func (q *queue) close(ctx context.Context) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closing = true
	q.announce()
	for q.held > 0 || len(q.items) > 0 {
		if err := q.sleep(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

// finish takes the last items and how many reservations are out; from now on
// put refuses.
func (q *queue) finish() (last []item, outstanding int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.finished = true
	last = q.items
	q.items = nil
	outstanding = q.held
	for _, it := range last {
		if it.held {
			outstanding--
		}
	}
	return last, outstanding
}

// depth is how many reservations are out.
func (q *queue) depth() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.held
}
