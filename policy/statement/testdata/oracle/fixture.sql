-- What the statements of statements.sql are about: base tables, and whatever
-- makes the resolution of names and overloads hard.
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE level AS ENUM ('low', 'high');
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE DOMAIN short_text AS varchar(20);
CREATE TYPE address AS (street text, town text, zip int);
CREATE TYPE span AS RANGE (subtype = int8);

CREATE TABLE orders (id serial PRIMARY KEY, customer_id int, total numeric, status text, note varchar(100),
  placed timestamptz DEFAULT now(), paid boolean, tags text[], doc jsonb, raw json, body xml, qty positive, code char(4));
CREATE TABLE customers (id int PRIMARY KEY, name text, email varchar, ssn text, feels mood, home address, region short_text, born date, mood_rank level);
CREATE TABLE items (order_id int REFERENCES orders, line int, sku text, qty int8, price float8, PRIMARY KEY (order_id, line));
CREATE TABLE lists (id int8, nums int[], names name[], during tstzrange, window_ int4range, ids span, uid uuid, addr inet, bits varbit, small int2, f4 float4, c "char", o oid, iv interval, t time, ttz timetz, ts timestamp, by bytea, mac macaddr, tsv tsvector, tsq tsquery, pt point, homes address[]);
CREATE TABLE events (id int, at date, payload text) PARTITION BY RANGE (at);
CREATE TABLE events_2026 PARTITION OF events FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
CREATE TABLE parent (id int, v text);
CREATE TABLE child (extra text) INHERITS (parent);
CREATE VIEW open_orders AS SELECT id, total FROM orders WHERE status = 'open';
CREATE MATERIALIZED VIEW totals AS SELECT customer_id, sum(total) AS total FROM orders GROUP BY 1;
CREATE TABLE "Odd ""name""" ("Col A" int, "select" text, "É" text);
CREATE SCHEMA hr;
CREATE TABLE hr.salaries (id int, amount int);
CREATE TABLE hr.orders (id int, hidden text);

-- functions of every shape
CREATE FUNCTION plain(a int) RETURNS int LANGUAGE sql AS 'SELECT a';
CREATE FUNCTION plain(a text) RETURNS text LANGUAGE sql AS 'SELECT a';
CREATE FUNCTION defaults(a int, b int DEFAULT 1, c text DEFAULT 'x') RETURNS text LANGUAGE sql AS 'SELECT c';
CREATE FUNCTION variad(a text, VARIADIC b int[]) RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION outs(a int, OUT x int, OUT y text) LANGUAGE sql AS 'SELECT 1, ''y''';
CREATE FUNCTION one_out(OUT only_one text) LANGUAGE sql AS 'SELECT ''a''';
CREATE FUNCTION tab(n int) RETURNS TABLE (k int, v text) LANGUAGE sql AS 'SELECT 1, ''v''';
CREATE FUNCTION setof_orders() RETURNS SETOF orders LANGUAGE sql AS 'SELECT * FROM orders';
CREATE FUNCTION one_customer(i int) RETURNS customers LANGUAGE sql AS 'SELECT * FROM customers LIMIT 1';
CREATE FUNCTION rec() RETURNS SETOF record LANGUAGE sql AS 'SELECT 1, ''a''';
CREATE FUNCTION of_row(customers) RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION of_address(address) RETURNS text LANGUAGE sql AS 'SELECT ''x''';
CREATE FUNCTION poly(anyelement, anyarray) RETURNS anyelement LANGUAGE sql AS 'SELECT $1';
CREATE FUNCTION compat(anycompatible, anycompatible) RETURNS anycompatiblearray LANGUAGE sql AS 'SELECT ARRAY[$1,$2]';
CREATE FUNCTION feels_like(mood) RETURNS text LANGUAGE sql AS 'SELECT ''m''';
CREATE PROCEDURE proc(a int) LANGUAGE sql AS 'SELECT 1';
CREATE AGGREGATE my_sum(int) (SFUNC = int4pl, STYPE = int, INITCOND = '0');

-- overloads that lie in wait beside the built-in ones
CREATE FUNCTION lower(varchar) RETURNS text LANGUAGE sql AS 'SELECT ''mine''';
CREATE FUNCTION length(mood) RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION abs(positive) RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION count(int, int) RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION now(int) RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION upper(int) RETURNS text LANGUAGE sql AS 'SELECT ''mine''';
CREATE FUNCTION hr.hidden_fn() RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION op_text(varchar, varchar) RETURNS boolean LANGUAGE sql AS 'SELECT true';
CREATE OPERATOR = (LEFTARG = varchar, RIGHTARG = varchar, FUNCTION = op_text);
CREATE OPERATOR ~~ (LEFTARG = varchar, RIGHTARG = varchar, FUNCTION = op_text);
CREATE FUNCTION op_int(int, int) RETURNS boolean LANGUAGE sql AS 'SELECT true';
CREATE OPERATOR === (LEFTARG = int, RIGHTARG = int, FUNCTION = op_int);
CREATE FUNCTION op_mood(mood, int) RETURNS mood LANGUAGE sql AS 'SELECT $1';
CREATE OPERATOR + (LEFTARG = mood, RIGHTARG = int, FUNCTION = op_mood);
CREATE FUNCTION op_neg(text) RETURNS text LANGUAGE sql AS 'SELECT $1';
CREATE OPERATOR !! (RIGHTARG = text, FUNCTION = op_neg);
CREATE FUNCTION op_addr(address, address) RETURNS boolean LANGUAGE sql AS 'SELECT true';
CREATE OPERATOR >= (LEFTARG = address, RIGHTARG = address, FUNCTION = op_addr);

-- casts that run code
CREATE FUNCTION text_to_address(text) RETURNS address LANGUAGE sql AS 'SELECT NULL::address';
CREATE CAST (text AS address) WITH FUNCTION text_to_address(text);
CREATE FUNCTION mood_to_int(mood) RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE CAST (mood AS int) WITH FUNCTION mood_to_int(mood);
CREATE FUNCTION level_to_int(level) RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE CAST (level AS int) WITH FUNCTION level_to_int(level) AS IMPLICIT;
CREATE FUNCTION int_to_mood(int) RETURNS mood LANGUAGE sql AS 'SELECT ''ok''::mood';
CREATE CAST (int AS mood) WITH FUNCTION int_to_mood(int) AS ASSIGNMENT;
