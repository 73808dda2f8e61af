package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

func newStatus(c *console) *cobra.Command {
	var file string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Ask the running proxy how it stands",
		Long: "status asks the proxy that runs with a configuration, over its admin socket: its policy, its sessions and what each\n" +
			"is at (without literals), its databases, its audit log. It has to run as the proxy's own user, or as root.\n\n" +
			"Exit codes: 0 the proxy is ready; 1 it is not, or does not answer; 2 wrong arguments or configuration.",
		Example: "  pgairlock status\n  pgairlock status -c /etc/pgairlock/pgairlock.yaml --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := readConfig(file)
			if err != nil {
				return err
			}
			raw, err := askAdmin(cmd.Context(), config.Admin.Socket)
			if err != nil {
				return failed(err)
			}
			return printStatus(c, raw, asJSON)
		},
	}
	cmd.Flags().StringVarP(&file, "config", "c", "pgairlock.yaml", "the configuration file that the proxy runs with")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

const (
	// askLimit bounds a question to the admin socket.
	askLimit = 10 * time.Second
	// longAnswer is how long its answer may be, in bytes.
	longAnswer = 64 << 20
)

// askAdmin gets the answer of a proxy's admin socket.
func askAdmin(ctx context.Context, socket string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://pgairlock/status", http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, explainAsking(socket, err)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, longAnswer))
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", socket, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s: is it another program's?", socket, response.Status)
	}
	return text, nil
}

// explainAsking says what a failed connection to the admin socket means.
func explainAsking(socket string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("no proxy runs with this configuration: nobody listens on %s", socket)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: only the proxy's own user and root may ask", socket)
	}
	return fmt.Errorf("%s: %w", socket, err)
}

// printStatus prints the answer, and ends the program with exitFailed if the
// proxy is not ready.
func printStatus(c *console, raw []byte, asJSON bool) error {
	var s status
	if err := json.Unmarshal(raw, &s); err != nil {
		return failed(fmt.Errorf("the proxy's answer: %w", err))
	}
	var err error
	if asJSON {
		_, err = c.out.Write(raw)
	} else {
		err = s.print(c.out, time.Now())
	}
	if err != nil {
		return failed(err)
	}
	if !s.Ready {
		return found()
	}
	return nil
}

func (s *status) print(out io.Writer, now time.Time) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	state := "ready"
	if !s.Ready {
		state = "NOT READY: " + strings.Join(s.Unready, "; ")
	}
	fmt.Fprintf(w, "pgairlock %s\tpid %d, up %s, %s\n", s.Version, s.PID, ago(now, s.Started), state)
	fmt.Fprintf(w, "listens on\t%s\n", strings.Join(s.Listen, ", "))
	fmt.Fprintf(w, "policy\t%s %s, in force for %s\n", s.Policy.File, s.Policy.Digest, ago(now, s.Policy.Since))
	if s.Reload != nil {
		result := "accepted"
		if s.Reload.Error != "" {
			result = "REFUSED: " + strings.ReplaceAll(s.Reload.Error, "\n", "; ")
		}
		fmt.Fprintf(w, "last reload\t%s ago (%s), %s\n", ago(now, s.Reload.At), s.Reload.Cause, result)
	}
	fmt.Fprintf(w, "audit\t%s: %d records written, %d of %d places taken, %d refused, %d lost, %d disk errors\n", s.Audit.File, s.Audit.Written,
		s.Audit.Held, s.Audit.Capacity, s.Audit.Refused, s.Audit.Lost, s.Audit.DiskErrors)
	fmt.Fprintf(w, "since start\t%d connections; statements: %s\n", s.Counts.Connections, s.Counts.words())
	for _, d := range s.Databases {
		fmt.Fprintf(w, "database\t%s as %s: %s\n", d.Database, d.Role, d.words(now))
	}
	fmt.Fprintf(w, "sessions\t%d\n", len(s.Sessions))
	if err := w.Flush(); err != nil || len(s.Sessions) == 0 {
		return err
	}
	fmt.Fprintln(w)
	fmt.Fprintln(w, "AGENT\tDATABASE\tCLIENT\tAGE\tSTATE\tFOR\tSTATEMENT")
	for i := range s.Sessions {
		x := &s.Sessions[i]
		since := ""
		if x.Since != nil {
			since = ago(now, *x.Since)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", x.Agent, x.Database, x.Client, ago(now, x.Began), x.State, since, oneLine(x.Statement))
	}
	return w.Flush()
}

func (c *countStatus) words() string {
	if len(c.Statements) == 0 {
		return "none"
	}
	var list []string
	for _, verdict := range sortedKeys(c.Statements) {
		list = append(list, fmt.Sprintf("%s %d", verdict, c.Statements[verdict]))
	}
	return strings.Join(list, ", ")
}

func (d *databaseStatus) words(now time.Time) string {
	if d.Fault != "" {
		return "CAN'T BE USED: " + d.Fault
	}
	if d.Catalog == nil {
		return "not yet looked at"
	}
	return "in use, catalog taken " + ago(now, *d.Catalog) + " ago"
}

// ago is how long before now something was.
func ago(now, at time.Time) string {
	d := now.Sub(at)
	switch {
	case d < 0:
		d = 0
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd%dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
	}
	if d >= 10*time.Second {
		return d.Round(time.Second).String()
	}
	return d.Round(time.Millisecond).String()
}

// shownStatement is how much of a statement a table shows, in characters.
const shownStatement = 80

func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > shownStatement {
		return string(runes[:shownStatement]) + "…"
	}
	return text
}
