package statement

import (
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/pgairlock/pgairlock/policy"
)

// definition reads the statements that are judged by their kind alone: data
// definition and maintenance.
func (a *analyzer) definition(n *pg_query.Node) bool {
	switch s := n.GetNode().(type) {
	case *pg_query.Node_CreateTableAsStmt:
		a.createTableAs(s.CreateTableAsStmt)
		return true
	case *pg_query.Node_ViewStmt:
		a.createView(s.ViewStmt)
		return true
	case *pg_query.Node_RefreshMatViewStmt:
		if s.RefreshMatViewStmt.Relation != nil {
			a.baseItem(s.RefreshMatViewStmt.Relation, policy.Updating)
		}
	case *pg_query.Node_ConstraintsSetStmt:
		a.f.Kind, a.f.Tag = policy.KindOther, "SET CONSTRAINTS"
		return true
	}
	d, ok := describe(n)
	if !ok {
		return false
	}
	a.f.Kind, a.f.Tag = policy.KindDDL, d.tag
	if d.maintenance {
		a.f.Kind = policy.KindMaintenance
	}
	a.risk(policy.L4Irreversible)
	if d.redLine != "" {
		a.redLine(d.redLine)
	}
	return true
}

// definitionTag is what a statement is, when nothing in it is looked at.
type definitionTag struct {
	tag         string
	redLine     string // why no policy can allow it
	maintenance bool
}

// describe tells what a statement is by its type of node.
func describe(n *pg_query.Node) (definitionTag, bool) {
	switch s := n.GetNode().(type) {
	case *pg_query.Node_DropStmt:
		what := objectName(s.DropStmt.RemoveType)
		return definitionTag{tag: "DROP " + what, redLine: objectRedLine(s.DropStmt.RemoveType)}, true
	case *pg_query.Node_RenameStmt:
		return alter(s.RenameStmt.RenameType), true
	case *pg_query.Node_AlterOwnerStmt:
		return alter(s.AlterOwnerStmt.ObjectType), true
	case *pg_query.Node_AlterObjectSchemaStmt:
		return alter(s.AlterObjectSchemaStmt.ObjectType), true
	case *pg_query.Node_AlterObjectDependsStmt:
		return alter(s.AlterObjectDependsStmt.ObjectType), true
	case *pg_query.Node_CommentStmt:
		return definitionTag{tag: "COMMENT", redLine: objectRedLine(s.CommentStmt.Objtype)}, true
	case *pg_query.Node_SecLabelStmt:
		return definitionTag{tag: "SECURITY LABEL", redLine: objectRedLine(s.SecLabelStmt.Objtype)}, true
	case *pg_query.Node_GrantStmt:
		tag := "REVOKE"
		if s.GrantStmt.IsGrant {
			tag = "GRANT"
		}
		return definitionTag{tag: tag, redLine: objectRedLine(s.GrantStmt.Objtype)}, true
	case *pg_query.Node_GrantRoleStmt:
		tag := "REVOKE ROLE"
		if s.GrantRoleStmt.IsGrant {
			tag = "GRANT ROLE"
		}
		return definitionTag{tag: tag, redLine: "role"}, true
	case *pg_query.Node_VacuumStmt:
		if s.VacuumStmt.IsVacuumcmd {
			return definitionTag{tag: "VACUUM", maintenance: true}, true
		}
		return definitionTag{tag: "ANALYZE", maintenance: true}, true
	case *pg_query.Node_DefineStmt:
		return definitionTag{tag: "CREATE " + objectName(s.DefineStmt.Kind)}, true
	case *pg_query.Node_AlterTableStmt:
		return definitionTag{tag: "ALTER " + objectName(s.AlterTableStmt.Objtype)}, true
	case *pg_query.Node_AlterFunctionStmt:
		return definitionTag{tag: "ALTER " + objectName(s.AlterFunctionStmt.Objtype)}, true
	case *pg_query.Node_CreateFunctionStmt:
		if s.CreateFunctionStmt.IsProcedure {
			return definitionTag{tag: "CREATE PROCEDURE"}, true
		}
		return definitionTag{tag: "CREATE FUNCTION"}, true
	}
	d, ok := descriptions[nodeName(n)]
	return d, ok
}

func alter(t pg_query.ObjectType) definitionTag {
	return definitionTag{tag: "ALTER " + objectName(t), redLine: objectRedLine(t)}
}

