-- The database of the cases in this folder. Loaded once by the superuser into
-- an empty database; README.md says what each part is there for.
-- Whatever holds LEAK, SSN-1 or 987654 is what no agent of policy.yaml may see.

-- What the agents may read.
CREATE TABLE orders(id serial PRIMARY KEY, customer_id int, total numeric, status text, note text,
  update_at timestamptz DEFAULT '2026-03-01 12:00+00', "delete" boolean DEFAULT false, tags text[] DEFAULT '{a,b}', doc jsonb DEFAULT '{"a":[1,2]}', x xml DEFAULT '<r><v>1</v></r>');
INSERT INTO orders(customer_id,total,status,note) SELECT g%10+1, g*1.5, CASE g%3 WHEN 0 THEN 'open' WHEN 1 THEN 'paid' ELSE 'void' END, 'note '||g FROM generate_series(1,300) g;
CREATE TABLE customers(id int PRIMARY KEY, name text, email text, ssn text); -- all but ssn
INSERT INTO customers SELECT g,'cust'||g,'c'||g||'@x.test','SSN-'||(100000+g) FROM generate_series(1,10) g;
CREATE TABLE events(id int, at date, payload text) PARTITION BY RANGE(at);
CREATE TABLE events_2026 PARTITION OF events FOR VALUES FROM ('2026-01-01') TO ('2027-01-01'); -- by its parent only
INSERT INTO events VALUES (1,'2026-05-05','delivered'),(2,'2026-06-06','returned');
CREATE TABLE inv_parent(id int, v text); CREATE TABLE inv_child(secret text) INHERITS(inv_parent); INSERT INTO inv_child VALUES (1,'v','child_LEAK');
CREATE TABLE trg_t(id int PRIMARY KEY, v int); INSERT INTO trg_t VALUES (1,1),(2,2);
CREATE TABLE big(id int, t text); INSERT INTO big SELECT g, repeat('x',40) FROM generate_series(1,5000) g;

-- What they may not.
CREATE TABLE secrets(id int PRIMARY KEY, api_key text);
INSERT INTO secrets SELECT g,'sk_LEAK_'||g FROM generate_series(1,3) g;
CREATE SCHEMA hr; CREATE TABLE hr.salaries(id int, amount int); INSERT INTO hr.salaries VALUES (1,987654);
CREATE SCHEMA evil; CREATE TABLE evil.orders AS SELECT 'EV_LEAK' v;
CREATE TABLE ttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt AS SELECT 'TRUNC_LEAK' v; -- 63 bytes
CREATE TABLE agent_notes(id serial PRIMARY KEY, session_id text NOT NULL, body text, uniq int UNIQUE);
INSERT INTO agent_notes(session_id,body,uniq) VALUES ('s1','mine 1',1),('s1','mine 2',2),('s2','OTHER_LEAK a',3),('S1','CASE_LEAK',4),('s2','OTHER_LEAK b',5);
CREATE TABLE audit(id serial, msg text, at timestamptz DEFAULT clock_timestamp());
CREATE TABLE toasted(id int, t text); ALTER TABLE toasted ALTER t SET STORAGE EXTERNAL; INSERT INTO toasted SELECT 1, repeat('TOAST_LEAK_',1000);
CREATE TABLE rls_t(id int, tenant text, p text); INSERT INTO rls_t VALUES (1,'s1','mine'),(2,'s2','RLS_LEAK'); ALTER TABLE rls_t ENABLE ROW LEVEL SECURITY;
CREATE POLICY p1 ON rls_t USING (tenant = current_setting('app.session_id', true));
CREATE VIEW v_secrets AS SELECT * FROM secrets;
CREATE VIEW v_notes AS SELECT * FROM agent_notes;
CREATE VIEW v_upd AS SELECT id, note FROM orders; -- auto-updatable
CREATE MATERIALIZED VIEW mv AS SELECT count(*) c FROM orders;
CREATE SEQUENCE probe_seq; CREATE SEQUENCE s_plain;
SELECT lo_from_bytea(4242, 'LO_LEAK');

