package wire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// session is a client's conversation with a server that is worth recording.
type session struct {
	name   string
	about  string
	majors []int
	run    func(ctx context.Context, through, direct target) error
}

// setup is what every recorded session finds.
const setup = `
CREATE TABLE t (id int PRIMARY KEY, note text);
INSERT INTO t SELECT i, 'note ' || i FROM generate_series(1, 5) i;
CREATE VIEW v AS SELECT * FROM t;
CREATE TABLE c (a int, b text);`

var sessions = []session{
	{"psql-simple", "psql: simple queries, several statements in one, notices, a setting, a failed transaction.", []int{15, 18}, psql(`
SELECT 1 AS one, NULL AS none, 'é' AS e;
SELECT id FROM t WHERE id < 3\; SELECT note FROM t WHERE id = 3\; UPDATE t SET note = 'x' WHERE id = 4;
SELECT 1\; SELECT 1/0\; SELECT 3;
DO $$ BEGIN RAISE NOTICE 'a notice'; END $$;
DROP TABLE IF EXISTS nowhere;
SET application_name = 'recorded';
SET TimeZone = 'Asia/Tokyo'; RESET TimeZone;
BEGIN; SELECT 1; SELECT nowhere; SELECT 2; ROLLBACK;
-- nothing but a comment
\;
SELECT 4;
`)},
	{"psql-copy", "psql: COPY out and in by Query, a COPY that fails at its second line, FETCH_COUNT's cursor.", []int{15}, psql(`
COPY t TO STDOUT;
COPY c FROM STDIN;
1	one
2	\N
\.
COPY c FROM STDIN;
3	three
x	four
5	five
\.
COPY v FROM STDIN;
1	one
\.
SELECT count(*) FROM c;
\set FETCH_COUNT 2
SELECT id FROM t;
`)},
	{"psql-notify", "psql: LISTEN, and a notification to itself.", []int{15}, psql(`
LISTEN news;
NOTIFY news, 'first';
BEGIN; NOTIFY news; SELECT 1; COMMIT;
`)},
	{"pgbench-simple", "pgbench -M simple.", []int{15}, pgbench("simple", false)},
	{"pgbench-extended", "pgbench -M extended, with a pipeline.", []int{15}, pgbench("extended", true)},
	{"pgbench-prepared", "pgbench -M prepared, with a pipeline.", []int{15}, pgbench("prepared", true)},
	{"pgx-query", "pgx: statements that it prepares, binary results, simple mode, an error between.", []int{15, 18}, pgxSession(pgxQuery)},
	{"pgx-batch", "pgx: batches as pipelines, one with an error in the middle.", []int{15, 18}, pgxSession(pgxBatch)},
	{"pgx-copy", "pgx: CopyFrom, and one that fails.", []int{15}, pgxSession(pgxCopy)},
	{"pgx-listen", "pgx: a notification from another session arrives while nothing is asked.", []int{15}, pgxSession(pgxListen)},
	{"psycopg2", "psycopg2: simple protocol in transactions, a server-side cursor, COPY both ways.", []int{15}, python("psycopg2", `
conn = psycopg2.connect("")
cur = conn.cursor()
cur.execute("SELECT id, note FROM t WHERE id = %s", (1,)); cur.fetchall()
named = conn.cursor("stream"); named.itersize = 2
named.execute("SELECT id FROM t ORDER BY id"); print([r for r in named])
named.close()
try: cur.execute("SELECT nowhere")
except psycopg2.Error: conn.rollback()
cur.copy_expert("COPY c FROM STDIN", io.StringIO("1\tone\n2\ttwo\n"))
cur.copy_expert("COPY c TO STDOUT", io.StringIO())
conn.commit()
conn.close()
`)},
	{"psycopg3", "psycopg 3: parameters, prepared statements, binary rows, a server-side cursor, COPY both ways.", []int{15}, python("psycopg", `
conn = psycopg.connect("")
for i in (1, 2): conn.execute("SELECT note FROM t WHERE id = %s", (i,), prepare=True).fetchall()
conn.cursor(binary=True).execute("SELECT id, note FROM t WHERE id < %b", (3,)).fetchall()
with conn.cursor("stream") as named:
    named.itersize = 2
    named.execute("SELECT id FROM t ORDER BY id"); print(len(list(named)))
for row in conn.cursor().stream("SELECT id FROM t"): pass
with conn.cursor().copy("COPY c FROM STDIN") as copy: copy.write_row((1, "one"))
with conn.cursor().copy("COPY c TO STDOUT") as copy: list(copy)
conn.commit()
conn.close()
`)},
	{"psycopg3-pipeline", "psycopg 3: a pipeline, and one with an error in the middle.", []int{15, 18}, python("psycopg", `
conn = psycopg.connect("", autocommit=True)
with conn.pipeline() as p:
    a = conn.execute("SELECT %s::int", (1,)); b = conn.execute("SELECT note FROM t WHERE id = %s", (2,))
    print(a.fetchone(), b.fetchone())
try:
    with conn.pipeline() as p:
        conn.execute("SELECT %s::int", (1,))
        conn.execute("SELECT nowhere")
        conn.execute("SELECT %s::int", (3,))
        p.sync()
        conn.execute("SELECT %s::int", (4,))
except psycopg.Error as e: print(e)
print(conn.execute("SELECT 5").fetchone())
conn.close()
`)},
	{"jdbc", "JDBC: server-prepared statements, a fetch size (max_rows), a batch, an error in a transaction.", []int{15}, jdbc(`
try (Connection c = DriverManager.getConnection(url)) {
    PreparedStatement p = c.prepareStatement("SELECT note FROM t WHERE id = ?");
    for (int i = 1; i <= 6; i++) { p.setInt(1, i); try (ResultSet r = p.executeQuery()) { while (r.next()) r.getString(1); } }
    c.setAutoCommit(false);
    PreparedStatement f = c.prepareStatement("SELECT id FROM t ORDER BY id");
    f.setFetchSize(2);
    try (ResultSet r = f.executeQuery()) { while (r.next()) r.getInt(1); }
    PreparedStatement b = c.prepareStatement("INSERT INTO c VALUES (?, ?)");
    for (int i = 0; i < 3; i++) { b.setInt(1, i); b.setString(2, "n" + i); b.addBatch(); }
    b.executeBatch();
    try { c.createStatement().executeQuery("SELECT nowhere"); } catch (SQLException e) { c.rollback(); }
    c.commit();
}
`)},
	{"raw-flush", "By hand: a client that works with Flush, as asyncpg does; Sync only at the end.", []int{15, 18}, raw(rawFlush)},
	{"raw-portals", "By hand: named portals, max_rows and PortalSuspended, Describe of both kinds, Close, an empty query.", []int{15, 18}, raw(rawPortals)},
	{"raw-errors", "By hand: errors in series, and what comes after them up to Sync; stray COPY messages.", []int{15, 18}, raw(rawErrors)},
	{"raw-copy", "By hand: COPY in the extended protocol, Sync and Flush during COPY, failures by either side.", []int{15, 18}, raw(rawCopy)},
	{"raw-copy-ahead", "By hand: COPY data sent ahead of its CopyInResponse.", []int{15}, raw(rawCopyAhead)},
	{"raw-sync-ahead", "By hand: Sync sent ahead of a COPY. The server ignores it, unless the COPY fails before it reads.", []int{15}, raw(rawSyncAhead)},
	{"raw-function", "By hand: FunctionCall, with an error and in a series.", []int{15}, raw(rawFunction)},
	{"raw-timeout", "By hand: statement_timeout runs on between the messages of a series, and strikes with the next message: here with Flush.", []int{15}, raw(rawTimeout)},
	{"raw-fatal", "By hand: the session ends with FATAL in the middle of a statement.", []int{15}, raw(rawFatal)},
}