// descriptions are the statements whose node says all.
var descriptions = map[string]definitionTag{
	"AlterSystemStmt":              {tag: "ALTER SYSTEM", redLine: "alter-system"},
	"CreateRoleStmt":               {tag: "CREATE ROLE", redLine: "role"},
	"AlterRoleStmt":                {tag: "ALTER ROLE", redLine: "role"},
	"AlterRoleSetStmt":             {tag: "ALTER ROLE", redLine: "role"},
	"DropRoleStmt":                 {tag: "DROP ROLE", redLine: "role"},
	"DropOwnedStmt":                {tag: "DROP OWNED", redLine: "role"},
	"ReassignOwnedStmt":            {tag: "REASSIGN OWNED", redLine: "role"},
	"CreatedbStmt":                 {tag: "CREATE DATABASE", redLine: "database"},
	"DropdbStmt":                   {tag: "DROP DATABASE", redLine: "database"},
	"AlterDatabaseStmt":            {tag: "ALTER DATABASE", redLine: "database"},
	"AlterDatabaseSetStmt":         {tag: "ALTER DATABASE", redLine: "database"},
	"AlterDatabaseRefreshCollStmt": {tag: "ALTER DATABASE", redLine: "database"},
	"CreateTableSpaceStmt":         {tag: "CREATE TABLESPACE", redLine: "tablespace"},
	"DropTableSpaceStmt":           {tag: "DROP TABLESPACE", redLine: "tablespace"},
	"AlterTableSpaceOptionsStmt":   {tag: "ALTER TABLESPACE", redLine: "tablespace"},
	"AlterTableMoveAllStmt":        {tag: "ALTER TABLE", redLine: "tablespace"},
	"CreateExtensionStmt":          {tag: "CREATE EXTENSION", redLine: "extension"},
	"AlterExtensionStmt":           {tag: "ALTER EXTENSION", redLine: "extension"},
	"AlterExtensionContentsStmt":   {tag: "ALTER EXTENSION", redLine: "extension"},
	"CreateEventTrigStmt":          {tag: "CREATE EVENT TRIGGER", redLine: "event-trigger"},
	"AlterEventTrigStmt":           {tag: "ALTER EVENT TRIGGER", redLine: "event-trigger"},
	"CreatePublicationStmt":        {tag: "CREATE PUBLICATION", redLine: "publication"},
	"AlterPublicationStmt":         {tag: "ALTER PUBLICATION", redLine: "publication"},
	"CreateSubscriptionStmt":       {tag: "CREATE SUBSCRIPTION", redLine: "subscription"},
	"AlterSubscriptionStmt":        {tag: "ALTER SUBSCRIPTION", redLine: "subscription"},
	"DropSubscriptionStmt":         {tag: "DROP SUBSCRIPTION", redLine: "subscription"},
	"CreateFdwStmt":                {tag: "CREATE FOREIGN DATA WRAPPER", redLine: "foreign-data"},
	"AlterFdwStmt":                 {tag: "ALTER FOREIGN DATA WRAPPER", redLine: "foreign-data"},
	"CreateForeignServerStmt":      {tag: "CREATE SERVER", redLine: "foreign-data"},
	"AlterForeignServerStmt":       {tag: "ALTER SERVER", redLine: "foreign-data"},
	"CreateUserMappingStmt":        {tag: "CREATE USER MAPPING", redLine: "foreign-data"},
	"AlterUserMappingStmt":         {tag: "ALTER USER MAPPING", redLine: "foreign-data"},
	"DropUserMappingStmt":          {tag: "DROP USER MAPPING", redLine: "foreign-data"},
	"ImportForeignSchemaStmt":      {tag: "IMPORT FOREIGN SCHEMA", redLine: "foreign-data"},
	"CreateForeignTableStmt":       {tag: "CREATE FOREIGN TABLE", redLine: "foreign-data"},
	"CreatePLangStmt":              {tag: "CREATE LANGUAGE", redLine: "language"},
	"LoadStmt":                     {tag: "LOAD", redLine: "load"},

	"CheckPointStmt":     {tag: "CHECKPOINT", maintenance: true},
	"ClusterStmt":        {tag: "CLUSTER", maintenance: true},
	"ReindexStmt":        {tag: "REINDEX", maintenance: true},
	"RefreshMatViewStmt": {tag: "REFRESH MATERIALIZED VIEW", maintenance: true},

	"AlterCollationStmt":         {tag: "ALTER COLLATION"},
	"AlterDefaultPrivilegesStmt": {tag: "ALTER DEFAULT PRIVILEGES"},
	"AlterDomainStmt":            {tag: "ALTER DOMAIN"},
	"AlterEnumStmt":              {tag: "ALTER TYPE"},
	"AlterOpFamilyStmt":          {tag: "ALTER OPERATOR FAMILY"},
	"AlterOperatorStmt":          {tag: "ALTER OPERATOR"},
	"AlterPolicyStmt":            {tag: "ALTER POLICY"},
	"AlterSeqStmt":               {tag: "ALTER SEQUENCE"},
	"AlterStatsStmt":             {tag: "ALTER STATISTICS"},
	"AlterTSConfigurationStmt":   {tag: "ALTER TEXT SEARCH CONFIGURATION"},
	"AlterTSDictionaryStmt":      {tag: "ALTER TEXT SEARCH DICTIONARY"},
	"AlterTypeStmt":              {tag: "ALTER TYPE"},
	"CompositeTypeStmt":          {tag: "CREATE TYPE"},
	"CreateAmStmt":               {tag: "CREATE ACCESS METHOD"},
	"CreateCastStmt":             {tag: "CREATE CAST"},
	"CreateConversionStmt":       {tag: "CREATE CONVERSION"},
	"CreateDomainStmt":           {tag: "CREATE DOMAIN"},
	"CreateEnumStmt":             {tag: "CREATE TYPE"},
	"CreateOpClassStmt":          {tag: "CREATE OPERATOR CLASS"},
	"CreateOpFamilyStmt":         {tag: "CREATE OPERATOR FAMILY"},
	"CreatePolicyStmt":           {tag: "CREATE POLICY"},
	"CreateRangeStmt":            {tag: "CREATE TYPE"},
	"CreateSchemaStmt":           {tag: "CREATE SCHEMA"},
	"CreateSeqStmt":              {tag: "CREATE SEQUENCE"},
	"CreateStatsStmt":            {tag: "CREATE STATISTICS"},
	"CreateStmt":                 {tag: "CREATE TABLE"},
	"CreateTransformStmt":        {tag: "CREATE TRANSFORM"},
	"CreateTrigStmt":             {tag: "CREATE TRIGGER"},
	"IndexStmt":                  {tag: "CREATE INDEX"},
	"RuleStmt":                   {tag: "CREATE RULE"},
}

