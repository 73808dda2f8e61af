package policy

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"github.com/pgairlock/pgairlock/policy/catalog"
)

//go:embed functions.tsv
var functionsTSV string

//go:embed settings.tsv
var settingsTSV string

//go:embed sysrelations.tsv
var sysrelationsTSV string

//go:embed extensions.tsv
var extensionsTSV string

// reference is what this package knows about PostgreSQL itself: the embedded
// tables, read once. It is immutable.
type reference struct {
	functions  map[functionKey][]functionEntry
	prefixes   []functionEntry // entries whose name ends with *
	settings   map[string]settingEntry
	relations  map[catalog.Name]*systemRelation
	extensions map[string]extension
}

var loadReference = sync.OnceValues(func() (*reference, error) {
	ref := &reference{
		functions:  make(map[functionKey][]functionEntry),
		settings:   make(map[string]settingEntry),
		relations:  make(map[catalog.Name]*systemRelation),
		extensions: make(map[string]extension),
	}
	for _, table := range []struct {
		name, text string
		fields     int
		read       func([]string) error
	}{
		{"functions.tsv", functionsTSV, 6, ref.readFunction},
		{"settings.tsv", settingsTSV, 5, ref.readSetting},
		{"sysrelations.tsv", sysrelationsTSV, 4, ref.readRelation},
		{"extensions.tsv", extensionsTSV, 2, ref.readExtension},
	} {
		if err := readTable(table.name, table.text, table.fields, table.read); err != nil {
			return nil, err
		}
	}
	return ref, nil
})

// readTable calls read with the fields of every line that is no comment.
func readTable(name, text string, fields int, read func([]string) error) error {
	for i, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != fields {
			return fmt.Errorf("%s:%d: %d fields, want %d", name, i+1, len(f), fields)
		}
		if err := read(f); err != nil {
			return fmt.Errorf("%s:%d: %w", name, i+1, err)
		}
	}
	return nil
}

// extension is a vetted extension: one whose functions, operators and types
// are known to have no effect but their result, save those that functions.tsv
// lists.
type extension struct {
	name string // as pg_extension has it
}

func (ref *reference) readExtension(f []string) error {
	ref.extensions[f[0]] = extension{f[1]}
	ref.extensions[f[1]] = extension{f[1]}
	return nil
}
