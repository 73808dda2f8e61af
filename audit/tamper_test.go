package audit_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pgairlock/pgairlock/audit"
)

// honest writes a log of three checkpoints: header, 4 statements, checkpoint,
// 5 more records, checkpoint, closed, checkpoint. It is 14 lines.
func honest(t *testing.T) (path string, text []string) {
	t.Helper()
	opt := options(t)
	opt.CheckpointRecords = 5
	log := open(t, opt)
	put(t, log, statements(4)...)
	sync1(t, log)
	put(t, log, statements(4)...)
	closeLog(t, log)
	text = lines(t, opt.Path)
	if len(text) != 14 {
		t.Fatalf("%d lines:\n%s", len(text), strings.Join(text, "\n"))
	}
	return opt.Path, text
}

var hashes = regexp.MustCompile(`,"prev":"([0-9a-f]{64})","hash":"([0-9a-f]{64})"}$`)

// rehash makes every line from position from on follow the one before, as
// somebody would who knows the format but not the key.
func rehash(text []string, from int) {
	for i := from; i < len(text); i++ {
		prev := strings.Repeat("0", 64)
		if i > 0 {
			prev = hashes.FindStringSubmatch(text[i-1])[2]
		}
		body := text[i][:len(text[i])-len(hashes.FindString(text[i]))] + `,"prev":"` + prev + `"`
		sum := sha256.Sum256([]byte(body))
		text[i] = body + `,"hash":"` + hex.EncodeToString(sum[:]) + `"}`
	}
}

var counted = regexp.MustCompile(`^\{"v":1,"n":\d+`)

// renumber gives every line from position from on the number of its place.
func renumber(text []string, from int) {
	for i := from; i < len(text); i++ {
		text[i] = counted.ReplaceAllString(text[i], `{"v":1,"n":`+strconv.Itoa(i+1))
	}
}

func without(text []string, i int) []string { return append(text[:i:i], text[i+1:]...) }

