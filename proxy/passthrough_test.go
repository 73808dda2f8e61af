package proxy_test

import (
	"strings"
	"testing"
	"time"

	pg "github.com/jackc/pgx/v5/pgproto3"

	"github.com/pgairlock/pgairlock/internal/proxytest"
	"github.com/pgairlock/pgairlock/policy"
)

// passthrough has an agent to whom nothing is refused, and one who is only not
// held to the policy.
const passthrough = `
version: 1
agents:
  suite:
    password: secret:agent
    databases: {shop: writer}
    access: observe
    unsafe_passthrough: true
  watched:
    password: secret:agent
    databases: {shop: writer}
    access: observe
`

// call is a FunctionCall with binary arguments and result.
func call(function uint32, arguments ...[]byte) pg.FrontendMessage {
	return &pg.FunctionCall{Function: function, ArgFormatCodes: []uint16{1}, Arguments: arguments, ResultFormatCode: 1}
}

// TestPassthrough: under unsafe_passthrough, what else would end in a refusal is
// answered as the server answers it.
func TestPassthrough(t *testing.T) {
	const abs, repeat, no = 1397, 1622, 1
	seven, million := []byte{0, 0, 0, 7}, []byte{0, 0x0f, 0x42, 0x40}
	database, p := startShop(t, passthrough, nil)
	for _, c := range []struct {
		name string
		step
	}{
		{"a function call", step{send(call(abs, seven)), "V Z:I"}},
		{"an answer larger than a buffer", step{send(call(repeat, []byte("x"), million), "SELECT 1"), "V Z:I T D:1 C:SELECT 1 Z:I"}},
		{"an argument larger than a buffer", step{send(call(repeat, make([]byte, 100_000), seven), "SELECT 1"), "E:22021 Z:I T D:1 C:SELECT 1 Z:I"}},
		{"a function that is not there", step{send(call(no)), "E:42883 Z:I"}},
		{"the wrong number of arguments", step{send(call(abs)), "E:08P01 Z:I"}},
		{"in a failed transaction", step{send("BEGIN", "SELECT 1/0", call(abs, seven), "ROLLBACK"), "C:BEGIN Z:T E:22012 Z:E E:25P02 Z:E C:ROLLBACK Z:I"}},
		{"between other messages", step{send(series("SELECT 1"), call(abs, seven), series("SELECT 2"), sync_), "1 2 D:1 C:SELECT 1 V Z:I 1 2 D:2 C:SELECT 1 Z:I"}},
		{"passed over after an error", step{send(parse("", "SELECT nothing"), call(abs, seven), sync_), "E:42703 Z:I"}},
		{"backslashes are escapes", step{send("SET standard_conforming_strings = off", `SELECT length('\'; ')`, "SET standard_conforming_strings = on"),
			"C:SET Z:I N:22P06 T D:3 C:SELECT 1 Z:I C:SET Z:I"}},
		{"another encoding", step{send("SET client_encoding = LATIN1", "SELECT 'h\xe9'", "RESET client_encoding"), "C:SET Z:I T D:h\xe9 C:SELECT 1 Z:I C:RESET Z:I"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for who, dsn := range map[string]string{"direct": database.DSN(), "suite": p.DSN("suite")} {
				raw := proxytest.Dial(t, dsn)
				raw.Send(c.send...)
				if got := raw.Read('Z', strings.Count(c.want, "Z:")); got != c.want {
					t.Errorf("%s: %s, not %s", who, got, c.want)
				}
				raw.Silent(20 * time.Millisecond)
			}
		})
	}
}

// Whoever is only observed is refused what cannot be judged.
func TestObservedIsNotPassedThrough(t *testing.T) {
	_, p := startShop(t, passthrough, nil)
	raw := proxytest.Dial(t, p.DSN("watched"))
	raw.Send(call(1397, []byte{0, 0, 0, 7}), query("SELECT 1"))
	if got, want := raw.Read('Z', 2), "E:42501 Z:I T D:1 C:SELECT 1 Z:I"; got != want {
		t.Errorf("a function call: %s, not %s", got, want)
	}
	raw.Send(query("DO $$BEGIN SET standard_conforming_strings = off; END$$"))
	if got, want := raw.Read(0, 1), "E:42501 EOF"; !strings.HasSuffix(got, want) {
		t.Errorf("another lexer: %s, not %s", got, want)
	}
}

// A function call that passes is recorded as what would have been refused.
func TestPassedCallIsRecorded(t *testing.T) {
	_, p := startShop(t, passthrough, nil)
	raw := proxytest.Dial(t, p.DSN("suite"))
	raw.Send(call(1397, []byte{0, 0, 0, 7}), call(1))
	if got, want := raw.Read('Z', 2), "V Z:I E:42883 Z:I"; got != want {
		t.Fatalf("%s, not %s", got, want)
	}
	records := p.Records.Statements()
	if len(records) != 2 || p.Records.Open() != 0 {
		t.Fatalf("%d records, %d places held", len(records), p.Records.Open())
	}
	for i, code := range []string{"", "42883"} {
		r := records[i]
		if r.Refusal != nil || r.SQLSTATE != code || r.Judgement == nil || !strings.HasPrefix(r.Judgement.Text, "FunctionCall 1") {
			t.Fatalf("%+v", r)
		}
		d := r.Judgement.Parts[0].Decision
		if d.Verdict != policy.Allow || len(d.Reasons) != 1 || d.Reasons[0].Rule != "function-call" || d.Reasons[0].Enforced || d.Reasons[0].Verdict != policy.Deny {
			t.Errorf("%+v", d)
		}
	}
}
