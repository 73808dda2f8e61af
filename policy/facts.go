// Package policy decides. It is pure: it takes what a statement would do
// (Facts), on whose behalf (Agent) and under which policy (Set), and returns a
// Decision. It does no I/O, keeps no state, never looks at a clock.
package policy

import (
	"slices"

	"github.com/pgairlock/pgairlock/policy/catalog"
)

// Kind is what one statement is, in PostgreSQL's own words.
type Kind string

// The kinds of statement. Whatever is not one of the others is KindOther and
// is refused.
const (
	KindEmpty       Kind = "empty"
	KindSelect      Kind = "select" // also VALUES and TABLE
	KindInsert      Kind = "insert"
	KindUpdate      Kind = "update"
	KindDelete      Kind = "delete"
	KindMerge       Kind = "merge"
	KindCopyTo      Kind = "copy to"
	KindCopyFrom    Kind = "copy from"
	KindExplain     Kind = "explain"
	KindPrepare     Kind = "prepare"
	KindExecute     Kind = "execute"
	KindDeallocate  Kind = "deallocate"
	KindDeclare     Kind = "declare cursor"
	KindFetch       Kind = "fetch" // also MOVE
	KindClose       Kind = "close"
	KindTransaction Kind = "transaction" // BEGIN, COMMIT, ROLLBACK, SAVEPOINT, RELEASE, SET TRANSACTION
	KindSet         Kind = "set"         // SET and RESET
	KindShow        Kind = "show"
	KindDiscard     Kind = "discard"
	KindListen      Kind = "listen"
	KindUnlisten    Kind = "unlisten"
	KindNotify      Kind = "notify"
	KindLock        Kind = "lock"
	KindTruncate    Kind = "truncate"
	KindCall        Kind = "call"
	KindDo          Kind = "do"
	KindDDL         Kind = "ddl"
	KindMaintenance Kind = "maintenance" // VACUUM, ANALYZE, CLUSTER, REINDEX, CHECKPOINT, REFRESH, LOAD
	KindOther       Kind = "other"
)

// Command is one of the data commands, with PostgreSQL's own names; rules
// match on them. A statement with a data-modifying CTE has several.
type Command string

// The commands.
const (
	Select Command = "select"
	Insert Command = "insert"
	Update Command = "update"
	Delete Command = "delete"
	Merge  Command = "merge"
)

// Risk is how much a statement can cost.
type Risk uint8

// Risk levels, in rising order.
const (
	L0Read         Risk = iota // l0_read
	L1Append                   // l1_append: INSERT without ON CONFLICT DO UPDATE
	L2Modify                   // l2_modify: UPDATE, MERGE, upsert
	L3Critical                 // l3_critical: marked by policy; UPDATE or DELETE without WHERE
	L4Irreversible             // l4_irreversible: DELETE, TRUNCATE, DDL, DO, CALL
)

var riskNames = [...]string{"l0_read", "l1_append", "l2_modify", "l3_critical", "l4_irreversible"}

// String is the level's name in policy files and records.
func (r Risk) String() string {
	if int(r) < len(riskNames) {
		return riskNames[r]
	}
	return "unknown"
}

// RiskNames lists the levels' names, in rising order.
func RiskNames() []string { return slices.Clone(riskNames[:]) }

// Privilege is a set of what is done to a relation or column.
type Privilege uint8

// The privileges, PostgreSQL's own.
const (
	Read Privilege = 1 << iota
	Insertion
	Updating
	Deletion
	Truncation
	Locking // SELECT … FOR UPDATE/SHARE, LOCK TABLE
)

