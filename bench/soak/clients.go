package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// client is one kind of client. run is one session or a few; it ends by itself
// after some seconds, or with ctx.
type client struct {
	number int
	run    func(ctx context.Context, s *soak) error
}

// clients are all kinds.
var clients = map[string]client{
	"simple":      {3, steady(simple)},
	"prepared":    {3, steady(prepared)},
	"transaction": {2, steady(transaction)},
	"refused":     {2, steady(refused)},
	"writer":      {1, writer},
	"copy":        {1, steady(copyOut)},
	"cancel":      {2, steady(cancel)},
	"leaver":      {3, leaver},
	"stranger":    {1, stranger},
	"killed":      {1, killed},
}

// session is how long a steady client keeps its connection.
const session = 30 * time.Second

// steady keeps one connection and does one thing over and over.
func steady(do func(ctx context.Context, conn *pgconn.PgConn, n int) error) func(context.Context, *soak) error {
	return func(ctx context.Context, s *soak) error {
		conn, err := s.proxy.As("agent").Connect(ctx)
		if err != nil {
			return err
		}
		for n, end := 1, time.Now().Add(session); time.Now().Before(end) && ctx.Err() == nil; n++ {
			if err := do(ctx, conn, n); err != nil {
				_ = conn.Conn().Close()
				return err
			}
			s.score.statements.Add(1)
			time.Sleep(time.Millisecond)
		}
		closing, done := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer done()
		return conn.Close(closing)
	}
}

// one reads one value.
func one(ctx context.Context, conn *pgconn.PgConn, sql string) (string, error) {
	results, err := conn.Exec(ctx, sql).ReadAll()
	if err != nil {
		return "", err
	}
	if len(results) == 0 || len(results[len(results)-1].Rows) != 1 {
		return "", fmt.Errorf("%s: not one row", sql)
	}
	return string(results[len(results)-1].Rows[0][0]), nil
}

func expect(got string, err error, want string) error {
	if err == nil && got != want {
		return fmt.Errorf("got %q, not %q", got, want)
	}
	return err
}

// code holds an error's SQLSTATE against the one that has to come.
func code(err error, want string) error {
	var server *pgconn.PgError
	switch {
	case err == nil:
		return fmt.Errorf("no error, where %s has to come", want)
	case errors.As(err, &server) && server.Code == want:
		return nil
	}
	return err
}

func simple(ctx context.Context, conn *pgconn.PgConn, n int) error {
	aid := strconv.Itoa(n%100_000 + 1)
	got, err := one(ctx, conn, "SELECT aid FROM pgbench_accounts WHERE aid = "+aid)
	return expect(got, err, aid)
}

func prepared(ctx context.Context, conn *pgconn.PgConn, n int) error {
	if n == 1 {
		if _, err := conn.Prepare(ctx, "by_key", "SELECT aid FROM pgbench_accounts WHERE aid = $1", nil); err != nil {
			return err
		}
	}
	aid := strconv.Itoa(n%100_000 + 1)
	result := conn.ExecPrepared(ctx, "by_key", [][]byte{[]byte(aid)}, nil, nil).Read()
	if result.Err != nil || len(result.Rows) != 1 {
		return errors.Join(result.Err, expect(strconv.Itoa(len(result.Rows)), nil, "1"))
	}
	return expect(string(result.Rows[0][0]), nil, aid)
}

func transaction(ctx context.Context, conn *pgconn.PgConn, n int) error {
	got, err := one(ctx, conn, "BEGIN; SELECT count(*) FROM pgbench_branches")
	if err := expect(got, err, "1"); err != nil {
		return err
	}
	if n%2 == 0 {
		if _, err := conn.Exec(ctx, "COMMIT").ReadAll(); err != nil {
			return err
		}
		return status(conn, 'I')
	}
	_, err = conn.Exec(ctx, "DELETE FROM pgbench_branches").ReadAll()
	if err := code(err, "25006"); err != nil {
		return err
	}
	if err := status(conn, 'E'); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "ROLLBACK").ReadAll(); err != nil {
		return err
	}
	return status(conn, 'I')
}

