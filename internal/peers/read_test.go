package main

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"
)

func TestReadRegress(t *testing.T) {
	const out = `(using postmaster on 127.0.0.1, port 5432)
============== running regression test queries        ==============
test test_setup                   ... ok          612 ms
parallel group (3 tests):  name boolean char
     boolean                      ... ok          110 ms
     char                         ... FAILED       77 ms
     name                         ... FAILED (test process exited with exit code 2)       77 ms
test psql_crosstab                ... ok           45 ms

========================
 2 of 5 tests failed.
========================
`
	want := outcomes{"test_setup": passed, "boolean": passed, "char": "FAILED", "name": "FAILED", "psql_crosstab": passed}
	if got := readRegress(out); !maps.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

func TestReadGoTest(t *testing.T) {
	const out = `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"pass","Package":"p","Test":"TestA","Elapsed":0.1}
{"Action":"run","Package":"p","Test":"TestB"}
{"Action":"pass","Package":"p","Test":"TestB/one"}
{"Action":"fail","Package":"p","Test":"TestB/two/deep"}
{"Action":"fail","Package":"p","Test":"TestB/two"}
{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"fail","Package":"q/r","Test":"TestB"}
{"Action":"skip","Package":"q/r","Test":"TestC"}
not json
{"Action":"run","Package":"p","Test":"TestD"}
{"Action":"fail","Package":"p"}
{"Action":"pass","Package":"p","Test":"TestE/file=/tmp/TestE1110541604/001"}
`
	want := outcomes{"p TestA": passed, "p TestB": passed, "p TestB/one": passed, "p TestB/two": passed, "p TestB/two/deep": failed, "q/r TestB": failed, "q/r TestC": "skipped",
		"p TestE/file=/tmp/TestE…/001": passed}
	if got := readGoTest([]byte(out)); !maps.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

func TestBenchOutcome(t *testing.T) {
	const all = "number of clients: 4\nnumber of transactions actually processed: 1000/1000\nnumber of failed transactions: 0 (0.000%)\ntps = 1\n"
	for _, c := range []struct {
		out  string
		err  error
		want string
	}{
		{all, nil, passed},
		{"number of transactions actually processed: 999/1000\nnumber of failed transactions: 1 (0.100%)\n", nil,
			"number of transactions actually processed: 999/1000, number of failed transactions: 1 (0.100%)"},
		{"", nil, "failed: it printed no counts"},
		{"pgbench: error: client 2 script 0 aborted: ERROR: no\nnumber of …", errors.New("exit status 2"), "failed: no"},
	} {
		if got := benchOutcome(c.out, c.err); got != c.want {
			t.Errorf("%q: %q, not %q", c.out, got, c.want)
		}
	}
}

func TestDigest(t *testing.T) {
	if got := digest("0123456789abcdef0123456789abcdef  -\n"); got != "0123456789abcdef" {
		t.Error(got)
	}
	if got := digest("short\n"); got != "nothing" {
		t.Error(got)
	}
}

func TestListening(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	for _, c := range []struct {
		log  string
		want int
	}{
		{`{"level":"warn","message":"checkpoints"}` + "\n" + `{"level":"info","listen":["127.0.0.1:43211"],"message":"serving"}` + "\n", 43211},
		{`{"level":"info","listen":["127.0.0.1:43211"],"mess`, 0},
		{`{"level":"info","listen":["127.0.0.1:43211"],"message":"stopped"}`, 0},
		{"", 0},
	} {
		if err := os.WriteFile(file, []byte(c.log), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := listening(file); got != c.want {
			t.Errorf("%s: %d, not %d", c.log, got, c.want)
		}
	}
}
