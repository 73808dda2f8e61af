package config

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pgairlock/pgairlock/internal/secret"
	"github.com/pgairlock/pgairlock/internal/strictyaml"
	"github.com/pgairlock/pgairlock/policy"
)

// Load reads a configuration. name is the file's path: errors show it, and the
// paths in the file are relative to its folder. The error holds every fault
// with its file:line:column (strictyaml.Errors).
func Load(name string, src []byte) (*Config, error) {
	var words file
	if err := strictyaml.Decode(name, src, &words); err != nil {
		return nil, err
	}
	l := &loader{dir: filepath.Dir(name), words: &words, config: &Config{File: name}}
	l.load()
	if err := l.errs.Err(); err != nil {
		return nil, err
	}
	return l.config, nil
}

type loader struct {
	dir    string
	words  *file
	config *Config
	errs   strictyaml.Errors
}

func (l *loader) fail(at strictyaml.Pos, format string, args ...any) {
	l.errs = append(l.errs, strictyaml.Error{Pos: at, Message: fmt.Sprintf(format, args...)})
}

// path resolves a path of the file against the file's folder.
func (l *loader) path(p strictyaml.Located[string]) string {
	switch {
	case p.Pos.Line == 0:
		return ""
	case p.Value == "":
		l.fail(p.Pos, "an empty path")
		return ""
	case filepath.IsAbs(p.Value):
		return filepath.Clean(p.Value)
	}
	return filepath.Join(l.dir, p.Value)
}

func (l *loader) load() {
	w, c := l.words, l.config
	l.listen()
	if w.TLS != nil {
		c.TLS = &TLS{Certificate: l.path(w.TLS.Certificate), Key: l.path(w.TLS.Key), ClientCA: l.path(w.TLS.ClientCA),
			MinVersion: string(w.TLS.MinVersion), Required: w.TLS.Required == nil || *w.TLS.Required}
		if c.TLS.MinVersion == "" {
			c.TLS.MinVersion = "1.2"
		}
	}
	c.Secrets = make(map[string]secret.Source, len(w.Secrets))
	for i := range w.Secrets {
		l.secret(&w.Secrets[i])
	}
	c.Databases = make(map[string]Database, len(w.Databases))
	if len(w.Databases) == 0 {
		l.fail(w.At, "there is no database")
	}
	for i := range w.Databases {
		l.database(&w.Databases[i])
	}
	c.Policy = l.path(w.Policy)
	l.audit()
	c.Log = w.Log.Level
	if c.Log == "" {
		c.Log = "info"
	}
	l.operations()
}

// defaultDrain is for how long open transactions may go on at the end where the
// file does not say.
const defaultDrain = 5 * time.Second

// operations reads what whoever runs the proxy looks at it with.
func (l *loader) operations() {
	w, c := l.words, l.config
	if w.Metrics != nil {
		c.Metrics = w.Metrics.Listen.Value
		l.address(w.Metrics.Listen, "127.0.0.1:9432")
	}
	c.Admin = Admin{Socket: l.path(w.Admin.Socket), Pprof: w.Admin.Pprof}
	if w.Admin.Socket.Pos.Line == 0 && c.Audit.File != "" {
		c.Admin.Socket, c.Admin.Default = c.Audit.File+".sock", true
	}
	c.Drain = defaultDrain
	if w.Shutdown.Drain != nil {
		c.Drain = time.Duration(*w.Shutdown.Drain)
	}
}

// address takes host:port.
func (l *loader) address(a strictyaml.Located[string], example string) {
	if _, port, err := net.SplitHostPort(a.Value); err != nil || port == "" {
		l.fail(a.Pos, "want host:port, such as %s", example)
	}
}

func (l *loader) listen() {
	w := &l.words.Listen
	l.config.Listen = Listen{TCP: w.TCP.Value, Unix: l.path(w.Unix)}
	if w.TCP.Value == "" && w.Unix.Value == "" {
		l.fail(w.At, "listen nowhere: give tcp, unix, or both")
	}
	if w.TCP.Value != "" {
		l.address(w.TCP, "127.0.0.1:6432")
	}
}

func (l *loader) secret(e *strictyaml.Entry[secretWords]) {
	w := &e.Value
	if !strictyaml.IsSecretName(e.Key) {
		l.fail(e.Pos, "a secret's name has at most 63 letters, digits, dots, dashes and underscores")
	}
	s := secret.Source{Env: w.Env.Value, File: l.path(w.File), Command: w.Command}
	if w.Timeout != nil {
		s.Timeout = time.Duration(*w.Timeout)
	}
	if err := s.Check(); err != nil {
		l.fail(w.At, "secret %s: %v", e.Key, err)
	}
	l.config.Secrets[e.Key] = s
}

