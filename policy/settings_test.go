package policy_test

import (
	"strings"
	"testing"

	"github.com/pgairlock/pgairlock/policy"
)

func TestSettings(t *testing.T) {
	set := load(t, agentWith("settings: {free: [work_mem, app.tenant]}\nlimits: {statement_timeout: 5s, lock_timeout: unlimited}\nsearch_path: [public, \"\\\"Odd Schema\\\"\"]"))
	for _, c := range []struct{ name, value, rule string }{
		{"application_name", "anything", ""},
		{"timezone", "Europe/Paris", ""},
		{"extra_float_digits", "3", ""},
		{"jit", "off", ""},
		{"client_encoding", "UTF8", ""},
		{"client_encoding", "utf-8", ""},
		{"client_encoding", "'Unicode'", ""},
		{"client_encoding", "LATIN1", "setting"},
		{"client_encoding", "SQL_ASCII", "setting"},
		{"datestyle", "ISO", ""},
		{"datestyle", "dmy, iso", ""},
		{"datestyle", "SQL, DMY", "setting"},
		{"datestyle", "DMY", "setting"},
		{"standard_conforming_strings", "on", ""},
		{"standard_conforming_strings", "off", "setting"},
		{"backslash_quote", "on", "setting"},
		{"escape_string_warning", "off", "setting"},
		{"client_min_messages", "warning", ""},
		{"client_min_messages", "debug5", "setting"},
		{"statement_timeout", "5000", ""},
		{"statement_timeout", "4s", ""},
		{"statement_timeout", "5001ms", "setting"},
		{"statement_timeout", "0", "setting"},
		{"statement_timeout", "24d", "setting"},
		{"statement_timeout", "-1", "setting"},
		{"statement_timeout", "1e9", "setting"},
		{"statement_timeout", "soon", "setting"},
		{"transaction_timeout", "1min", "setting"},
		{"lock_timeout", "1h", ""},
		{"lock_timeout", "0", "setting"},
		{"idle_session_timeout", "10min", ""},
		{"idle_session_timeout", "0", "setting"},
		{"transaction_read_only", "on", ""},
		{"transaction_read_only", "off", "read-only"},
		{"default_transaction_read_only", "off", "read-only"},
		{"transaction_isolation", "serializable", ""},
		{"transaction_snapshot", "00000003-1", "setting"},
		{"search_path", "public", ""},
		{"search_path", `"Odd Schema", public`, ""},
		{"search_path", "pg_catalog, public", ""},
		{"search_path", "", ""},
		{"search_path", "public, pg_catalog", "search-path"},
		{"search_path", "hr", "search-path"},
		{"search_path", "public, hr", "search-path"},
		{"search_path", `"PUBLIC"`, "search-path"},
		{"search_path", `"public`, "search-path"},
		{"search_path", "Odd Schema", "search-path"},
		{"search_path", "pg_temp", "search-path"},
		{"role", "none", ""},
		{"role", "app2", "red-line"},
		{"session_authorization", "app", "red-line"},
		{"session_replication_role", "replica", "red-line"},
		{"row_security", "off", "red-line"},
		{"row_security", "on", ""},
		{"work_mem", "2GB", ""},
		{"hash_mem_multiplier", "1000", "setting"},
		{"enable_seqscan", "off", "setting"},
		{"app.tenant", "7", ""},
		{"app.session_id", "7", "setting"},
		{"pgairlock.on_behalf_of", "ann", ""},
		{"pgairlock.access", "observe", "setting"},
		{"no_such_setting", "1", "setting"},
		{"seed", "0.5", "setting"},
		{"xmloption", "document", "setting"},
	} {
		t.Run(c.name+"="+c.value, func(t *testing.T) {
			f := &policy.Facts{Kind: policy.KindSet, Settings: []policy.SettingUse{{Name: c.name, Op: policy.SetSession, Value: c.value, Literal: true, Pos: 4}}}
			want(t, decide(t, set, "a", f), c.rule)
			a, _ := set.Agent("a")
			why, ok := a.StartupSetting(strings.ToUpper(c.name), c.value)
			if ok != (c.rule == "") || !ok && (why.Rule != c.rule || why.Message == "") {
				t.Errorf("at startup: %v %+v", ok, why)
			}
		})
	}
}

func TestSettingOperations(t *testing.T) {
	set := load(t, shopPolicy)
	for _, c := range []struct {
		name string
		use  policy.SettingUse
		rule string
	}{
		{"list elements", policy.SettingUse{Name: "search_path", Op: policy.SetSession, Value: "public, hr", Values: []string{"public", "hr"}, Literal: true}, "search-path"},
		{"one element with a comma", policy.SettingUse{Name: "search_path", Op: policy.SetSession, Value: `"public, hr"`, Values: []string{"public, hr"}, Literal: true}, "search-path"},
		{"own schema", policy.SettingUse{Name: "search_path", Op: policy.SetLocal, Value: "public", Values: []string{"public"}, Literal: true}, ""},
		{"computed, any value will do", policy.SettingUse{Name: "timezone", Op: policy.SetSession}, ""},
		{"computed", policy.SettingUse{Name: "client_encoding", Op: policy.SetSession}, "setting"},
		{"computed path", policy.SettingUse{Name: "search_path", Op: policy.SetSession}, "search-path"},
		{"reset", policy.SettingUse{Name: "search_path", Op: policy.Reset}, ""},
		{"reset role", policy.SettingUse{Name: "role", Op: policy.Reset}, ""},
		{"to default", policy.SettingUse{Name: "work_mem", Op: policy.SetSession, Default: true}, ""},
		{"reset a limit", policy.SettingUse{Name: "statement_timeout", Op: policy.Reset}, "setting"},
		{"reset what is not known", policy.SettingUse{Name: "app.session_id", Op: policy.Reset}, "setting"},
		{"reset all", policy.SettingUse{Op: policy.ResetAll}, ""},
		{"show", policy.SettingUse{Name: "server_version", Op: policy.ShowOne}, ""},
		{"show the airlock's", policy.SettingUse{Name: "pgairlock.policy", Op: policy.ShowOne}, ""},
		{"show a file", policy.SettingUse{Name: "hba_file", Op: policy.ShowOne}, "setting"},
		{"show a custom one", policy.SettingUse{Name: "app.jwt_secret", Op: policy.ShowOne}, "setting"},
		{"show all", policy.SettingUse{Op: policy.ShowAll}, "setting"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.use.Pos = -1
			want(t, decide(t, set, "reporting", &policy.Facts{Kind: policy.KindSet, Settings: []policy.SettingUse{c.use}}), c.rule)
		})
	}
}

func TestUnknownSettingIsTheServersError(t *testing.T) {
	set := load(t, shopPolicy)
	d := decide(t, set, "reporting", &policy.Facts{Kind: policy.KindSet,
		Settings: []policy.SettingUse{{Name: "statement_timout", Op: policy.SetSession, Value: "1", Literal: true, Pos: -1}}})
	r := d.Refusal()
	if r == nil || r.SQLSTATE != "42704" || r.Message != `unrecognized configuration parameter "statement_timout"` || r.Hint != "Did you mean statement_timeout?" {
		t.Fatalf("%+v", r)
	}
}
