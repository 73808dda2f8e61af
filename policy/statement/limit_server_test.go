package statement_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgairlock/pgairlock/internal/pgtest"
)

const shopSetup = `
CREATE TABLE orders (id int8, customer_id int4, total numeric, status text);
INSERT INTO orders SELECT g, g % 10, g * 1.5, (ARRAY['open', 'paid', 'void'])[g % 3 + 1] FROM generate_series(1, 300) g;
CREATE TABLE orders_of_a_child () INHERITS (orders);
INSERT INTO orders_of_a_child VALUES (301, 1, 1, 'open');
CREATE TABLE parts (id int4, qty int4);
INSERT INTO parts SELECT g, g FROM generate_series(200, 400) g;
CREATE TABLE events (id int8, at date) PARTITION BY RANGE (at);
CREATE VIEW open_orders AS SELECT id FROM orders WHERE status = 'open';
CREATE FUNCTION pairs(int) RETURNS SETOF int LANGUAGE sql AS 'SELECT generate_series(1, 200)';
`

// A server answers what is sent with the first 101 rows, or rows among them
// where there is no order, of what it answers to the client's own text.
func TestLimitOnServer(t *testing.T) {
	conn := pgtest.Connect(t, pgtest.Start(t, pgtest.Options{Setup: shopSetup}).DSN())
	s := newShop(t, 100)
	compared := 0
	for _, c := range limits {
		if c.sent == unchanged || strings.Contains(c.text, "$1") || strings.Contains(c.text, ";") {
			continue
		}
		j := s.judge(t, c.text)
		was, wasErr := answer(t, conn, j.Text)
		is, isErr := answer(t, conn, j.Send)
		if wasErr != nil {
			continue // LIMIT 99999999999999999999 is an error; as 101 it need not be
		}
		if isErr != nil {
			t.Errorf("%s\nis an error: %v", j.Send, isErr)
			continue
		}
		compared++
		most := 101
		if strings.HasPrefix(c.text, "DECLARE") {
			most = 100
		}
		if want := min(len(was), most); len(is) != want {
			t.Errorf("%s\nhas %d rows, want %d", j.Send, len(is), want)
		}
		if strings.Contains(c.text, "ORDER BY") && !slices.Equal(is, was[:len(is)]) {
			t.Errorf("%s\nhas other rows than the first of\n%s", j.Send, j.Text)
		}
		for _, row := range is {
			if !slices.Contains(was, row) {
				t.Errorf("%s\nhas a row that\n%s\nhas not: %q", j.Send, j.Text, row)
				break
			}
		}
	}
	if compared < 40 {
		t.Errorf("only %d statements were compared", compared)
	}
}

// answer runs a text and returns the rows of its last answer; a cursor's are
// fetched.
func answer(t *testing.T, conn *pgconn.PgConn, text string) ([]string, error) {
	t.Helper()
	if strings.HasPrefix(text, "COPY") {
		var b bytes.Buffer
		_, err := conn.CopyTo(t.Context(), &b, text)
		rows := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		if strings.Contains(text, "HEADER") {
			rows = rows[1:]
		}
		return rows, err
	}
	if strings.HasPrefix(text, "DECLARE") {
		text = "BEGIN; " + text + "; FETCH ALL FROM c; ROLLBACK"
	}
	results, err := conn.Exec(t.Context(), text).ReadAll()
	var rows []string
	for _, r := range results {
		if len(r.FieldDescriptions) == 0 {
			continue
		}
		rows = rows[:0]
		for _, values := range r.Rows {
			rows = append(rows, string(bytes.Join(values, []byte("|"))))
		}
	}
	return rows, err
}

// A rewritten parameter keeps the type that a driver is told.
func TestLimitParametersKeepTheirTypes(t *testing.T) {
	conn := pgtest.Connect(t, pgtest.Start(t, pgtest.Options{Setup: shopSetup}).DSN())
	s := newShop(t, 100)
	for _, text := range []string{
		"SELECT * FROM orders LIMIT $1",
		"SELECT * FROM orders WHERE status = $2 OFFSET $3 LIMIT $1",
		"SELECT * FROM orders FETCH FIRST $1 ROWS ONLY",
		"SELECT * FROM orders OFFSET $1",
	} {
		j := s.judge(t, text)
		was, err := conn.Prepare(t.Context(), "", j.Text, nil)
		if err != nil {
			t.Fatal(err)
		}
		is, err := conn.Prepare(t.Context(), "", j.Send, nil)
		if err != nil {
			t.Fatalf("%s: %v", j.Send, err)
		}
		if !slices.Equal(is.ParamOIDs, was.ParamOIDs) || len(is.Fields) != len(was.Fields) {
			t.Errorf("%s: parameters %v, want %v", j.Send, is.ParamOIDs, was.ParamOIDs)
		}
		for i := range is.Fields {
			if is.Fields[i].TableOID != was.Fields[i].TableOID || is.Fields[i].DataTypeOID != was.Fields[i].DataTypeOID {
				t.Errorf("%s: column %d is described as %+v, want %+v", j.Send, i+1, is.Fields[i], was.Fields[i])
			}
		}
	}
}
