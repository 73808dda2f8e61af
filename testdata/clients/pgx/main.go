// Command pgx drives pgx: described and cached statements, binary results,
// batches that are pipelines, CancelRequest.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	config, err := pgx.ParseConfig("") // all from the environment
	if err != nil {
		return err
	}
	var notices []string
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { notices = append(notices, n.Message) }
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	steps := []func(context.Context, *pgx.Conn) error{read, stream, refusals, transaction, pipeline, cancel}
	for _, step := range steps {
		if err := step(ctx, conn); err != nil {
			return err
		}
	}
	notices = nil
	rows, err := conn.Query(ctx, "SELECT id FROM big")
	if err != nil {
		return err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	fmt.Println("limited", len(ids), rows.CommandTag(), notices, err)
	return show(ctx, conn, "after", "SELECT 5::int")
}

func read(ctx context.Context, conn *pgx.Conn) error {
	err := show(ctx, conn, "simple", `SELECT id, note, total::text, update_at, "delete", tags, doc FROM orders WHERE id < 3 ORDER BY id`)
	if err != nil {
		return err
	}
	for i := 7; i < 9; i++ {
		if err := show(ctx, conn, "prepared", "SELECT id, $2::text AS said FROM orders WHERE id = $1", i, "it's"); err != nil {
			return err
		}
	}
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		if err := show(ctx, conn, mode.String(), "SELECT name FROM customers WHERE id = $1", mode, 3); err != nil {
			return err
		}
	}
	return conn.Ping(ctx)
}

func stream(ctx context.Context, conn *pgx.Conn) error {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "DECLARE stream CURSOR FOR SELECT id FROM orders WHERE id <= 50 ORDER BY id"); err != nil {
		return err
	}
	total := 0
	for {
		tag, err := tx.Exec(ctx, "FETCH 20 FROM stream")
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			break
		}
		total += int(tag.RowsAffected())
	}
	fmt.Println("streamed", total)
	return tx.Commit(ctx)
}

func refusals(ctx context.Context, conn *pgx.Conn) error {
	for _, text := range []string{"SELECT ssn FROM customers", "DELETE FROM orders"} {
		_, err := conn.Exec(ctx, text)
		fmt.Println("refused", refusal(err))
	}
	return nil
}

func transaction(ctx context.Context, conn *pgx.Conn) error {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "SELECT api_key FROM secrets")
	fmt.Printf("in a transaction %s %c\n", refusal(err), conn.PgConn().TxStatus())
	_, err = tx.Exec(ctx, "SELECT 2")
	fmt.Println("failed block", refusal(err))
	if err := tx.Rollback(ctx); err != nil {
		return err
	}
	return show(ctx, conn, "after", "SELECT 3::int")
}

func pipeline(ctx context.Context, conn *pgx.Conn) error {
	batch := &pgx.Batch{}
	batch.Queue("SELECT id FROM orders WHERE id = $1", 1)
	batch.Queue("SELECT ssn FROM customers WHERE id = $1", 1)
	batch.Queue("SELECT id FROM orders WHERE id = $1", 2)
	results := conn.SendBatch(ctx, batch) // describes all three first
	for range 3 {
		tag, err := results.Exec()
		fmt.Println("batch", tag, refusal(err))
	}
	_ = results.Close() // the same error again

	one := &pgconn.Batch{} // all in one go, one Sync at the end
	one.ExecParams("SELECT id FROM orders WHERE id = 1", nil, nil, nil, nil)
	one.ExecParams("SELECT ssn FROM customers", nil, nil, nil, nil)
	one.ExecParams("SELECT id FROM orders WHERE id = 2", nil, nil, nil, nil)
	reader := conn.PgConn().ExecBatch(ctx, one)
	for reader.NextResult() {
		tag, err := reader.ResultReader().Close()
		fmt.Println("pipeline", tag, refusal(err))
	}
	fmt.Println("pipeline", refusal(reader.Close()))
	return show(ctx, conn, "after", "SELECT 4::int")
}

func cancel(ctx context.Context, conn *pgx.Conn) error {
	requested := make(chan error)
	go func() {
		time.Sleep(300 * time.Millisecond)
		requested <- conn.PgConn().CancelRequest(ctx)
	}()
	_, err := conn.Exec(ctx, "SELECT count(*) FROM big a, big b, big c")
	fmt.Println("cancelled", refusal(err))
	return <-requested
}

func show(ctx context.Context, conn *pgx.Conn, name, text string, args ...any) error {
	rows, err := conn.Query(ctx, text, args...)
	if err != nil {
		return err
	}
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return err
		}
		fmt.Println(name, values)
	}
	return rows.Err()
}

// refusal is what of an error does not change when a message is reworded.
func refusal(err error) string {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return fmt.Sprint(err)
	}
	detail, _, _ := strings.Cut(pg.Detail, " (")
	detail, _, _ = strings.Cut(detail, ".")
	return strings.TrimSpace(pg.Code + " " + detail)
}
