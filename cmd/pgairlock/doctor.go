package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"

	"github.com/pgairlock/pgairlock/internal/pgcatalog"
)

func newDoctor(c *console) *cobra.Command {
	var dsn string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor --dsn CONNECTION",
		Short: "Tell what a login could do if nothing stood before the server",
		Long: "doctor looks at a login that agents are to be given and at its server: what it could do there beyond reading, with\n" +
			"the SQL that takes each away, and settings that matter. It reads catalogs and changes nothing.\n\n" +
			"Exit codes: 0 the login can't change tables or other objects; 1 it can, or the server can't be reached; 2 wrong arguments.",
		Example: "  PGPASSWORD=… pgairlock doctor --dsn 'host=db1 dbname=shop user=airlock_reader'\n  pgairlock doctor --dsn service=shop --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dsn == "" {
				return errors.New("say which login and server with --dsn")
			}
			conn, err := c.connect(cmd.Context(), dsn)
			if err != nil {
				return err
			}
			d, err := diagnose(cmd.Context(), conn)
			if err := errors.Join(err, conn.Close(cmd.Context())); err != nil {
				return failed(err)
			}
			return d.print(c, asJSON)
		},
	}
	cmd.Flags().StringVar(&dsn, "dsn", "", "the login and its server, as libpq takes them; the password belongs into PGPASSWORD or a passfile")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// Severities of what doctor finds.
const (
	sevWrites  = "writes"  // the login can change something
	sevWarning = "warning" // worth mending
	sevNote    = "note"    // worth knowing
)

// diagnosis is what doctor found, the worst first.
type diagnosis struct {
	Login    string    `json:"login"`
	Database string    `json:"database"`
	Server   string    `json:"server"`
	Findings []symptom `json:"findings"`
}

// symptom is one finding with what mends it.
type symptom struct {
	Severity string `json:"severity"`
	Kind     string `json:"kind"`
	Object   string `json:"object,omitempty"`
	Text     string `json:"text"`
	Mend     string `json:"mend,omitempty"` // SQL, or what to write into postgresql.conf
}

func diagnose(ctx context.Context, conn *pgconn.PgConn) (*diagnosis, error) {
	powers, err := pgcatalog.Powers(ctx, conn)
	if err != nil {
		return nil, err
	}
	facts, err := serverFacts(ctx, conn)
	if err != nil {
		return nil, err
	}
	d := &diagnosis{Login: facts["login"], Database: facts["database"], Server: "PostgreSQL " + conn.ParameterStatus("server_version"), Findings: []symptom{}}
	for _, p := range powers {
		severity := sevWarning
		if p.Writes {
			severity = sevWrites
		}
		d.Findings = append(d.Findings, symptom{severity, p.Kind, p.Object, p.Text, p.Mend})
	}
	at, overTCP := conn.Conn().RemoteAddr().(*net.TCPAddr)
	d.Findings = append(d.Findings, serverSymptoms(facts, overTCP && !at.IP.IsLoopback())...)
	return d, nil
}

const factsQuery = `
SELECT 'login', current_user::pg_catalog.text
UNION ALL SELECT 'database', pg_catalog.current_database()::pg_catalog.text
UNION ALL SELECT 'encrypted', COALESCE((SELECT s.ssl::pg_catalog.text FROM pg_catalog.pg_stat_ssl s WHERE s.pid OPERATOR(pg_catalog.=) pg_catalog.pg_backend_pid()), 'false')
UNION ALL SELECT s.name, s.setting FROM pg_catalog.pg_settings s`

// serverFacts are the session's settings, and a little more, by name.
func serverFacts(ctx context.Context, conn *pgconn.PgConn) (map[string]string, error) {
	result := conn.ExecParams(ctx, factsQuery, nil, nil, nil, nil).Read()
	if result.Err != nil {
		return nil, fmt.Errorf("settings of the server: %w", result.Err)
	}
	facts := make(map[string]string, len(result.Rows))
	for _, row := range result.Rows {
		facts[string(row[0])] = string(row[1])
	}
	return facts, nil
}

