package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/policy/catalog"
	"github.com/pgairlock/pgairlock/policy/statement"
)

func newExplain(c *console) *cobra.Command {
	var agent, file string
	var asJSON bool
	var from source
	cmd := &cobra.Command{
		Use:   "explain --agent NAME (--dsn CONNECTION | --catalog FILE) [SQL]",
		Short: "Tell what would become of a statement",
		Long: "explain judges a statement as serve would and tells the verdict, what the statement would do, the rules that\n" +
			"matched, what the server would get, and which change of the policy would allow what is refused. Nothing is run.\n\n" +
			"Without SQL, --json reads lines {\"id\":…,\"sql\":…} from standard input and prints one line for each:\n" +
			"{\"id\":…,\"verdict\":…,\"risk\":…,\"rules\":[…],\"sql\":…,\"sqlstate\":…,\"message\":…,\"hint\":…}.\n" +
			"SQL may be -, and is then read from standard input.\n\n" +
			"Exit codes: 0 it would pass (with lines: all were judged); 1 it would be refused; 2 wrong arguments or files.",
		Example: "  pgairlock explain --agent reporting --catalog shop.json 'SELECT * FROM customers'\n" +
			"  pgairlock explain --agent reporting --dsn 'dbname=shop user=airlock_reader' --json < statements.jsonl",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && !asJSON {
				return errors.New("say which SQL, or give --json and lines on standard input")
			}
			set, who, err := loadAgent(file, agent)
			if err != nil {
				return err
			}
			cat, err := from.catalog(cmd.Context(), c)
			if err != nil {
				return err
			}
			e := &explainer{set: set, agent: who, cat: cat}
			if len(args) == 0 {
				return e.lines(c)
			}
			text := args[0]
			if text == "-" {
				all, err := io.ReadAll(c.in)
				if err != nil {
					return fmt.Errorf("standard input: %w", err)
				}
				text = string(all)
			}
			return e.one(c, text, asJSON)
		},
	}
	cmd.Flags().StringVar(&agent, "agent", "", "the agent who would send it")
	cmd.Flags().StringVar(&file, "policy", "policy.yaml", "the policy file")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON; without SQL, read JSON lines")
	from.flags(cmd)
	return cmd
}

// loadAgent reads a policy and finds the agent in it.
func loadAgent(file, name string) (*policy.Set, *policy.Agent, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	set, err := policy.Load(file, text)
	if err != nil {
		return nil, nil, err
	}
	var known []string
	for _, a := range set.Agents() {
		known = append(known, a.Name)
	}
	if name == "" {
		return nil, nil, fmt.Errorf("say which agent with --agent: %s has %s", file, strings.Join(known, ", "))
	}
	agent, ok := set.Agent(name)
	if !ok {
		return nil, nil, fmt.Errorf("%s has no agent %q; it has %s", file, name, strings.Join(known, ", "))
	}
	return set, agent, nil
}

// explainer judges single texts, each as the first of a session.
type explainer struct {
	set   *policy.Set
	agent *policy.Agent
	cat   *catalog.Catalog
}

func (e *explainer) judge(text string) statement.Judgement {
	path := e.agent.SearchPath
	if len(path) == 0 {
		path = e.cat.Data().Path
	}
	return statement.Judge(statement.Input{
		Text: text, Set: e.set, Agent: e.agent, Env: statement.Env{Catalog: e.cat, Path: path}, ResetPath: path,
	})
}

// one explains one text.
func (e *explainer) one(c *console, text string, asJSON bool) error {
	j := e.judge(text)
	var out bytes.Buffer
	var err error
	if asJSON {
		err = encoder(&out).Encode(statement.NewLine(nil, &j))
	} else {
		err = statement.Describe(&out, &j)
	}
	if err == nil {
		_, err = c.out.Write(out.Bytes())
	}
	switch {
	case err != nil:
		return failed(err)
	case j.Refusal != nil:
		return found()
	}
	return nil
}

// encoder writes SQL as it is: < and & too.
func encoder(w io.Writer) *json.Encoder {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e
}

// longLine bounds a line of input: the longest statement, every byte of it
// escaped.
const longLine = 8 << 20

// lines answers each line {"id":…,"sql":…} with one.
func (e *explainer) lines(c *console) error {
	in := bufio.NewScanner(c.in)
	in.Buffer(nil, longLine)
	out := encoder(c.out)
	for n := 1; in.Scan(); n++ {
		if len(bytes.TrimSpace(in.Bytes())) == 0 {
			continue
		}
		var line struct {
			ID  json.RawMessage `json:"id"`
			SQL *string         `json:"sql"`
		}
		if err := json.Unmarshal(in.Bytes(), &line); err != nil {
			return fmt.Errorf("standard input:%d: %w", n, err)
		}
		if line.SQL == nil {
			return fmt.Errorf("standard input:%d: there is no sql", n)
		}
		j := e.judge(*line.SQL)
		if err := out.Encode(statement.NewLine(line.ID, &j)); err != nil {
			return failed(err)
		}
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("standard input: %w", err)
	}
	return nil
}
