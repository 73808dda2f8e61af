package config

import (
	"github.com/pgairlock/pgairlock/internal/strictyaml"
)

// This file is the language of pgairlock.yaml: its Go types, from which the
// strict reader and docs/pgairlock.schema.json are made.

type file struct {
	At        strictyaml.Pos
	Listen    listenWords                   `yaml:"listen" required:"true" doc:"Where clients connect."`
	TLS       *tlsWords                     `yaml:"tls" doc:"How client connections are encrypted."`
	Databases strictyaml.Map[databaseWords] `yaml:"databases" required:"true" doc:"The databases behind the proxy, by the name clients ask for."`
	Secrets   strictyaml.Map[secretWords]   `yaml:"secrets" doc:"Where each secret comes from. No secret is written in this file."`
	Policy    strictyaml.Located[string]    `yaml:"policy" required:"true" doc:"Path of the policy file."`
	Audit     auditWords                    `yaml:"audit" required:"true" doc:"Where decisions are recorded."`
	Log       logWords                      `yaml:"log" doc:"The proxy's own log, on standard error."`
	Store     storeWords                    `yaml:"store" later:"true" doc:"Where operations and approvals are kept."`
	Console   consoleWords                  `yaml:"console" later:"true" doc:"The operators' console."`
	Notify    []notifyWords                 `yaml:"notify" later:"true" doc:"Who is told when a write is held."`
	Metrics   *metricsWords                 `yaml:"metrics" doc:"Where metrics, liveness and readiness are read, over HTTP. Default: nowhere."`
	Admin     adminWords                    `yaml:"admin" doc:"The local socket that pgairlock status asks."`
	Shutdown  shutdownWords                 `yaml:"shutdown" doc:"How the proxy stops."`
}

type listenWords struct {
	At   strictyaml.Pos
	TCP  strictyaml.Located[string] `yaml:"tcp" doc:"host:port."`
	Unix strictyaml.Located[string] `yaml:"unix" doc:"Folder of the Unix socket."`
}

type tlsWords struct {
	Certificate strictyaml.Located[string] `yaml:"certificate" required:"true" doc:"Path of the server's certificate (PEM)."`
	Key         strictyaml.Located[string] `yaml:"key" required:"true" doc:"Path of its private key (PEM)."`
	ClientCA    strictyaml.Located[string] `yaml:"client_ca" doc:"Path of the authority (PEM) that signs the agents' certificates."`
	MinVersion  tlsVersion                 `yaml:"min_version" doc:"Default: \"1.2\"."`
	Required    *bool                      `yaml:"required" doc:"Whether clients on TCP must encrypt. Default: true."`
}

type databaseWords struct {
	Server         strictyaml.Located[string] `yaml:"server" required:"true" doc:"Connection string of the server (several hosts as libpq has them), without user and password."`
	MaxConnections *strictyaml.Count          `yaml:"max_connections" doc:"Upstream connections at a time. Default: no limit."`
	Roles          strictyaml.Map[roleWords]  `yaml:"roles" required:"true" doc:"Upstream logins, one for each kind of power."`
}

type roleWords struct {
	User         strictyaml.Located[string] `yaml:"user" required:"true" doc:"The role's name on the server."`
	Password     *strictyaml.SecretRef      `yaml:"password" doc:"Its password, as secret:NAME."`
	AcceptWrites bool                       `yaml:"accept_role_that_can_write" doc:"Serve read-only agents on this role although it can write. Default: false: they are refused."`
}

type secretWords struct {
	At      strictyaml.Pos
	Env     strictyaml.Located[string] `yaml:"env" doc:"The environment variable that holds it."`
	File    strictyaml.Located[string] `yaml:"file" doc:"The file that holds it, and nothing else."`
	Command []string                   `yaml:"command" doc:"The program, with its arguments, that prints it. No shell is involved."`
	Timeout *strictyaml.Duration       `yaml:"timeout" doc:"How long the program may take. Default: 10s."`
}

type auditWords struct {
	At            strictyaml.Pos
	File          strictyaml.Located[string] `yaml:"file" required:"true" doc:"Path of the current audit file."`
	Sync          []policyRisk               `yaml:"sync" doc:"Risk levels whose records are on disk before the statement takes effect. Default: l3_critical and l4_irreversible."`
	Statements    statementMode              `yaml:"statements" doc:"How statements are recorded. Default: literals_redacted."`
	CheckpointKey *strictyaml.SecretRef      `yaml:"checkpoint_key" doc:"The key that checkpoints are signed with, as secret:NAME."`
	Keep          *strictyaml.Duration       `yaml:"keep" doc:"For how long finished files are kept. Default: for ever."`
	MaxSize       *strictyaml.Size           `yaml:"max_size" doc:"A file's size when a new one is begun. Default: 128MiB."`
}

type logWords struct {
	Level LogLevel `yaml:"level" doc:"Default: info."`
}

type storeWords struct {
	SQLite   string `yaml:"sqlite" doc:"Path of the SQLite file."`
	Postgres string `yaml:"postgres" doc:"Connection string, for several proxies."`
}

type consoleWords struct {
	Listen string `yaml:"listen" doc:"host:port."`
}

type notifyWords struct {
	Webhook string                `yaml:"webhook" doc:"Where notices are posted."`
	Secret  *strictyaml.SecretRef `yaml:"secret" doc:"What they are signed with, as secret:NAME."`
}

type metricsWords struct {
	Listen strictyaml.Located[string] `yaml:"listen" required:"true" doc:"host:port. Nobody has to prove who it is: keep it on loopback or a network of the operators'."`
}

type adminWords struct {
	Socket strictyaml.Located[string] `yaml:"socket" doc:"Path of the Unix socket; only the proxy's own user can use it. Default: the audit file's path with .sock at its end."`
	Pprof  bool                       `yaml:"pprof" doc:"Serve Go's profiles there, too, under /debug/pprof/. Default: false."`
}

type shutdownWords struct {
	Drain *strictyaml.Duration `yaml:"drain" doc:"How long open transactions may go on when the proxy is told to stop. Default: 5s."`
}

type tlsVersion string

// Values are the words of the configuration file.
func (tlsVersion) Values() []strictyaml.EnumValue {
	return []strictyaml.EnumValue{{Name: "1.2"}, {Name: "1.3"}}
}

type statementMode string

// Values are the words of the configuration file.
func (statementMode) Values() []strictyaml.EnumValue {
	return []strictyaml.EnumValue{
		{Name: "literals_redacted", Doc: "With the literals taken out."},
		{Name: "full", Doc: "As they came; known secrets are still taken out."},
	}
}

// Values are the words of the configuration file.
func (LogLevel) Values() []strictyaml.EnumValue {
	return []strictyaml.EnumValue{{Name: "debug"}, {Name: "info"}, {Name: "warn"}, {Name: "error"}}
}

// policyRisk is a risk level's name.
type policyRisk string
