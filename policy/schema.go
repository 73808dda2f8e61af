package policy

import "github.com/pgairlock/pgairlock/internal/strictyaml"

// This file is the language of policy.yaml: its Go types, from which the strict
// reader and docs/policy.schema.json are made. Keys marked later are part of
// the language and refused until their behaviour is built.

type policyFile struct {
	Version       strictyaml.Located[int]       `yaml:"version" required:"true" doc:"Version of this file's language: 1."`
	Mode          Mode                          `yaml:"mode" doc:"From which risk level a person is needed. Default: balanced."`
	Groups        strictyaml.Map[groupWords]    `yaml:"groups" doc:"Permissions that agents share. What a group says adds to what its agents say themselves."`
	Agents        strictyaml.Map[agentWords]    `yaml:"agents" required:"true" doc:"The agents by the name they log in with."`
	Validators    strictyaml.Map[validatorWord] `yaml:"validators" later:"true" doc:"Services that judge a change before it is committed."`
	SecretColumns []strictyaml.Located[string]  `yaml:"secret_columns" doc:"Columns, as schema.table.column, whose values are never written out in clear: not in diffs, not in the audit log."`
	Rules         []ruleWords                   `yaml:"rules" doc:"What is refused or counts as riskier. A rule only ever restricts; the order of rules does not matter."`
}

// permissionWords are the keys that groups and agents share.
type permissionWords struct {
	tables     strictyaml.Map[tableWords]
	functions  []strictyaml.Located[string]
	extensions []strictyaml.Located[string]
	operators  []strictyaml.Located[string]
	types      []strictyaml.Located[string]
}

type groupWords struct {
	Tables     strictyaml.Map[tableWords]   `yaml:"tables" doc:"What may be done with which tables: schema.name, schema.prefix* or schema.*."`
	Functions  []strictyaml.Located[string] `yaml:"functions" doc:"Functions on top of the built-in safe list: schema.name(type, type), or schema.name for all of that name."`
	Extensions []strictyaml.Located[string] `yaml:"extensions" doc:"Extensions whose functions, operators and types may be used, by pgairlock's vetted list."`
	Operators  []strictyaml.Located[string] `yaml:"operators" doc:"Operators outside pg_catalog: schema.op(type, type), or schema.op for all of that name."`
	Types      []strictyaml.Located[string] `yaml:"types" doc:"Types that would be refused otherwise: schema.name."`
}

func (g *groupWords) permissions() permissionWords {
	return permissionWords{g.Tables, g.Functions, g.Extensions, g.Operators, g.Types}
}

type agentWords struct {
	At                strictyaml.Pos
	Password          *strictyaml.SecretRef                      `yaml:"password" doc:"The secret the agent logs in with (a password or a SCRAM verifier), as secret:NAME."`
	Certificate       *certificateWords                          `yaml:"certificate" doc:"The client certificate the agent logs in with, instead of a password."`
	Databases         strictyaml.Map[strictyaml.Located[string]] `yaml:"databases" required:"true" doc:"The databases the agent may reach, each with the upstream role it is given there."`
	Access            strictyaml.Located[Access]                 `yaml:"access" required:"true" doc:"What kind of agent it is."`
	UnsafePassthrough strictyaml.Located[bool]                   `yaml:"unsafe_passthrough" doc:"Only with access: observe. Red lines and unparseable text are recorded, not refused. For compatibility tests."`
	Groups            []strictyaml.Located[string]               `yaml:"groups" doc:"Groups whose permissions the agent has."`
	SearchPath        []strictyaml.Located[string]               `yaml:"search_path" doc:"The schemas unqualified names are looked for in, and the only ones SET search_path may name. Default: [public]."`
	Metadata          Metadata                                   `yaml:"metadata" doc:"How much of the system catalogs the agent may read. Default: all."`
	Tables            strictyaml.Map[tableWords]                 `yaml:"tables" doc:"What may be done with which tables: schema.name, schema.prefix* or schema.*."`
	Functions         []strictyaml.Located[string]               `yaml:"functions" doc:"Functions on top of the built-in safe list: schema.name(type, type), or schema.name for all of that name."`
	Extensions        []strictyaml.Located[string]               `yaml:"extensions" doc:"Extensions whose functions, operators and types may be used, by pgairlock's vetted list."`
	Operators         []strictyaml.Located[string]               `yaml:"operators" doc:"Operators outside pg_catalog: schema.op(type, type), or schema.op for all of that name."`
	Types             []strictyaml.Located[string]               `yaml:"types" doc:"Types that would be refused otherwise: schema.name."`
	Settings          settingsWords                              `yaml:"settings" doc:"Configuration parameters the agent may change on top of the built-in ones."`
	Copy              copyWords                                  `yaml:"copy" doc:"What COPY may do."`
	Limits            limitsWords                                `yaml:"limits" doc:"The agent's budgets."`
	Validators        []string                                   `yaml:"validators" later:"true" doc:"Validators that judge the agent's changes."`
	Breaker           breakerWords                               `yaml:"breaker" later:"true" doc:"When the agent's writes are paused."`
	Hold              holdWords                                  `yaml:"hold" later:"true" doc:"How long a write waits for how many people."`
	Shadow            shadowWords                                `yaml:"shadow" later:"true" doc:"The agent's own rows, kept apart from production's."`
}

