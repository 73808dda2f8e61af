package policy_test

import (
	"testing"

	"github.com/pgairlock/pgairlock/policy"
)

func TestKindsOfReadOnlyAgents(t *testing.T) {
	set := load(t, shopPolicy)
	sel := []policy.Command{policy.Select}
	for _, c := range []struct {
		name string
		f    policy.Facts
		rule string
	}{
		{"empty", policy.Facts{Kind: policy.KindEmpty}, ""},
		{"select", policy.Facts{Kind: policy.KindSelect, Commands: sel}, ""},
		{"insert in WITH", policy.Facts{Kind: policy.KindSelect, Commands: []policy.Command{policy.Insert, policy.Select}}, "read-only"},
		{"insert", policy.Facts{Kind: policy.KindInsert, Commands: []policy.Command{policy.Insert}}, "read-only"},
		{"ddl", policy.Facts{Kind: policy.KindDDL, Tag: "CREATE TABLE"}, "read-only"},
		{"truncate", policy.Facts{Kind: policy.KindTruncate}, "read-only"},
		{"copy from", policy.Facts{Kind: policy.KindCopyFrom, Copy: policy.CopyStdio}, "read-only"},
		{"vacuum", policy.Facts{Kind: policy.KindMaintenance}, "read-only"},
		{"lock", policy.Facts{Kind: policy.KindLock}, "read-only"},
		{"call", policy.Facts{Kind: policy.KindCall}, "statement-kind"},
		{"do", policy.Facts{Kind: policy.KindDo}, "statement-kind"},
		{"listen", policy.Facts{Kind: policy.KindListen}, "statement-kind"},
		{"notify", policy.Facts{Kind: policy.KindNotify}, "statement-kind"},
		{"other", policy.Facts{Kind: policy.KindOther}, "statement-kind"},
		{"of no kind", policy.Facts{}, "statement-kind"},
		{"unlisten", policy.Facts{Kind: policy.KindUnlisten}, ""},
		{"discard", policy.Facts{Kind: policy.KindDiscard}, ""},
		{"fetch", policy.Facts{Kind: policy.KindFetch}, ""},
		{"close", policy.Facts{Kind: policy.KindClose}, ""},
		{"deallocate", policy.Facts{Kind: policy.KindDeallocate}, ""},
		{"prepare", policy.Facts{Kind: policy.KindPrepare, Inner: policy.KindSelect, Commands: sel}, ""},
		{"prepare insert", policy.Facts{Kind: policy.KindPrepare, Inner: policy.KindInsert, Commands: []policy.Command{policy.Insert}}, "read-only"},
		{"execute", policy.Facts{Kind: policy.KindExecute, Inner: policy.KindSelect, Commands: sel}, ""},
		{"execute what is not known", policy.Facts{Kind: policy.KindExecute}, "statement-kind"},
		{"declare", policy.Facts{Kind: policy.KindDeclare, Inner: policy.KindSelect, Commands: sel}, ""},
		{"begin", policy.Facts{Kind: policy.KindTransaction, Tag: "BEGIN"}, ""},
		{"prepare transaction", policy.Facts{Kind: policy.KindTransaction, Tag: "PREPARE TRANSACTION"}, "statement-kind"},
		{"commit prepared", policy.Facts{Kind: policy.KindTransaction, Tag: "COMMIT PREPARED"}, "statement-kind"},
		{"explain", policy.Facts{Kind: policy.KindExplain, Inner: policy.KindSelect, Commands: sel, Explain: []string{"analyze", "format"}}, ""},
		{"explain settings", policy.Facts{Kind: policy.KindExplain, Inner: policy.KindSelect, Commands: sel, Explain: []string{"settings"}}, "explain"},
		{"explain delete", policy.Facts{Kind: policy.KindExplain, Inner: policy.KindDelete, Commands: []policy.Command{policy.Delete}}, "read-only"},
		{"explain create table as", policy.Facts{Kind: policy.KindExplain, Inner: policy.KindDDL}, "read-only"},
		{"explain declare", policy.Facts{Kind: policy.KindExplain, Inner: policy.KindDeclare}, "explain"},
		{"copy to stdout", policy.Facts{Kind: policy.KindCopyTo, Copy: policy.CopyStdio}, ""},
		{"copy a query to stdout", policy.Facts{Kind: policy.KindCopyTo, Copy: policy.CopyStdio, Inner: policy.KindSelect, Commands: sel}, ""},
		{"copy a delete to stdout", policy.Facts{Kind: policy.KindCopyTo, Copy: policy.CopyStdio, Inner: policy.KindDelete, Commands: []policy.Command{policy.Delete}}, "read-only"},
		{"copy to a file", policy.Facts{Kind: policy.KindCopyTo, Copy: policy.CopyFile}, "red-line"},
		{"copy to a program", policy.Facts{Kind: policy.KindCopyTo, Copy: policy.CopyProgram}, "red-line"},
	} {
		t.Run(c.name, func(t *testing.T) { want(t, decide(t, set, "reporting", &c.f), c.rule) })
	}
	want(t, decide(t, set, "blind", &policy.Facts{Kind: policy.KindCopyTo, Copy: policy.CopyStdio}), "copy")
}

