-- The logins that pgairlock uses, one per kind of power, as a DBA would make them. What they are not granted here is
-- out of reach even if nothing stood between the agents and the database. Run as superuser in the database.
-- The three variables are psql's (psql -v database=shop …).
CREATE ROLE airlock_reader LOGIN PASSWORD :'reader_password' NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS;
CREATE ROLE airlock_writer LOGIN PASSWORD :'writer_password' NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS;

-- Nobody is anything by default: no temporary tables, no objects in public.
REVOKE ALL ON DATABASE :"database" FROM PUBLIC;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT CONNECT ON DATABASE :"database" TO airlock_reader, airlock_writer;

GRANT USAGE ON SCHEMA public, reporting TO airlock_reader, airlock_writer;
GRANT SELECT ON ALL TABLES IN SCHEMA public, reporting TO airlock_reader, airlock_writer;
GRANT INSERT, UPDATE, DELETE ON orders, order_items, inventory, payments, waves TO airlock_writer;

-- A default only, which a session can change: the grants above are what holds.
ALTER ROLE airlock_reader SET default_transaction_read_only = on;

-- Built-ins that write and that everyone may call: large objects, and messages to the write-ahead log.
DO $$
DECLARE routine text;
BEGIN
  FOR routine IN
    SELECT p.oid::regprocedure::text FROM pg_proc p
    WHERE p.pronamespace = 'pg_catalog'::regnamespace
      AND p.proname IN ('lo_creat', 'lo_create', 'lo_from_bytea', 'lo_put', 'lowrite', 'lo_unlink', 'lo_truncate', 'lo_truncate64', 'pg_logical_emit_message')
  LOOP
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', routine);
  END LOOP;
END $$;
