package audit

import (
	"context"
	"fmt"
)

// Slot is a place in the queue for one record. It is used by one goroutine, and
// ends with Write, WriteSync or Release.
type Slot struct {
	log  *Log
	held bool
}

// Reserve takes a place for one record before the thing to be recorded happens.
// While the queue is full it waits for as long as Options.Wait; then it returns
// ErrFull and the thing must not happen. After Close it returns ErrClosed.
func (l *Log) Reserve(ctx context.Context) (Slot, error) {
	if err := l.queue.reserve(ctx, l.opt.Wait); err != nil {
		l.stats.refused.Add(1)
		return Slot{}, err
	}
	return Slot{log: l, held: true}, nil
}

// Write records ev in the reserved place, with the present time. It never
// waits. A second Write through one Slot is recorded too, outside of the
// queue's bound. Only an event that comes after the log was closed is not
// recorded; that is counted in Stats.Lost and told to Options.Logger.
func (s *Slot) Write(ev Event) { s.put(ev, nil) }

// WriteSync records ev and returns when it is on disk (fsync). An error means
// that this is not sure: what the record is about must not happen.
func (s *Slot) WriteSync(ctx context.Context, ev Event) error {
	done := make(chan error, 1)
	if !s.put(ev, done) {
		return ErrClosed
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("wait for the audit record to be on disk: %w", ctx.Err())
	}
}

func (s *Slot) put(ev Event, done chan<- error) bool {
	l := s.log
	it := item{event: ev, at: l.opt.Now(), size: ev.size(), held: s.held, done: done}
	s.held = false
	if !l.queue.put(it) {
		l.stats.lost.Add(1)
		l.opt.Logger(fmt.Errorf("audit record of type %s came after the log was closed and is lost", ev.kind()))
		return false
	}
	l.stats.queued.Add(1)
	return true
}

// Release gives the place back unused. After Write it does nothing.
func (s *Slot) Release() {
	if s.held {
		s.held = false
		s.log.queue.settle(1, 0)
	}
}

// Write reserves a place and records ev.
func (l *Log) Write(ctx context.Context, ev Event) error {
	slot, err := l.Reserve(ctx)
	if err != nil {
		return err
	}
	slot.Write(ev)
	return nil
}

// WriteSync reserves a place, records ev and returns when it is on disk.
func (l *Log) WriteSync(ctx context.Context, ev Event) error {
	slot, err := l.Reserve(ctx)
	if err != nil {
		return err
	}
	return slot.WriteSync(ctx, ev)
}