// A script for raw has a message a line, "wait NAME" or "wait N NAME" for that
// many server messages, and "pause" for half a second.

const rawFlush = `
Parse "a" "SELECT id, note FROM t WHERE id > $1" ()
Describe S "a"
Flush
wait RowDescription
Bind "" "a" (1) ("\x00\x00\x00\x03") (1)
Execute "" 0
Sync
wait ReadyForQuery
Parse "b" "SELECT 1" ()
Flush
wait ParseComplete
Bind "p" "b" () () ()
Flush
wait BindComplete
Describe P "p"
Flush
wait RowDescription
Execute "p" 0
Flush
wait CommandComplete
Parse "b" "SELECT 2" ()
Flush
wait ErrorResponse
Bind "p" "b" () () ()
Execute "p" 0
Flush
Sync
wait ReadyForQuery`

const rawPortals = `
Query "BEGIN"
wait ReadyForQuery
Parse "s" "SELECT id FROM t ORDER BY id" ()
Describe S "s"
Bind "p" "s" () () (0)
Describe P "p"
Execute "p" 2
Execute "p" 2
Bind "q" "s" () () (1)
Execute "q" 5
Execute "q" 5
Execute "p" 0
Close P "p"
Close P "never"
Sync
wait ReadyForQuery
Parse "" "" ()
Bind "" "" () () ()
Describe P ""
Execute "" 0
Parse "w" "UPDATE t SET note = $1 WHERE id = $2" (25 23)
Describe S "w"
Bind "" "w" () ("new" "1") ()
Describe P ""
Execute "" 0
Close S "w"
Sync
wait ReadyForQuery
Query ""
wait ReadyForQuery
Query "; ;SELECT 1;;"
wait ReadyForQuery
Query "COMMIT"
wait ReadyForQuery
Sync
wait ReadyForQuery
Sync
Sync
wait 2 ReadyForQuery
Terminate`

