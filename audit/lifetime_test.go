package audit_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pgairlock/pgairlock/audit"
)

func TestReopen(t *testing.T) {
	opt := options(t)
	for range 3 {
		log := open(t, opt)
		put(t, log, statements(2)...)
		closeLog(t, log)
	}
	// header, then each time: reopened (but the first), 2, closed, checkpoint
	report := wantOK(t, opt.Path, 1+4+5+5)
	if !report.Clean || report.Files != 1 {
		t.Errorf("%+v", report)
	}
	for _, r := range records(t, audit.Filter{Types: []string{"reopened"}}, opt.Path) {
		if !strings.Contains(string(r.Line), `"clean":true`) {
			t.Errorf("%s", r.Line)
		}
	}
}

// One file has one key: with another one a new file begins, and the chain goes on.
func TestReopenWithAnotherKey(t *testing.T) {
	opt := options(t)
	log := open(t, opt)
	put(t, log, statements(2)...)
	closeLog(t, log)
	opt.Key = otherKey
	log = open(t, opt)
	put(t, log, statements(2)...)
	closeLog(t, log)
	opt.Key = nil
	closeLog(t, open(t, opt))

	files, err := audit.Files(opt.Path)
	if err != nil || len(files) != 3 {
		t.Fatalf("%q, %v", files, err)
	}
	both := []string{public(t, key), public(t, otherKey)}
	if report, err := audit.Verify(audit.VerifyOptions{Keys: both}, files[:2]...); err != nil || !report.OK() || !report.Trusted {
		t.Errorf("both keys trusted: %v, %+v", err, report)
	}
	if report, err := audit.Verify(audit.VerifyOptions{Keys: both[:1]}, files[:2]...); err != nil || report.OK() || report.Fault.Kind != audit.WrongKey {
		t.Errorf("one key trusted: %v, %+v", err, report)
	}
	report, err := audit.Verify(audit.VerifyOptions{}, files...)
	if err != nil || !report.OK() || !strings.Contains(strings.Join(report.Notes, "\n"), "unsigned") {
		t.Errorf("any key: %v, %+v", err, report)
	}
}

func TestUnsigned(t *testing.T) {
	opt := options(t)
	opt.Key, opt.CheckpointRecords = nil, 2
	log := open(t, opt)
	put(t, log, statements(5)...)
	closeLog(t, log)
	text := strings.Join(lines(t, opt.Path), "\n")
	if !strings.Contains(text, `"note":"unsigned: `) || strings.Contains(text, "signature") {
		t.Error(text)
	}
	report, err := audit.Verify(audit.VerifyOptions{}, opt.Path)
	if err != nil || !report.OK() || report.Covered != 0 || report.Uncovered() != 7 || !report.Clean {
		t.Errorf("%v, %+v", err, report)
	}
}

// A log that was tampered with is not gone on with.
func TestReopenRefusesTampered(t *testing.T) {
	opt := options(t)
	log := open(t, opt)
	put(t, log, statements(3)...)
	closeLog(t, log)
	text := lines(t, opt.Path)
	rewrite(t, opt.Path, without(text, 2))
	_, err := audit.Open(opt)
	if fault, ok := errors.AsType[*audit.Fault](err); !ok || fault.Kind != audit.Missing || fault.Line != 3 {
		t.Fatalf("%v", err)
	}
	rewrite(t, opt.Path, text)
	closeLog(t, open(t, opt))
}

func TestTornLine(t *testing.T) {
	for _, tt := range []struct {
		name string
		keep func(text []string) string
		want int64
	}{
		{"a record begun", func(x []string) string { return strings.Join(x, "\n") + "\n" + x[1][:40] }, 5 + 3},
		{"a record without its line feed", func(x []string) string { return strings.Join(x, "\n") }, 4 + 3},
		{"zeros, as after a power failure", func(x []string) string { return strings.Join(x, "\n") + "\n" + strings.Repeat("\x00", 5000) }, 5 + 3},
		{"nothing but a header begun", func(x []string) string { return x[0][:30] }, 1 + 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			opt := options(t)
			var told complaints
			opt.Logger = told.add
			log := open(t, opt)
			put(t, log, statements(2)...)
			closeLog(t, log)
			data := tt.keep(lines(t, opt.Path))
			if err := os.WriteFile(opt.Path, []byte(data), 0o600); err != nil {
				t.Fatal(err)
			}
			if report := verify(t, opt.Path); report.OK() || report.Fault.Kind != audit.Cut {
				t.Errorf("before it is reopened: %v", report.Fault)
			}
			closeLog(t, open(t, opt))
			wantOK(t, opt.Path, tt.want)
			torn := lines(t, opt.Path+".torn")
			if whole := data[strings.LastIndexByte(data, '\n')+1:]; len(torn) != 1 || torn[0] != whole {
				t.Errorf("kept aside %q, want %q", torn, whole)
			}
			got := records(t, audit.Filter{Types: []string{"reopened"}}, opt.Path)
			if len(got) != 1 || !strings.Contains(string(got[0].Line), `"torn_sha256":`) || !strings.Contains(told.String(), "ended within a record") {
				t.Errorf("told by %+v and %s", got, told.String())
			}
		})
	}
}