// objectRedLine is the red line that a statement about such an object crosses.
func objectRedLine(t pg_query.ObjectType) string {
	switch t {
	case pg_query.ObjectType_OBJECT_ROLE:
		return "role"
	case pg_query.ObjectType_OBJECT_DATABASE:
		return "database"
	case pg_query.ObjectType_OBJECT_TABLESPACE:
		return "tablespace"
	case pg_query.ObjectType_OBJECT_EXTENSION:
		return "extension"
	case pg_query.ObjectType_OBJECT_EVENT_TRIGGER:
		return "event-trigger"
	case pg_query.ObjectType_OBJECT_PUBLICATION, pg_query.ObjectType_OBJECT_PUBLICATION_NAMESPACE,
		pg_query.ObjectType_OBJECT_PUBLICATION_REL:
		return "publication"
	case pg_query.ObjectType_OBJECT_SUBSCRIPTION:
		return "subscription"
	case pg_query.ObjectType_OBJECT_FDW, pg_query.ObjectType_OBJECT_FOREIGN_SERVER, pg_query.ObjectType_OBJECT_USER_MAPPING:
		return "foreign-data"
	case pg_query.ObjectType_OBJECT_LANGUAGE:
		return "language"
	case pg_query.ObjectType_OBJECT_PARAMETER_ACL:
		return "parameter"
	}
	return ""
}

// objectName is an object type as tags write it.
func objectName(t pg_query.ObjectType) string {
	switch t {
	case pg_query.ObjectType_OBJECT_FDW:
		return "FOREIGN DATA WRAPPER"
	case pg_query.ObjectType_OBJECT_FOREIGN_SERVER:
		return "SERVER"
	case pg_query.ObjectType_OBJECT_MATVIEW:
		return "MATERIALIZED VIEW"
	case pg_query.ObjectType_OBJECT_COLUMN, pg_query.ObjectType_OBJECT_TABCONSTRAINT:
		return "TABLE"
	case pg_query.ObjectType_OBJECT_DOMCONSTRAINT:
		return "DOMAIN"
	case pg_query.ObjectType_OBJECT_ATTRIBUTE:
		return "TYPE"
	case pg_query.ObjectType_OBJECT_STATISTIC_EXT:
		return "STATISTICS"
	case pg_query.ObjectType_OBJECT_OPCLASS:
		return "OPERATOR CLASS"
	case pg_query.ObjectType_OBJECT_OPFAMILY:
		return "OPERATOR FAMILY"
	case pg_query.ObjectType_OBJECT_LARGEOBJECT:
		return "LARGE OBJECT"
	case pg_query.ObjectType_OBJECT_TSCONFIGURATION:
		return "TEXT SEARCH CONFIGURATION"
	case pg_query.ObjectType_OBJECT_TSDICTIONARY:
		return "TEXT SEARCH DICTIONARY"
	case pg_query.ObjectType_OBJECT_TSPARSER:
		return "TEXT SEARCH PARSER"
	case pg_query.ObjectType_OBJECT_TSTEMPLATE:
		return "TEXT SEARCH TEMPLATE"
	}
	return plainObjectName(t.String())
}

// plainObjectName makes EVENT TRIGGER of OBJECT_EVENT_TRIGGER.
func plainObjectName(enum string) string {
	return strings.ReplaceAll(strings.TrimPrefix(enum, "OBJECT_"), "_", " ")
}
