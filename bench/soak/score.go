package main

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// score is what happened.
type score struct {
	statements, kills, reloads, brokenPolicies, crashes, excuses atomic.Int64

	lastCrash atomic.Int64 // Unix nanoseconds

	mu     sync.Mutex
	faults []error // the first few
	count  int
}

// manyFaults is how many are kept.
const manyFaults = 20

func (s *score) wrong(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	if len(s.faults) < manyFaults {
		fmt.Printf("  WRONG: %v\n", err)
		s.faults = append(s.faults, err)
	}
}

func (s *score) crashed() {
	s.crashes.Add(1)
	s.lastCrash.Store(time.Now().UnixNano())
}

// excused says whether an error that came now, of something that began then, can
// be the server's crash.
func (s *score) excused(began time.Time) bool {
	crash := time.Unix(0, s.lastCrash.Load())
	return time.Since(crash) < downtime || crash.After(began) && time.Since(crash) < session
}

func (s *score) line() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("%d statements, %d clients killed, %d reloads (%d broken), %d crashes (seen %d times), %d wrong",
		s.statements.Load(), s.kills.Load(), s.reloads.Load(), s.brokenPolicies.Load(), s.crashes.Load(), s.excuses.Load(), s.count)
}

// wrongs are the errors that should not have been.
func (s *soak) wrongs() []error {
	s.score.mu.Lock()
	defer s.score.mu.Unlock()
	if s.score.count == 0 {
		return nil
	}
	return []error{fmt.Errorf("%d things went wrong, the first: %w", s.score.count, s.score.faults[0])}
}
