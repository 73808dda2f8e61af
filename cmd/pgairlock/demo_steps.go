package main

// step is one thing that the demo's agent tries.
type step struct {
	title string
	tries []try // one after the other on the same connection
}

// try is a statement and what has to come of it.
type try struct {
	sql  string
	args []any
	rows int      // wanted; -1: one or more
	code string   // SQLSTATE of the error that is wanted; "": none
	says []string // what message, detail, hint or notice have to hold
}

// demoSteps is the agent's session. It is a test as well: whatever comes out
// otherwise fails the demo.
func demoSteps() []step {
	return []step{
		{"reads what it may", []try{
			{sql: "SELECT status, count(*) FROM orders GROUP BY status ORDER BY 2 DESC", rows: 7},
			{sql: "SELECT o.id, c.name, o.total FROM orders o JOIN customers c ON c.id = o.customer_id WHERE c.city = $1 ORDER BY o.id DESC LIMIT 3", args: []any{"Hamburg"}, rows: 3},
			{sql: "SELECT * FROM reporting.low_stock ORDER BY available LIMIT 5", rows: 5},
		}},
		{"asks for more than the policy gives at a time, and is told", []try{
			{sql: "SELECT id, placed_at, total FROM orders", rows: 1000, says: []string{"1000"}},
		}},
		{"reaches for personal data, also by way of *", []try{
			{sql: "SELECT * FROM customers", code: "42501", says: []string{"email", "id, name, region, city, created_at"}},
			{sql: "SELECT c FROM customers c", code: "42501"},
		}},
		{"opens a table that is not its own", []try{
			{sql: "SELECT card_last4, amount FROM payments", code: "42501", says: []string{"payments"}},
		}},
		{"tries to change and to break out", []try{
			{sql: "DELETE FROM orders", code: "25006"},
			{sql: "SELECT pg_read_file('/etc/passwd')", code: "42501", says: []string{"pg_read_file"}},
			{sql: "SET statement_timeout = 0", code: "42501", says: []string{"statement_timeout"}},
			{sql: "WITH gone AS (DELETE FROM inventory RETURNING *) SELECT count(*) FROM gone", code: "25006"},
		}},
		{"is refused in the middle of a transaction, and goes on after it", []try{
			{sql: "BEGIN"},
			{sql: "SELECT sum(qty) FROM inventory WHERE warehouse_id = 1", rows: 1},
			{sql: "UPDATE inventory SET qty = 0 WHERE warehouse_id = 1", code: "25006"},
			{sql: "SELECT 1", code: "25P02"},
			{sql: "ROLLBACK"},
			{sql: "SELECT sum(qty) FROM inventory WHERE warehouse_id = 1", rows: 1},
		}},
		{"sends a query that would run for hours, and is cut off", []try{
			{sql: "SELECT count(*) FROM orders a, orders b, orders c", code: "57014"},
		}},
	}
}

// typed is what the demo types into psql.
type typed struct {
	sql  string
	fail bool     // psql has to report an error
	says []string // what it has to print
}

func demoTyped() []typed {
	return []typed{
		{sql: `\dv reporting.*`, says: []string{"daily_sales", "(2 rows)"}},
		{sql: "SELECT id, name, city FROM customers ORDER BY id LIMIT 3", says: []string{"(3 rows)"}},
		{sql: "SELECT name, email FROM customers", fail: true, says: []string{"ERROR", "email", "HINT"}},
	}
}
