package pgcatalog

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgairlock/pgairlock/policy/catalog"
)

// Power is something that a login could do on the server, beyond reading what it
// was granted, if nothing stood between.
type Power struct {
	Kind   string `json:"kind"`             // one of the Power… constants
	Object string `json:"object,omitempty"` // what it is about: a schema, function, role or setting
	Writes bool   `json:"writes"`           // it can change data, objects or the server; others are worth knowing
	Text   string `json:"text"`             // what it can do and by which grant, as a person would say it
	Mend   string `json:"mend"`             // SQL that takes it away
}

// Kinds of power.
const (
	PowerAttribute = "attribute"     // SUPERUSER, CREATEROLE, … of the login or of a role it is in
	PowerMember    = "membership"    // of a predefined role such as pg_write_all_data
	PowerOwner     = "ownership"     // of tables, schemas, functions, the database
	PowerTable     = "tables"        // any privilege but SELECT, columns included
	PowerSequence  = "sequences"     // USAGE or UPDATE: nextval and setval
	PowerSchema    = "schema"        // CREATE
	PowerDatabase  = "database"      // CREATE or TEMPORARY
	PowerDefiner   = "definer"       // may call a SECURITY DEFINER function
	PowerFunction  = "function"      // may call a built-in that initdb keeps from everyone
	PowerBuiltin   = "open built-in" // may call a built-in that writes and is open to everyone
	PowerSetting   = "setting"       // may SET, or ALTER SYSTEM, a superuser's setting
)

// Powers tells what the login of conn could do, the strongest first. Roles that
// the login is in count with all they may, whether inherited or not: SET ROLE
// is always possible. A superuser has only that to its name. Like Fetch it needs
// an idle session and leaves no trace on it.
func Powers(ctx context.Context, conn *pgconn.PgConn) ([]Power, error) {
	major, err := majorOf(conn.ParameterStatus("server_version"))
	if err != nil {
		return nil, err
	}
	var r powers
	if err := exchange(ctx, conn, r.queries(major)); err != nil {
		return nil, err
	}
	if r.superuser {
		return r.all[:1], nil
	}
	slices.SortStableFunc(r.all, func(a, b Power) int {
		switch {
		case a.Writes == b.Writes:
			return 0
		case a.Writes:
			return -1
		}
		return 1
	})
	return r.all, nil
}

// majorOf reads server_version, as in "15.18 (Debian …)" or "18beta1".
func majorOf(version string) (int, error) {
	end := strings.IndexFunc(version, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(version)
	}
	major, err := strconv.Atoi(version[:end])
	if err != nil {
		return 0, fmt.Errorf("the server's version is %q", version)
	}
	return major, nil
}

// powers gathers the rows.
type powers struct {
	login     string
	superuser bool
	newOwner  string // who could own what the login should not
	all       []Power
}

// grantee is who a privilege was given to: the login, a role it is in, or
// everyone.
type grantee struct {
	oid  catalog.OID
	name string
}

func (r *row) grantee() grantee { return grantee{r.oid(), r.text()} }

func (g grantee) String() string {
	if g.oid == 0 {
		return "PUBLIC"
	}
	return quoted(g.name)
}

func (r *powers) add(p Power) { r.all = append(r.all, p) }

// revoke is the SQL that takes a grant away: from the login or everyone, or
// else the login out of the role that has it.
func (r *powers) revoke(g grantee, what string) string {
	if g.oid == 0 || g.name == r.login {
		return fmt.Sprintf("REVOKE %s FROM %s;", what, g)
	}
	return fmt.Sprintf("REVOKE %s FROM %s;", g, quoted(r.login))
}

// through names the grant's way to the login, for the end of a sentence.
func (r *powers) through(g grantee) string {
	switch {
	case g.oid == 0:
		return ", as everyone may (PUBLIC)"
	case g.name == r.login:
		return ""
	}
	return ", through role " + g.name
}

func (r *powers) attributes(row *row) {
	g, newOwner := row.grantee(), row.text()
	if g.name == r.login {
		r.newOwner = newOwner
	}
	for _, a := range []struct {
		name   string
		what   string
		writes bool
	}{
		{"SUPERUSER", "may do anything, and no grant holds it back", true},
		{"CREATEROLE", "may make and change roles, and so give itself what it lacks", true},
		{"CREATEDB", "may make databases", true},
		{"REPLICATION", "may copy the whole server and hold back its clean-up with slots", true},
		{"BYPASSRLS", "sees every row, whatever the row security policies say", false},
	} {
		if !row.bool() {
			continue
		}
		mend := fmt.Sprintf("ALTER ROLE %s NO%s;", g, a.name)
		if g.name != r.login {
			mend = r.revoke(g, "")
		}
		r.superuser = r.superuser || a.name == "SUPERUSER" && g.name == r.login
		r.add(Power{PowerAttribute, a.name, a.writes, a.what + r.through(g), mend})
	}
}

