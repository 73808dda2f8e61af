package archtest_test

import (
	"go/ast"
	"testing"
)

// A file is one subject and a function fits a screen or two.
const (
	maxFileLines     = 800
	maxFunctionLines = 100
)

func TestLengths(t *testing.T) {
	for _, f := range sources(t) {
		if ast.IsGenerated(f.tree) {
			continue
		}
		if f.lines > maxFileLines {
			t.Errorf("%s has %d lines, more than %d", f.name, f.lines, maxFileLines)
		}
		for _, d := range f.tree.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || f.test { // a test's table counts as its function's lines
				continue
			}
			if n := f.set.Position(fn.End()).Line - f.set.Position(fn.Pos()).Line + 1; n > maxFunctionLines {
				t.Errorf("%s: %s has %d lines, more than %d", f.at(fn), fn.Name.Name, n, maxFunctionLines)
			}
		}
	}
}