-- Code that acts when a query so much as mentions it.
CREATE FUNCTION f_write(m text DEFAULT 'f_write') RETURNS int LANGUAGE plpgsql VOLATILE AS $$BEGIN INSERT INTO audit(msg) VALUES (m); RETURN 1; END$$;
CREATE FUNCTION f_lie() RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$BEGIN PERFORM f_write('immutable lied'); RETURN 1; END$$; -- labelled IMMUTABLE, writes through a nested call
CREATE FUNCTION f_sd() RETURNS text LANGUAGE sql SECURITY DEFINER AS $$SELECT string_agg(api_key,',') FROM secrets$$;
CREATE FUNCTION f_row(orders) RETURNS int LANGUAGE plpgsql AS $$BEGIN PERFORM f_write('attr notation'); RETURN 7; END$$;
CREATE FUNCTION op_write(int,int) RETURNS boolean LANGUAGE plpgsql AS $$BEGIN PERFORM f_write('operator'); RETURN true; END$$;
CREATE OPERATOR === (LEFTARG=int, RIGHTARG=int, PROCEDURE=op_write);
CREATE DOMAIN d_evil AS int CHECK (f_write('domain check')=1);
CREATE FUNCTION cast_w(text) RETURNS orders LANGUAGE plpgsql AS $$DECLARE r orders; BEGIN PERFORM f_write('cast'); SELECT * INTO r FROM orders LIMIT 1; RETURN r; END$$;
CREATE CAST (text AS orders) WITH FUNCTION cast_w(text);
CREATE FUNCTION agg_w(int,int) RETURNS int LANGUAGE plpgsql AS $$BEGIN PERFORM f_write('aggregate'); RETURN 1; END$$;
CREATE AGGREGATE sum_w(int) (SFUNC=agg_w, STYPE=int, INITCOND='0');
CREATE VIEW v_sidefx AS SELECT f_write('view side effect') AS n;
CREATE PROCEDURE p_commit() LANGUAGE plpgsql AS $$BEGIN INSERT INTO audit(msg) VALUES ('proc committed'); COMMIT; END$$;
CREATE FUNCTION trg_f() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN PERFORM nextval('s_plain'); PERFORM pg_notify('chan','fired'); RETURN NEW; END$$;
CREATE TRIGGER trg BEFORE UPDATE ON trg_t FOR EACH ROW EXECUTE FUNCTION trg_f();
CREATE TABLE deferred_p(id int PRIMARY KEY); CREATE TABLE deferred_c(id int REFERENCES deferred_p DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE rule_t(id int); CREATE RULE r_sel AS ON INSERT TO rule_t DO ALSO INSERT INTO audit(msg) VALUES ('rule fired');
CREATE TABLE gencol(id int, v int DEFAULT nextval('s_plain'));

-- Contributed modules with functions that read files, open connections, run SQL given as text.
CREATE EXTENSION adminpack; CREATE EXTENSION dblink; CREATE EXTENSION pageinspect; CREATE EXTENSION pgrowlocks; CREATE EXTENSION pgstattuple;
CREATE EXTENSION pg_stat_statements; CREATE EXTENSION pg_surgery; CREATE EXTENSION pg_visibility; CREATE EXTENSION pg_walinspect; CREATE EXTENSION tablefunc; CREATE EXTENSION xml2;

-- The role the proxy logs in with has every grant that does harm, so that only
-- the proxy stands in the way.
CREATE ROLE app LOGIN; CREATE ROLE app2 LOGIN; GRANT app2 TO app;
GRANT USAGE ON SCHEMA hr, evil, public TO app, app2; GRANT CREATE ON SCHEMA public, evil TO app;
GRANT SELECT,INSERT,UPDATE,DELETE,TRUNCATE ON ALL TABLES IN SCHEMA public TO app; GRANT SELECT ON hr.salaries, evil.orders TO app; GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO app;
GRANT SELECT ON LARGE OBJECT 4242 TO app;
ALTER TABLE mv OWNER TO app;
