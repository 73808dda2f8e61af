package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/pgairlock/pgairlock/audit"
)

func newAudit(c *console) *cobra.Command {
	return group("audit", "Read and verify the audit log", newAuditVerify(c), newAuditShow(c), newAuditTail(c))
}

func newAuditVerify(c *console) *cobra.Command {
	var keys []string
	var head string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify FILE…",
		Short: "Prove that records were not changed, removed or added",
		Long: "verify checks the hash chain and the signed checkpoints of audit files. One FILE stands for the whole log: the\n" +
			"finished files beside it are checked with it. --key is the public key that serve logs when it starts; without it\n" +
			"the key in the files is taken, which does not show who wrote them. --head is a record noted elsewhere, as\n" +
			"NUMBER:HASH, that has to be there.\n\n" +
			"Exit codes: 0 nothing is wrong; 1 something is; 2 wrong arguments, or a file that can't be read.",
		Example: "  pgairlock audit verify audit.jsonl --key ed25519:…\n  pgairlock audit verify audit.jsonl --head 4711:9f86d081… --json",
		Args:    files,
		RunE: func(_ *cobra.Command, args []string) error {
			paths, err := logFiles(args)
			if err != nil {
				return err
			}
			opt := audit.VerifyOptions{Keys: keys}
			if head != "" {
				if opt.Expect, err = audit.ParseHead(head); err != nil {
					return err
				}
			}
			report, err := audit.Verify(opt, paths...)
			if err != nil {
				return err
			}
			return printReport(c, report, asJSON)
		},
	}
	cmd.Flags().StringArrayVar(&keys, "key", nil, "a public key that is trusted (ed25519:…); may be given several times")
	cmd.Flags().StringVar(&head, "head", "", "a record that has to be there, as NUMBER:HASH")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// logFiles are the files given; a single one stands for its whole log.
func logFiles(args []string) ([]string, error) {
	if len(args) > 1 {
		return args, nil
	}
	return audit.Files(args[0])
}

func printReport(c *console, r *audit.Report, asJSON bool) error {
	var err error
	switch {
	case asJSON:
		err = json.NewEncoder(c.out).Encode(r)
	case r.Fault != nil:
		_, err = fmt.Fprintf(c.out, "%s:%d: %s (%s)\n", r.Fault.File, r.Fault.Line, r.Fault.What, r.Fault.Kind)
	default:
		_, err = fmt.Fprintf(c.out, "ok: records %d to %d in %s, chain %s\nhead %s\n", r.First, r.Last, counted(r.Files, "file"), r.Chain, r.Head)
	}
	if err == nil && !asJSON {
		if r.Fault == nil && r.Covered >= r.First {
			_, err = fmt.Fprintf(c.out, "signed up to record %d, at %s\n", r.Covered, r.Signed.UTC().Format(time.RFC3339))
		}
		for _, note := range r.Notes {
			if err == nil {
				_, err = fmt.Fprintf(c.out, "note: %s\n", note)
			}
		}
	}
	switch {
	case err != nil:
		return failed(err)
	case r.Fault != nil:
		return found()
	}
	return nil
}

// chosen are the flags that choose records.
type chosen struct {
	filter       audit.Filter
	since, until string
	asJSON       bool
}

func (f *chosen) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.filter.Agent, "agent", "", "records of this agent only")
	cmd.Flags().StringVar(&f.filter.Session, "session", "", "records of this session only; the beginning or end of its id is enough")
	cmd.Flags().StringVar(&f.filter.Verdict, "verdict", "", "records with this verdict only: allow, rewrite, hold, deny")
	cmd.Flags().StringVar(&f.filter.Table, "table", "", "records that use this table only")
	cmd.Flags().StringArrayVar(&f.filter.Types, "type", nil, "records of this type only: statement, session_start …; may be given several times")
	cmd.Flags().StringVar(&f.since, "since", "", "records from then on: RFC 3339, or an age such as 15m")
	cmd.Flags().StringVar(&f.until, "until", "", "records before then")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print the records as they stand in the file")
}

// ready reads the times.
func (f *chosen) ready(now time.Time) error {
	var err error
	if f.filter.Since, err = moment(f.since, now); err != nil {
		return fmt.Errorf("--since: %w", err)
	}
	if f.filter.Until, err = moment(f.until, now); err != nil {
		return fmt.Errorf("--until: %w", err)
	}
	return nil
}

// moment reads a time, or an age.
func moment(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if age, err := time.ParseDuration(text); err == nil {
		return now.Add(-age), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is neither a time (2026-11-30T10:15:00Z) nor an age (15m)", text)
	}
	return at, nil
}

func (f *chosen) show(c *console) func(*audit.Record) error {
	return func(r *audit.Record) error {
		if f.asJSON {
			_, err := fmt.Fprintf(c.out, "%s\n", r.Line)
			return err
		}
		_, err := fmt.Fprintln(c.out, audit.Render(r, c.terminal))
		return err
	}
}

func newAuditShow(c *console) *cobra.Command {
	var f chosen
	cmd := &cobra.Command{
		Use:   "show FILE…",
		Short: "Print records",
		Long:  "show prints records, one a line. One FILE stands for the whole log.\n\n" + exitCodes,
		Example: "  pgairlock audit show audit.jsonl --verdict deny --since 1h\n" +
			"  pgairlock audit show audit.jsonl --table payments --json | jq .statement",
		Args: files,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := f.ready(time.Now()); err != nil {
				return err
			}
			paths, err := logFiles(args)
			if err != nil {
				return err
			}
			return failed(audit.Show(f.filter, f.show(c), paths...))
		},
	}
	f.flags(cmd)
	return cmd
}

func newAuditTail(c *console) *cobra.Command {
	var f chosen
	var last int
	cmd := &cobra.Command{
		Use:     "tail FILE",
		Short:   "Print the last records, and each that comes",
		Long:    "tail follows the log, over all its files, until it is interrupted.\n\n" + exitCodes,
		Example: "  pgairlock audit tail audit.jsonl\n  pgairlock audit tail audit.jsonl -n 50 --verdict deny",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.ready(time.Now()); err != nil {
				return err
			}
			if _, err := os.Stat(args[0]); err != nil {
				return err
			}
			return failed(audit.Tail(cmd.Context(), args[0], last, f.filter, f.show(c)))
		},
	}
	f.flags(cmd)
	cmd.Flags().IntVarP(&last, "lines", "n", 10, "how many records to begin with")
	return cmd
}