func status(conn *pgconn.PgConn, want byte) error {
	return expect(string(conn.TxStatus()), nil, string(want))
}

func refused(ctx context.Context, conn *pgconn.PgConn, n int) error {
	texts := []string{"SELECT * FROM journal", "SELECT pg_read_file('/etc/passwd')", "COPY pgbench_tellers TO PROGRAM 'cat'", "SET ROLE postgres"}
	_, err := conn.Exec(ctx, texts[n%len(texts)]).ReadAll()
	return code(err, "42501")
}

func copyOut(ctx context.Context, conn *pgconn.PgConn, _ int) error {
	// the policy's limit on rows holds here, too
	results, err := conn.Exec(ctx, "SELECT * FROM pgbench_accounts").ReadAll()
	if err != nil {
		return err
	}
	if n := len(results[0].Rows); n != 1000 && n != 2000 {
		return fmt.Errorf("%d rows came", n)
	}
	_, err = conn.CopyTo(ctx, io.Discard, "COPY pgbench_accounts TO STDOUT")
	return code(err, "42501") // copy is off
}

func cancel(ctx context.Context, conn *pgconn.PgConn, _ int) error {
	ended := make(chan error, 1)
	go func() { // ends with the statement
		_, err := conn.Exec(ctx, "SELECT pg_sleep(20)").ReadAll()
		ended <- err
	}()
	time.Sleep(50 * time.Millisecond)
	for {
		if err := conn.CancelRequest(ctx); err != nil {
			return errors.Join(err, conn.Conn().Close(), <-ended)
		}
		select {
		case err := <-ended:
			return code(err, "57014")
		case <-time.After(time.Second): // it came before the statement
		}
	}
}

// writer inserts, and is recorded before each.
func writer(ctx context.Context, s *soak) error {
	conn, err := s.proxy.As("writer").Connect(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Conn().Close() }()
	for n := range 1000 {
		if _, err := conn.Exec(ctx, fmt.Sprintf("INSERT INTO journal (note) VALUES ('entry %d')", n)).ReadAll(); err != nil {
			return err
		}
		s.score.statements.Add(1)
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}

// leaver goes in the middle of an answer, without a word.
func leaver(ctx context.Context, s *soak) error {
	conn, err := s.proxy.As("agent").Connect(ctx)
	if err != nil {
		return err
	}
	s.score.kills.Add(1)
	results := conn.Exec(ctx, "SELECT a.aid, b.aid, pg_sleep(0.001) FROM pgbench_accounts a, pgbench_accounts b")
	if results.NextResult() {
		results.ResultReader().NextRow()
	}
	time.Sleep(50 * time.Millisecond)
	_ = conn.Conn().Close() // reset, if the answer is still coming
	return nil
}

// stranger does not know the password, and then says nothing at all.
func stranger(ctx context.Context, s *soak) error {
	to := s.proxy.As("agent")
	to.Password = "wrong"
	if _, err := to.Connect(ctx); code(err, "28P01") != nil {
		return fmt.Errorf("a wrong password: %w", err)
	}
	time.Sleep(200 * time.Millisecond)
	return nil
}

// killed is a program of several clients that is killed.
func killed(ctx context.Context, s *soak) error {
	to := s.proxy.As("agent")
	cmd := exec.Command("pgbench", "-n", "-S", "-c", "4", "-T", "60", "-M", "extended", "bench")
	cmd.Env = append(os.Environ(), "PGHOST="+to.Host, "PGPORT="+strconv.Itoa(to.Port), "PGUSER="+to.User, "PGPASSWORD="+to.Password, "PGSSLMODE=disable")
	if err := cmd.Start(); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-time.After(3 * time.Second):
	}
	s.score.kills.Add(1)
	_ = cmd.Process.Kill() // it may have ended with the server
	_ = cmd.Wait()
	return nil
}
