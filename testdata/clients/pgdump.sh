#!/bin/sh
# pg_dump and pg_restore, by an observed agent: COPY out, COPY in, DDL, and the
# same content after as before.
set -e
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PGSSLMODE=require
sum() { psql -X -q -A -t -c "SELECT count(*), md5(string_agg(o::text, ';' ORDER BY id)) FROM $1 o" | sed 's/|/ rows, /'; }
psql -X -q -c 'CREATE TABLE shipments AS SELECT * FROM orders' -c 'ALTER TABLE shipments ADD PRIMARY KEY (id)' -c "COMMENT ON TABLE shipments IS 'it''s a copy'"
before=$(sum shipments)
pg_dump -Fc -t shipments -f "$work/shipments.dump"
pg_dump --inserts -t customers -f "$work/customers.sql"
pg_dump --schema-only -f "$work/schema.sql"
echo "dumped $before, $(grep -c '^INSERT' "$work/customers.sql") customers, $(grep -c '^CREATE TABLE' "$work/schema.sql") tables"
psql -X -q -c 'UPDATE shipments SET note = NULL'
[ "$(sum shipments)" = "$before" ] || echo "changed"
pg_restore --clean --if-exists --single-transaction -d "$PGDATABASE" "$work/shipments.dump"
[ "$(sum shipments)" = "$before" ] && echo "restored as it was"
psql -X -q -c 'DROP TABLE shipments'
psql -X -q -A -t <<'SQL' | sed 's/PID [0-9]*/PID/'
\echo copied
CREATE TABLE fed(a int, b text);
\copy fed FROM PROGRAM 'seq -f "%g,x" 100000' CSV
SELECT count(*), sum(a) FROM fed;
\copy (SELECT * FROM fed WHERE a < 3) TO STDOUT
DROP TABLE fed;
\echo listened
LISTEN news;
NOTIFY news, 'hello';
SQL
