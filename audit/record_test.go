package audit_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pgairlock/pgairlock/audit"
	"github.com/pgairlock/pgairlock/internal/secret"
)

var who = audit.Actor{Session: "s1", Agent: "reporting", Claimed: "alice", Proved: "bob"}

// The format is a promise to whoever reads the files: fields, names and order.
func TestRecordsAsWritten(t *testing.T) {
	opt := options(t)
	opt.Now = (&clock{now: noon.Add(1234567 * time.Microsecond)}).Now
	log := open(t, opt)
	rules := []audit.Rule{
		{ID: "column", Verdict: "deny", Enforced: true, Source: "policy.yaml:12"},
		{ID: "large changes", Verdict: "hold"},
	}
	relations := []audit.Relation{{Name: "public.customers", Needs: "read"}}
	put(t, log,
		&audit.Startup{Version: "1.0", Host: "h", PID: 7, Listen: []string{"127.0.0.1:6432"}, Policy: "p1"},
		&audit.SessionStart{Actor: who, Client: "10.0.0.1:5", Application: "psql", TLS: "1.3", Database: "shop", Role: "reader", UpstreamPID: 99, Server: "db1:5432", Access: "read_only", Policy: "p1"},
		&audit.LoginRefused{Agent: "x", Client: "10.0.0.2:5", Database: "shop", Reason: "password", SQLSTATE: "28P01"},
		&audit.Statement{Actor: who, Operation: "o1", Sequence: 1, Database: "shop", Text: "SELECT email\nFROM customers", Fingerprint: "f", Kind: "select", Verdict: "deny", WouldHave: "hold",
			Risk: "l0_read", Rules: rules, Policy: "p1", Catalog: "c1", Relations: relations, Duration: 1500 * time.Microsecond, SQLSTATE: "42501"},
		&audit.Statement{Actor: audit.Actor{Session: "s1", Agent: "reporting"}, Text: "SELECT 1", Sent: "SELECT 1 LIMIT 10", Verdict: "rewrite", Rows: 10, Bytes: 100, Limited: true},
		&audit.Intent{Actor: who, Operation: "o2", Text: "UPDATE t SET a=1", Verdict: "hold", Rows: -1, Idempotency: "k", Approvers: []string{"alice", "carol"}, Validators: []audit.Validator{{Name: "wave", Score: 0.97, Verdict: "pass"}}},
		&audit.Outcome{Actor: who, Operation: "o2", Result: "committed", Rows: 3, Diff: "d"},
		&audit.PolicyReload{File: "policy.yaml", Cause: "SIGHUP", Before: "p1", After: "p2", Accepted: true},
		&audit.Failure{Where: "upstream", Message: "connection lost"},
		&audit.SessionEnd{Actor: who, Reason: "client closed", Statements: 2, Denied: 1, Rows: 10, Bytes: 100, Duration: time.Second},
		&audit.Shutdown{Reason: "SIGTERM", Sessions: 0},
	)
	closeLog(t, log)
	wantOK(t, opt.Path, 14)

	volatile := regexp.MustCompile(`"(chain|signature|public_key|head|prev|hash)":"[^"]+"`)
	want := `{"v":1,"n":1,"time":"2026-11-30T12:00:01.234567Z","type":"header","chain":"","file_number":1,"public_key":"","statements":"full","prev":"","hash":""}
{"v":1,"n":2,"time":"2026-11-30T12:00:01.234567Z","type":"startup","version":"1.0","host":"h","pid":7,"listen":["127.0.0.1:6432"],"policy":"p1","prev":"","hash":""}
{"v":1,"n":3,"time":"2026-11-30T12:00:01.234567Z","type":"session_start","session":"s1","agent":"reporting","on_behalf_of_claimed":"alice","on_behalf_of_proved":"bob","client":"10.0.0.1:5","application":"psql","tls":"1.3","database":"shop","role":"reader","upstream_pid":99,"server":"db1:5432","access":"read_only","policy":"p1","prev":"","hash":""}
{"v":1,"n":4,"time":"2026-11-30T12:00:01.234567Z","type":"login_refused","agent":"x","client":"10.0.0.2:5","database":"shop","reason":"password","sqlstate":"28P01","prev":"","hash":""}
{"v":1,"n":5,"time":"2026-11-30T12:00:01.234567Z","type":"statement","session":"s1","agent":"reporting","on_behalf_of_claimed":"alice","on_behalf_of_proved":"bob","operation":"o1","sequence":1,"database":"shop","statement":"SELECT email\nFROM customers","fingerprint":"f","kind":"select","verdict":"deny","would_have":"hold","risk":"l0_read","rules":[{"id":"column","verdict":"deny","enforced":true,"source":"policy.yaml:12"},{"id":"large changes","verdict":"hold","enforced":false}],"policy":"p1","catalog":"c1","relations":[{"name":"public.customers","needs":"read"}],"rows":0,"bytes":0,"duration_us":1500,"sqlstate":"42501","prev":"","hash":""}
{"v":1,"n":6,"time":"2026-11-30T12:00:01.234567Z","type":"statement","session":"s1","agent":"reporting","sequence":0,"statement":"SELECT 1","sent":"SELECT 1 LIMIT 10","verdict":"rewrite","rows":10,"bytes":100,"limited":true,"duration_us":0,"prev":"","hash":""}
{"v":1,"n":7,"time":"2026-11-30T12:00:01.234567Z","type":"intent","session":"s1","agent":"reporting","on_behalf_of_claimed":"alice","on_behalf_of_proved":"bob","operation":"o2","sequence":0,"statement":"UPDATE t SET a=1","verdict":"hold","rows":-1,"idempotency_key":"k","approvers":["alice","carol"],"validators":[{"name":"wave","score":0.97,"verdict":"pass"}],"prev":"","hash":""}
{"v":1,"n":8,"time":"2026-11-30T12:00:01.234567Z","type":"outcome","session":"s1","agent":"reporting","on_behalf_of_claimed":"alice","on_behalf_of_proved":"bob","operation":"o2","result":"committed","rows":3,"diff":"d","duration_us":0,"prev":"","hash":""}
{"v":1,"n":9,"time":"2026-11-30T12:00:01.234567Z","type":"policy_reload","file":"policy.yaml","cause":"SIGHUP","before":"p1","after":"p2","accepted":true,"prev":"","hash":""}
{"v":1,"n":10,"time":"2026-11-30T12:00:01.234567Z","type":"failure","where":"upstream","message":"connection lost","prev":"","hash":""}
{"v":1,"n":11,"time":"2026-11-30T12:00:01.234567Z","type":"session_end","session":"s1","agent":"reporting","on_behalf_of_claimed":"alice","on_behalf_of_proved":"bob","reason":"client closed","statements":2,"denied":1,"rows":10,"bytes":100,"duration_us":1000000,"prev":"","hash":""}
{"v":1,"n":12,"time":"2026-11-30T12:00:01.234567Z","type":"shutdown","reason":"SIGTERM","sessions":0,"prev":"","hash":""}
{"v":1,"n":13,"time":"2026-11-30T12:00:01.234567Z","type":"closed","unwritten":0,"prev":"","hash":""}
{"v":1,"n":14,"time":"2026-11-30T12:00:01.234567Z","type":"checkpoint","count":13,"head":"","signature":"","prev":"","hash":""}`
	got := lines(t, opt.Path)
	for i, line := range strings.Split(want, "\n") {
		if masked := volatile.ReplaceAllString(got[i], `"$1":""`); masked != line {
			t.Errorf("line %d:\ngot  %s\nwant %s", i+1, masked, line)
		}
		if !json.Valid([]byte(got[i])) {
			t.Errorf("line %d is not JSON: %s", i+1, got[i])
		}
	}
}

