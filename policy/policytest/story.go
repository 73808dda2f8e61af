package policytest

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/policy/catalog"
)

// story is one file, read and with its policy compiled.
type story struct {
	archive *archive
	set     *policy.Set
	catalog *catalog.Catalog
	cases   []scenario
}

// scenario is one text of a story and what is wanted of it.
type scenario struct {
	name  string
	sql   string // without its first line
	agent *policy.Agent
	want  string
	given bool // there is a .want
}

// readStory reads the story file and what it refers to.
func readStory(file string) (*story, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	a, err := readArchive(string(text))
	if err != nil {
		return nil, err
	}
	s := &story{archive: a}
	parts := map[string]string{}
	for _, f := range a.files {
		parts[f.name] = f.body
	}
	if err := s.setUp(filepath.Dir(file), parts); err != nil {
		return nil, err
	}
	for _, f := range a.files {
		switch base, ext := strings.TrimSuffix(f.name, path.Ext(f.name)), path.Ext(f.name); {
		case f.name == "policy.yaml" || f.name == "tables.txt" || f.name == "use.txt":
		case ext == ".sql":
			c, err := s.scenario(base, f.body)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.name, err)
			}
			c.want, c.given = parts[base+".want"], hasKey(parts, base+".want")
			s.cases = append(s.cases, c)
		case ext == ".want" && hasKey(parts, base+".sql"):
		default:
			return nil, fmt.Errorf("%s: a story has policy.yaml, tables.txt, use.txt, and pairs of .sql and .want", f.name)
		}
	}
	return s, nil
}

func hasKey(m map[string]string, key string) bool {
	_, ok := m[key]
	return ok
}

// setUp loads the policy and the catalog.
func (s *story) setUp(dir string, parts map[string]string) error {
	refs, err := references(parts["use.txt"])
	if err != nil {
		return err
	}
	name, src := "policy.yaml", []byte(parts["policy.yaml"])
	if ref := refs["policy"]; ref != "" {
		name = ref
		if src, err = os.ReadFile(filepath.Join(dir, ref)); err != nil {
			return err
		}
	}
	if s.set, err = policy.Load(name, src); err != nil {
		return err
	}
	ref := refs["catalog"]
	if ref == "" {
		if s.catalog, err = Catalog(parts["tables.txt"]); err != nil {
			return fmt.Errorf("tables.txt: %w", err)
		}
		return nil
	}
	dump, err := os.ReadFile(filepath.Join(dir, ref))
	if err != nil {
		return err
	}
	var d catalog.Data
	if err := json.Unmarshal(dump, &d); err != nil {
		return fmt.Errorf("%s: %w", ref, err)
	}
	s.catalog, err = catalog.New(d)
	return err
}

// references reads use.txt.
func references(text string) (map[string]string, error) {
	refs := map[string]string{}
	for _, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		if key != "policy" && key != "catalog" || !ok {
			return nil, fmt.Errorf("use.txt: %q: want policy: FILE or catalog: FILE", line)
		}
		refs[key] = strings.TrimSpace(value)
	}
	return refs, nil
}

// scenario reads a .sql: the line that says who sends it, and the text.
func (s *story) scenario(name, body string) (scenario, error) {
	first, sql, _ := strings.Cut(body, "\n")
	who, ok := strings.CutPrefix(first, "-- as:")
	if !ok {
		return scenario{}, fmt.Errorf("the first line has to say who sends it: -- as: AGENT")
	}
	agentName, on, _ := strings.Cut(who, ",")
	agent, ok := s.set.Agent(strings.TrimSpace(agentName))
	if !ok {
		return scenario{}, fmt.Errorf("the policy has no agent %q", strings.TrimSpace(agentName))
	}
	if on = strings.TrimSpace(on); on != "" {
		db, ok := strings.CutPrefix(on, "on:")
		if db = strings.TrimSpace(db); !ok {
			return scenario{}, fmt.Errorf("%q: want on: DATABASE", on)
		}
		if _, ok := agent.Databases[db]; !ok {
			return scenario{}, fmt.Errorf("agent %s has no database %q", agent.Name, db)
		}
	}
	return scenario{name: name, sql: strings.TrimRight(sql, "\n"), agent: agent}, nil
}
