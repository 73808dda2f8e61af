package audit_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pgairlock/pgairlock/audit"
)

// A full queue slows, then refuses, and lets in again as soon as there is room;
// nothing that had a place is lost.
func TestQueueFull(t *testing.T) {
	opt := options(t)
	opt.QueueLen, opt.Wait = 3, 50*time.Millisecond
	log := open(t, opt)
	ctx := context.Background()
	var slots []audit.Slot
	for range 3 {
		slot, err := log.Reserve(ctx)
		if err != nil {
			t.Fatal(err)
		}
		slots = append(slots, slot)
	}
	start := time.Now()
	if _, err := log.Reserve(ctx); !errors.Is(err, audit.ErrFull) {
		t.Fatalf("the fourth of three places: %v", err)
	}
	if waited := time.Since(start); waited < opt.Wait {
		t.Errorf("refused after %s, before the wait of %s", waited, opt.Wait)
	}
	if s := log.Stats(); s.Held != 3 || s.Capacity != 3 || s.Refused != 1 {
		t.Errorf("%+v", s)
	}
	if _, err := log.Reserve(done()); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that ended: %v", err)
	}

	slots[0].Release()
	slots[0].Release() // a second time changes nothing
	again, err := log.Reserve(ctx)
	if err != nil {
		t.Fatalf("after a release: %v", err)
	}
	again.Write(statement(1))
	slots[1].Write(statement(2))
	slots[2].Write(statement(3))
	closeLog(t, log)
	wantOK(t, opt.Path, 6)
	if s := log.Stats(); s.Held != 0 || s.Written != 3 || s.Queued != 3 || s.Lost != 0 {
		t.Errorf("%+v", s)
	}
}

// A reservation that waits goes on when a place gets free within the wait.
func TestQueueSlows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opt := options(t)
		opt.QueueLen, opt.Wait = 1, time.Minute
		log := open(t, opt)
		slot, err := log.Reserve(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			time.Sleep(30 * time.Second)
			slot.Write(statement(1))
		}()
		start := time.Now()
		second, err := log.Reserve(context.Background())
		if err != nil || time.Since(start) < 30*time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		second.Release()
		closeLog(t, log)
	})
}

// Large texts fill the queue too.
func TestQueueBytes(t *testing.T) {
	opt := options(t)
	opt.QueueBytes, opt.Wait = 1000, 10*time.Millisecond
	hold := make(chan struct{})
	opt.Redact = func(s string) string {
		<-hold // the writing goroutine stands still
		return s
	}
	log := open(t, opt)
	put(t, log, &audit.Statement{Text: strings.Repeat("x", 2000)})
	if _, err := log.Reserve(context.Background()); !errors.Is(err, audit.ErrFull) {
		t.Errorf("2000 of 1000 bytes are queued: %v", err)
	}
	close(hold)
	sync1(t, log)
	closeLog(t, log)
	wantOK(t, opt.Path, 5)
}