// Whoever reads the package's page can check a line without this package.
func TestHashCanBeCheckedByHand(t *testing.T) {
	opt := options(t)
	log := open(t, opt)
	put(t, log, statements(3)...)
	closeLog(t, log)
	before := strings.Repeat("0", 64)
	for _, line := range lines(t, opt.Path) {
		body, rest, ok := strings.Cut(line, `,"hash":"`)
		if !ok {
			t.Fatal(line)
		}
		sum := sha256.Sum256([]byte(body))
		if want := hex.EncodeToString(sum[:]); rest != want+`"}` {
			t.Errorf("hash %s, want %s", rest, want)
		}
		if !strings.HasSuffix(body, `,"prev":"`+before+`"`) {
			t.Errorf("prev is not %s in %s", before, line)
		}
		before = hex.EncodeToString(sum[:])
	}
}

// Every event's every string passes the redactor, and literals are replaced
// where the options say so.
func TestRecordsAreRedacted(t *testing.T) {
	const value = "hunter2-very-secret"
	actor := audit.Actor{Session: value, Agent: value, Claimed: value, Proved: value}
	rules := []audit.Rule{{ID: value, Verdict: value, Source: value}}
	relations := []audit.Relation{{Name: value, Needs: value}}
	opt := options(t)
	opt.Redact = secret.NewRedactor(secret.New("pw", value)).Redact
	log := open(t, opt)
	events := []audit.Event{
		&audit.Startup{Version: value, Host: value, Listen: []string{value}, Policy: value, Note: value},
		&audit.SessionStart{Actor: actor, Client: value, Application: value, TLS: value, Database: value, Role: value, Server: value, Access: value, Policy: value},
		&audit.SessionEnd{Actor: actor, Reason: value, SQLSTATE: value},
		&audit.LoginRefused{Agent: value, Client: value, Application: value, Database: value, Reason: value, SQLSTATE: value},
		&audit.Statement{Actor: actor, Operation: value, Database: value, Text: "SELECT '" + value + "'", Sent: value, Fingerprint: value, Kind: value, Verdict: value, WouldHave: value, Risk: value, Rules: rules, Policy: value, Catalog: value, Relations: relations, SQLSTATE: value},
		&audit.Intent{Actor: actor, Operation: value, Database: value, Text: value, Fingerprint: value, Kind: value, Verdict: value, Risk: value, Rules: rules, Policy: value, Catalog: value, Relations: relations, Diff: value, Idempotency: value, Approvers: []string{value}, Validators: []audit.Validator{{Name: value, Verdict: value}}},
		&audit.Outcome{Actor: actor, Operation: value, Result: value, Diff: value, SQLSTATE: value, Reason: value},
		&audit.PolicyReload{File: value, Cause: value, Before: value, After: value, Error: value},
		&audit.Failure{Actor: actor, Operation: value, Where: value, Message: value, SQLSTATE: value},
		&audit.Shutdown{Reason: value},
	}
	put(t, log, events...)
	closeLog(t, log)
	wantOK(t, opt.Path, int64(len(events)+3))
	text := strings.Join(lines(t, opt.Path), "\n")
	if strings.Contains(text, value) {
		t.Errorf("the secret is in the file:\n%s", text)
	}
	if n := strings.Count(text, "[credential:pw]"); n < 80 {
		t.Errorf("only %d markers: strings are missing in\n%s", n, text)
	}
}

