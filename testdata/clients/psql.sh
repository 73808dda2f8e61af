#!/bin/sh
# psql: simple protocol, SQL PREPARE, FETCH_COUNT's cursor, \d, and at the end
# Ctrl-C, after which psql reads no more of a script.
psql -X -q -P pager=off -P footer=off -A -v VERBOSITY=sqlstate 2>&1 <<'SQL'
\echo simple
SELECT id, note, total, update_at, "delete", tags, doc FROM orders WHERE id < 3 ORDER BY id;
\echo prepared
PREPARE q(int, text) AS SELECT id, $2 AS said FROM orders WHERE id = $1;
EXECUTE q(7, 'it''s');
EXECUTE q(8, NULL);
\echo streamed
\set FETCH_COUNT 20
\t on
\o |wc -l | tr -d ' '
SELECT id FROM orders WHERE id <= 50 ORDER BY id;
\o
\t off
\unset FETCH_COUNT
\echo refused
SELECT ssn FROM customers;
DELETE FROM orders;
\echo in a transaction
BEGIN;
SELECT 1 AS before;
SELECT api_key FROM secrets;
SELECT 2 AS failed;
ROLLBACK;
SELECT 3 AS after;
\echo described
\d trg_t
\echo limited
\set VERBOSITY terse
\t on
\o |wc -l | tr -d ' '
SELECT id FROM big;
\o
\t off
SELECT 4 AS after;
\echo cancelled
\! (sleep 0.3; kill -INT $PPID) &
SELECT count(*) FROM big a, big b, big c;
SQL
[ $? = 3 ] # psql's word for a script that ended early