// predefined roles that only read, and what to say of them. Those that are not
// here count as writing; an empty text: not worth a word.
var predefined = map[string]string{
	"pg_monitor": "", "pg_read_all_settings": "", "pg_read_all_stats": "", "pg_stat_scan_tables": "",
	"pg_use_reserved_connections": "",
	"pg_read_all_data":            "reads every table, so that grants no longer say what it may read",
	"pg_read_server_files":        "reads files of the server's machine",
}

func (r *powers) membership(row *row) {
	g := row.grantee()
	text, reads := predefined[g.name]
	if reads && text == "" {
		return
	}
	if !reads {
		text = "may do what " + g.name + " is for"
	}
	r.add(Power{PowerMember, g.name, !reads, text, r.revoke(g, "")})
}

func (r *powers) ownership(row *row) {
	g, count, example := row.grantee(), row.int8(), row.text()
	mend := r.revoke(g, "")
	if g.name == r.login {
		mend = fmt.Sprintf("REASSIGN OWNED BY %s TO %s;", g, quoted(r.newOwner))
	}
	r.add(Power{PowerOwner, g.name, true, fmt.Sprintf("owns %s (%s)%s", counted(count, "object"), example, r.through(g)), mend})
}

func (r *powers) relationGrant(row *row) {
	schema, g, sequence, privileges, count, example := row.text(), row.grantee(), row.bool(), row.texts(), row.int8(), row.text()
	kind, noun := PowerTable, "table"
	if sequence {
		kind, noun = PowerSequence, "sequence"
	}
	list := strings.Join(privileges, ", ")
	r.add(Power{
		kind, schema, true,
		fmt.Sprintf("may %s on %s of schema %s (%s)%s", list, counted(count, noun), schema, example, r.through(g)),
		r.revoke(g, fmt.Sprintf("%s ON ALL %sS IN SCHEMA %s", list, strings.ToUpper(noun), quoted(schema))),
	})
}

func (r *powers) schemaGrant(row *row) {
	schema, g := row.text(), row.grantee()
	r.add(Power{
		PowerSchema, schema, true, "may create objects in schema " + schema + r.through(g),
		r.revoke(g, "CREATE ON SCHEMA "+quoted(schema)),
	})
}

func (r *powers) databaseGrant(row *row) {
	database, privilege, g := row.text(), row.text(), row.grantee()
	what := map[string]string{"CREATE": "may create schemas", "TEMPORARY": "may create temporary tables"}[privilege]
	r.add(Power{
		PowerDatabase, database, privilege == "CREATE", what + " in database " + database + r.through(g),
		r.revoke(g, privilege+" ON DATABASE "+quoted(database)),
	})
}

func (r *powers) definer(row *row) {
	name, owner, g := row.text(), row.text(), row.grantee()
	r.add(Power{
		PowerDefiner, name, false, fmt.Sprintf("may call %s, which runs with the rights of %s%s", name, owner, r.through(g)),
		r.revoke(g, "EXECUTE ON ROUTINE "+name),
	})
}

func (r *powers) builtin(row *row) {
	name, g, opened := row.text(), row.grantee(), row.bool()
	p := Power{PowerBuiltin, name, false, "may call " + name + ", which writes even in a read-only role" + r.through(g), r.revoke(g, "EXECUTE ON ROUTINE "+name)}
	if opened {
		p.Kind, p.Writes, p.Text = PowerFunction, true, "may call "+name+", which is a superuser's by default"+r.through(g)
	}
	r.add(p)
}

func (r *powers) setting(row *row) {
	name, privilege, g := row.text(), row.text(), row.grantee()
	r.add(Power{
		PowerSetting, name, true, fmt.Sprintf("may %s the superuser's setting %s%s", privilege, name, r.through(g)),
		r.revoke(g, fmt.Sprintf("%s ON PARAMETER %s", privilege, quotedSetting(name))),
	})
}

func counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// quoted is an identifier as SQL takes it in any case.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// quotedSetting quotes each part of a dotted setting.
func quotedSetting(name string) string {
	parts := strings.Split(name, ".")
	for i, p := range parts {
		parts[i] = quoted(p)
	}
	return strings.Join(parts, ".")
}
