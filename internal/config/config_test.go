package config_test

import (
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pgairlock/pgairlock/internal/config"
	"github.com/pgairlock/pgairlock/internal/secret"
	"github.com/pgairlock/pgairlock/policy"
)

var update = flag.Bool("update", false, "write docs/pgairlock.schema.json anew")

const good = `listen: {tcp: 127.0.0.1:6432, unix: ./run}
tls: {certificate: server.crt, key: /etc/ssl/server.key, client_ca: ca.crt}
databases:
  shop:
    server: "host=db1,db2 dbname=shop sslmode=verify-full"
    max_connections: 80
    roles:
      reader: {user: airlock_reader, password: secret:reader}
      old: {user: postgres, accept_role_that_can_write: true}
secrets:
  reader: {file: secrets/reader}
  agent: {env: AGENT_PASSWORD}
  vault: {command: [vault, kv, get, kv/x], timeout: 3s}
policy: policy.yaml
audit: {file: audit.jsonl, sync: [l4_irreversible], statements: full, checkpoint_key: secret:vault, keep: 90d, max_size: 64MiB}
log: {level: warn}
metrics: {listen: 127.0.0.1:9432}
admin: {socket: run/admin.sock, pprof: true}
shutdown: {drain: 30s}
`

func TestLoad(t *testing.T) {
	got, err := config.Load("/etc/pgairlock/pgairlock.yaml", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	shop := got.Databases["shop"]
	if shop.At.Line != 5 {
		t.Errorf("server at %s", shop.At)
	}
	want := &config.Config{
		File:   "/etc/pgairlock/pgairlock.yaml",
		Listen: config.Listen{TCP: "127.0.0.1:6432", Unix: "/etc/pgairlock/run"},
		TLS: &config.TLS{Certificate: "/etc/pgairlock/server.crt", Key: "/etc/ssl/server.key", ClientCA: "/etc/pgairlock/ca.crt",
			MinVersion: "1.2", Required: true},
		Databases: map[string]config.Database{"shop": {
			Server: "host=db1,db2 dbname=shop sslmode=verify-full", MaxConnections: 80, At: shop.At,
			Roles: map[string]config.Role{
				"reader": {User: "airlock_reader", Password: "reader"},
				"old":    {User: "postgres", AcceptWrites: true},
			},
		}},
		Secrets: map[string]secret.Source{
			"reader": {File: "/etc/pgairlock/secrets/reader"},
			"agent":  {Env: "AGENT_PASSWORD"},
			"vault":  {Command: []string{"vault", "kv", "get", "kv/x"}, Timeout: 3 * time.Second},
		},
		Policy: "/etc/pgairlock/policy.yaml",
		Audit: config.Audit{File: "/etc/pgairlock/audit.jsonl", Sync: []policy.Risk{policy.L4Irreversible}, CheckpointKey: "vault",
			Keep: 90 * 24 * time.Hour, MaxSize: 64 << 20},
		Log: "warn", Metrics: "127.0.0.1:9432", Admin: config.Admin{Socket: "/etc/pgairlock/run/admin.sock", Pprof: true}, Drain: 30 * time.Second,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

const small = `listen: {tcp: 127.0.0.1:6432}
databases: {shop: {server: host=db1, roles: {reader: {user: r}}}}
policy: policy.yaml
audit: {file: audit.jsonl}
`

func TestDefaults(t *testing.T) {
	got, err := config.Load("pgairlock.yaml", []byte(small))
	if err != nil {
		t.Fatal(err)
	}
	if got.TLS != nil || got.Policy != "policy.yaml" || got.Log != "info" || !got.Audit.RedactLiterals ||
		got.Metrics != "" || got.Admin != (config.Admin{Socket: "audit.jsonl.sock", Default: true}) || got.Drain != 5*time.Second ||
		!reflect.DeepEqual(got.Audit.Sync, []policy.Risk{policy.L3Critical, policy.L4Irreversible}) || got.Audit.Keep != 0 {
		t.Errorf("%+v", got)
	}
}

func TestFaults(t *testing.T) {
	for _, c := range []struct{ name, from, to, want string }{
		{"nowhere", "{tcp: 127.0.0.1:6432}", "{}", "c:1:9: listen nowhere"},
		{"no port", "127.0.0.1:6432", "localhost", "c:1:15: want host:port"},
		{"no database", "{shop: {server: host=db1, roles: {reader: {user: r}}}}", "{}", "there is no database"},
		{"no role", "{reader: {user: r}}", "{}", `database "shop" has no role`},
		{"password in the string", "host=db1", `"host=db1 password=hunter2"`, "password does not belong into the connection string"},
		{"spaced password in the string", "host=db1", `"host=db1 password = hunter2"`, "password does not belong"},
		{"password in the URL", "host=db1", `"postgres://u:hunter2@db1/shop"`, "user or password does not belong"},
		{"password in the URL's query", "host=db1", `"postgres://db1/shop?password=hunter2"`, "password does not belong"},
		{"broken URL", "host=db1", `"postgres://u:hunter2 %zz@db1"`, "no URL"},
		{"user in the string", "host=db1", `"host=db1 user=me"`, "user does not belong"},
		{"password in clear", "{user: r}", "{user: r, password: hunter2}", "a secret in clear text"},
		{"no such secret", "{user: r}", "{user: r, password: secret:x}", `there is no secret "x" under secrets`},
		{"two sources", "policy:", "secrets: {x: {env: A, file: b}}\npolicy:", "secret x: needs exactly one of env, file and command, has 2"},
		{"no source", "policy:", "secrets: {x: {}}\npolicy:", "has 0"},
		{"bad name", "policy:", "secrets: {\"a b\": {env: A}}\npolicy:", "a secret's name has"},
		{"console to come", "policy:", "console: {listen: x}\npolicy:", `key "console" is not supported in this version`},
		{"store to come", "policy:", "store: {sqlite: x}\npolicy:", `key "store" is not supported in this version`},
		{"notify to come", "policy:", "notify: []\npolicy:", `key "notify" is not supported in this version`},
		{"metrics nowhere", "policy:", "metrics: {}\npolicy:", `key "listen" is missing`},
		{"metrics without a port", "policy:", "metrics: {listen: localhost}\npolicy:", "c:3:19: want host:port, such as 127.0.0.1:9432"},
		{"empty socket", "policy:", "admin: {socket: \"\"}\npolicy:", "an empty path"},
		{"drain without a unit", "policy:", "shutdown: {drain: 30}\npolicy:", "c:3:19: want a duration"},
		{"no audit", "audit: {file: audit.jsonl}", "", `key "audit" is missing`},
		{"empty path", "policy: policy.yaml", "policy: \"\"", "c:3:9: an empty path"},
		{"unknown level", "audit: {file: audit.jsonl}", "audit: {file: a, sync: [l5]}", "want one of l0_read"},
		{"version without quotes", "policy:", "tls: {certificate: a, key: b, min_version: 1.2}\npolicy:", "want one of 1.2, 1.3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := strings.Replace(small, c.from, c.to, 1)
			if src == small {
				t.Fatal("the fault was not put in")
			}
			_, err := config.Load("c", []byte(src))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v\nwant %s", err, c.want)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("repeats the secret: %v", err)
			}
		})
	}
}

func TestFit(t *testing.T) {
	c, err := config.Load("pgairlock.yaml", []byte(small+"secrets: {here: {env: X}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	fit := func(agent string) error {
		set, err := policy.Load("policy.yaml", []byte("version: 1\nagents:\n  a: {"+agent+", access: read_only}\n"))
		if err != nil {
			t.Fatal(err)
		}
		return c.Fit(set)
	}
	if err := fit("password: secret:here, databases: {shop: reader}"); err != nil {
		t.Errorf("a policy that fits: %v", err)
	}
	for _, f := range []struct{ agent, want string }{
		{"password: secret:gone, databases: {shop: reader}", `policy.yaml:3:3: agent "a": there is no secret "gone" in pgairlock.yaml`},
		{"certificate: {common_name: a}, databases: {shop: reader}", "it logs in with a certificate, but pgairlock.yaml has no tls"},
		{"password: secret:here, databases: {stock: reader}", `there is no database "stock"`},
		{"password: secret:here, databases: {shop: writer}", `database "shop" has no role "writer"`},
	} {
		if err := fit(f.agent); err == nil || !strings.Contains(err.Error(), f.want) {
			t.Errorf("got %v\nwant %s", err, f.want)
		}
	}
}

func TestSchemaFile(t *testing.T) {
	const file = "../../docs/pgairlock.schema.json"
	want, err := config.Schema()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Fatalf("%s is not what the Go types say: go test ./internal/config -run TestSchemaFile -update", file)
	}
}

// TestExampleOfTheManual loads the pgairlock.yaml in docs/POLICY.md.
func TestExampleOfTheManual(t *testing.T) {
	text, err := os.ReadFile("../../docs/POLICY.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, ok := strings.Cut(string(text), "```yaml\nlisten:")
	if !ok {
		t.Fatal("docs/POLICY.md shows no pgairlock.yaml")
	}
	example, _, _ := strings.Cut(after, "```")
	if _, err := config.Load("pgairlock.yaml", []byte("listen:"+example)); err != nil {
		t.Error(err)
	}
}
