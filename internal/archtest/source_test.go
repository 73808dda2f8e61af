package archtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// module is the import path that all of the project's packages start with.
const module = "github.com/pgairlock/pgairlock/"

// file is one Go file of the project, parsed.
type file struct {
	name    string // relative to the module's root, with slashes
	folder  string // its package, likewise
	test    bool   // a _test.go file
	main    bool   // of package main
	imports []string
	lines   int
	tree    *ast.File
	set     *token.FileSet
}

// helper says whether the file is of a package that helps tests.
func (f *file) helper() bool {
	return strings.HasPrefix(f.folder, "internal/") && strings.HasSuffix(f.folder, "test")
}

// at is where a node is, for a message.
func (f *file) at(n ast.Node) string {
	return f.name + ":" + strconv.Itoa(f.set.Position(n.Pos()).Line)
}

// sources parses every Go file of the project.
func sources(t *testing.T) []*file {
	t.Helper()
	root := filepath.Join("..", "..")
	var files []*file
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		f, err := parse(root, name)
		files = append(files, f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func parse(root, name string) (*file, error) {
	relative, err := filepath.Rel(root, name)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	f := &file{name: filepath.ToSlash(relative), set: token.NewFileSet(), lines: strings.Count(string(text), "\n")}
	f.folder, f.test = path.Dir(f.name), strings.HasSuffix(name, "_test.go")
	f.tree, err = parser.ParseFile(f.set, f.name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f.main = f.tree.Name.Name == "main"
	for _, spec := range f.tree.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		f.imports = append(f.imports, imported)
	}
	return f, nil
}

// uses lists where package.function is named, called or not; names that the
// file gives its imports are followed.
func (f *file) uses(imported, function string) []ast.Node {
	local := f.localName(imported)
	if local == "" {
		return nil
	}
	var found []ast.Node
	ast.Inspect(f.tree, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == function {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == local {
				found = append(found, s)
			}
		}
		return true
	})
	return found
}

// localName is what the file calls an imported package, "" if it doesn't import it.
func (f *file) localName(imported string) string {
	for _, spec := range f.tree.Imports {
		if spec.Path.Value != strconv.Quote(imported) {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		base := path.Base(imported)
		if len(base) > 1 && base[0] == 'v' && base[1] >= '0' && base[1] <= '9' { // …/pg_query_go/v6
			base = path.Base(path.Dir(imported))
		}
		return base
	}
	return ""
}
