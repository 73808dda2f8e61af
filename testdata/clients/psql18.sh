#!/bin/sh
# psql on PostgreSQL 18's client library: TLS without SSLRequest, the login bound
# to the channel, protocol 3.2, and what is refused when it can't be had.
ask() { psql -X -q -A -t -v VERBOSITY=terse "host=$PGHOST port=$PGPORT user=$PGUSER dbname=$PGDATABASE $1" -c "$2" 2>&1 | sed 's/port [0-9]*/port PORT/'; }
who="SELECT id, note FROM orders WHERE id = 7"
for options in \
  "sslmode=disable" \
  "sslmode=require" \
  "sslmode=require sslnegotiation=direct" \
  "sslmode=require channel_binding=require require_auth=scram-sha-256" \
  "sslmode=require sslnegotiation=direct channel_binding=require min_protocol_version=3.0 max_protocol_version=latest" \
  "sslmode=disable max_protocol_version=3.2" \
  "sslmode=disable min_protocol_version=3.2 max_protocol_version=3.2" \
  "sslmode=disable channel_binding=require" \
  "sslmode=require gssencmode=prefer" \
  "sslmode=require require_auth=md5"
do
  echo "$options: $(ask "$options" "$who")"
done
psql -X -q -A -v VERBOSITY=sqlstate "sslmode=require sslnegotiation=direct channel_binding=require" 2>&1 <<'SQL'
\echo refused
SELECT ssn FROM customers;
DELETE FROM orders;
\echo in a transaction
BEGIN;
SELECT api_key FROM secrets;
SELECT 2;
ROLLBACK;
SELECT 3 AS after;
\set VERBOSITY terse
\t on
\echo limited
\o |wc -l | tr -d ' '
SELECT id FROM big;
\o
\echo cancelled
\! (sleep 0.3; kill -INT $PPID) &
SELECT count(*) FROM big a, big b, big c;
SQL
[ $? = 3 ] # psql's word for a script that ended early