func TestTampering(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(text []string) []string // line 1 is text[0]
		kind   audit.FaultKind
		line   int64
	}{
		{"a letter edited", func(x []string) []string {
			x[2] = strings.Replace(x[2], "SELECT", "select", 1)
			return x
		}, audit.Changed, 3},
		{"edited and hashed again", func(x []string) []string {
			x[2] = strings.Replace(x[2], "SELECT", "select", 1)
			rehash(x[:3], 2)
			return x
		}, audit.Changed, 4},
		{"edited and everything after hashed again", func(x []string) []string {
			x[2] = strings.Replace(x[2], "SELECT", "select", 1)
			rehash(x, 2)
			return x
		}, audit.BadSignature, 6},
		{"edited, hashed again, checkpoint's head too", func(x []string) []string {
			x[2] = strings.Replace(x[2], "SELECT", "select", 1)
			rehash(x, 2)
			head := hashes.FindStringSubmatch(x[4])[2]
			x[5] = regexp.MustCompile(`"head":"[^"]+"`).ReplaceAllString(x[5], `"head":"`+head+`"`)
			rehash(x, 5)
			return x
		}, audit.BadSignature, 6},
		{"time edited", func(x []string) []string {
			x[3] = strings.Replace(x[3], `"time":"2`, `"time":"1`, 1)
			return x
		}, audit.Changed, 4},
		{"hash edited", func(x []string) []string {
			h := hashes.FindStringSubmatch(x[2])[2]
			x[2] = strings.Replace(x[2], h, strings.Repeat("0", 64), 1)
			return x
		}, audit.Changed, 3},
		{"a field appended", func(x []string) []string {
			x[2] += `,"x":1}`
			return x
		}, audit.Unreadable, 3},
		{"blanks inserted", func(x []string) []string {
			x[2] = strings.Replace(x[2], `","type"`, `", "type"`, 1)
			return x
		}, audit.Unreadable, 3},
		{"another format version", func(x []string) []string {
			x[2] = strings.Replace(x[2], `"v":1`, `"v":2`, 1)
			return x
		}, audit.Unreadable, 3},
		{"a record deleted", func(x []string) []string { return without(x, 2) }, audit.Missing, 3},
		{"two records deleted", func(x []string) []string { return without(without(x, 2), 2) }, audit.Missing, 3},
		{"deleted and renumbered", func(x []string) []string {
			x = without(x, 2)
			renumber(x, 2)
			return x
		}, audit.Changed, 3},
		{"deleted, renumbered and hashed again", func(x []string) []string {
			x = without(x, 2)
			renumber(x, 2)
			rehash(x, 2)
			return x
		}, audit.BadSignature, 5},
		{"a checkpoint deleted", func(x []string) []string { return without(x, 5) }, audit.Missing, 6},
		{"the header deleted", func(x []string) []string { return without(x, 0) }, audit.Missing, 1},
		{"two records swapped", func(x []string) []string {
			x[2], x[3] = x[3], x[2]
			return x
		}, audit.Reordered, 3},
		{"a record moved to the end", func(x []string) []string { return append(without(x, 2), x[2]) }, audit.Reordered, 3},
		{"a record repeated", func(x []string) []string {
			return append(x[:3:3], x[2:]...)
		}, audit.Inserted, 4},
		{"a record inserted with the next number", func(x []string) []string {
			x = append(x[:3:3], x[2:]...)
			renumber(x[:4], 3)
			rehash(x[:4], 3)
			return x
		}, audit.Inserted, 5},
		{"a header in the middle", func(x []string) []string {
			x[3] = x[0]
			renumber(x, 3)
			rehash(x, 3)
			return x
		}, audit.Inserted, 4},
		{"an empty line", func(x []string) []string {
			x[2] += "\n"
			return x
		}, audit.Unreadable, 4},
		{"cut within a line", func(x []string) []string {
			x[13] = x[13][:100]
			return x
		}, audit.Cut, 14},
		{"emptied", func([]string) []string { return nil }, audit.Cut, 0},
		{"signed by nobody", func(x []string) []string {
			x[5] = regexp.MustCompile(`"signature":"[^"]+"`).ReplaceAllString(x[5], `"signature":""`)
			rehash(x, 5)
			return x
		}, audit.BadSignature, 6},
		{"an earlier signature used again", func(x []string) []string {
			sig := regexp.MustCompile(`"signature":"[^"]+"`)
			x[13] = sig.ReplaceAllLiteralString(x[13], sig.FindString(x[5]))
			rehash(x, 13)
			return x
		}, audit.BadSignature, 14},
		{"made unsigned", func(x []string) []string {
			x = without(without(without(x, 13), 11), 5)
			x[0] = regexp.MustCompile(`"public_key":"[^"]+"`).ReplaceAllString(x[0], `"note":"unsigned"`)
			renumber(x, 0)
			rehash(x, 0)
			return x
		}, audit.WrongKey, 1},
		{"the header names another key", func(x []string) []string {
			x[0] = regexp.MustCompile(`"public_key":"[^"]+"`).ReplaceAllString(x[0], `"public_key":"`+public(t, otherKey)+`"`)
			rehash(x, 0)
			return x
		}, audit.WrongKey, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path, text := honest(t)
			wantOK(t, path, 14)
			text = tt.change(text)
			data := strings.Join(text, "\n")
			if len(text) > 0 && tt.name != "cut within a line" {
				data += "\n"
			}
			if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
				t.Fatal(err)
			}
			fault := verify(t, path).Fault
			if fault == nil {
				t.Fatal("not noticed")
			}
			if fault.Kind != tt.kind || fault.Line != tt.line {
				t.Errorf("got  line %d: %v\nwant line %d: %s", fault.Line, fault, tt.line, tt.kind)
			}
			if fault.File != path {
				t.Errorf("file %s", fault.File)
			}
		})
	}
}

// A chain that somebody wrote anew from the first to the last record with a key
// of his own agrees with itself; only the trusted key shows it.
func TestWrittenAnewWithAnotherKey(t *testing.T) {
	opt := options(t)
	opt.Key = otherKey
	log := open(t, opt)
	put(t, log, statements(5)...)
	closeLog(t, log)
	if fault := verify(t, opt.Path).Fault; fault == nil || fault.Kind != audit.WrongKey || fault.Line != 1 {
		t.Errorf("with the trusted key: %v", fault)
	}
	report, err := audit.Verify(audit.VerifyOptions{}, opt.Path)
	if err != nil || !report.OK() {
		t.Fatalf("without a trusted key: %v, %v", err, report.Fault)
	}
	if report.Trusted || !strings.Contains(strings.Join(report.Notes, "\n"), "taken from the file itself") {
		t.Errorf("trusted %t, notes %q", report.Trusted, report.Notes)
	}
}

