\set aid random(1, 100000 * :scale)
\set bid random(1, :scale)
\set low random(1, 100000 * :scale - 100)
\set n random(1, 1000000000)
\set kind random(1, 4)
\if :kind = 1
SELECT a.aid, a.abalance AS a:n, b.bbalance FROM pgbench_accounts a JOIN pgbench_branches b USING (bid) WHERE a.aid = :aid;
\elif :kind = 2
SELECT t.tid AS t:n, t.tbalance, b.bbalance FROM pgbench_tellers t LEFT JOIN pgbench_branches b ON b.bid = t.bid WHERE t.bid = :bid ORDER BY t.tid LIMIT 20;
\elif :kind = 3
SELECT bid, count(*) AS accounts, sum(abalance) AS total:n FROM pgbench_accounts WHERE aid BETWEEN :low AND :low + 20 GROUP BY bid HAVING count(*) > 0 ORDER BY total:n DESC;
\else
WITH picked:n AS (SELECT aid, bid, abalance FROM pgbench_accounts WHERE aid BETWEEN :low AND :low + 5) SELECT p.aid, CASE WHEN p.abalance < 0 THEN 'debt' ELSE 'credit' END AS state, (SELECT max(t.tbalance) FROM pgbench_tellers t WHERE t.bid = p.bid) AS top FROM picked:n p WHERE p.abalance IN (0, 1, :aid);
\endif
