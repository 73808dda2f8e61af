// Package archtest holds the project's structure as tests: who may import and
// call what, and why.
package archtest_test

import (
	"slices"
	"strings"
	"testing"
)

// Patterns of packages and imports that end in "/..." mean everything below,
// too; the pattern "..." means all.

// forbidden are imports that some packages must not have.
var forbidden = []struct {
	packages, except []string
	imports          []string
	tests            bool // holds for test files, too
	reason           string
}{
	{
		packages: []string{"policy", "policy/catalog", "policy/statement", "proxy/wire"},
		imports:  []string{"net/...", "os/...", "syscall", "log/...", "github.com/rs/zerolog/...", "github.com/jackc/pgx/v5/pgconn"},
		reason:   "a decision depends on its arguments only: it can be fuzzed, cached and replayed because it does no I/O and logs nothing",
	},
	{
		packages: []string{"policy", "policy/catalog"},
		imports:  []string{"C", "github.com/pganalyze/...", "google.golang.org/protobuf/...", module + "policy/statement"},
		reason:   "policy is fuzzed at full speed and builds without a C compiler: trees stop at policy/statement, which hands on Facts",
	},
	{
		packages: []string{"..."}, except: []string{"policy/statement"},
		imports: []string{"github.com/pganalyze/pg_query_go/..."}, tests: true,
		reason: "the parser can kill the process and its Deparse changes meanings: one package contains both",
	},
	{
		packages: []string{"policy/...", "proxy/..."},
		imports:  []string{"regexp/..."},
		reason:   "SQL and the protocol are parsed, never matched",
	},
	{
		packages: []string{"policy/..."},
		imports:  []string{module + "proxy/...", module + "audit/...", module + "control/...", module + "shadow/...", module + "dryrun/...", module + "cmd/..."},
		reason:   "imports go one way: everything else stands on policy",
	},
	{
		packages: []string{"..."}, except: []string{"internal/metrics"},
		imports: []string{"github.com/prometheus/..."}, tests: true,
		reason: "the data plane counts in plain numbers; one package turns them into metrics",
	},
	{
		packages: []string{"proxy/wire"},
		imports:  []string{module + "..."},
		reason:   "the protocol's state machine knows messages, not policies",
	},
	{
		packages: []string{"audit/..."},
		imports:  []string{module + "proxy/...", module + "policy/...", module + "control/...", module + "cmd/...", "github.com/pganalyze/..."},
		reason:   "whoever verifies records needs the record format and nothing else",
	},
	{
		packages: []string{"proxy/...", "shadow/...", "dryrun/..."},
		imports:  []string{module + "cmd/...", module + "control/..."},
		reason:   "the data plane declares the small interfaces it needs; cmd fits them",
	},
	{
		packages: []string{"policy/...", "proxy/...", "audit/...", "control/..."}, except: []string{"policy/policytest"},
		imports: []string{module + "internal/pgserver", module + "internal/warehouse"},
		reason:  "throwaway servers and demo data are for the demo and for tests",
	},
	{
		packages: []string{"policy", "policy/catalog", "policy/statement", "proxy/...", "audit/...", "control/...", "shadow/...", "dryrun/..."},
		imports:  []string{"flag", "github.com/spf13/..."},
		reason:   "what can be set is an argument; only commands read command lines",
	},
	{
		packages: []string{"..."},
		imports:  []string{"unsafe", "plugin", "math/rand", "crypto/md5", "crypto/sha1", "crypto/des", "crypto/rc4"}, tests: true,
		reason: "each has a safer successor",
	},
	{
		packages: []string{"..."},
		imports:  []string{"gopkg.in/yaml.v2", "gopkg.in/yaml.v3", "github.com/jackc/pgproto3/...", "github.com/lib/pq"}, tests: true,
		except: []string{"testdata/clients/..."},
		reason: "superseded by go.yaml.in/yaml/v3 and pgx/v5, which are maintained; as clients, agents use them all the same",
	},
}

func TestImports(t *testing.T) {
	for _, f := range sources(t) {
		for _, rule := range forbidden {
			if f.test && !rule.tests || !matches(f.folder, rule.packages) || matches(f.folder, rule.except) {
				continue
			}
			for _, imported := range f.imports {
				if matches(imported, rule.imports) {
					t.Errorf("%s imports %s: %s", f.name, imported, rule.reason)
				}
			}
		}
	}
}

// matches says whether a package or import is one of the patterns.
func matches(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		base, below := strings.CutSuffix(p, "...")
		if !below {
			return name == p
		}
		base = strings.TrimSuffix(base, "/")
		return base == "" || name == base || strings.HasPrefix(name, base+"/")
	})
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		name, pattern string
		want          bool
	}{
		{"policy", "policy", true}, {"policy/statement", "policy", false}, {"policy/statement", "policy/...", true},
		{"policytest", "policy/...", false}, {"os", "os/...", true}, {"cmd/pgairlock", "...", true}, {module + "policy", module + "...", true},
		{"policy", module + "...", false},
	} {
		if got := matches(c.name, []string{c.pattern}); got != c.want {
			t.Errorf("%s against %s is %t", c.name, c.pattern, got)
		}
	}
}

// Packages that help tests import testing; nothing else does, and nothing but
// tests imports them, so that no test code runs in production.
func TestTestingStaysInTests(t *testing.T) {
	files := sources(t)
	helpers := map[string]bool{}
	for _, f := range files {
		if !f.test && slices.Contains(f.imports, "testing") {
			helpers[f.folder] = true
			if !f.helper() {
				t.Errorf("%s imports testing: only packages internal/…test and test files do", f.name)
			}
		}
	}
	for _, f := range files {
		for _, imported := range f.imports {
			if !f.test && !helpers[f.folder] && helpers[strings.TrimPrefix(imported, module)] {
				t.Errorf("%s imports %s, which is for tests", f.name, imported)
			}
		}
	}
}

// Everything is there that the rules speak of; a rule about a package that was
// renamed would hold for ever.
func TestRulesSpeakOfPackagesThatExist(t *testing.T) {
	folders := map[string]bool{}
	for _, f := range sources(t) {
		folders[f.folder] = true
	}
	for _, name := range []string{"policy", "policy/catalog", "policy/statement", "proxy", "proxy/wire", "audit", "cmd/pgairlock", "internal/pgserver", "internal/warehouse"} {
		if !folders[name] {
			t.Errorf("package %s is not there", name)
		}
	}
}