const rawErrors = `
Parse "" "SELEC 1" ()
Bind "" "" () () ()
Execute "" 0
Query "SELECT 'not run'"
Sync
wait ReadyForQuery
Parse "" "SELECT 1/(3-i) FROM generate_series(1, 5) i" ()
Bind "" "" () () ()
Execute "" 0
Parse "" "SELECT 'not run'" ()
Sync
Parse "" "SELECT 'runs'" ()
Bind "" "" () () ()
Execute "" 0
Sync
wait 2 ReadyForQuery
Bind "" "nowhere" () () ()
Flush
wait ErrorResponse
Parse "" "SELECT 1" ()
Query "SELECT 'not run'"
CopyData "stray"
CopyDone
CopyFail "stray"
Close S ""
Flush
Sync
wait ReadyForQuery
Query "CREATE TABLE d (id int UNIQUE DEFERRABLE INITIALLY DEFERRED); INSERT INTO d VALUES (1)"
Parse "" "INSERT INTO d VALUES (1)" ()
Bind "" "" () () ()
Execute "" 0
Sync
wait 2 ReadyForQuery
Query "BEGIN; SELECT nowhere"
Parse "" "SELECT 1" ()
Sync
Query "ROLLBACK"
CopyData "stray"
CopyDone
Query "SELECT 1"
wait 4 ReadyForQuery
Terminate`

