package archtest_test

import (
	"go/ast"
	"path"
	"slices"
	"testing"
)

// calls are functions that only some places may use.
var calls = []struct {
	imported, function string
	packages           []string // where the rule holds
	except             []string // packages or files that may
	tests              bool     // holds for test files, too
	main               bool     // does not hold for main packages
	reason             string
}{
	{
		imported: "time", function: "Now", packages: []string{"policy", "policy/catalog", "policy/statement", "proxy/wire"},
		reason: "the same question has the same answer at any time",
	},
	{
		imported: module + "policy", function: "Decide", packages: []string{"..."}, except: []string{"policy/statement"},
		reason: "one way from text to verdict: what is decided here and what is sent there are the same text",
	},
	{
		imported: module + "policy/statement", function: "Judge", packages: []string{"proxy/..."}, except: []string{"proxy/gate.go"},
		reason: "every statement passes one gate",
	},
	{
		imported: "github.com/pganalyze/pg_query_go/v6", function: "Deparse", packages: []string{"..."},
		reason: "it changes what a statement means: text is edited at token positions",
	},
	{
		imported: "os", function: "Exit", packages: []string{"..."}, main: true,
		reason: "a library reports, main decides",
	},
}

func TestCalls(t *testing.T) {
	for _, f := range sources(t) {
		for _, rule := range calls {
			if f.test && !rule.tests || f.main && rule.main || !matches(f.folder, rule.packages) || matches(f.folder, rule.except) || matches(f.name, rule.except) {
				continue
			}
			for _, n := range f.uses(rule.imported, rule.function) {
				t.Errorf("%s uses %s.%s: %s", f.at(n), path.Base(rule.imported), rule.function, rule.reason)
			}
		}
	}
}

// A panic in a session is a session lost without a word to its client.
func TestNoPanics(t *testing.T) {
	for _, f := range sources(t) {
		if f.test || f.helper() {
			continue
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if name, ok := call.Fun.(*ast.Ident); ok && name.Name == "panic" {
					t.Errorf("%s panics: return an error", f.at(n))
				}
			}
			return true
		})
	}
}

// What runs before main can't be given arguments, and can't be tested.
func TestNoInit(t *testing.T) {
	for _, f := range sources(t) {
		for _, d := range f.tree.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s: init runs before anybody asked for it", f.at(d))
			}
		}
	}
}

// A skipped test looks like a passed one.
func TestNoSkips(t *testing.T) {
	skips := []string{"Skip", "Skipf", "SkipNow"}
	for _, f := range sources(t) {
		ast.Inspect(f.tree, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && slices.Contains(skips, s.Sel.Name) {
				if x, ok := s.X.(*ast.Ident); ok && slices.Contains([]string{"t", "b", "f", "tb"}, x.Name) {
					t.Errorf("%s skips: a test that can't run has to fail", f.at(n))
				}
			}
			return true
		})
	}
}