// reference gives the name of a secret that the file must define.
func (l *loader) reference(ref *strictyaml.SecretRef) string {
	if ref == nil {
		return ""
	}
	if _, ok := l.words.Secrets.Get(ref.Name); !ok {
		msg := "there is no secret %q under secrets"
		if near, found := strictyaml.Nearest(ref.Name, l.words.Secrets.Keys()); found {
			msg += ": did you mean " + near + "?"
		}
		l.fail(ref.Pos, msg, ref.Name)
	}
	return ref.Name
}

func (l *loader) database(e *strictyaml.Entry[databaseWords]) {
	w := &e.Value
	db := Database{Server: w.Server.Value, At: w.Server.Pos, Roles: make(map[string]Role, len(w.Roles))}
	if w.MaxConnections != nil {
		db.MaxConnections = int(*w.MaxConnections)
	}
	if key := forbiddenKey(db.Server); key != "" {
		l.fail(w.Server.Pos, "%s does not belong into the connection string: roles say who logs in, and with which secret", key)
	}
	if len(w.Roles) == 0 {
		l.fail(e.Pos, "database %q has no role", e.Key)
	}
	for i := range w.Roles {
		r := &w.Roles[i]
		if r.Value.User.Value == "" {
			l.fail(r.Value.User.Pos, "an empty user")
		}
		db.Roles[r.Key] = Role{User: r.Value.User.Value, Password: l.reference(r.Value.Password), AcceptWrites: r.Value.AcceptWrites}
	}
	l.config.Databases[e.Key] = db
}

// forbiddenKeys are connection parameters that say who logs in, or hold
// secrets.
var forbiddenKeys = []string{"user", "password", "passfile", "sslpassword", "service", "servicefile"}

// forbiddenKey finds a parameter in a connection string that must not be there.
// What the string holds is not repeated.
func forbiddenKey(conninfo string) string {
	lower := strings.ToLower(conninfo)
	if !strings.HasPrefix(lower, "postgres://") && !strings.HasPrefix(lower, "postgresql://") {
		// a quoted value may hold such text too; then it is refused for nothing,
		// which is better than a password in the file
		for _, key := range forbiddenKeys {
			if slices.ContainsFunc(strings.FieldsFunc(lower, isSpace), func(s string) bool {
				return s == key || strings.HasPrefix(s, key+"=")
			}) {
				return key
			}
		}
		return ""
	}
	u, err := url.Parse(conninfo)
	if err != nil {
		return "something that is no URL"
	}
	if u.User != nil {
		return "user or password"
	}
	for _, key := range forbiddenKeys {
		if u.Query().Has(key) {
			return key
		}
	}
	return ""
}

func isSpace(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == '\r' }

func (l *loader) audit() {
	w := &l.words.Audit
	a := Audit{File: l.path(w.File), RedactLiterals: w.Statements != "full", CheckpointKey: l.reference(w.CheckpointKey),
		Sync: []policy.Risk{policy.L3Critical, policy.L4Irreversible}}
	if w.Keep != nil {
		a.Keep = time.Duration(*w.Keep)
	}
	if w.MaxSize != nil {
		a.MaxSize = int64(*w.MaxSize)
	}
	if w.Sync != nil {
		a.Sync = nil
		for _, r := range w.Sync {
			a.Sync = append(a.Sync, policy.Risk(slices.Index(policy.RiskNames(), string(r))))
		}
	}
	l.config.Audit = a
}

// Values are the words of the configuration file.
func (policyRisk) Values() []strictyaml.EnumValue {
	var list []strictyaml.EnumValue
	for _, name := range policy.RiskNames() {
		list = append(list, strictyaml.EnumValue{Name: name})
	}
	return list
}

// Fit tells whether all that a policy refers to is in the configuration: the
// agents' secrets, databases and roles. The error is of type strictyaml.Errors.
func (c *Config) Fit(set *policy.Set) error {
	var errs strictyaml.Errors
	for _, a := range set.Agents() {
		fail := func(format string, args ...any) {
			errs = append(errs, strictyaml.Error{Pos: a.At, Message: fmt.Sprintf("agent %q: ", a.Name) + fmt.Sprintf(format, args...)})
		}
		if _, ok := c.Secrets[a.Password]; a.Password != "" && !ok {
			fail("there is no secret %q in %s", a.Password, c.File)
		}
		if a.CertificateName != "" && (c.TLS == nil || c.TLS.ClientCA == "") {
			fail("it logs in with a certificate, but %s has no tls: {client_ca: …}", c.File)
		}
		for _, name := range slices.Sorted(maps.Keys(a.Databases)) {
			db, ok := c.Databases[name]
			if !ok {
				fail("there is no database %q in %s", name, c.File)
				continue
			}
			if _, ok := db.Roles[a.Databases[name]]; !ok {
				fail("database %q has no role %q in %s", name, a.Databases[name], c.File)
			}
		}
	}
	return errs.Err()
}