// What a signature covers is told, and a cut that takes checkpoints with it is
// noticed by a head noted elsewhere.
func TestCutAtTheEnd(t *testing.T) {
	path, text := honest(t)
	report := wantOK(t, path, 14)
	if report.Covered != 13 || report.Uncovered() != 1 || !report.Clean || !report.Trusted {
		t.Errorf("untouched: covered %d, uncovered %d, clean %t, trusted %t", report.Covered, report.Uncovered(), report.Clean, report.Trusted)
	}
	noted := report.Head

	for _, tt := range []struct{ keep, covered, uncovered int64 }{{13, 11, 2}, {12, 11, 1}, {11, 5, 6}, {5, 0, 5}} {
		if err := os.WriteFile(path, []byte(strings.Join(text[:tt.keep], "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		report := verify(t, path)
		if !report.OK() || report.Covered != tt.covered || report.Uncovered() != tt.uncovered {
			t.Errorf("cut after %d: %v, covered %d (want %d), uncovered %d (want %d)", tt.keep, report.Fault, report.Covered, tt.covered, report.Uncovered(), tt.uncovered)
		}
		if tt.keep < 13 && report.Clean {
			t.Errorf("cut after %d: called closed in order", tt.keep)
		}
		report, err := audit.Verify(audit.VerifyOptions{Expect: noted}, path)
		if err != nil {
			t.Fatal(err)
		}
		if report.OK() || report.Fault.Kind != audit.Cut {
			t.Errorf("cut after %d, head expected: %v", tt.keep, report.Fault)
		}
	}
}

func TestExpectedHead(t *testing.T) {
	path, text := honest(t)
	hash := hashes.FindStringSubmatch(text[6])[2]
	for _, tt := range []struct {
		head string
		kind audit.FaultKind
	}{
		{"7:" + hash, ""},
		{"8:" + hash, audit.Changed},
		{"15:" + hash, audit.Cut},
	} {
		head, err := audit.ParseHead(tt.head)
		if err != nil || head.String() != tt.head {
			t.Fatalf("%s read as %s: %v", tt.head, head, err)
		}
		report, err := audit.Verify(audit.VerifyOptions{Expect: head}, path)
		if err != nil {
			t.Fatal(err)
		}
		var got audit.FaultKind
		if report.Fault != nil {
			got = report.Fault.Kind
		}
		if got != tt.kind {
			t.Errorf("%s: %v, want %q", tt.head, report.Fault, tt.kind)
		}
	}
	for _, bad := range []string{"", "7", "7:abc", "0:" + hash, "x:" + hash, "7:" + strings.ToUpper(hash)} {
		if _, err := audit.ParseHead(bad); err == nil {
			t.Errorf("%q accepted as a head", bad)
		}
	}
}

// Damage between files of one chain.
func TestTamperingWithFiles(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(t *testing.T, files []string)
		kind   audit.FaultKind
		file   int // of the files before the change
	}{
		{"a file in the middle deleted", func(t *testing.T, files []string) { remove(t, files[1]) }, audit.Missing, 2},
		{"the end of a file cut", func(t *testing.T, files []string) {
			text := lines(t, files[0])
			rewrite(t, files[0], text[:len(text)-2])
		}, audit.Missing, 1},
		{"two files with their contents swapped, in name only", func(t *testing.T, files []string) {
			a, b := lines(t, files[0]), lines(t, files[1])
			rewrite(t, files[0], b)
			rewrite(t, files[1], a)
		}, "", 0},
		{"a file of another chain", func(t *testing.T, files []string) {
			opt := options(t)
			log := open(t, opt)
			closeLog(t, log)
			rewrite(t, files[1], lines(t, opt.Path))
		}, audit.Inserted, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			opt := options(t)
			opt.MaxSize = 4000
			log := open(t, opt)
			for _, ev := range statements(30) {
				put(t, log, ev)
				sync1(t, log)
			}
			closeLog(t, log)
			files, err := audit.Files(opt.Path)
			if err != nil || len(files) < 3 {
				t.Fatalf("files %q, %v", files, err)
			}
			if report := verify(t, opt.Path); !report.OK() {
				t.Fatalf("untouched: %v", report.Fault)
			}
			tt.change(t, files)
			fault := verify(t, opt.Path).Fault
			switch {
			case tt.kind == "" && fault != nil:
				t.Errorf("order of names matters: %v", fault)
			case tt.kind == "":
			case fault == nil:
				t.Error("not noticed")
			case fault.Kind != tt.kind || filepath.Base(fault.File) != filepath.Base(files[tt.file]):
				t.Errorf("got %v, want %s in %s", fault, tt.kind, files[tt.file])
			}
		})
	}
}

// The first file gone is told as a note, since it may have been deleted for its age.
func TestFirstFileGone(t *testing.T) {
	opt := options(t)
	opt.MaxSize = 4000
	log := open(t, opt)
	for _, ev := range statements(20) {
		put(t, log, ev)
		sync1(t, log)
	}
	closeLog(t, log)
	files, err := audit.Files(opt.Path)
	if err != nil {
		t.Fatal(err)
	}
	remove(t, files[0])
	report := verify(t, opt.Path)
	if !report.OK() || report.First == 1 || !strings.Contains(strings.Join(report.Notes, "\n"), "nothing in these files says") {
		t.Errorf("%v, first %d, notes %q", report.Fault, report.First, report.Notes)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func rewrite(t *testing.T, path string, text []string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(strings.Join(text, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}
