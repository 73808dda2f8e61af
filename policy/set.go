package policy

import (
	"maps"
	"slices"
	"time"

	"github.com/pgairlock/pgairlock/internal/strictyaml"
	"github.com/pgairlock/pgairlock/policy/catalog"
)

// Access is what kind of agent it is.
type Access string

// Kinds of access.
const (
	ReadOnly     Access = "read_only"
	DryRunAccess Access = "dry_run"
	Guarded      Access = "guarded"
	Shadow       Access = "shadow"
	Observe      Access = "observe"
)

// Metadata is how much of the system catalogs an agent may read.
type Metadata string

// Levels of metadata.
const (
	MetadataNone    Metadata = "none"
	MetadataAllowed Metadata = "allowed"
	MetadataAll     Metadata = "all"
)

// Set is a whole compiled policy. It is immutable: a reload makes a new one.
type Set struct {
	Digest        string // hex SHA-256 of the policy file's bytes, as sha256sum prints it
	Mode          Mode
	SecretColumns []SecretColumn

	agents   map[string]*Agent
	mentions []mention // what the file names, for Warnings
}

// SecretColumn is a column whose values are never written out in clear.
type SecretColumn struct {
	Table  catalog.Name
	Column string
	at     strictyaml.Pos
}

// Agent finds an agent by the name it logs in with.
func (s *Set) Agent(name string) (*Agent, bool) {
	a, ok := s.agents[name]
	return a, ok
}

// Agents lists the agents by name.
func (s *Set) Agents() []*Agent {
	list := make([]*Agent, 0, len(s.agents))
	for _, name := range slices.Sorted(maps.Keys(s.agents)) {
		list = append(list, s.agents[name])
	}
	return list
}

// Agent is one agent's compiled permissions. It is immutable and belongs to
// one Set.
type Agent struct {
	Name              string
	At                strictyaml.Pos // where the policy file defines it
	Access            Access
	UnsafePassthrough bool              // observe only: red lines too are only recorded
	Password          string            // name of the secret, without "secret:"
	CertificateName   string            // common name of the client certificate, "" if it logs in by password
	Databases         map[string]string // database → upstream role
	SearchPath        []string
	Metadata          Metadata
	CopyToStdout      bool // COPY … TO STDOUT is open, within the limits
	Limits            Limits

	ref         *reference
	permissions []*permissions             // its own first, then its groups'
	tables      map[string][]*schemaTables // those of permissions, by schema
	settings    map[string]bool
	rules       []*rule // those that can match the agent's statements
}

// Limits are an agent's budgets; zero means no limit: switched off explicitly,
// or the agent is one that is only observed.
type Limits struct {
	Rows              int64 // of one answer
	Bytes             int64 // of row data of one answer
	StatementTimeout  time.Duration
	LockTimeout       time.Duration
	IdleInTransaction time.Duration
	Sessions          int // at a time
	Concurrent        int // statements running at a time, over all sessions
}

// permissions is what one agent or group says, compiled once.
type permissions struct {
	tables     tableSet
	functions  callableSet
	operators  callableSet
	extensions map[string]bool // names as in pg_extension
	types      map[catalog.Name]bool
}