const rawCopy = `
Parse "" "COPY c FROM STDIN" ()
Bind "" "" () () ()
Describe P ""
Execute "" 0
Flush
wait CopyInResponse
CopyData "1\tone\n2\t"
Flush
Sync
CopyData "two\n"
CopyDone
Sync
wait ReadyForQuery
Parse "" "COPY c FROM STDIN" ()
Bind "" "" () () ()
Execute "" 0
Flush
wait CopyInResponse
CopyData "3\tthree\n"
CopyFail "changed its mind"
Sync
wait ReadyForQuery
Parse "" "COPY c FROM STDIN" ()
Bind "" "" () () ()
Execute "" 0
Flush
wait CopyInResponse
CopyData "x\tfour\n5\tfive\n"
Flush
wait ErrorResponse
CopyData "6\tsix\n"
CopyDone
Parse "" "SELECT 'not run'" ()
Sync
wait ReadyForQuery
Parse "" "COPY c TO STDOUT" ()
Bind "" "" () () ()
Execute "" 0
Sync
wait ReadyForQuery
Query "COPY c TO STDOUT; COPY c FROM STDIN; SELECT 1"
wait CopyInResponse
CopyData "7\tseven\n"
CopyDone
wait ReadyForQuery
Query "COPY c FROM STDIN"
wait CopyInResponse
CopyFail "no"
wait ReadyForQuery
Query "COPY c (a) TO STDOUT WITH (FORMAT binary)"
wait ReadyForQuery
Terminate`

const rawCopyAhead = `
Query "COPY c FROM STDIN"
CopyData "1\tone\n"
CopyDone
wait ReadyForQuery
Query "COPY c FROM STDIN; COPY c FROM STDIN; SELECT 1"
CopyData "2\ttwo\n"
CopyDone
CopyData "3\tthree\n"
CopyDone
wait ReadyForQuery
Parse "" "COPY c FROM STDIN" ()
Bind "" "" () () ()
Execute "" 0
CopyData "4\tfour\n"
CopyDone
Parse "" "SELECT count(*) FROM c" ()
Bind "" "" () () ()
Execute "" 0
Sync
wait ReadyForQuery
Query "COPY nowhere FROM STDIN"
CopyData "1\tone\n"
CopyDone
Query "COPY c FROM STDIN"
CopyData "x"
CopyDone
wait 2 ReadyForQuery
Parse "" "COPY nowhere FROM STDIN" ()
Bind "" "" () () ()
Execute "" 0
CopyData "1\tone\n"
CopyDone
Sync
Query "SELECT 1"
wait 2 ReadyForQuery
Terminate`

const rawSyncAhead = `
Parse "" "COPY c FROM STDIN" ()
Bind "" "" () () ()
Execute "" 0
Sync
wait CopyInResponse
CopyData "1\tone\n"
CopyDone
Sync
wait ReadyForQuery
Parse "" "COPY c FROM STDIN" ()
Bind "" "" () () ()
Execute "" 0
Sync
CopyData "x\tone\n"
CopyDone
Sync
wait ReadyForQuery
Parse "" "COPY v FROM STDIN" ()
Bind "" "" () () ()
Execute "" 0
Sync
wait ReadyForQuery
Query "SELECT 1"
wait ReadyForQuery
Parse "" "COPY v FROM STDIN" ()
Bind "" "" () () ()
Execute "" 0
Sync
CopyData "1\tone\n"
CopyDone
Sync
Query "SELECT 2"
wait 3 ReadyForQuery
Query "COPY v FROM STDIN"
Sync
CopyDone
Query "SELECT 3"
wait 3 ReadyForQuery
Terminate`

const rawFunction = `
FunctionCall 177 (1) ("\x00\x00\x00\x01" "\x00\x00\x00\x02") 1
wait ReadyForQuery
FunctionCall 1 () () 0
FunctionCall 177 () ("3" "4") 0
wait 2 ReadyForQuery
Parse "" "SELEC 1" ()
FunctionCall 177 () ("3" "4") 0
Sync
wait ReadyForQuery
Terminate`

const rawTimeout = `
Query "SET statement_timeout = 200"
wait ReadyForQuery
Parse "a" "SELECT 1" ()
Flush
wait ParseComplete
pause
Flush
wait ErrorResponse
Bind "" "a" () () ()
Execute "" 0
Sync
wait ReadyForQuery
Parse "b" "SELECT 1" ()
Flush
wait ParseComplete
pause
Sync
wait ReadyForQuery
Query "SELECT 2"
wait ReadyForQuery
Terminate`