// serverSymptoms are settings that matter to a firewall.
func serverSymptoms(f map[string]string, remote bool) []symptom {
	var list []symptom
	add := func(severity, setting, text, mend string) {
		list = append(list, symptom{severity, "server", setting, text, mend})
	}
	login := `"` + strings.ReplaceAll(f["login"], `"`, `""`) + `"`
	if f["standard_conforming_strings"] != "on" {
		add(sevWarning, "standard_conforming_strings", "is off: the server reads texts otherwise than they are judged, so the proxy refuses its sessions",
			fmt.Sprintf("ALTER ROLE %s SET standard_conforming_strings = on;", login))
	}
	if f["server_encoding"] != "UTF8" {
		add(sevWarning, "server_encoding", "is "+f["server_encoding"]+": statements are judged as UTF8", "")
	}
	if remote && f["encrypted"] != "true" {
		add(sevWarning, "ssl", "this connection is not encrypted: whoever is on the way can read and change what was judged", "set ssl = on, and sslmode=verify-full in the connection string")
	}
	if f["password_encryption"] == "md5" {
		add(sevWarning, "password_encryption", "is md5: passwords that are set from now on are kept as weak hashes", "set password_encryption = scram-sha-256")
	}
	if f["default_transaction_read_only"] != "on" {
		add(sevNote, "default_transaction_read_only", "is off for this login; pgairlock sets it for read_only agents, the grants are what holds",
			fmt.Sprintf("ALTER ROLE %s SET default_transaction_read_only = on;", login))
	}
	if f["row_security"] != "on" {
		add(sevWarning, "row_security", "is off: queries on tables with row security fail", fmt.Sprintf("ALTER ROLE %s RESET row_security;", login))
	}
	return list
}

func (d *diagnosis) print(c *console, asJSON bool) error {
	var out bytes.Buffer
	if asJSON {
		if err := json.NewEncoder(&out).Encode(d); err != nil {
			return failed(err)
		}
	} else {
		d.write(&out)
	}
	if _, err := c.out.Write(out.Bytes()); err != nil {
		return failed(err)
	}
	if d.count(sevWrites) > 0 {
		return found()
	}
	return nil
}

func (d *diagnosis) count(severity string) int {
	n := 0
	for _, s := range d.Findings {
		if s.Severity == severity {
			n++
		}
	}
	return n
}

// write is for people. Built-ins that are open to everyone are one finding: a
// stock server has a dozen.
func (d *diagnosis) write(out *bytes.Buffer) {
	fmt.Fprintf(out, "login %s, database %s, %s\n", d.Login, d.Database, d.Server)
	for _, severity := range []string{sevWrites, sevWarning, sevNote} {
		var open []symptom
		for _, s := range d.Findings {
			switch {
			case s.Severity != severity:
			case s.Kind == pgcatalog.PowerBuiltin:
				open = append(open, s)
			case s.Kind == "server":
				tellFinding(out, severity, s.Object+" "+s.Text, s.Mend)
			default:
				tellFinding(out, severity, s.Text, s.Mend)
			}
		}
		if len(open) == 1 {
			tellFinding(out, severity, open[0].Text, open[0].Mend)
		} else if len(open) > 1 {
			var mend []string
			for _, s := range open {
				mend = append(mend, s.Mend)
			}
			tellFinding(out, severity, fmt.Sprintf("may call %d built-ins that write large objects or messages, even read-only, as everyone may", len(open)), mend...)
		}
	}
	switch {
	case d.count(sevWrites) > 0:
	case d.count(sevWarning) > 0:
		fmt.Fprintf(out, "ok       %s can't change tables or other objects; the warnings are worth mending\n", d.Login)
	default:
		fmt.Fprintf(out, "ok       %s can't write, whatever stands before the server\n", d.Login)
	}
}

func tellFinding(out *bytes.Buffer, severity, text string, mend ...string) {
	fmt.Fprintf(out, "%-8s %s\n", severity, text)
	label := "mend:"
	for _, line := range mend {
		if line != "" {
			fmt.Fprintf(out, "         %-5s %s\n", label, line)
			label = ""
		}
	}
}