// Facts is what one statement would do, established from its parse tree and
// the catalog. Whatever could not be established is in Problems, and a
// statement with a problem is never allowed.
//
// Facts of a statement that wraps another (EXPLAIN, PREPARE, DECLARE, COPY of a
// query, EXECUTE) hold those of the inner one too, and Inner says its kind.
type Facts struct {
	Kind     Kind
	Tag      string // as a person would name it: "CREATE TABLE", "EXPLAIN"
	Inner    Kind   // kind of the wrapped statement; "" if none
	Commands []Command
	Risk     Risk
	RedLine  string // why no policy can allow it; "" if one could

	Relations []RelationUse
	Columns   []ColumnUse
	Functions []FunctionUse
	Operators []OperatorUse
	Types     []TypeUse
	Settings  []SettingUse
	Problems  []Problem

	Analyze      bool     // EXPLAIN ANALYZE: the inner statement is executed
	Explain      []string // EXPLAIN's options, lower case, in order
	WithoutWhere bool     // an UPDATE or DELETE without WHERE
	WithHold     bool     // DECLARE … WITH HOLD
	Name         string   // of the prepared statement, cursor, savepoint or channel
	ReturnsRows  bool     // the statement's answer has rows
	Copy         CopyVia
	CopyHeader   bool // COPY TO with a header line, which is no row
	CopyBinary   bool // COPY in binary format, which ends with a trailer that is no row
	Params       int  // highest $n
}

// CopyVia is where COPY moves data.
type CopyVia string

// Ways of COPY.
const (
	CopyNone    CopyVia = ""
	CopyStdio   CopyVia = "stdio"
	CopyFile    CopyVia = "file"
	CopyProgram CopyVia = "program"
)

// RelationUse is a relation that the statement names.
type RelationUse struct {
	Relation *catalog.Relation // never nil: unresolved names are Problems
	Needs    Privilege
	Pos      int // byte offset in the text, -1 if there is none
}

// ColumnUse is a column of a base relation or view that the statement's result
// or effect depends on. Whole rows, `*`, NATURAL and USING are written out.
type ColumnUse struct {
	Relation *catalog.Relation
	Column   string // "" never; system columns by their names (ctid, xmin, tableoid …)
	Needs    Privilege
	Via      ColumnVia
	Pos      int
}

// ColumnVia is how a column came to be used; it shapes the hint.
type ColumnVia string

// Ways to use a column.
const (
	ByName     ColumnVia = ""
	ByStar     ColumnVia = "*"
	ByWholeRow ColumnVia = "whole row"
	ByJoin     ColumnVia = "join" // NATURAL or USING
	BySystem   ColumnVia = "system"
)

// FunctionUse is a function that may run. Where overload resolution can't be
// decided here, Candidates holds every function that could be the one: each of
// them has to be allowed.
type FunctionUse struct {
	Name       string // as written
	Candidates []*catalog.Function
	Via        string // "call", "attribute", "operator", "cast", "domain", "sample", "aggregate"
	Pos        int
}

// OperatorUse is an operator outside pg_catalog that may be chosen.
type OperatorUse struct {
	Name       string
	Candidates []*catalog.Operator
	Pos        int
}

// TypeUse is a type that the statement names.
type TypeUse struct {
	Type *catalog.Type
	Pos  int
}

// SettingOp is what is done with a setting.
type SettingOp string

// Operations on settings.
const (
	SetSession SettingOp = "set"
	SetLocal   SettingOp = "set local"
	Reset      SettingOp = "reset"
	ResetAll   SettingOp = "reset all"
	ShowOne    SettingOp = "show"
	ShowAll    SettingOp = "show all"
)

// SettingUse is a configuration parameter that is read or changed, by SET,
// RESET, SHOW, transaction modes, set_config or current_setting.
type SettingUse struct {
	Name    string // lower case
	Op      SettingOp
	Value   string   // the value as SHOW would take it; lists joined with ", "
	Values  []string // list elements (search_path, DateStyle)
	Literal bool     // Value is a constant; false: computed, and so unknown
	Default bool     // SET … TO DEFAULT
	Pos     int
}

// Problem is something that could not be established or that does not exist.
// It forbids the statement, whatever the policy says; observe mode lets those
// pass whose Server is true, since the server itself will answer with an error.
type Problem struct {
	Rule     string // stable id, e.g. "unmapped-node", "unresolved-relation"
	SQLSTATE string
	Message  string // as PostgreSQL would word it, where it has words for it
	Name     string // the object, for the nearest-name hint
	Hint     string
	Server   bool // the server would refuse it with the same SQLSTATE
	Pos      int  // byte offset, -1 if there is none
}
