package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// came is what came of a try.
type came struct {
	rows   int
	first  []string // the first row
	code   string
	texts  []string // message, detail and hint of the error, or the notices
	reason error    // an error that is no answer of the server's
	after  time.Duration
}

// player plays the agent and counts what came out otherwise than it should.
type player struct {
	painter
	show     *performance
	notices  []string
	surprise int
}

// pgx plays the steps on one connection of a stock pgx.
func (p *player) pgx(ctx context.Context, steps []step) error {
	conf, err := pgx.ParseConfig(fmt.Sprintf("host=127.0.0.1 port=%d dbname=shop user=analyst sslmode=disable passfile=%s application_name=demo", p.show.port, p.show.path("passfile")))
	if err != nil {
		return err
	}
	conf.RuntimeParams["pgairlock.on_behalf_of"] = "Anna, purchasing"
	conf.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		p.notices = append(p.notices, n.Severity+": "+n.Message, n.Detail, n.Hint)
	}
	conn, err := pgx.ConnectConfig(ctx, conf)
	if err != nil {
		return err
	}
	for _, s := range steps {
		p.line("")
		p.line("%s", p.paint(bold, s.title))
		for _, t := range s.tries {
			p.notices = nil
			got := attempt(ctx, conn, t)
			got.texts = append(got.texts, p.notices...)
			p.tell(t, got)
			if conn.IsClosed() {
				return fmt.Errorf("the connection is lost: %w", got.reason)
			}
		}
	}
	return conn.Close(ctx)
}

// attempt runs one statement.
func attempt(ctx context.Context, conn *pgx.Conn, t try) came {
	var c came
	begin := time.Now()
	rows, err := conn.Query(ctx, t.sql, append([]any{pgx.QueryResultFormats{pgx.TextFormatCode}}, t.args...)...)
	if err == nil {
		for rows.Next() {
			if c.rows == 0 {
				for _, v := range rows.RawValues() {
					c.first = append(c.first, string(v))
				}
			}
			c.rows++
		}
		rows.Close()
		err = rows.Err()
	}
	c.after = time.Since(begin)
	var server *pgconn.PgError
	if errors.As(err, &server) {
		c.code, c.texts = server.Code, []string{server.Message, server.Detail, server.Hint}
	} else {
		c.reason = err
	}
	return c
}

// tell shows a try and what came of it.
func (p *player) tell(t try, c came) {
	p.line("  %s", p.paint(cyan, t.sql))
	at := p.paint(dim, took(c.after))
	switch {
	case c.reason != nil:
		p.line("    %s %v  %s", p.paint(red, "failed"), c.reason, at)
	case c.code != "":
		word := "refused"
		switch c.code {
		case "57014":
			word = "cut off"
		case "25P02": // the server's own answer
			word = "error"
		}
		p.line("    %s %s  %s", p.paint(red, word+" "+c.code), c.texts[0], at)
		if hint := c.texts[2]; hint != "" {
			p.line("    hint: %s", hint)
		}
	case c.first == nil:
		p.line("    %s  %s", p.paint(green, "done"), at)
	default:
		p.line("    %s  %s  %s", p.paint(green, counted(c.rows, "row")), strings.Join(c.first, " | "), at)
		for _, text := range c.texts {
			if text != "" {
				p.line("    %s", p.paint(yellow, text))
			}
		}
	}
	if fault := t.compare(c); fault != "" {
		p.unexpected(fault)
	}
}

func (p *player) unexpected(fault string) {
	p.surprise++
	p.line("    %s", p.paint(red, "UNEXPECTED: "+fault))
}

// compare says what is not as it should be.
func (t *try) compare(c came) string {
	switch {
	case c.reason != nil:
		return c.reason.Error()
	case c.code != t.code:
		return fmt.Sprintf("SQLSTATE %q, not %q", c.code, t.code)
	case t.rows >= 0 && c.rows != t.rows, t.rows < 0 && c.rows == 0:
		return fmt.Sprintf("%d rows, not %d", c.rows, t.rows)
	}
	return lacks(strings.Join(c.texts, "\n"), t.says)
}

// lacks names the first of the words that text does not have.
func lacks(text string, words []string) string {
	for _, word := range words {
		if !strings.Contains(text, word) {
			return fmt.Sprintf("nothing says %q", word)
		}
	}
	return ""
}

// psqlWords are the arguments that make psql the agent. The password is in a
// passfile that PGPASSFILE names.
func (p *performance) psqlWords() []string {
	return []string{"-h", "127.0.0.1", "-p", strconv.Itoa(p.port), "-U", "analyst", "shop"}
}

// psql plays through a stock psql.
func (p *player) psql(ctx context.Context, program string, all []typed) {
	p.line("")
	p.line("%s", p.paint(bold, "the same agent in psql"))
	for _, t := range all {
		begin := time.Now()
		cmd := exec.CommandContext(ctx, program, append([]string{"-X", "-c", t.sql}, p.show.psqlWords()...)...)
		cmd.Env = append(os.Environ(), "PGPASSFILE="+p.show.path("passfile"), "PGSSLMODE=disable", "PAGER=", "LC_ALL=C.UTF-8")
		out, err := cmd.CombinedOutput()
		p.line("  %s  %s", p.paint(cyan, "shop=> "+t.sql), p.paint(dim, took(time.Since(begin))))
		p.block(4, "", string(out))
		fault := lacks(string(out), t.says)
		if fault == "" && t.fail != (err != nil) {
			fault = fmt.Sprintf("psql ended with %v", err)
		}
		if fault != "" {
			p.unexpected(fault)
		}
	}
}
