package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	yaml "go.yaml.in/yaml/v3"

	"github.com/pgairlock/pgairlock/internal/config"
	"github.com/pgairlock/pgairlock/internal/strictyaml"
	"github.com/pgairlock/pgairlock/policy"
)

func newCheck(c *console) *cobra.Command {
	var asJSON bool
	var from source
	cmd := &cobra.Command{
		Use:   "check FILE…",
		Short: "Check policy and configuration files",
		Long: "check reads policy files and configuration files (it tells them apart by their keys) and prints every fault as\n" +
			"file:line:column. With a configuration it also checks the policy that this names, and whether both fit together.\n" +
			"With --dsn or --catalog it warns of tables and columns that the policy names and the database lacks.\n\n" +
			"Exit codes: 0 no fault; 1 faults (warnings are none); 2 wrong arguments, or a file that can't be read.",
		Example: "  pgairlock check policy.yaml\n  pgairlock check pgairlock.yaml --json\n  pgairlock check policy.yaml --catalog shop.json",
		Args:    files,
		RunE: func(cmd *cobra.Command, args []string) error {
			ch := &checker{}
			if from.given() {
				cat, err := from.catalog(cmd.Context(), c)
				if err != nil {
					return err
				}
				ch.warnings = func(set *policy.Set) []policy.Warning { return set.Warnings(cat) }
			}
			for _, file := range args {
				if err := ch.file(file); err != nil {
					return err
				}
			}
			return ch.print(c, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	from.flags(cmd)
	return cmd
}

// finding is something about a file, for people and programs.
type finding struct {
	Severity string `json:"severity"` // error or warning
	File     string `json:"file"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Message  string `json:"message"`
}

// checked is a file with what was found in it.
type checked struct {
	File     string    `json:"file"`
	Kind     string    `json:"kind"` // policy or configuration
	OK       bool      `json:"ok"`
	Digest   string    `json:"digest,omitempty"` // of a policy
	Findings []finding `json:"findings"`
}

type checker struct {
	done     []checked
	warnings func(*policy.Set) []policy.Warning // nil: there is no database to compare with
}

// file checks one file, and the policy that a configuration names. The error is
// of a file that can't be read.
func (ch *checker) file(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !isConfig(text) {
		_, err := ch.policy(file, text, nil)
		return err
	}
	conf, err := config.Load(file, text)
	ch.add(checked{File: file, Kind: "configuration"}, err)
	if err != nil {
		return nil
	}
	text, err = os.ReadFile(conf.Policy)
	if err != nil {
		return err
	}
	_, err = ch.policy(conf.Policy, text, conf)
	return err
}

// policy checks a policy, and with a configuration whether both fit.
func (ch *checker) policy(file string, text []byte, conf *config.Config) (*policy.Set, error) {
	set, err := policy.Load(file, text)
	entry := checked{File: file, Kind: "policy"}
	if err == nil && conf != nil {
		err = conf.Fit(set)
	}
	if err == nil {
		entry.Digest = set.Digest
		if ch.warnings != nil {
			for _, w := range ch.warnings(set) {
				entry.Findings = append(entry.Findings, finding{"warning", w.Pos.File, w.Pos.Line, w.Pos.Column, w.Message})
			}
		}
	}
	ch.add(entry, err)
	if len(strictyaml.AsErrors(err)) == 0 {
		return set, err
	}
	return nil, nil
}

func (ch *checker) add(entry checked, err error) {
	entry.OK = err == nil
	for _, e := range strictyaml.AsErrors(err) {
		entry.Findings = append(entry.Findings, finding{"error", e.Pos.File, e.Pos.Line, e.Pos.Column, e.Message})
	}
	if entry.Findings == nil {
		entry.Findings = []finding{}
	}
	ch.done = append(ch.done, entry)
}

func (ch *checker) print(c *console, asJSON bool) error {
	var out bytes.Buffer
	bad := false
	for _, entry := range ch.done {
		bad = bad || !entry.OK
		for _, f := range entry.Findings {
			at := strictyaml.Pos{File: f.File, Line: f.Line, Column: f.Column}
			fmt.Fprintf(&out, "%s: %s%s\n", at, map[string]string{"warning": "warning: "}[f.Severity], f.Message)
		}
		if entry.OK {
			fmt.Fprintf(&out, "%s: ok\n", entry.File)
		}
	}
	if asJSON {
		out.Reset()
		if err := json.NewEncoder(&out).Encode(ch.done); err != nil {
			return failed(err)
		}
	}
	if _, err := c.out.Write(out.Bytes()); err != nil {
		return failed(err)
	}
	if bad {
		return found()
	}
	return nil
}

// isConfig tells a configuration from a policy by the keys at its top.
func isConfig(text []byte) bool {
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil || len(root.Content) == 0 {
		return false // its reader will say what is wrong with it
	}
	words := root.Content[0].Content
	score := 0
	for i := 0; i+1 < len(words); i += 2 {
		switch words[i].Value {
		case "listen", "databases", "secrets", "audit", "policy", "tls", "log":
			score++
		case "version", "agents", "groups", "rules", "mode", "secret_columns":
			score--
		}
	}
	return score > 0
}

// errNoSource says that a command needs to know a database.
var errNoSource = errors.New("say what the database is like: --dsn CONNECTION, or --catalog FILE from pgairlock catalog dump")