func TestRowLocks(t *testing.T) {
	set := load(t, shopPolicy)
	f := reads(t, "public", "orders", "id")
	want(t, decide(t, set, "reporting", f), "")
	f.Relations[0].Needs |= policy.Locking
	d := decide(t, set, "reporting", f)
	want(t, d, "read-only")
	if r := d.Refusal(); r.SQLSTATE != "25006" || r.Pos != 14 || r.Hint != "Leave FOR UPDATE or FOR SHARE out." {
		t.Errorf("%+v", *r)
	}
}

func TestObserve(t *testing.T) {
	set := load(t, shopPolicy)
	red := policy.Facts{Kind: policy.KindDDL, RedLine: "roles are never changed here"}
	unmapped := policy.Facts{Kind: policy.KindOther, Problems: []policy.Problem{{Rule: "unmapped-node", SQLSTATE: "42501", Message: "x", Pos: -1}}}
	missing := policy.Facts{Kind: policy.KindSelect, Problems: []policy.Problem{{Rule: "unresolved-relation", SQLSTATE: "42P01", Message: "x", Server: true, Pos: -1}}}
	lexer := policy.Facts{Kind: policy.KindSet, Settings: []policy.SettingUse{{Name: "standard_conforming_strings", Op: policy.SetSession, Value: "off", Literal: true}}}
	guard := policy.Facts{Kind: policy.KindSet, Settings: []policy.SettingUse{{Name: "row_security", Op: policy.SetSession, Value: "off", Literal: true}}}
	write := policy.Facts{Kind: policy.KindSet, Settings: []policy.SettingUse{{Name: "transaction_read_only", Op: policy.SetSession, Value: "off", Literal: true}}}
	for _, c := range []struct {
		name string
		f    *policy.Facts
		rule string
		seen string // the rule that is recorded all the same
	}{
		{"insert", &policy.Facts{Kind: policy.KindInsert, Commands: []policy.Command{policy.Insert}}, "", "read-only"},
		{"secrets", reads(t, "public", "secrets", "api_key"), "", "table"},
		{"sleep", calls(t, 102), "", "function"},
		{"file", calls(t, 103), "red-line", "red-line"},
		{"role", &red, "red-line", "red-line"},
		{"not understood", &unmapped, "unmapped-node", "unmapped-node"},
		{"does not exist", &missing, "", "unresolved-relation"},
		{"lexer", &lexer, "setting", "setting"},
		{"guard", &guard, "red-line", "red-line"},
		{"read write", &write, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := decide(t, set, "watched", c.f)
			want(t, d, c.rule)
			passed := decide(t, set, "unsafe", c.f)
			want(t, passed, "")
			if c.seen == "" {
				return
			}
			for _, r := range passed.Reasons {
				if r.Enforced {
					t.Errorf("enforced: %+v", r)
				}
			}
			for _, list := range [][]policy.Reason{d.Reasons, passed.Reasons} {
				found := false
				for _, r := range list {
					found = found || r.Rule == c.seen && r.Verdict == policy.Deny
				}
				if !found {
					t.Errorf("%s is not recorded: %+v", c.seen, list)
				}
			}
		})
	}
	if o := decide(t, set, "watched", reads(t, "public", "orders", "id")).Obligations; o != (policy.Obligations{}) {
		t.Errorf("an observed agent is limited: %+v", o)
	}
}

func TestObligations(t *testing.T) {
	set := load(t, shopPolicy)
	for _, c := range []struct {
		name string
		f    *policy.Facts
		want policy.Obligations
	}{
		{"select", reads(t, "public", "orders", "id"), policy.Obligations{Rows: 100, Bytes: 16 << 20}},
		{"catalog", reads(t, "pg_catalog", "pg_class", "relname"), policy.Obligations{Rows: 100_000, Bytes: 16 << 20}},
		{"copy", &policy.Facts{Kind: policy.KindCopyTo, Copy: policy.CopyStdio}, policy.Obligations{Rows: 100, Bytes: 16 << 20}},
		{"plan", &policy.Facts{Kind: policy.KindExplain, Inner: policy.KindSelect, ReturnsRows: true}, policy.Obligations{Bytes: 16 << 20}},
		{"begin", &policy.Facts{Kind: policy.KindTransaction, Tag: "BEGIN"}, policy.Obligations{}},
	} {
		if got := decide(t, set, "reporting", c.f).Obligations; got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestWithoutAPolicyNothingPasses(t *testing.T) {
	set, other := load(t, shopPolicy), load(t, shopPolicy)
	a, _ := set.Agent("reporting")
	stranger, _ := other.Agent("reporting")
	f := &policy.Facts{Kind: policy.KindEmpty}
	for name, d := range map[string]policy.Decision{
		"no set":        policy.Decide(nil, policy.Request{Agent: a, Facts: f}),
		"no agent":      policy.Decide(set, policy.Request{Facts: f}),
		"no facts":      policy.Decide(set, policy.Request{Agent: a}),
		"another set's": policy.Decide(set, policy.Request{Agent: stranger, Facts: f}),
	} {
		if d.Verdict != policy.Deny || d.Refusal() == nil {
			t.Errorf("%s: %+v", name, d)
		}
	}
	want(t, policy.Decide(set, policy.Request{Agent: a, Facts: f}), "")
}
