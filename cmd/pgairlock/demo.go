package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pgairlock/pgairlock/audit"
)

func newDemo(c *console) *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch an agent work through the airlock",
		Long: "demo starts a throwaway PostgreSQL server with a warehouse database, puts the proxy in front of it as serve would,\n" +
			"and plays an agent's session through pgx and psql. Everything is removed at the end.\n\n" +
			"Exit codes: 0 all came out as it should; 1 something did not, or could not be started.",
		Example: "  pgairlock demo\n  pgairlock demo --keep     # leaves it running, for a psql of your own",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return failed(demo(cmd.Context(), c, keep)) },
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "leave it running until it is interrupted")
	return cmd
}

// demo plays the whole of it.
func demo(ctx context.Context, c *console, keep bool) (err error) {
	p := &player{painter: painter{c.out, c.terminal}}
	begin := time.Now()
	p.line("%s", p.paint(bold, "An agent reads a warehouse through the airlock"))
	p.line("starting a throwaway PostgreSQL and filling it …")
	s, err := setStage(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	if p.show, err = s.serve(ctx); err != nil {
		return err
	}
	running := true
	defer func() {
		if running {
			err = errors.Join(err, p.show.end())
		}
	}()
	p.line("  server  PostgreSQL %d, database shop, %d rows; the proxy's login may only SELECT", s.server.Major, s.rows)
	p.line("  proxy   127.0.0.1:%d, policy %s  %s", p.show.port, s.path("policy.yaml"), p.paint(dim, took(time.Since(begin))))
	if err := p.play(ctx); err != nil {
		return err
	}
	p.doctor(ctx, c)
	if keep {
		p.wait(ctx)
	}
	running = false
	if err := p.show.end(); err != nil {
		return err
	}
	p.evidence(ctx, c)
	p.line("")
	p.line("%s  %s", p.result(), p.paint(dim, took(time.Since(begin))))
	if p.surprise > 0 {
		return failure{error: errors.New("demo"), told: true}
	}
	return nil
}

// play is the agent's session.
func (p *player) play(ctx context.Context) error {
	if err := p.pgx(ctx, demoSteps()); err != nil {
		return err
	}
	program, err := exec.LookPath("psql")
	if err != nil {
		p.line("")
		p.line("psql is not installed: its part is left out")
		return nil
	}
	p.psql(ctx, program, demoTyped())
	return nil
}

// doctor shows what the login could do without the proxy.
func (p *player) doctor(ctx context.Context, c *console) {
	p.command(ctx, c, "what the proxy's login could do if nothing stood before the server", "doctor", "--dsn", p.show.reader)
}

// evidence shows the records and proves them.
func (p *player) evidence(ctx context.Context, c *console) {
	file := p.show.path("audit.jsonl")
	p.command(ctx, c, "what was refused, as recorded", "audit", "show", file, "--verdict", "deny")
	public, err := p.publicKey()
	if err != nil {
		p.unexpected(err.Error())
		return
	}
	p.command(ctx, c, "and that nobody changed the records", "audit", "verify", file, "--key", public)
}

func (p *player) publicKey() (string, error) {
	key, err := p.show.daemon.secrets.Get("audit_key")
	if err != nil {
		return "", err
	}
	return audit.PublicKey(key)
}

// command runs one of pgairlock's own and shows it.
func (p *player) command(ctx context.Context, c *console, title string, args ...string) {
	p.line("")
	p.line("%s", p.paint(bold, title))
	shown := make([]string, len(args))
	for i, a := range args {
		shown[i] = strings.ReplaceAll(a, p.show.dir+"/", "")
		if strings.Contains(shown[i], " ") {
			shown[i] = "'" + shown[i] + "'"
		}
	}
	p.line("  %s", p.paint(cyan, "$ pgairlock "+strings.Join(shown, " ")))
	root := newRoot(&console{in: c.in, out: indented(c.out, 4), err: c.err, terminal: c.terminal, redactor: c.redactor})
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		p.unexpected(err.Error())
	}
}

// wait leaves everything running until ctx ends.
func (p *player) wait(ctx context.Context) {
	p.line("")
	p.line("%s", p.paint(bold, "still running; try it yourself, and end it with Ctrl-C"))
	p.line("  PGPASSFILE=%s psql %s", p.show.path("passfile"), strings.Join(p.show.psqlWords(), " "))
	p.line("  pgairlock audit tail %s", p.show.path("audit.jsonl"))
	p.line("  $EDITOR %s   %s", p.show.path("policy.yaml"), p.paint(dim, "# in force a second or two after it is saved"))
	<-ctx.Done()
}

func (p *player) result() string {
	if p.surprise > 0 {
		return p.paint(red, fmt.Sprintf("%s came out otherwise than it should", counted(p.surprise, "thing")))
	}
	return p.paint(green, "all came out as it should")
}