func TestRotation(t *testing.T) {
	now := &clock{now: noon}
	opt := options(t)
	opt.Now, opt.MaxAge, opt.Keep = now.Now, time.Hour, 5*time.Hour
	log := open(t, opt)
	for i := range 12 {
		put(t, log, statement(i+1))
		sync1(t, log)
		now.turn(time.Hour)
		put(t, log, &audit.Failure{Where: "turn"})
		sync1(t, log)
		waitFor(t, func() bool { return log.Stats().Rotations == int64(i+1) })
	}
	closeLog(t, log)

	files, err := audit.Files(opt.Path)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 7 || filepath.Base(files[0]) != "audit-000007-20261130T190000Z.jsonl" || files[6] != opt.Path {
		t.Fatalf("%q", files)
	}
	report := verify(t, opt.Path)
	if !report.OK() || report.First == 1 || !strings.Contains(strings.Join(report.Notes, "\n"), "deleted for their age, a record says so") {
		t.Errorf("%v, notes %q", report.Fault, report.Notes)
	}
	gone := records(t, audit.Filter{Types: []string{"pruned"}}, opt.Path)
	if len(gone) == 0 || !strings.Contains(string(gone[len(gone)-1].Line), "audit-000006-") {
		t.Errorf("pruned: %+v", gone)
	}
}

