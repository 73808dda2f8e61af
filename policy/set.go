package policy

import "time"

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
	Digest string // hex SHA-256 of the policy's canonical form
	agents map[string]*Agent
}

// Agent finds an agent by the name it logs in with.
func (s *Set) Agent(name string) (*Agent, bool) {
	a, ok := s.agents[name]
	return a, ok
}

// Agent is one agent's compiled permissions. It is immutable and belongs to
// one Set.
type Agent struct {
	Name              string
	Access            Access
	UnsafePassthrough bool              // observe only: red lines too are only recorded
	Password          string            // name of the secret, without "secret:"
	CertificateName   string            // common name of the client certificate, "" if it logs in by password
	Databases         map[string]string // database → upstream role
	SearchPath        []string
	Metadata          Metadata
	Limits            Limits
}

// Limits are an agent's budgets; zero means the default was switched off
// explicitly and there is no limit.
type Limits struct {
	Rows              int64
	Bytes             int64
	StatementTimeout  time.Duration
	LockTimeout       time.Duration
	IdleInTransaction time.Duration
	Sessions          int
	Concurrent        int
}
