// Package warehouse is the demo's database: a mail-order company's customers,
// orders, order items, products, inventory, warehouses, picking waves and
// payments, about 100,000 rows with the same values on every run, and the
// logins that a DBA would make for pgairlock.
package warehouse

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

//go:embed schema.sql
var schema string

//go:embed data.sql
var data string

//go:embed constraints.sql
var constraints string

//go:embed roles.sql
var roles string

// The logins that Roles makes.
const (
	Reader = "airlock_reader" // SELECT only
	Writer = "airlock_writer" // and INSERT, UPDATE, DELETE where orders are worked on
)

// SQL is the whole database for an empty one, as a superuser runs it. It holds
// no roles.
func SQL() string { return schema + data + constraints }

// Roles is the SQL that makes the logins and takes from everyone what they
// should not have: roles.sql with psql's variables filled in. A superuser runs
// it in the database of that name.
func Roles(database, readerPassword, writerPassword string) string {
	return strings.NewReplacer(
		`:"database"`, identifier(database),
		":'reader_password'", literal(readerPassword),
		":'writer_password'", literal(writerPassword),
	).Replace(roles)
}

// Seed fills an empty database over a superuser's connection; it takes a few
// seconds.
func Seed(ctx context.Context, conn *pgconn.PgConn) error {
	if _, err := conn.Exec(ctx, SQL()).ReadAll(); err != nil {
		return fmt.Errorf("seed the warehouse: %w", err)
	}
	return nil
}

func identifier(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// literal writes a string constant that means the same whatever
// standard_conforming_strings says.
func literal(text string) string {
	escaped := strings.NewReplacer(`'`, `''`, `\`, `\\`).Replace(text)
	if strings.Contains(text, `\`) {
		return "E'" + escaped + "'"
	}
	return "'" + escaped + "'"
}