func (a *agentWords) permissions() permissionWords {
	return permissionWords{a.Tables, a.Functions, a.Extensions, a.Operators, a.Types}
}

type certificateWords struct {
	CommonName strictyaml.Located[string] `yaml:"common_name" required:"true" doc:"The certificate's common name (CN)."`
}

type settingsWords struct {
	Free []strictyaml.Located[string] `yaml:"free" doc:"Names of parameters the agent may set to any value."`
}

type copyWords struct {
	ToStdout CopyMode `yaml:"to_stdout" doc:"COPY … TO STDOUT. Default: off."`
}

type limitsWords struct {
	Rows                *strictyaml.Limit[strictyaml.Count]    `yaml:"rows" doc:"Rows of one answer. Default: 1000."`
	Bytes               *strictyaml.Limit[strictyaml.Size]     `yaml:"bytes" doc:"Bytes of row data of one answer. Default: 16MiB."`
	StatementTimeout    *strictyaml.Limit[strictyaml.Duration] `yaml:"statement_timeout" doc:"How long one statement may run. Default: 30s."`
	LockTimeout         *strictyaml.Limit[strictyaml.Duration] `yaml:"lock_timeout" doc:"How long a statement may wait for a lock. Default: 5s."`
	IdleInTransaction   *strictyaml.Limit[strictyaml.Duration] `yaml:"idle_in_transaction" doc:"How long a transaction may stay open without a statement. Default: 60s."`
	Sessions            *strictyaml.Limit[strictyaml.Count]    `yaml:"sessions" doc:"Sessions at a time. Default: 20."`
	Concurrent          *strictyaml.Limit[strictyaml.Count]    `yaml:"concurrent" doc:"Statements running at a time, over all sessions. Default: 10."`
	StatementsPerMinute *strictyaml.Limit[strictyaml.Count]    `yaml:"statements_per_minute" later:"true" doc:"Statements a minute."`
	SessionRows         *strictyaml.Limit[strictyaml.Count]    `yaml:"session_rows" later:"true" doc:"Rows of one session."`
	SessionBytes        *strictyaml.Limit[strictyaml.Size]     `yaml:"session_bytes" later:"true" doc:"Bytes of row data of one session."`
	Cost                *strictyaml.Limit[strictyaml.Count]    `yaml:"cost" later:"true" doc:"The planner's cost estimate of one statement."`
}

type validatorWord struct {
	URL     string              `yaml:"url" doc:"Where the validator is asked."`
	Timeout strictyaml.Duration `yaml:"timeout" doc:"How long it may take."`
	Pass    string              `yaml:"pass" doc:"The score from which a change passes."`
	Refuse  string              `yaml:"refuse" doc:"The score below which a change is refused."`
}

type breakerWords struct {
	After strictyaml.Count    `yaml:"after" doc:"Rejections in a row that open it."`
	For   strictyaml.Duration `yaml:"for" doc:"How long it stays open."`
	Reset string              `yaml:"reset" doc:"manual or automatic."`
}

type holdWords struct {
	For       strictyaml.Duration `yaml:"for" doc:"After that long a held write is refused."`
	Approvers strictyaml.Count    `yaml:"approvers" doc:"People who must approve."`
}

type shadowWords struct {
	Kind    string              `yaml:"kind" doc:"overlay or own."`
	Tables  []string            `yaml:"tables" doc:"The tables that are shadowed."`
	MaxRows strictyaml.Count    `yaml:"max_rows" doc:"Rows a session may shadow."`
	MaxAge  strictyaml.Duration `yaml:"max_age" doc:"How long a shadow session lives."`
}

type ruleWords struct {
	At      strictyaml.Pos
	Name    strictyaml.Located[string] `yaml:"name" required:"true" doc:"The rule's name, as records and refusals show it."`
	Match   matchWords                 `yaml:"match" required:"true" doc:"Which statements it is about: all conditions given must hold."`
	Verdict *RuleVerdict               `yaml:"verdict" doc:"What happens to them."`
	Risk    *RuleRisk                  `yaml:"risk" doc:"The risk level they have at least."`
	Check   string                     `yaml:"check" later:"true" doc:"An SQL condition over old and new that every changed row must meet."`
	Enforce *bool                      `yaml:"enforce" doc:"false: only recorded as what would have happened. Default: true."`
}