// A Slot that is misused loses nothing either.
func TestSecondWriteIsKept(t *testing.T) {
	opt := options(t)
	opt.QueueLen = 1
	log := open(t, opt)
	slot, err := log.Reserve(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	slot.Write(statement(1))
	slot.Write(statement(2))
	sync1(t, log)
	if held := log.Stats().Held; held != 0 {
		t.Errorf("%d places held after everything was written", held)
	}
	closeLog(t, log)
	wantOK(t, opt.Path, 6)
}

func TestWriteSyncIsOnDisk(t *testing.T) {
	opt := options(t)
	log := open(t, opt)
	if err := log.WriteSync(context.Background(), &audit.Intent{Operation: "op-1"}); err != nil {
		t.Fatal(err)
	}
	if log.Stats().Syncs == 0 {
		t.Error("no fsync")
	}
	if got := records(t, audit.Filter{Types: []string{"intent"}}, opt.Path); len(got) != 1 || got[0].Operation != "op-1" {
		t.Errorf("%+v", got)
	}
	if err := log.WriteSync(done(), &audit.Intent{}); !errors.Is(err, context.Canceled) && err != nil {
		t.Errorf("with a context that ended: %v", err)
	}
}

func TestAfterClose(t *testing.T) {
	opt := options(t)
	var told complaints
	opt.Logger = told.add
	log := open(t, opt)
	late, err := log.Reserve(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	// The place is never given back, so that closing has to give up waiting.
	if err := log.Close(done()); err == nil || !strings.Contains(err.Error(), "1 records reserved") {
		t.Errorf("Close with a place held: %v", err)
	}
	if _, err := log.Reserve(context.Background()); !errors.Is(err, audit.ErrClosed) {
		t.Errorf("Reserve: %v", err)
	}
	late.Write(statement(1))
	if err := late.WriteSync(context.Background(), statement(2)); !errors.Is(err, audit.ErrClosed) {
		t.Errorf("WriteSync: %v", err)
	}
	if s := log.Stats(); s.Lost != 2 || !strings.Contains(told.String(), "came after the log was closed") {
		t.Errorf("lost %d, told %s", s.Lost, told.String())
	}
	if text := lines(t, opt.Path); !strings.Contains(text[1], `"type":"closed","unwritten":1`) {
		t.Errorf("the closed record: %s", text[1])
	}
	wantOK(t, opt.Path, 3)
}

// Many sessions at once: every record is there once, in the order of each
// session. Run with -race this also proves the queue.
func TestConcurrentSessions(t *testing.T) {
	const sessions, each = 16, 200
	opt := options(t)
	opt.QueueLen, opt.MaxSize, opt.Wait = 64, 100<<10, 30*time.Second
	log := open(t, opt)
	var wg sync.WaitGroup
	for s := range sessions {
		wg.Go(func() {
			for i := range each {
				ev := statement(i + 1)
				ev.Session = fmt.Sprintf("session-%d", s)
				slot, err := log.Reserve(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				if i%50 != 0 {
					slot.Write(ev)
				} else if err := slot.WriteSync(context.Background(), ev); err != nil {
					t.Error(err)
				}
				_ = log.Stats()
			}
		})
	}
	wg.Wait()
	closeLog(t, log)
	if report := verify(t, opt.Path); !report.OK() {
		t.Fatal(report.Fault)
	}
	seen := make(map[string]int64)
	for _, r := range records(t, audit.Filter{Types: []string{"statement"}}, opt.Path) {
		if seen[r.Session]++; seen[r.Session] != r.Sequence {
			t.Fatalf("%s: record %d has sequence %d", r.Session, seen[r.Session], r.Sequence)
		}
	}
	for s, n := range seen {
		if n != each {
			t.Errorf("%s has %d records", s, n)
		}
	}
	if len(seen) != sessions || log.Stats().Rotations == 0 {
		t.Errorf("%d sessions, %d rotations", len(seen), log.Stats().Rotations)
	}
}

func TestOneProcessPerFile(t *testing.T) {
	opt := options(t)
	log := open(t, opt)
	if second, err := audit.Open(opt); err == nil {
		t.Error("a second writer was let in")
		closeLog(t, second)
	} else if !strings.Contains(err.Error(), "another process") {
		t.Error(err)
	}
	closeLog(t, log)
	closeLog(t, open(t, opt))
}

func TestOpenRefuses(t *testing.T) {
	for name, change := range map[string]func(*audit.Options){
		"no path":     func(o *audit.Options) { o.Path = "" },
		"no redactor": func(o *audit.Options) { o.Redact = nil },
		"no logger":   func(o *audit.Options) { o.Logger = nil },
		"no folder":   func(o *audit.Options) { o.Path += "/none/audit.jsonl" },
		"short key":   func(o *audit.Options) { o.Key = shortKey },
	} {
		opt := options(t)
		change(&opt)
		if log, err := audit.Open(opt); err == nil {
			t.Errorf("%s: opened", name)
			closeLog(t, log)
		} else if strings.Contains(err.Error(), shortKey.Reveal()) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFileModes(t *testing.T) {
	opt := options(t)
	closeLog(t, open(t, opt))
	for _, path := range []string{opt.Path, opt.Path + ".lock"} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %s", path, info.Mode())
		}
	}
}

func TestPublicKey(t *testing.T) {
	a, b := public(t, key), public(t, otherKey)
	if a == b || a != public(t, key) || !strings.HasPrefix(a, "ed25519:") {
		t.Errorf("%s, %s", a, b)
	}
	if _, err := audit.PublicKey(shortKey); err == nil || strings.Contains(err.Error(), shortKey.Reveal()) {
		t.Errorf("a short key: %v", err)
	}
}

func TestIDs(t *testing.T) {
	now := &clock{now: noon}
	ids := audit.NewIDs(now.Now)
	last := ""
	for i := range 10_000 {
		id := ids.Next()
		if len(id) != 36 || id[14] != '7' || !strings.ContainsRune("89ab", rune(id[19])) {
			t.Fatalf("%s is no UUID of version 7", id)
		}
		if id <= last {
			t.Fatalf("%s comes after %s", id, last)
		}
		last = id
		switch i {
		case 5000:
			now.turn(-time.Hour)
		case 9000:
			now.turn(2 * time.Hour)
		}
	}
	if got, want := last[:8]+last[9:13], fmt.Sprintf("%012x", noon.Add(time.Hour).UnixMilli()); got != want {
		t.Errorf("time part %s, want %s", got, want)
	}
}