const rawFatal = `
Query "SELECT 1"
wait ReadyForQuery
Query "SELECT 1; SELECT pg_terminate_backend(pg_backend_pid())"
wait ErrorResponse`

func environment(cmd *exec.Cmd, t target) *exec.Cmd {
	cmd.Env = append(os.Environ(), "PGHOST="+t.host, "PGPORT="+strconv.Itoa(t.port), "PGUSER=postgres", "PGDATABASE="+t.database,
		"PGSSLMODE=prefer", "PGOPTIONS=", "PGTZ=UTC", "TZ=UTC", "LC_ALL=C.UTF-8")
	return cmd
}

// runs lets a program run; psql goes on after errors, so errors are its own.
func runs(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", cmd, err, out)
	}
	return nil
}

func psql(script string) func(context.Context, target, target) error {
	return func(ctx context.Context, through, _ target) error {
		cmd := environment(exec.CommandContext(ctx, "psql", "-X", "-q", "-v", "ON_ERROR_STOP=0"), through)
		cmd.Stdin = strings.NewReader(script)
		return runs(cmd)
	}
}

func pgbench(mode string, pipeline bool) func(context.Context, target, target) error {
	return func(ctx context.Context, through, _ target) error {
		dir, err := os.MkdirTemp("", "wire")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		script := "\\set id 1 + :client_id\nSELECT note FROM t WHERE id = :id;\n"
		if pipeline {
			script += "\\startpipeline\nSELECT 1;\nUPDATE t SET note = 'n' WHERE id = :id;\nSELECT :id;\n\\endpipeline\n"
		}
		file := filepath.Join(dir, "script.sql")
		if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
			return err
		}
		// without -n it would look for tables of its own
		return runs(environment(exec.CommandContext(ctx, "pgbench", "-n", "-t", "2", "-M", mode, "-f", file), through))
	}
}

func python(module, script string) func(context.Context, target, target) error {
	return func(ctx context.Context, through, _ target) error {
		// Debian's modules are for Debian's own interpreter
		return runs(environment(exec.CommandContext(ctx, "/usr/bin/python3", "-c", "import io, "+module+"\n"+script), through))
	}
}

func jdbc(body string) func(context.Context, target, target) error {
	return func(ctx context.Context, through, _ target) error {
		dir, err := os.MkdirTemp("", "wire")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		url := fmt.Sprintf("jdbc:postgresql://%s/%s?user=postgres&sslmode=disable", through.address(), through.database)
		source := "import java.sql.*;\npublic class Session { public static void main(String[] a) throws Exception {\nString url = \"" + url + "\";\n" + body + "\n} }\n"
		file := filepath.Join(dir, "Session.java")
		if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
			return err
		}
		return runs(exec.CommandContext(ctx, "java", "-Duser.timezone=UTC", "-cp", "/usr/share/java/postgresql.jar", file))
	}
}

func pgxSession(run func(ctx context.Context, conn *pgx.Conn, direct target) error) func(context.Context, target, target) error {
	return func(ctx context.Context, through, direct target) error {
		conn, err := pgx.Connect(ctx, through.dsn())
		if err != nil {
			return err
		}
		return errors.Join(run(ctx, conn, direct), conn.Close(ctx))
	}
}

// refused makes sure that there was an error.
func refused(err error) error {
	if err == nil {
		return errors.New("no error came")
	}
	return nil
}

