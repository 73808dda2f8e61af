// Package config reads pgairlock.yaml: how the proxy runs. It is pure; nothing
// is opened and no secret is fetched.
package config

import (
	"time"

	"github.com/pgairlock/pgairlock/internal/secret"
	"github.com/pgairlock/pgairlock/internal/strictyaml"
	"github.com/pgairlock/pgairlock/policy"
)

// Config is a whole configuration. Paths are absolute or relative to the
// working directory: those of the file were resolved against its folder.
type Config struct {
	File      string // name of the file it was read from
	Listen    Listen
	TLS       *TLS // nil: connections are not encrypted
	Databases map[string]Database
	Secrets   map[string]secret.Source
	Policy    string // path of the policy file
	Audit     Audit
	Log       LogLevel
	Metrics   string // host:port of metrics, liveness and readiness; "": they are not served
	Admin     Admin
	Drain     time.Duration // how long open transactions may go on when the proxy is told to stop
}

// Listen is where clients connect. At least one of the two is set.
type Listen struct {
	TCP  string // host:port
	Unix string // folder of the socket, as libpq's host parameter has it
}

// TLS is how client connections are encrypted.
type TLS struct {
	Certificate string // path, PEM
	Key         string // path, PEM
	ClientCA    string // path, PEM; "": no client certificates
	MinVersion  string // "1.2" or "1.3"
	Required    bool   // clients on TCP that don't ask for TLS are refused
}

// Database is a database behind the proxy.
type Database struct {
	Server         string // libpq connection string without user and password
	MaxConnections int    // upstream connections at a time; 0: no limit
	Roles          map[string]Role
	At             strictyaml.Pos // of Server, for errors of whoever parses it
}

// Role is an upstream login.
type Role struct {
	User     string
	Password string // name of the secret; "": the server asks for none
	// AcceptWrites serves read-only agents although the login can write.
	AcceptWrites bool
}

// Audit is where decisions are recorded.
type Audit struct {
	File           string        // path
	Sync           []policy.Risk // levels whose records are on disk before the statement's effect is
	RedactLiterals bool
	CheckpointKey  string        // name of the secret; "": checkpoints are not signed
	Keep           time.Duration // for how long finished files are kept; 0: for ever
	MaxSize        int64         // bytes of a file when a new one is begun; 0: the log's own default
}

// Admin is the local socket that pgairlock status asks.
type Admin struct {
	Socket  string // path
	Default bool   // the file does not name it
	Pprof   bool   // Go's profiles are served there
}

// LogLevel is from which level on the proxy's own log is written.
type LogLevel string

// Schema is the JSON Schema of configuration files.
func Schema() ([]byte, error) {
	return strictyaml.Schema("https://github.com/pgairlock/pgairlock/docs/pgairlock.schema.json", "pgairlock configuration", file{})
}
