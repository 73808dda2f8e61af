package main

import (
	"strings"
	"testing"
)

func TestSummarise(t *testing.T) {
	const pass = `{"Action":"pass","Package":"p","Test":"TestA","Elapsed":0.1}` + "\n" + `{"Action":"pass","Package":"p","Elapsed":1.5}` + "\n"
	for _, c := range []struct {
		name, in, want, err string
	}{
		{"all pass", `{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:1: a log\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"score: 1 of 1\n"}` + "\n" + pass,
			"score: 1 of 1\nok       1.5 s  p\n\n1 passed, 0 failed, 0 skipped\n", ""},
		{"one fails", `{"Action":"output","Package":"p","Test":"TestB","Output":"what went wrong\n"}
{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Output":"exit status 1\n"}
{"Action":"fail","Package":"p","Elapsed":2}`,
			"what went wrong\nexit status 1\nFAIL     2.0 s  p\n\n0 passed, 1 failed, 0 skipped\n", "failed: p"},
		{"does not build", `{"ImportPath":"p","Action":"build-output","Output":"p.go:1:1: bad\n"}
{"ImportPath":"p","Action":"build-fail"}
{"Action":"output","Package":"p","Output":"FAIL\tp [build failed]\n"}
{"Action":"fail","Package":"p","Elapsed":0,"FailedBuild":"p"}`,
			"p.go:1:1: bad\nFAIL\tp [build failed]\nFAIL     0.0 s  p\n\n0 passed, 0 failed, 0 skipped\n", "failed: p"},
		{"one is skipped", `{"Action":"skip","Package":"p","Test":"TestC"}` + "\n" + pass,
			"SKIPPED p TestC\nok       1.5 s  p\n\n1 passed, 0 failed, 1 skipped\n", "tests were skipped"},
		{"a package without tests", `{"Action":"skip","Package":"q"}` + "\n" + pass,
			"ok       1.5 s  p\n\n1 passed, 0 failed, 0 skipped\n", ""},
		{"one never ends", `{"Action":"output","Package":"p","Test":"TestD","Output":"last words\n"}
{"Action":"fail","Package":"p","Elapsed":3}`,
			"FAIL     3.0 s  p\nUNFINISHED p TestD\nlast words\n\n0 passed, 1 failed, 0 skipped\n", "failed: p"},
		{"nothing", "go: no packages\n", "go: no packages\n\n0 passed, 0 failed, 0 skipped\n", "no test ran"},
	} {
		var out strings.Builder
		err := summarise(strings.NewReader(c.in), &out)
		if out.String() != c.want {
			t.Errorf("%s: printed\n%s\nwant\n%s", c.name, out.String(), c.want)
		}
		if (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%s: error is %v, want %q", c.name, err, c.err)
		}
	}
}
