package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pgairlock/pgairlock/policy/policytest"
)

func newTest(c *console) *cobra.Command {
	var update, asJSON bool
	cmd := &cobra.Command{
		Use:   "test DIR",
		Short: "Run the stories that say what a policy allows",
		Long: "test runs every story (*.txtar) in DIR and its folders: a policy, a database's tables, statements, and what has to\n" +
			"become of each. It needs no server. docs/POLICY.md describes the form.\n\n" +
			"Exit codes: 0 all came out as written; 1 some did not; 2 there is no story, or one is wrong in itself.",
		Example: "  pgairlock test stories/\n  pgairlock test stories/ --update    # write the outcomes, then read the diff",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			var differences bytes.Buffer
			passed, bad, err := policytest.Run(args[0], update, &differences)
			if err != nil {
				return errors.Join(err, failedWrite(c, differences.Bytes()))
			}
			if asJSON {
				err = json.NewEncoder(c.out).Encode(struct {
					Passed      int    `json:"passed"`
					Failed      int    `json:"failed"`
					Differences string `json:"differences"`
				}{passed, bad, differences.String()})
			} else {
				_, err = fmt.Fprintf(c.out, "%s%s passed, %d failed\n", differences.String(), counted(passed, "statement"), bad)
			}
			if err != nil {
				return failed(err)
			}
			if bad > 0 {
				return found()
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&update, "update", false, "write the outcomes into the stories")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func failedWrite(c *console, text []byte) error {
	_, err := c.out.Write(text)
	return err
}

// counted is a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, strings.TrimSuffix(noun, "s"))
}
