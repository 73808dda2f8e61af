// lib/pq by database/sql: unnamed statements whose Parse and Bind are one round
// trip apart, and CancelRequest when a context ends.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/lib/pq"
)

func main() {
	if err := all(context.Background()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func all(ctx context.Context) error {
	var notices []string
	connector, err := pq.NewConnector("")
	if err != nil {
		return err
	}
	db := sql.OpenDB(pq.ConnectorWithNoticeHandler(connector, func(e *pq.Error) { notices = append(notices, e.Message) }))
	defer db.Close()
	db.SetMaxOpenConns(1)
	if err := db.Ping(); err != nil {
		return err
	}
	show(db, "simple", `SELECT id, note, total, "delete", tags::text FROM orders WHERE id < 3 ORDER BY id`)
	stmt, err := db.Prepare("SELECT id, $1::text AS said FROM orders WHERE id = $2")
	if err != nil {
		return err
	}
	for _, id := range []int{7, 8} {
		var got int
		var said string
		fmt.Println("prepared", stmt.QueryRow("it's", id).Scan(&got, &said), got, said)
	}
	show(db, "parameters", "SELECT id FROM orders WHERE id = ANY($1) ORDER BY id", pq.Array([]int{3, 4}))
	rows(db, "streamed", "SELECT id FROM orders WHERE id <= $1", 50)
	show(db, "refused", "SELECT ssn FROM customers")
	show(db, "refused", "SELECT ssn FROM customers WHERE id = $1", 1)
	_, err = db.Exec("DELETE FROM orders")
	fmt.Println("refused", refusal(err))
	if err := transaction(ctx, db); err != nil {
		return err
	}
	short, stop := context.WithTimeout(ctx, 300*time.Millisecond)
	defer stop()
	_, err = db.ExecContext(short, "SELECT count(*) FROM big a, big b, big c")
	fmt.Println("cancelled", refusal(err))
	notices = nil
	rows(db, "limited", "SELECT id FROM big")
	fmt.Println(notices)
	show(db, "after", "SELECT 4")
	return nil
}

func transaction(ctx context.Context, db *sql.DB) error {
	_, err := db.Begin() // says BEGIN READ WRITE
	fmt.Println("begin", refusal(err))
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	_, err = tx.Exec("SELECT api_key FROM secrets")
	fmt.Println("in a transaction", refusal(err))
	_, err = tx.Exec("SELECT 2")
	fmt.Println("failed block", refusal(err))
	if err := tx.Rollback(); err != nil {
		return err
	}
	show(db, "after", "SELECT 3")
	return nil
}

func refusal(err error) string {
	var known *pq.Error
	if !errors.As(err, &known) {
		return fmt.Sprint(err)
	}
	detail, _, _ := strings.Cut(known.Detail, " (")
	detail, _, _ = strings.Cut(detail, ".")
	return strings.TrimSpace(string(known.Code) + " " + detail)
}

func show(db *sql.DB, name, query string, args ...any) {
	r, err := db.Query(query, args...)
	if err != nil {
		fmt.Println(name, refusal(err))
		return
	}
	defer r.Close()
	columns, _ := r.Columns()
	for r.Next() {
		values, places := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			places[i] = &values[i]
		}
		if err := r.Scan(places...); err != nil {
			fmt.Println(err)
		}
		for i := range values {
			values[i].String = columns[i] + "=" + values[i].String
		}
		fmt.Println(name, joined(values))
	}
	if err := r.Err(); err != nil {
		fmt.Println(name, refusal(err))
	}
}

func joined(values []sql.NullString) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = v.String
	}
	return strings.Join(texts, " ")
}

func rows(db *sql.DB, name, query string, args ...any) {
	r, err := db.Query(query, args...)
	if err != nil {
		fmt.Println(name, refusal(err))
		return
	}
	defer r.Close()
	n := 0
	for r.Next() {
		n++
	}
	fmt.Println(name, n, r.Err())
}