func pgxQuery(ctx context.Context, conn *pgx.Conn, _ target) error {
	var note string
	var errs []error
	for id := range 2 {
		errs = append(errs, conn.QueryRow(ctx, "SELECT note FROM t WHERE id = $1", id+1).Scan(&note))
	}
	errs = append(errs, conn.QueryRow(ctx, "SELECT $1::text", pgx.QueryExecModeExec, "x").Scan(&note),
		conn.QueryRow(ctx, "SELECT $1::text", pgx.QueryExecModeSimpleProtocol, "it's").Scan(&note))
	_, err := conn.Exec(ctx, "SELECT nowhere")
	errs = append(errs, refused(err))
	_, err = conn.Exec(ctx, "SET application_name = 'recorded'")
	return errors.Join(append(errs, err)...)
}

func pgxBatch(ctx context.Context, conn *pgx.Conn, _ target) error {
	good, bad := &pgx.Batch{}, &pgx.Batch{}
	for _, b := range []*pgx.Batch{good, bad} {
		b.Queue("SELECT note FROM t WHERE id = $1", 1)
		b.Queue("UPDATE t SET note = $1 WHERE id = $2", "y", 2)
	}
	good.Queue("SELECT 1")
	bad.Queue("SELECT 1/(id-3) FROM t ORDER BY id")
	bad.Queue("SELECT note FROM t WHERE id = $1", 5)
	return errors.Join(conn.SendBatch(ctx, good).Close(), refused(conn.SendBatch(ctx, bad).Close()))
}

func pgxCopy(ctx context.Context, conn *pgx.Conn, _ target) error {
	_, err := conn.CopyFrom(ctx, pgx.Identifier{"c"}, []string{"a", "b"}, pgx.CopyFromRows([][]any{{1, "one"}, {2, nil}}))
	_, bad := conn.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"id"}, pgx.CopyFromRows([][]any{{1}}))
	_, out := conn.PgConn().CopyTo(ctx, io.Discard, "COPY c TO STDOUT")
	return errors.Join(err, refused(bad), out)
}

func pgxListen(ctx context.Context, conn *pgx.Conn, direct target) error {
	if _, err := conn.Exec(ctx, "LISTEN news"); err != nil {
		return err
	}
	other, err := pgx.Connect(ctx, direct.dsn())
	if err != nil {
		return err
	}
	_, err = other.Exec(ctx, "NOTIFY news, 'from another'")
	if err = errors.Join(err, other.Close(ctx)); err != nil {
		return err
	}
	_, err = conn.WaitForNotification(ctx)
	return err
}

// raw plays a script of messages.
func raw(script string) func(context.Context, target, target) error {
	return func(ctx context.Context, through, _ target) error {
		conn, err := hijack(ctx, through.dsn())
		if err != nil {
			return err
		}
		defer conn.Close()
		deadline, _ := ctx.Deadline()
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
		for line := range strings.Lines(script) {
			line = strings.TrimSpace(line)
			if line == "" {
				continue
			}
			if line == "pause" {
				time.Sleep(500 * time.Millisecond)
			} else if what, ok := strings.CutPrefix(line, "wait "); ok {
				err = await(conn, what)
			} else {
				_, err = conn.Write(message(line))
			}
			if err != nil {
				return fmt.Errorf("%s: %w", line, err)
			}
		}
		// answers to what went without a wait
		time.Sleep(50 * time.Millisecond)
		return nil
	}
}

// hijack opens a connection and takes it from pgconn after start-up.
func hijack(ctx context.Context, dsn string) (net.Conn, error) {
	pg, err := pgconn.Connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	taken, err := pg.Hijack()
	if err != nil {
		return nil, err
	}
	return taken.Conn, nil
}

// await reads until "NAME" or "N NAME" has come.
func await(conn net.Conn, what string) error {
	n := 1
	if count, name, ok := strings.Cut(what, " "); ok {
		what = name
		var err error
		if n, err = strconv.Atoi(count); err != nil {
			return err
		}
	}
	for n > 0 {
		packet, err := readPacket(conn, 1)
		if err != nil {
			return err
		}
		l, err := event{server: true, kind: packet[0]}.layout()
		if err != nil {
			return err
		}
		if l.name == what {
			n--
		}
	}
	return nil
}
