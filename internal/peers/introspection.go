package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// reader is the agent and the login of the introspection run: it has read
// grants only, so that what needs more fails directly, too, and is not counted.
const reader = `CREATE ROLE explorer LOGIN PASSWORD 'explorer-of-the-run';
ALTER ROLE explorer SET default_transaction_read_only = on;
ALTER ROLE explorer SET search_path = public, crm;
GRANT USAGE ON SCHEMA public, crm TO explorer;
GRANT SELECT ON ALL TABLES IN SCHEMA public, crm TO explorer`

// explorer is the agent's policy: what an operator would open of the captures'
// database to somebody who reads and looks around.
const explorer = `
    access: read_only
    search_path: [public, crm]
    metadata: all
    tables: {public.*: all, crm.*: all}
    extensions: [hstore, pg_trgm]
    functions: [public.add]
    types: [public.email]
    copy: {to_stdout: limited}
    limits: {rows: 100000, bytes: 64MiB, statement_timeout: 30s}`

// capture is one statement that a client sent.
type capture struct {
	text     string
	extended bool // as Parse, Bind, Execute; else as Query
}

// introspection sends what clients ask on connect and when they look around, as
// a read-only agent and directly, and prints a table by client.
func (w *workshop) introspection(ctx context.Context, folder string) (err error) {
	if folder == "" {
		return errors.New("set PGAIRLOCK_INTROSPECTION to the folder with the captured statements (*.sql)")
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.sql"))
	if err != nil || len(files) == 0 {
		return cmp.Or(err, fmt.Errorf("%s holds no captured statements", folder))
	}
	t := &stage{through: true, dir: filepath.Join(w.dir, "out", "introspection")}
	if err := errors.Join(os.MkdirAll(t.dir, 0o777), os.Chmod(t.dir, 0o777)); err != nil { //nolint:gosec // psql runs as nobody
		return err
	}
	s := setting{major: 15, policy: explorer, agents: []agent{{"explorer", "explorer-of-the-run", []string{"shop"}}}}
	if err := w.open(ctx, t, s, true); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	if err := w.fixture(ctx, t, filepath.Clean(folder)+"_fixture.sql"); err != nil {
		return err
	}
	direct := fmt.Sprintf("host=127.0.0.1 port=%d user=explorer password=explorer-of-the-run dbname=shop sslmode=disable", t.server.Port)
	through := t.dsn("explorer", "explorer-of-the-run", "shop")
	return w.explore(ctx, files, direct, through, t.dir)
}

// fixture makes the database that the statements were captured against. The
// file has psql's own commands in it.
func (w *workshop) fixture(ctx context.Context, t *stage, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	copied := filepath.Join(t.dir, "fixture.sql")
	if err := os.WriteFile(copied, text, 0o644); err != nil { //nolint:gosec // nobody reads it
		return err
	}
	args := []string{"-Xq", "-v", "ON_ERROR_STOP=1", "-p", fmt.Sprint(t.server.Port), "-f", copied, "postgres"}
	if _, err := t.output(ctx, w.bin("psql"), args...); err != nil {
		return err
	}
	return execute(ctx, t.server.DSN("shop"), reader)
}

// explore runs every file in a session of its own on each side.
func (w *workshop) explore(ctx context.Context, files []string, direct, through, dir string) error {
	details, err := os.Create(filepath.Join(dir, "differences.txt"))
	if err != nil {
		return err
	}
	defer details.Close()
	total := tally{refused: map[string]int{}}
	fmt.Fprintln(w.out, "| client | statements | answered directly | of these through the proxy | % | refused by rule |\n|---|---|---|---|---|---|")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(filepath.Base(file), ".sql")
		got, err := exploreOne(ctx, readCaptures(string(text)), direct, through, func(c capture, d, p answer) {
			fmt.Fprintf(details, "-- %s: directly %s, through the proxy %s\n%s\n\n", name, d, p, c.text)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		fmt.Fprintln(w.out, got.row(name))
		total.add(got)
	}
	fmt.Fprintln(w.out, total.row("**all**"))
	if kept := os.Getenv("PGAIRLOCK_INTROSPECTION_DETAILS"); kept != "" {
		return copyFile(details.Name(), kept)
	}
	return nil
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}

// readCaptures reads a file of statements: a line that begins with "-- @ " tells
// of the one that follows.
func readCaptures(text string) []capture {
	var found []capture
	for i, part := range strings.Split("\n"+text, "\n-- @ ") {
		head, body, ok := strings.Cut(part, "\n")
		if i == 0 || !ok {
			continue
		}
		found = append(found, capture{text: strings.TrimRight(body, "\n"), extended: strings.Contains(head, " proto=extended")})
	}
	return found
}

// answer is what came of a statement.
type answer struct {
	sqlstate string // "" if it was answered
	rule     string // of a refusal by the proxy
	shape    string // columns and numbers of rows
}

func (a answer) String() string {
	if a.sqlstate == "" {
		return "answered"
	}
	return strings.TrimSpace(a.sqlstate + " " + a.rule)
}

// exploreOne sends the statements one after the other on both sides. A
// transaction that failed on one side is ended on both, so that they stay in step.
func exploreOne(ctx context.Context, captures []capture, direct, through string, differs func(c capture, direct, through answer)) (tally, error) {
	t := tally{refused: map[string]int{}}
	var sides [2]*pgconn.PgConn
	defer func() {
		for _, conn := range sides {
			if conn != nil {
				_ = conn.Close(ctx)
			}
		}
	}()
	for _, c := range captures {
		var answers [2]answer
		for i, dsn := range []string{direct, through} {
			if sides[i] == nil || sides[i].IsClosed() {
				conn, err := pgconn.Connect(ctx, dsn)
				if err != nil {
					return t, err
				}
				sides[i] = conn
			}
			answers[i] = ask(ctx, sides[i], c)
			if sides[i].IsClosed() {
				t.lost[i]++
			}
		}
		if !t.count(answers[0], answers[1]) {
			differs(c, answers[0], answers[1])
		}
		if !sides[0].IsClosed() && !sides[1].IsClosed() && sides[0].TxStatus() != sides[1].TxStatus() {
			for _, conn := range sides {
				if _, err := conn.Exec(ctx, "ROLLBACK").ReadAll(); err != nil {
					return t, err
				}
			}
		}
	}
	return t, nil
}

// ask sends one statement. Parameters that the capture does not tell are NULL.
func ask(ctx context.Context, conn *pgconn.PgConn, c capture) answer {
	if !c.extended {
		results, err := conn.Exec(ctx, c.text).ReadAll()
		return told(results, err)
	}
	described, err := conn.Prepare(ctx, "", c.text, nil)
	if err != nil {
		return told(nil, err)
	}
	result := conn.ExecPrepared(ctx, "", make([][]byte, len(described.ParamOIDs)), nil, nil).Read()
	return told([]*pgconn.Result{result}, result.Err)
}

func told(results []*pgconn.Result, err error) answer {
	var a answer
	var said *pgconn.PgError
	switch {
	case errors.As(err, &said):
		a.sqlstate = said.Code
		if rest, ok := strings.CutPrefix(said.Detail, "Rule "); ok {
			a.rule = strings.TrimRight(strings.SplitN(rest, " ", 2)[0], ".")
		}
		return a
	case err != nil:
		a.sqlstate = "lost"
		return a
	}
	for _, r := range results {
		for _, f := range r.FieldDescriptions {
			a.shape += f.Name + " "
		}
		a.shape += fmt.Sprintf("%d rows;", len(r.Rows))
	}
	return a
}

// tally counts what came of statements.
type tally struct {
	all, direct, same, other int
	lost                     [2]int // sessions, on each side
	refused                  map[string]int
}

// count takes the answers of both sides and says whether the client can't tell
// them apart.
func (t *tally) count(direct, through answer) bool {
	t.all++
	if direct.sqlstate != "" {
		return through.sqlstate != "" // not answered on either side
	}
	t.direct++
	switch {
	case direct == through:
		t.same++
	case through.rule != "":
		t.refused[through.rule]++
	default:
		t.other++
	}
	return direct == through
}

func (t *tally) add(o tally) {
	t.all += o.all
	t.direct += o.direct
	t.same += o.same
	t.other += o.other
	t.lost[0] += o.lost[0]
	t.lost[1] += o.lost[1]
	for rule, n := range o.refused {
		t.refused[rule] += n
	}
}

// row is a line of the table.
func (t *tally) row(name string) string {
	var refused []string
	for rule, n := range t.refused {
		refused = append(refused, fmt.Sprintf("%s %d", rule, n))
	}
	slices.Sort(refused)
	if t.other > 0 {
		refused = append(refused, fmt.Sprintf("another answer %d", t.other))
	}
	if t.lost != [2]int{} {
		refused = append(refused, fmt.Sprintf("connections ended directly %d, through the proxy %d", t.lost[0], t.lost[1]))
	}
	share := "–"
	if t.direct > 0 {
		share = fmt.Sprintf("%.0f", 100*float64(t.same)/float64(t.direct))
	}
	return fmt.Sprintf("| %s | %d | %d | %d | %s | %s |", name, t.all, t.direct, t.same, share, strings.Join(refused, ", "))
}
