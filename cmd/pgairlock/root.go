package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pgairlock/pgairlock/internal/secret"
)

// Exit codes of every command.
const (
	exitOK     = 0 // done, and nothing to complain of
	exitFailed = 1 // findings, a refusal, or a failure while running
	exitUsage  = 2 // wrong arguments, or files that can't be used
)

const exitCodes = "Exit codes: 0 done; 1 findings, a refusal or a failure; 2 wrong arguments or configuration."

// failure is an error that ends the program with exitFailed; any other ends it
// with exitUsage.
type failure struct {
	error
	told bool // what was wrong is on standard output already
}

func (f failure) Unwrap() error { return f.error }

// failed marks an error as one of running.
func failed(err error) error {
	if err == nil {
		return nil
	}
	return failure{error: err}
}

// found ends the program with exitFailed without another word.
func found() error { return failure{error: errors.New("findings"), told: true} }

// console is where commands write to and read from. Both writers redact.
type console struct {
	in       io.Reader
	out, err io.Writer
	terminal bool // out is a terminal that shows colours
	redactor *secret.Redactor
}

// run is the whole program. Credentials that commands come to know are kept
// out of both writers.
func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	redactor := secret.NewRedactor()
	safeOut, safeErr := secret.NewWriter(out, redactor), secret.NewWriter(errs, redactor)
	c := &console{in: in, out: safeOut, err: safeErr, terminal: colours(out), redactor: redactor}
	root := newRoot(c)
	root.SetArgs(args)
	code := c.report(root.ExecuteContext(ctx))
	if err := errors.Join(safeOut.Flush(), safeErr.Flush()); err != nil && code == exitOK {
		return exitFailed
	}
	return code
}

// report tells what went wrong, one line for each fault.
func (c *console) report(err error) int {
	if err == nil {
		return exitOK
	}
	code := exitUsage
	var f failure
	if errors.As(err, &f) {
		code = exitFailed
	}
	if f.told {
		return code
	}
	// cobra's suggestion comes in a paragraph of its own
	text := strings.Replace(strings.TrimSpace(err.Error()), "\n\nDid you mean this?\n\t", ": did you mean ", 1)
	for _, line := range strings.Split(text, "\n") {
		fmt.Fprintf(c.err, "pgairlock: %s\n", line)
	}
	return code
}

func newRoot(c *console) *cobra.Command {
	root := &cobra.Command{
		Use:   "pgairlock",
		Short: "A firewall for SQL between agents and PostgreSQL",
		Long: "pgairlock stands between agents and a PostgreSQL server. It speaks PostgreSQL's protocol to both, judges every\n" +
			"statement by a policy before the server sees it, and records what was decided.\n\n" + exitCodes,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(c.in)
	root.SetOut(c.out)
	root.SetErr(c.err)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newServe(c), newCheck(c), newTest(c), newExplain(c), newDoctor(c), newStatus(c), newCatalog(c), newAudit(c), newDemo(c), newVersion(c))
	return root
}

// group is a command that only has others below it.
func group(use, short string, below ...*cobra.Command) *cobra.Command {
	var names []string
	for _, cmd := range below {
		names = append(names, cmd.Name())
	}
	g := &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return fmt.Errorf("%s what? It has: %s", use, strings.Join(names, ", "))
		},
	}
	g.AddCommand(below...)
	return g
}

// files demands at least one argument.
func files(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return errors.New("say which files")
	}
	return nil
}

// colours says whether w is a terminal whose user did not ask for plain text
// (https://no-color.org).
func colours(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
