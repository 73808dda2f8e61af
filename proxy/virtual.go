package proxy

import (
	"fmt"
	"strings"

	"github.com/pgairlock/pgairlock/policy"
)

// answerItself turns SHOW of a setting that only pgairlock knows into a SELECT
// of its value, so that the server gives the answer in its turn and in whatever
// way the client asked. It returns j itself for every other text.
func (x *session) answerItself(j *judged) *judged {
	if j.Refusal != nil || len(j.Parts) != 1 {
		return j
	}
	f := &j.Parts[0].Facts
	if f.Kind != policy.KindShow || len(f.Settings) != 1 {
		return j
	}
	var value string
	switch name := f.Settings[0].Name; name {
	case "pgairlock.policy":
		value = x.agent.Summary()
	case "pgairlock.session":
		value = x.about()
	default:
		return j
	}
	own := *j
	own.touch.named = true
	own.Send = fmt.Sprintf("SELECT %s AS %s", quoteLiteral(value), quoteIdentifier(f.Settings[0].Name))
	return &own
}

// about says who is connected, where and by whose word.
func (x *session) about() string {
	lines := []string{"session: " + x.id, "agent: " + x.agent.Name, "database: " + x.database, "access: " + string(x.agent.Access),
		"policy: " + x.view.set.Digest}
	if x.onBehalfOf != "" {
		lines = append(lines, "on behalf of (claimed): "+x.onBehalfOf)
	}
	return strings.Join(lines, "\n")
}

// quoteLiteral writes a string constant. standard_conforming_strings is pinned
// to on, so that a backslash is a backslash.
func quoteLiteral(s string) string {
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

func quoteIdentifier(s string) string {
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}