type matchWords struct {
	At           strictyaml.Pos
	Agents       []strictyaml.Located[string]      `yaml:"agents" doc:"One of these agents."`
	Tables       []strictyaml.Located[string]      `yaml:"tables" doc:"It uses one of these tables: schema.name, schema.prefix* or schema.*."`
	Commands     []strictyaml.Located[CommandWord] `yaml:"commands" doc:"It is one of these commands; with tables, on one of them."`
	Columns      []strictyaml.Located[string]      `yaml:"columns" doc:"It uses one of these columns of the tables."`
	Functions    []strictyaml.Located[string]      `yaml:"functions" doc:"It may call one of these functions."`
	WithoutWhere *strictyaml.Located[bool]         `yaml:"without_where" doc:"true: an UPDATE or DELETE without WHERE."`
	RowsChanged  *struct {
		Over strictyaml.Count `yaml:"over" doc:"More rows than that."`
	} `yaml:"rows_changed" later:"true" doc:"It changes more rows than given."`
}

// Mode says from which risk level a person is needed.
type Mode string

// Modes.
const (
	Strict     Mode = "strict"
	Balanced   Mode = "balanced"
	Permissive Mode = "permissive"
)

// Values are the words of the policy file.
func (Mode) Values() []strictyaml.EnumValue {
	return []strictyaml.EnumValue{
		{Name: string(Strict), Doc: "From l1_append on."},
		{Name: string(Balanced), Doc: "From l3_critical on."},
		{Name: string(Permissive), Doc: "For l4_irreversible only."},
	}
}

// Values are the words of the policy file.
func (Access) Values() []strictyaml.EnumValue {
	return []strictyaml.EnumValue{
		{Name: string(ReadOnly), Doc: "Reads what the policy lists, within limits; every write is refused."},
		{Name: string(Observe), Doc: "Everything is judged and recorded; only red lines and text that can't be read are refused."},
		{Name: string(DryRunAccess), Doc: "Writes are run, shown and rolled back.", Later: true},
		{Name: string(Guarded), Doc: "Writes are previewed, judged and then committed.", Later: true},
		{Name: string(Shadow), Doc: "Writes go to the session's own rows.", Later: true},
	}
}

// Values are the words of the policy file.
func (Metadata) Values() []strictyaml.EnumValue {
	return []strictyaml.EnumValue{
		{Name: string(MetadataAll), Doc: "Names, types and definitions of everything in the database; no data, no secrets."},
		{Name: string(MetadataNone), Doc: "No system catalogs at all."},
		{Name: string(MetadataAllowed), Doc: "Only what is about the agent's own tables.", Later: true},
	}
}

// CopyMode says whether COPY … TO STDOUT is open.
type CopyMode string

// Values are the words of the policy file.
func (CopyMode) Values() []strictyaml.EnumValue {
	return []strictyaml.EnumValue{
		{Name: "off", Doc: "Refused."},
		{Name: "limited", Doc: "Allowed within the agent's limits."},
	}
}

// RuleVerdict is what a rule does to a statement.
type RuleVerdict string

// Values are the words of the policy file.
func (RuleVerdict) Values() []strictyaml.EnumValue {
	return []strictyaml.EnumValue{
		{Name: "deny", Doc: "Refused."},
		{Name: "hold", Doc: "Held for a person.", Later: true},
		{Name: "dry_run", Doc: "Run, shown and rolled back.", Later: true},
	}
}

// RuleRisk is a risk level's name.
type RuleRisk string

// Values are the words of the policy file.
func (RuleRisk) Values() []strictyaml.EnumValue {
	list := make([]strictyaml.EnumValue, len(riskNames))
	for i, name := range riskNames {
		list[i] = strictyaml.EnumValue{Name: name}
	}
	return list
}

// CommandWord is a command's name.
type CommandWord string

// Values are the words of the policy file.
func (CommandWord) Values() []strictyaml.EnumValue {
	var list []strictyaml.EnumValue
	for _, c := range []Command{Select, Insert, Update, Delete, Merge} {
		list = append(list, strictyaml.EnumValue{Name: string(c)})
	}
	return list
}

// Schema is the JSON Schema of policy files.
func Schema() ([]byte, error) {
	return strictyaml.Schema("https://github.com/pgairlock/pgairlock/docs/policy.schema.json", "pgairlock policy", policyFile{})
}
