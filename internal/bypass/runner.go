package bypass

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Runner sends cases through a proxy and judges what came of them.
type Runner struct {
	Watch   *Watch
	Leaks   *Leaks
	Proxied func(profile string) string // connection string of an agent at the proxy
	Direct  func(profile string) string // and of the agent's upstream login at the server
	Decided func() []Decided            // what was decided since the last call; nil: not known
	Expand  *strings.Replacer           // placeholders in cases' texts
}

// Decided is what a proxy recorded about one text.
type Decided struct {
	Text  string
	Rules []string // ids of all rules that matched
}

// Run runs one case and lists what is wrong. An error is the test's own, not
// the proxy's.
func (r *Runner) Run(ctx context.Context, c *Case) (wrong []string, err error) {
	if c.Setup != "" {
		if err := r.Watch.Exec(ctx, c.Setup); err != nil {
			return nil, fmt.Errorf("%s: setup: %w", c.ID, err)
		}
		defer func() { err = errors.Join(err, r.Watch.Exec(ctx, c.Teardown)) }()
	}
	var direct []Answer
	if c.Expect.Outcome == Allow || c.Expect.Outcome == Limit {
		if direct, _, err = r.play(ctx, r.Direct(c.Profile), c); err != nil {
			return nil, fmt.Errorf("%s directly: %w", c.ID, err)
		}
		if err := r.Watch.Quiet(ctx); err != nil {
			return nil, err
		}
	}
	before, err := r.Watch.Trace(ctx)
	if err != nil {
		return nil, err
	}
	r.decided()
	answers, received, err := r.play(ctx, r.Proxied(c.Profile), c)
	if err != nil {
		return []string{err.Error()}, nil
	}
	changed, err := r.changes(ctx, before)
	if err != nil {
		return nil, err
	}
	wrong = append(wrong, r.outcome(c, direct, answers, r.decided())...)
	wrong = append(wrong, r.Leaks.Find(c, answers, received)...)
	return append(wrong, changed...), nil
}

// play sends a case's messages over one new connection.
func (r *Runner) play(ctx context.Context, dsn string, c *Case) ([]Answer, []byte, error) {
	client, err := Dial(ctx, dsn, c.Startup)
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return []Answer{{Closed: true, Errors: []Report{{
			refused.Severity, refused.Code, refused.Message, refused.Detail, refused.Hint, refused.Position}}}}, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	var answers []Answer
	for _, m := range c.Messages {
		send := client.Query
		if c.Extended {
			send = client.Run
		}
		a, err := send(r.Expand.Replace(m))
		if err != nil {
			return nil, nil, errors.Join(err, client.Close())
		}
		answers = append(answers, a)
		if a.Closed {
			break
		}
	}
	received := client.Received()
	if err := client.Close(); err != nil && !answers[len(answers)-1].Closed {
		return nil, nil, err
	}
	return answers, received, nil
}

func (r *Runner) decided() []Decided {
	if r.Decided == nil {
		return nil
	}
	return r.Decided()
}

// outcome compares what came back with what the case expects.
func (r *Runner) outcome(c *Case, direct, answers []Answer, decided []Decided) []string {
	switch c.Expect.Outcome {
	case Deny:
		return r.denied(c, answers, decided)
	case Close:
		if last := answers[len(answers)-1]; !last.Closed {
			return []string{fmt.Sprintf("the connection is open: %+v", last)}
		}
		return nil
	case Error:
		var codes []string
		for _, a := range answers {
			for _, e := range a.Errors {
				codes = append(codes, e.SQLSTATE)
			}
		}
		if !slices.Contains(codes, c.Expect.SQLSTATE) {
			return []string{fmt.Sprintf("errors %v, not %s", codes, c.Expect.SQLSTATE)}
		}
		return nil
	}
	var wrong []string
	if c.Expect.Outcome == Allow || len(direct[0].Errors) == 0 { // the server may refuse a limit that it is never sent
		wrong = Compare(direct, answers, c.Volatile)
	}
	if n := rowCount(answers); c.Expect.Outcome == Limit && n != c.Expect.Rows {
		wrong = append(wrong, fmt.Sprintf("%d rows, not %d", n, c.Expect.Rows))
	}
	return wrong
}

func rowCount(answers []Answer) int {
	n := 0
	for _, a := range answers {
		for _, r := range a.Results {
			n += len(r.Rows)
		}
	}
	return n
}

// denied checks each message of a refused case against its reason.
func (r *Runner) denied(c *Case, answers []Answer, decided []Decided) []string {
	var wrong []string
	for i, want := range c.Reasons {
		if want.Any {
			continue
		}
		if i >= len(answers) {
			return append(wrong, fmt.Sprintf("message %d was not reached: the connection was closed", i+1))
		}
		text := r.Expand.Replace(c.Messages[i])
		var rules []string
		recorded := r.Decided == nil
		for _, d := range decided {
			if d.Text == text || c.Extended {
				rules, recorded = append(rules, d.Rules...), true
			}
		}
		if !recorded {
			wrong = append(wrong, fmt.Sprintf("message %d: nothing was recorded", i+1))
		}
		if problem := refusal(want, &answers[i], rules); problem != "" {
			wrong = append(wrong, fmt.Sprintf("message %d: %s", i+1, problem))
		}
	}
	return wrong
}

// refusal checks one message: what the client was shown has to come from one
// of the wanted rules, and where the decision itself is known, the first of
// them has to be among its reasons.
func refusal(want Reason, a *Answer, rules []string) string {
	if want.Pass {
		if len(a.Errors) > 0 {
			return fmt.Sprintf("refused: %+v", a.Errors[0])
		}
		return ""
	}
	if len(a.Errors) == 0 {
		return fmt.Sprintf("not refused, %d results", len(a.Results))
	}
	shown, ok := Rule(a.Errors[0])
	switch {
	case !ok:
		return fmt.Sprintf("an error that names no rule: %+v", a.Errors[0])
	case !slices.Contains(want.Rules, shown):
		return fmt.Sprintf("refused by %s, not %s: %s", shown, strings.Join(want.Rules, " or "), a.Errors[0].Message)
	case rules != nil && !slices.Contains(rules, want.Rules[0]):
		return fmt.Sprintf("refused by %v, not for %s", rules, want.Rules[0])
	}
	return ""
}

// Rule takes the rule's id out of a refusal's DETAIL, which begins "Rule ID".
func Rule(e Report) (string, bool) {
	rest, ok := strings.CutPrefix(e.Detail, "Rule ")
	if !ok {
		return "", false
	}
	if end := strings.IndexAny(rest, " ,.;:\n"); end >= 0 {
		rest = rest[:end]
	}
	return rest, true
}

// changes waits until the case's sessions have ended and lists what they left.
func (r *Runner) changes(ctx context.Context, before Trace) ([]string, error) {
	var changed []string
	if err := r.Watch.Quiet(ctx); err != nil {
		changed = append(changed, err.Error())
	}
	after, err := r.Watch.Trace(ctx)
	if err != nil {
		return nil, err
	}
	if after.Transactions != before.Transactions {
		changed = append(changed, "a transaction wrote on the server")
	}
	if after.Held != before.Held {
		changed = append(changed, "left on the server: "+after.Held)
	}
	if after.Files != before.Files {
		changed = append(changed, "files written: "+after.Files)
	}
	return changed, nil
}