// A crash between the two renames of a rotation leaves no current file.
func TestReopenWithinRotation(t *testing.T) {
	opt := options(t)
	log := open(t, opt)
	put(t, log, statements(2)...)
	closeLog(t, log)
	if err := os.Rename(opt.Path, filepath.Join(filepath.Dir(opt.Path), "audit-000001-20261130T120000Z.jsonl")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(opt.Path+".next", []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	closeLog(t, open(t, opt))
	if report := wantOK(t, opt.Path, 5+4); report.Files != 2 {
		t.Errorf("%+v", report)
	}
	if _, err := os.Stat(opt.Path + ".next"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the leftover is still there: %v", err)
	}
}

// When a new file can't be made or named, the old one is used on, and nothing is
// lost.
func TestRotationThatFails(t *testing.T) {
	for name, inTheWay := range map[string]string{
		"of the next file":  "audit.jsonl.next",
		"of the final name": "audit-000001-20261130T120000Z.jsonl",
	} {
		t.Run(name, func(t *testing.T) {
			opt := options(t)
			var told complaints
			opt.Logger, opt.MaxSize, opt.Now = told.add, 2000, (&clock{now: noon}).Now
			log := open(t, opt)
			if err := os.Mkdir(filepath.Join(filepath.Dir(opt.Path), inTheWay), 0o700); err != nil {
				t.Fatal(err)
			}
			put(t, log, statements(20)...)
			closeLog(t, log)
			if report := verify(t, opt.Path); !report.OK() || report.Files != 1 {
				t.Errorf("%+v", report)
			}
			if n := len(records(t, audit.Filter{Types: []string{"statement"}}, opt.Path)); n != 20 {
				t.Errorf("%d statements", n)
			}
			if stats := log.Stats(); stats.DiskErrors == 0 || stats.Rotations != 0 || !strings.Contains(told.String(), "going on with the old one") {
				t.Errorf("%+v, told %s", stats, told.String())
			}
		})
	}
}

func TestTimedCheckpoint(t *testing.T) {
	now := &clock{now: noon}
	opt := options(t)
	opt.Now, opt.CheckpointEvery = now.Now, time.Minute
	log := open(t, opt)
	put(t, log, statements(3)...)
	sync1(t, log)
	if got := log.Stats().Checkpoint; got != (audit.Head{}) {
		t.Errorf("a checkpoint before its time: %v", got)
	}
	now.turn(time.Minute)
	waitFor(t, func() bool { return log.Stats().Checkpoint.Record == 5 })
	head := log.Stats().Checkpoint
	closeLog(t, log)
	report, err := audit.Verify(audit.VerifyOptions{Expect: head}, opt.Path)
	if err != nil || !report.OK() {
		t.Errorf("%v, %+v", err, report)
	}
}

// Kill -9 while records are written: what was acknowledged is there, the rest
// verifies after a restart.
func TestKilled(t *testing.T) {
	opt := options(t)
	opt.MaxSize = 300 << 10
	acknowledged := 0
	for range 3 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"=write", childPath+"="+opt.Path)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		answers := bufio.NewScanner(out)
		for n := 0; n < 5 && answers.Scan(); n++ {
			acknowledged++
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for answers.Scan() {
			acknowledged++
		}
		_ = cmd.Wait() // the error is that it was killed
	}
	if acknowledged < 15 {
		t.Fatalf("the children acknowledged %d records", acknowledged)
	}
	opt.Logger = func(error) {} // it may tell of a torn line
	closeLog(t, open(t, opt))
	report := verify(t, opt.Path)
	if !report.OK() || !report.Clean {
		t.Fatalf("%v, notes %q", report.Fault, report.Notes)
	}
	if n := len(records(t, audit.Filter{Types: []string{"intent"}}, opt.Path)); n < acknowledged {
		t.Errorf("%d intents in the file, %d were acknowledged", n, acknowledged)
	}
}

// A disk that takes no more (here: a limit on file size): sessions are refused,
// and when there is room again everything that had a place is written.
func TestDiskFull(t *testing.T) {
	opt := options(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"=full", childPath+"="+opt.Path)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if report := verify(t, opt.Path); !report.OK() || !report.Clean {
		t.Errorf("%v, notes %q", report.Fault, report.Notes)
	}
	for i, r := range records(t, audit.Filter{Types: []string{"statement"}}, opt.Path) {
		if r.Sequence != int64(i+1) {
			t.Fatalf("statement %d has sequence %d", i+1, r.Sequence)
		}
	}
}

// Closing on a disk that stays full ends when it is told to, says what is lost,
// and leaves files that the next process goes on with.
func TestDiskFullForGood(t *testing.T) {
	opt := options(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"=full for good", childPath+"="+opt.Path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	opt.Logger = func(error) {} // it tells of the torn line
	closeLog(t, open(t, opt))
	if report := verify(t, opt.Path); !report.OK() || !report.Clean {
		t.Errorf("%v, notes %q", report.Fault, report.Notes)
	}
}

// The tests that need another process run this program again with these set.
const (
	childEnv  = "AIRLOCK_AUDIT_CHILD"
	childPath = "AIRLOCK_AUDIT_PATH"
)

func TestMain(m *testing.M) {
	path := os.Getenv(childPath)
	switch os.Getenv(childEnv) {
	case "write":
		os.Exit(childWrites(path))
	case "full":
		os.Exit(childFillsDisk(path, false))
	case "full for good":
		os.Exit(childFillsDisk(path, true))
	}
	os.Exit(m.Run())
}

func childLog(path string, logger func(error)) (*audit.Log, error) {
	return audit.Open(audit.Options{
		Path: path, Key: key, Redact: asIs, Logger: logger,
		MaxSize: 300 << 10, QueueLen: 100, Wait: 300 * time.Millisecond, CheckpointRecords: 50,
	})
}

// childWrites writes until it is killed, and prints a line for each record that
// was acknowledged.
func childWrites(path string) int {
	log, err := childLog(path, func(error) {})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx := context.Background()
	for i := 0; ; i++ {
		for j := range 20 {
			if err := log.Write(ctx, statement(20*i+j)); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
		}
		if err := log.WriteSync(ctx, &audit.Intent{Sequence: int64(i)}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		if _, err := os.Stdout.WriteString("ok\n"); err != nil {
			return 1
		}
	}
}

// childFillsDisk runs into a limit on file size, has it lifted unless it is to
// give up, and closes.
func childFillsDisk(path string, giveUp bool) int {
	fail := func(what string, err error) int {
		fmt.Fprintln(os.Stderr, what, err)
		return 1
	}
	var told complaints
	log, err := childLog(path, told.add)
	if err != nil {
		return fail("open", err)
	}
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		return fail("getrlimit", err)
	}
	// Not at a line's end, so that a record is written in part.
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 20_001, Max: old.Max}); err != nil {
		return fail("setrlimit", err)
	}
	ctx, taken := context.Background(), 0
	for taken < 10_000 {
		if err = log.Write(ctx, statement(taken+1)); err != nil {
			break
		}
		taken++
	}
	if !errors.Is(err, audit.ErrFull) {
		return fail("a full disk did not fill the queue", err)
	}
	if stats := log.Stats(); stats.DiskErrors == 0 || !strings.Contains(told.String(), "file too large") {
		return fail("the log did not complain", errors.New(told.String()))
	}
	if giveUp {
		end, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		err := log.Close(end)
		if err == nil || !strings.Contains(err.Error(), "records are lost") || log.Stats().Lost == 0 {
			return fail("close on a full disk", err)
		}
		return 0
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		return fail("setrlimit", err)
	}
	if err := log.WriteSync(ctx, &audit.Intent{}); err != nil && !errors.Is(err, audit.ErrFull) {
		return fail("sync", err)
	}
	end, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := log.Close(end); err != nil {
		return fail("close", err)
	}
	if stats := log.Stats(); stats.Written < int64(taken) || stats.Lost != 0 || stats.Refused == 0 {
		return fail("written less than was taken", nil)
	}
	return 0
}

// waitFor waits until ok, or fails the test.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it did not happen within ten seconds")
		}
	}
}
