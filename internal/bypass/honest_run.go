package bypass

import (
	"context"
	"errors"
	"fmt"
)

// RunHonest sends the same steps directly and through the proxy and lists how
// the answers differ, what the client got that it should not have, and what
// changed on the server.
func (r *Runner) RunHonest(ctx context.Context, profile string, h *Honest) ([]string, error) {
	direct, _, err := steps(ctx, r.Direct(profile), h.Steps)
	if err != nil {
		return nil, fmt.Errorf("directly: %w", err)
	}
	if err := r.Watch.Quiet(ctx); err != nil {
		return nil, err
	}
	before, err := r.Watch.Trace(ctx)
	if err != nil {
		return nil, err
	}
	answers, received, err := steps(ctx, r.Proxied(profile), h.Steps)
	if err != nil {
		return []string{err.Error()}, nil
	}
	wrong := Compare(direct, answers, false)
	wrong = append(wrong, r.Leaks.Find(&Case{Profile: profile}, answers, received)...)
	changed, err := r.changes(ctx, before)
	return append(wrong, changed...), err
}

func steps(ctx context.Context, dsn string, all []Step) ([]Answer, []byte, error) {
	client, err := Dial(ctx, dsn, nil)
	if err != nil {
		return nil, nil, err
	}
	var answers []Answer
	for _, s := range all {
		a, err := client.Step(s)
		if err != nil {
			return nil, nil, errors.Join(err, client.Close())
		}
		answers = append(answers, a)
		if a.Closed {
			return answers, client.Received(), client.Close()
		}
	}
	return answers, client.Received(), client.Close()
}