func TestLiteralsAreReplaced(t *testing.T) {
	opt := options(t)
	opt.Literals = func(sql string) string { return strings.ReplaceAll(sql, "'4111'", "$1") }
	log := open(t, opt)
	put(t, log,
		&audit.Statement{Text: "SELECT '4111'", Sent: "SELECT '4111' LIMIT 1"},
		&audit.Intent{Text: "UPDATE t SET card = '4111'"})
	closeLog(t, log)
	text := strings.Join(lines(t, opt.Path), "\n")
	if strings.Contains(text, "4111") || strings.Count(text, "$1") != 3 {
		t.Errorf("literals not replaced:\n%s", text)
	}
	if !strings.Contains(text, `"statements":"literals_redacted"`) {
		t.Error("the header does not tell")
	}
}

// Statements of any size fit, and take nothing else along.
func TestLargeStatements(t *testing.T) {
	opt := options(t)
	opt.MaxSize = 4 << 20
	log := open(t, opt)
	var want []string
	for _, size := range []int{10, 300 << 10, 1 << 10, 3 << 20, 262_144, 5 << 20, 10} {
		text := strings.Repeat("SELECT '\x00'\n", size/11+1)[:size]
		want = append(want, text)
		put(t, log, &audit.Statement{Text: text})
	}
	closeLog(t, log)
	if report := verify(t, opt.Path); !report.OK() || report.Files < 2 {
		t.Fatalf("%v, %d files", report.Fault, report.Files)
	}
	for i, r := range records(t, audit.Filter{Types: []string{"statement"}}, opt.Path) {
		if r.Statement != want[i] {
			t.Errorf("statement %d of %d bytes came back with %d", i, len(want[i]), len(r.Statement))
		}
	}
}

// JSON has no number for what a validator may give.
func TestScoresThatAreNoNumbers(t *testing.T) {
	opt := options(t)
	log := open(t, opt)
	put(t, log, &audit.Intent{Validators: []audit.Validator{{Score: math.NaN()}, {Score: math.Inf(1)}, {Score: 0.5}}})
	closeLog(t, log)
	line := lines(t, opt.Path)[1]
	if !json.Valid([]byte(line)) || strings.Count(line, `"score":null`) != 2 || !strings.Contains(line, `"score":0.5`) {
		t.Error(line)
	}
}

// A string comes back as it was, and a line is one line and harmless. The oracle
// is encoding/json, which ParseRecord uses.
func FuzzStrings(f *testing.F) {
	for _, s := range []string{"", "plain", "a\nb\t\"c\\", "\x1b[2J\x7f\u0085\u2028", "\xff\xfe", "日本\u202e語", `","prev":"`, `"hash":"`} {
		f.Add(s)
	}
	opt := audit.Options{Path: f.TempDir() + "/audit.jsonl", Redact: asIs, Logger: func(err error) { f.Error(err) }}
	log, err := audit.Open(opt)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = log.Close(context.Background()) })
	f.Fuzz(func(t *testing.T, s string) {
		if err := log.WriteSync(context.Background(), &audit.Failure{Message: s}); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(opt.Path)
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
		line := all[len(all)-1]
		r, err := audit.ParseRecord([]byte(line))
		if err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if want := string([]rune(s)); r.Message != want { // each byte that is not UTF-8 is one U+FFFD
			t.Errorf("%q came back as %q", s, r.Message)
		}
		for i := range len(line) {
			if line[i] < ' ' || line[i] == 0x7f {
				t.Fatalf("control character %#x in %s", line[i], line)
			}
		}
		if len(data) > 1<<20 {
			if err := os.Truncate(opt.Path, 0); err != nil {
				t.Fatal(err)
			}
		}
	})
}
