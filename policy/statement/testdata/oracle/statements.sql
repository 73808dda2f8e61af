SELECT 1
SELECT id FROM orders WHERE id = 1
SELECT id, lower(status), upper(status) FROM orders WHERE total > 10.5
SELECT lower(note) FROM orders
SELECT lower('x'), lower(email), lower(name) FROM customers
SELECT lower(name || email), length(email), length(feels) FROM customers
SELECT abs(qty), abs(total), abs(-1) FROM orders
SELECT count(*), count(id), count(DISTINCT status), now() FROM orders
SELECT upper(id), upper(status) FROM orders
SELECT * FROM customers WHERE email = name
SELECT * FROM customers WHERE email = 'x'
SELECT * FROM customers WHERE email = email
SELECT * FROM customers WHERE email LIKE 'x%' OR name LIKE 'y%' OR email ILIKE 'z'
SELECT email FROM customers WHERE email IN ('a', 'b') AND name IN ('a', email)
SELECT email FROM customers WHERE email = ANY (ARRAY['a', 'b']) AND name = ANY ('{a,b}')
SELECT 1 FROM customers a JOIN customers b USING (email)
SELECT 1 FROM hr.salaries a NATURAL JOIN hr.orders b
SELECT * FROM orders NATURAL LEFT JOIN hr.salaries
SELECT NULLIF(email, 'x'), NULLIF(name, 'y') FROM customers
SELECT CASE email WHEN 'x' THEN 1 ELSE 2 END FROM customers
SELECT email IS DISTINCT FROM 'x', (name, id) = ('a', 2), (name, id) IN (SELECT name, id FROM customers) FROM customers
SELECT (email, name) = ('a', 'b') FROM customers
SELECT email IN (SELECT email FROM customers), email = ALL (SELECT name FROM customers) FROM customers
SELECT id === 2, 3 === id FROM orders
SELECT id === 2::int8 FROM orders
SELECT id === 2 FROM orders
SELECT feels + 1, plain(mood_rank), mood_rank === 1, mood_rank::int, my_sum(mood_rank), mood_rank + 1 FROM customers GROUP BY 1,2,3,4,6
SELECT abs(mood_rank) FROM customers
SELECT mood_rank = mood_rank FROM customers
SELECT !! name, !! email FROM customers
SELECT home >= home, home = home FROM customers
SELECT home BETWEEN home AND home FROM customers
SELECT id OPERATOR(public.===) 3, id OPERATOR(pg_catalog.=) 3 FROM orders
SELECT 'x'::text::address, ('x'::text)::address FROM orders
SELECT name::address FROM customers
SELECT plain(feels), feels::int, 1::mood FROM customers
SELECT (customers).name, (customers).home, (c.home).street FROM customers CROSS JOIN customers c
SELECT (c.*).name, c.of_row, of_row(c), of_row(c.*), c.of_row::text FROM customers c
SELECT (home).of_address, of_address(home), (home).town FROM customers
SELECT (ARRAY[home])[1].street, (homes)[1].zip, homes[1:2], (homes[1]).town FROM customers, lists
SELECT c, row_to_json(c), to_jsonb(c), c::text, count(c) FROM customers c GROUP BY c.*
SELECT c FROM customers c
SELECT row_to_json(c.*) FROM customers c
SELECT json_agg(c.*), array_agg(c) FROM customers c
SELECT ROW(c.*), ROW(c.id, 2), (1, 'a', NULL) FROM customers c
SELECT plain(1), plain('a'), plain('a'::text), plain(id), plain(status) FROM orders
SELECT defaults(1), defaults(1, 2), defaults(1, 2, 'z'), defaults(a => 1), defaults(1, c => 'q'), defaults(b => 2, a => 1) FROM orders
SELECT variad('a', 1), variad('a', 1, 2, 3), variad('a', VARIADIC ARRAY[1,2])
SELECT outs(1), (outs(1)).x, (outs(1)).*, one_out() FROM orders
SELECT * FROM outs(1)
SELECT x, y FROM outs(1) o
SELECT only_one FROM one_out()
SELECT only_one FROM one_out() AS z
SELECT t.k, t.v, t FROM tab(1) t
SELECT g, g + 1 FROM generate_series(1, 10) g
SELECT g.g, x FROM generate_series(1, 10) g, LATERAL (SELECT g.g + 1 AS x) s
SELECT generate_series FROM generate_series(1, 10)
SELECT n, o FROM generate_series(1, 10) WITH ORDINALITY AS t(n, o)
SELECT a, b, ordinality FROM ROWS FROM (generate_series(1, 2), tab(2)) WITH ORDINALITY AS z(a, b)
SELECT a, b FROM unnest(ARRAY[1,2], ARRAY['a','b']) AS u(a, b)
SELECT a.id, a.total FROM setof_orders() a
SELECT s, s.id FROM setof_orders() s WHERE s.status = 'x'
SELECT * FROM one_customer(1)
SELECT (one_customer(1)).ssn, (one_customer(1)).*
SELECT a, b FROM rec() AS r(a int, b text)
SELECT a, b FROM rec() AS (a int, b mood)
SELECT * FROM json_to_recordset('[{"a":1}]') AS t(a int, b text, c positive)
SELECT a FROM ROWS FROM (json_to_record('{}') AS (a int), generate_series(1, 2)) AS z
SELECT r FROM rec() AS r(a int, b text)
SELECT j.key, j.value FROM orders o, json_each(o.raw) j
SELECT key, value ->> 'x' FROM orders o CROSS JOIN LATERAL jsonb_each(o.doc)
SELECT jsonb_array_elements(doc), jsonb_object_keys(doc) FROM orders
SELECT jsonb_populate_record(NULL::customers, doc), (jsonb_populate_record(NULL::customers, doc)).ssn FROM orders
SELECT poly(1, ARRAY[2]), poly('a'::text, tags), compat(1, 2.5), (compat(1, 2))[1] FROM orders
SELECT feels_like('ok'), feels_like(feels) FROM customers
SELECT my_sum(id), my_sum(id) OVER (PARTITION BY status ORDER BY id), sum(total) FROM orders GROUP BY id, status
SELECT hr.hidden_fn(), pg_catalog.lower('A'), public.lower('a')
SELECT a.id, b.id FROM hr.orders a, orders b
SELECT hr.orders.hidden, public.orders.id FROM hr.orders, public.orders
SELECT orders.id FROM hr.orders
SELECT x FROM orders AS t(x, y)
SELECT t.x, y, total FROM orders AS t(x, y)
SELECT d FROM customers AS t(a, b, c, d)
SELECT j.a, d FROM (orders JOIN items ON orders.id = items.order_id) AS j(a, b, c, d)
SELECT id, u FROM orders JOIN hr.salaries USING (id) AS u
SELECT u.id, orders.id, salaries.id FROM orders LEFT JOIN hr.salaries USING (id) AS u
SELECT id FROM orders FULL JOIN hr.salaries USING (id) JOIN customers USING (id)
SELECT * FROM (orders o JOIN hr.salaries USING (id)) JOIN customers c USING (id)
SELECT p, q, r FROM (SELECT * FROM hr.orders JOIN hr.salaries USING (id)) t(p, q, r)
SELECT o.* FROM orders o
SELECT o.*, i.sku FROM orders o LEFT JOIN items i ON i.order_id = o.id AND i.qty > 1
SELECT * FROM orders o, LATERAL (SELECT i.sku FROM items i WHERE i.order_id = o.id LIMIT 1) l
SELECT * FROM orders o LEFT JOIN LATERAL (SELECT o.id AS oid2) l ON true
SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM items WHERE order_id = o.id)
SELECT id FROM orders o WHERE EXISTS (SELECT FROM items WHERE order_id = id)
SELECT (SELECT name FROM customers WHERE id = customer_id) FROM orders
SELECT (SELECT c FROM customers c LIMIT 1).ssn, (SELECT max(id) FROM orders)
SELECT ARRAY(SELECT ssn FROM customers), ARRAY(SELECT tags FROM orders)
SELECT id FROM orders WHERE (id, status) IN (SELECT id, name FROM customers)
SELECT id FROM orders WHERE (id, status) = (SELECT id, name FROM customers LIMIT 1)
SELECT id FROM orders WHERE ROW(id, status) < ROW(1, 'x') AND (id, status) <> (2, 'y')
SELECT id FROM orders WHERE (id, status) IN ((1, 'a'), (2, 'b'))
WITH x AS (SELECT id, ssn FROM customers) SELECT id FROM x
WITH x(a, b) AS (SELECT id, ssn FROM customers) SELECT b FROM x
WITH customers AS (SELECT 1 AS id) SELECT id FROM customers
WITH customers AS (SELECT * FROM customers) SELECT id FROM customers
WITH customers AS (SELECT 1 AS id) SELECT public.customers.ssn FROM public.customers
WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT n FROM r
WITH RECURSIVE t AS (SELECT id, name FROM customers WHERE id = 1 UNION SELECT c.id, c.name FROM customers c JOIN t ON c.id = t.id + 1) SELECT * FROM t
WITH RECURSIVE b AS (SELECT * FROM a), a AS (SELECT 1 AS one) SELECT one FROM b
WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SEARCH DEPTH FIRST BY n SET ord CYCLE n SET looped USING path SELECT n, ord, looped, path FROM r
SELECT * FROM (WITH s AS (SELECT 1 AS id) SELECT id FROM s) a, customers s
SELECT a FROM (SELECT 1 AS a) x UNION SELECT ssn::int FROM customers ORDER BY a
SELECT id FROM orders UNION ALL SELECT id FROM customers ORDER BY 1 LIMIT 5
SELECT id AS a FROM orders EXCEPT (SELECT id FROM customers INTERSECT SELECT 3) ORDER BY a DESC
SELECT 'a' UNION SELECT 'b'
SELECT 1 UNION SELECT 2.5 UNION SELECT NULL
SELECT '1' UNION SELECT 2
VALUES (1, 'a'), (2, 'b')
SELECT column1, column2 || 'x' FROM (VALUES (1, 'a'), (2.5, 'b')) v
SELECT v.k FROM customers JOIN (VALUES ('SSN-1', 'k')) v(ssn, k) USING (ssn)
SELECT status AS s, count(*) AS n FROM orders GROUP BY s HAVING count(*) > 1 ORDER BY n DESC, s
SELECT status, total AS status2 FROM orders ORDER BY status2
SELECT total AS id FROM orders ORDER BY id
SELECT total AS id FROM orders GROUP BY id, total
SELECT total AS id FROM orders GROUP BY id, total ORDER BY id + 1
SELECT DISTINCT ON (status) status AS s, id FROM orders ORDER BY status, id
SELECT DISTINCT status FROM orders ORDER BY status
SELECT status, grouping(status) FROM orders GROUP BY ROLLUP (status), CUBE (paid, code)
SELECT count(*) FROM orders GROUP BY GROUPING SETS ((status), (paid, id), ())
SELECT rank() OVER w, lag(total) OVER (w ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), first_value(note) OVER (ORDER BY placed) FROM orders WINDOW w AS (PARTITION BY status ORDER BY total)
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY total), mode() WITHIN GROUP (ORDER BY status), rank(1) WITHIN GROUP (ORDER BY id) FROM orders
SELECT string_agg(status, ',' ORDER BY id), count(*) FILTER (WHERE paid), array_agg(DISTINCT status ORDER BY status) FROM orders
SELECT sum(id), avg(total), min(placed), max(status), bool_and(paid), stddev(total), json_object_agg(id, status), jsonb_agg(doc) FROM orders
SELECT extract(epoch FROM placed), date_trunc('day', placed), placed AT TIME ZONE 'UTC', placed + interval '1 day', age(placed), date_part('year', placed) FROM orders
SELECT overlay(status placing 'x' from 2), position('b' in status), substring(status from 2 for 1), trim(both ' ' from note), trim(leading from status), substring(status from 'a.b') FROM orders
SELECT collation for (status), normalize(status, NFC), status IS NORMALIZED, status SIMILAR TO 'x%', status LIKE 'a!%' ESCAPE '!' FROM orders
SELECT current_date, current_time, localtimestamp(2), current_user, session_user, current_schema, current_catalog
SELECT COALESCE(total, 0), GREATEST(id, 2.5), LEAST(status, 'x'), COALESCE(note, status, 'y') FROM orders
SELECT CASE WHEN paid THEN 'y' WHEN total > 1 THEN status END, CASE WHEN paid THEN 1 ELSE total END FROM orders
SELECT status || 'x', status || id, tags || 'z'::text, tags || tags, doc || '{}'::jsonb, 'a' || 'b', id || status FROM orders
SELECT doc -> 'a', doc ->> 'b', doc #>> '{a,b}', doc @> '{"a":1}', doc ? 'k', doc - 'k', doc['a']['b'], raw ->> 'x', doc @? '$.a' FROM orders
SELECT tags[1], tags[1:2], array_length(tags, 1), tags && ARRAY['a'], tags @> '{a}', 'a' = ANY (tags), cardinality(tags) FROM orders
SELECT nums[1] + 1, nums || 3, unnest(nums), array_append(nums, 4), array_cat(nums, nums), array_position(nums, 2), array_to_string(nums, ','), nums = '{1}' FROM lists
SELECT lower(during), upper(window_) - 1, window_ @> 3, during && during, isempty(window_), window_ * int4range(1, 5), ids @> 3::int8 FROM lists
SELECT small + 1, f4 * 2, f4 + small, id % 2, id / 2.0, -id, +small, |/ f4, @ small, id ^ 2, o = 3, o = 'pg_class'::regclass, c = 'a', small << 1 FROM lists
SELECT iv * 2, iv + t, ts + iv, ts - ts, t - t, iv / 2, ts::date + 1, current_date - 7, ts::date - current_date, extract(hour FROM t), ts < now(), ts::date = '2020-01-01' FROM lists
SELECT addr << '10.0.0.0/8', host(addr), addr + 1, mac = 'aa:bb:cc:dd:ee:ff', uid = 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', bits & B'101', by || '\x00', length(by), octet_length(by), encode(by, 'hex'), md5(by) FROM lists
SELECT tsv @@ tsq, to_tsvector('english', 'a b') @@ to_tsquery('a'), ts_rank(tsv, tsq), 'a' @@ 'b', pt <-> point '(1,2)', pt ~= pt FROM lists
SELECT born > '2000-01-01', born + 1, age(born), to_char(born, 'YYYY'), date_part('day', born), born::timestamp, born - born, born BETWEEN '2000-01-01' AND now() FROM customers
SELECT feels = 'ok', feels > 'sad', feels IN ('sad', 'ok'), enum_range(feels), feels::text, max(feels) FROM customers GROUP BY feels
SELECT region = 'x', region || 'y', upper(region), region LIKE 'a%', qty + 1, qty = 2, qty::text, (qty).abs FROM customers, orders
SELECT code = 'ab', code || 'x', length(code), code LIKE 'a%', upper(code), code = status FROM orders
SELECT (0.4::float8).abs, ('a'::text).length, (status).upper, (1).plain FROM orders
SELECT ('customers'::regclass)::oid, 'orders'::regclass, pg_table_size('orders'), 'int4'::regtype, to_regclass('x')
SELECT tableoid, ctid, xmin, tableoid::regclass FROM orders
SELECT o.ctid, o.tableoid FROM orders o
SELECT v, id FROM parent
SELECT p, p.v FROM ONLY parent p
SELECT child.extra, parent.v FROM child JOIN parent USING (id)
SELECT count(*) FROM events
SELECT payload FROM events WHERE at > '2026-01-01'
SELECT id, total FROM open_orders
SELECT total FROM totals
SELECT "Col A", "select", "É" FROM "Odd ""name"""
SELECT last_value FROM orders_id_seq
SELECT a.attname, t.typname FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid WHERE a.attrelid = 'orders'::regclass AND a.attnum > 0
SELECT c.relname, n.nspname FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'v') AND n.nspname !~ '^pg_' AND pg_table_is_visible(c.oid)
SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'public' ORDER BY ordinal_position
SELECT pg_get_expr(adbin, adrelid), format_type(a.atttypid, a.atttypmod), col_description(a.attrelid, a.attnum) FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
SELECT array(SELECT unnest(i.indkey)), i.indkey[0], i.indkey::int[], pg_get_indexdef(i.indexrelid) FROM pg_index i
SELECT p.proname, p.proargtypes[0], oidvectortypes(p.proargtypes), array_to_string(p.proacl, ','), p.proallargtypes[1] FROM pg_proc p
SELECT string_agg(n.nspname, ',' ORDER BY n.nspname) FROM pg_namespace n
SELECT sub.name FROM (SELECT quote_ident(nspname) AS name, pg_get_userbyid(nspowner) FROM pg_namespace) sub WHERE sub.name LIKE 'p%'
SELECT a.v, b.n FROM XMLTABLE('/r' PASSING (SELECT body FROM orders LIMIT 1) COLUMNS v int PATH '.' DEFAULT plain(1), n FOR ORDINALITY) AS b(v, n), parent a
SELECT xmlelement(name a, xmlattributes(id AS x), status), xmlforest(note, status AS s), xmlconcat(body, body), xmlparse(document '<a/>'), xmlserialize(content body AS text), body IS DOCUMENT, xmlexists('/a' PASSING body), xpath('/a', body) FROM orders
SELECT count(*) FROM orders TABLESAMPLE bernoulli (10) REPEATABLE (1)
SELECT o.id FROM orders o TABLESAMPLE system (plain(1)), customers
SELECT id FROM orders FOR UPDATE
SELECT o.id FROM orders o JOIN customers c ON true FOR SHARE OF o
SELECT * FROM (SELECT id FROM orders) q FOR UPDATE
SELECT date '2020-01-01', interval '1' day, timestamp '2020-01-01', bool 't', int4 '5', mood 'ok', address '(a,b,1)', time '10:00'
SELECT text(id), date('2020-01-01'), int4('5'), mood('ok'), float8(id), name(status), to_number('1', '9') FROM orders
SELECT CAST(total AS int), total::text, id::positive, '5'::positive, tags::varchar[], ARRAY[1,2]::int8[], ARRAY['1']::int[], NULL::orders, status::name, total::numeric(10,2) FROM orders
SELECT ARRAY[1, 2.5], ARRAY[status, 'x'], ARRAY[[1,2],[3,4]], ARRAY[ARRAY[id]], ARRAY[]::int[], ARRAY[note, status] FROM orders
SELECT name COLLATE "C", name < 'x' COLLATE "C", email COLLATE "C" = 'y' FROM customers ORDER BY name COLLATE "C"
SELECT name FROM customers ORDER BY name USING <, email USING ~<~
SELECT NOT paid, paid AND total > 1 OR id = 2, paid IS TRUE, total IS NULL, (total > 1) IS NOT UNKNOWN FROM orders
SELECT id IN (1, 2, 3), id IN (1, 2.5), total IN (1, 2), id NOT IN (SELECT order_id FROM items), status NOT LIKE 'x', status !~* 'y', id BETWEEN SYMMETRIC 3 AND 1 FROM orders
SELECT row(1, 2) IS NULL, (1, 2) = (1, 2), ROW(id, status) IS DISTINCT FROM ROW(1, 'x') FROM orders
SELECT concat(id, status, paid), concat_ws(',', id, note), format('%s %s', id, status), coalesce(status, note), left(status, 1), repeat('x', 3), split_part(status, ',', 1), regexp_replace(status, 'a', 'b'), regexp_match(status, 'x') FROM orders
SELECT round(total), round(total, 2), trunc(total), ceil(total), floor(2.5), mod(id, 2), power(2, 3), sqrt(total), random(), greatest(1, 2), div(total, 2), sign(total), width_bucket(total, 0, 10, 5) FROM orders
SELECT make_interval(days => 1), make_date(2020, 1, 1), to_timestamp(0), to_timestamp('x', 'y'), to_date('x', 'y'), clock_timestamp(), justify_days(iv), date_bin('1 day', ts, ts), generate_series(ts, ts, '1 day') FROM lists
SELECT json_build_object('a', id), jsonb_build_array(1, 'a', id), to_json(status), row_to_json(ROW(1, 2)), jsonb_set(doc, '{a}', '1'), jsonb_path_query(doc, '$.a'), jsonb_typeof(doc), json_array_length(raw), jsonb_strip_nulls(doc), jsonb_pretty(doc) FROM orders
SELECT orders.plain FROM orders
SELECT o.id, o.name FROM orders o
SELECT nope FROM orders
SELECT orders.nope FROM orders
SELECT id FROM orders, customers
SELECT o.id FROM orders
SELECT id FROM nowhere
SELECT id FROM hr.nowhere
SELECT nofn(1)
SELECT plain(1, 2, 3)
SELECT plain(true)
SELECT hr.plain(1)
SELECT id ==== 1 FROM orders
SELECT status === 'x' FROM orders
SELECT paid + 1 FROM orders
SELECT 'a'::notype
SELECT (home).nope FROM customers
SELECT (id).nope FROM customers
SELECT c.nope FROM customers c
SELECT * FROM orders o JOIN items i USING (nope)
SELECT id FROM orders o JOIN customers c ON c.id = x.id
SELECT a.id FROM orders a, orders a
SELECT 1 FROM orders, (SELECT orders.id) s
SELECT 1 FROM orders o JOIN (SELECT o.id) s ON true
SELECT excluded.id FROM orders
SELECT nodb.public.orders.id FROM orders
SELECT ssn(c), name(c), home(c) FROM customers c
SELECT c.name, c.length, c.id.x FROM customers c
INSERT INTO orders (customer_id, total, status) VALUES (1, 2.5, 'x')
INSERT INTO orders VALUES (1, 2, 3)
INSERT INTO orders (customer_id, status) SELECT id, ssn FROM customers
INSERT INTO customers (id, feels) VALUES (1, 2)
INSERT INTO customers (id, feels) SELECT id, line FROM items, orders
INSERT INTO customers (id, home.street, home.zip) VALUES (1, 'a', 2)
INSERT INTO lists (id, nums[1], nums[2]) VALUES (1, 2, 3)
INSERT INTO customers (id, name) VALUES (1, 'x') ON CONFLICT (id) DO UPDATE SET name = excluded.name || customers.ssn WHERE customers.email IS NULL
INSERT INTO customers (id, name) VALUES (1, 'x') ON CONFLICT DO NOTHING RETURNING id, ssn
INSERT INTO customers AS c (id) VALUES (1) ON CONFLICT (id) WHERE true DO UPDATE SET (name, email) = (SELECT 'a', c.email), region = DEFAULT RETURNING *
INSERT INTO hr.salaries DEFAULT VALUES
INSERT INTO orders (id, nope) VALUES (1, 2)
INSERT INTO orders (qty) VALUES ('5'), (6), (NULL)
WITH s AS (SELECT 1 AS id) INSERT INTO customers (id) SELECT id FROM s RETURNING *
WITH customers AS (SELECT 9 AS id) INSERT INTO customers (id) SELECT id FROM customers
UPDATE orders SET total = total + 1, note = 'x' WHERE id = 1
UPDATE orders SET total = 0
UPDATE orders SET total = 0 WHERE true
UPDATE orders o SET note = c.name FROM customers c WHERE c.id = o.customer_id RETURNING o.id, c.ssn, o.*
UPDATE orders SET (total, note) = (SELECT 1, ssn FROM customers LIMIT 1) WHERE id = 1
UPDATE orders SET (total, note) = ROW(id, status), paid = DEFAULT WHERE id = 1
UPDATE customers SET home.street = 'x', feels = 1 WHERE home IS NOT NULL
UPDATE lists SET nums[id] = 2, nums[1:2] = '{1,2}'
UPDATE orders SET nope = 1
UPDATE orders SET orders.total = 1
DELETE FROM orders
DELETE FROM orders WHERE id = 1 RETURNING *
DELETE FROM orders o USING customers c WHERE c.id = o.customer_id AND c.ssn = 'x'
WITH orders AS (SELECT 1 AS id) DELETE FROM orders WHERE id = 1
WITH d AS (DELETE FROM orders WHERE id = 1 RETURNING id, note) SELECT note FROM d
WITH u AS (UPDATE orders SET note = 'x' RETURNING *), i AS (INSERT INTO customers (id) SELECT id FROM u RETURNING ssn) SELECT * FROM i
MERGE INTO orders o USING customers c ON c.id = o.customer_id WHEN MATCHED AND c.ssn = 'x' THEN UPDATE SET note = c.name WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, note) VALUES (c.id, c.email)
MERGE INTO hr.salaries s USING (VALUES (1, 2)) v(a, b) ON s.id = v.a WHEN NOT MATCHED THEN INSERT VALUES (v.a, v.b) WHEN MATCHED THEN DO NOTHING
WITH orders AS (SELECT 1 AS id) MERGE INTO orders t USING orders s ON t.id = s.id WHEN MATCHED THEN DELETE
SELECT id FROM orders WHERE id = $1 AND status = $2 AND total > $3
SELECT plain($1), plain($1 || 'x')
SELECT plain($1::int), $1 + 1, abs($1)
SELECT lower($1), upper($2), length($1), $3 === 1
SELECT $1, $1 || 'a', lower($1)
SELECT coalesce($1, 1), lower($2), CASE WHEN $3 THEN $4 ELSE 2.5 END
SELECT id FROM orders WHERE id IN ($1, $2) AND status = ANY ($3) AND placed > now() - $4::interval AND $5 LIKE note
SELECT id FROM orders WHERE status LIKE $1 AND id BETWEEN $2 AND $3 AND email = $4 AND paid = $5 LIMIT $6 OFFSET $7
SELECT id FROM orders o JOIN customers c ON c.email = $1 WHERE c.name = $2 LIMIT $3 OFFSET $4
SELECT email FROM customers WHERE email = $1 AND email IN ($2, $3) AND email LIKE $4
SELECT email = $1, lower(email || $2), $1 = $3 FROM customers
SELECT count($1), my_sum($2), feels + $3, $4::mood + 1 FROM customers GROUP BY feels
INSERT INTO orders (customer_id, total, status, paid) VALUES ($1, $2, $3, $4), ($5, $6, lower($7), $8)
INSERT INTO customers (id, email) SELECT $1, lower($2)
UPDATE orders SET total = $1, note = lower($2), qty = $3 WHERE id = $4 RETURNING plain($4), $2
SELECT * FROM generate_series($1, $2) g WHERE g = $3
SELECT date_trunc($1, placed), placed AT TIME ZONE $2, extract(epoch FROM placed - $3), $4 + placed FROM orders
SELECT jsonb_set(doc, $1, $2), doc -> $3, doc #> $4, doc @> $5, jsonb_path_query(doc, $6) FROM orders
SELECT $1 = $2
SELECT ARRAY[$1, 1], ARRAY[$2, 'x'], $3::int[], row($4, 1), $5 IS NULL
WITH RECURSIVE r(n) AS (SELECT $1::int UNION ALL SELECT n + $2 FROM r) SELECT n FROM r WHERE n > $3
16: SELECT 0x1F + 1_000, status IS JSON, json_object('a': id, 'b': plain(id)), json_array(id, status), json_array(SELECT id FROM items) FROM orders, items i(order_id, l)
16: SELECT json_objectagg(status: id), json_arrayagg(id ORDER BY plain(id)) FILTER (WHERE paid), json_arrayagg(status RETURNING jsonb) FROM orders
16: SELECT id FROM (SELECT id FROM orders)
16: SELECT system_user
17: SELECT json('{}'), json_scalar(id), json_serialize(raw RETURNING text) FROM orders
17: SELECT json_value(doc, '$.a' RETURNING int DEFAULT plain(1) ON EMPTY), json_query(doc, '$.b' PASSING id AS x WITH WRAPPER), json_exists(doc, '$.c') FROM orders
17: SELECT j.a, j.o, j.d FROM orders, JSON_TABLE(doc, '$[*]' PASSING plain(id) AS x COLUMNS (a int PATH '$.a' DEFAULT 2 ON EMPTY, o FOR ORDINALITY, e text EXISTS, NESTED PATH '$.b' COLUMNS (d text PATH '$.d'))) j
17: MERGE INTO orders o USING customers c ON c.id = o.customer_id WHEN NOT MATCHED BY SOURCE THEN UPDATE SET note = o.status WHEN MATCHED THEN DELETE RETURNING merge_action(), o.id, c.ssn
17: SELECT placed AT LOCAL FROM orders
18: UPDATE orders SET note = 'x' WHERE id = 1 RETURNING old.note, new.status, old.*, id
18: DELETE FROM orders WHERE id = 1 RETURNING old, new.total
18: INSERT INTO customers (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET name = 'x' RETURNING old.ssn, new.name
UPDATE orders new SET note = 'x' FROM customers old WHERE old.id = 1 RETURNING old.ssn, new.note
SELECT a.ctid FROM orders a JOIN customers b ON true
SELECT ctid FROM orders a JOIN customers b ON true
SELECT jsonb_delete('{"a":1}'::jsonb, 'a'), concat('a', 1), num_nulls(1, 2), format('%s', 1)
INSERT INTO customers (id, name) VALUES (1, 'x') ON CONFLICT ON CONSTRAINT customers_pkey DO UPDATE SET name = 'y'
SELECT u.a, u.b FROM unnest(ARRAY[ROW(1, 'x'), ROW(2, 'y')]) AS u(a int, b text)
