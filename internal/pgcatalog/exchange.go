package pgcatalog

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// query is one read of an exchange. Its text names every relation, function,
// type and operator with its schema, since the session's search_path may hold
// other objects under the same names. IN, BETWEEN, CASE x WHEN, USING and IS
// DISTINCT FROM look operators up by themselves and so are not used.
type query struct {
	sql string
	row func(*row) // called once per row, in the server's order
}

// statementName is what our prepared statements are called. The unnamed
// statement and the session's other names belong to the client.
func statementName(i int) string { return fmt.Sprintf("pgairlock.catalog.%d", i) }

const (
	begin    = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" // one picture of all catalogs
	commit   = "COMMIT"
	rollback = "ROLLBACK"
)

// exchange runs the queries in one transaction and one round trip. It leaves
// the session as it was: no statement, portal or transaction of ours remains,
// and the unnamed statement is untouched.
func exchange(ctx context.Context, conn *pgconn.PgConn, queries []query) error {
	if status := conn.TxStatus(); status != 'I' {
		return fmt.Errorf("read the catalogs: the session is inside a transaction (status %c)", status)
	}
	all := append([]query{{sql: begin}}, queries...)
	all = append(all, query{sql: commit})
	err := pipeline(ctx, conn, all)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("read the catalogs: %w", err)
	if conn.IsClosed() {
		return err
	}
	return errors.Join(err, cleanUp(ctx, conn, len(all)))
}

func pipeline(ctx context.Context, conn *pgconn.PgConn, queries []query) error {
	p := conn.StartPipeline(ctx)
	for i, q := range queries {
		p.SendPrepare(statementName(i), q.sql, nil)
		p.SendQueryPrepared(statementName(i), nil, nil, []int16{1}) // all columns in binary
		p.SendDeallocate(statementName(i))
	}
	err := p.Sync()
	for _, q := range queries {
		if err != nil {
			break
		}
		err = results(p, q)
	}
	return errors.Join(err, p.Close())
}

// results takes the three answers to one query: description, rows, close.
func results(p *pgconn.Pipeline, q query) error {
	if _, err := p.GetResults(); err != nil {
		return err
	}
	answer, err := p.GetResults()
	if err != nil {
		return err
	}
	reader, ok := answer.(*pgconn.ResultReader)
	if !ok {
		return fmt.Errorf("the server answered a query with %T", answer)
	}
	var r row
	for reader.NextRow() {
		r.values = reader.Values()
		q.row(&r)
	}
	if _, err := reader.Close(); err != nil {
		return err
	}
	if r.err != nil {
		return r.err
	}
	_, err = p.GetResults()
	return err
}

// cleanUp ends a failed exchange's transaction and drops what it prepared;
// closing a statement that does not exist is no error.
func cleanUp(ctx context.Context, conn *pgconn.PgConn, prepared int) error {
	p := conn.StartPipeline(ctx)
	for i := range prepared {
		p.SendDeallocate(statementName(i))
	}
	if conn.TxStatus() != 'I' {
		name := statementName(prepared)
		p.SendPrepare(name, rollback, nil)
		p.SendQueryPrepared(name, nil, nil, nil)
		p.SendDeallocate(name)
	}
	return errors.Join(p.Sync(), p.Close())
}
