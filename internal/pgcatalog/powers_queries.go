package pgcatalog

// queries of a major; the login's own name and attributes come first.
func (r *powers) queries(major int) []query {
	all := []query{
		{sql: login, row: func(row *row) { r.login = row.text() }},
		{sql: attributes, row: r.attributes},
		{sql: memberships, row: r.membership},
		{sql: owned, row: r.ownership},
		{sql: relationGrants, row: r.relationGrant},
		{sql: schemaGrants, row: r.schemaGrant},
		{sql: databaseGrants, row: r.databaseGrant},
		{sql: definers, row: r.definer},
		{sql: builtins, row: r.builtin},
	}
	if major >= 15 { // pg_parameter_acl is new there
		all = append(all, query{sql: settings, row: r.setting})
	}
	return all
}

const login = `SELECT current_user`

// withMe names the login and all roles it is in (me), and these with PUBLIC,
// whose OID is 0 (grantees).
const withMe = `
WITH me AS (
  SELECT r.oid, r.rolname FROM pg_catalog.pg_roles r WHERE pg_catalog.pg_has_role(current_user, r.oid, 'MEMBER')
), grantees AS (
  SELECT me.oid, me.rolname FROM me UNION ALL SELECT '0'::pg_catalog.oid, 'PUBLIC'::pg_catalog.name
)`

// The third column is who could take over what the login owns: the owner of the
// database, or where that is the login itself the superuser that initdb made.
const attributes = withMe + `
SELECT r.oid, r.rolname,
       (SELECT pg_catalog.pg_get_userbyid(CASE WHEN d.datdba OPERATOR(pg_catalog.=) r.oid THEN '10'::pg_catalog.oid ELSE d.datdba END)
        FROM pg_catalog.pg_database d WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()),
       r.rolsuper, r.rolcreaterole, r.rolcreatedb, r.rolreplication, r.rolbypassrls
FROM pg_catalog.pg_roles r JOIN me ON me.oid OPERATOR(pg_catalog.=) r.oid
ORDER BY (r.rolname OPERATOR(pg_catalog.<>) current_user), r.rolname`

// Roles that initdb makes (OIDs below 16384), but for the first superuser (10).
const memberships = withMe + `
SELECT me.oid, me.rolname FROM me
WHERE me.oid OPERATOR(pg_catalog.<) '16384' AND me.oid OPERATOR(pg_catalog.<>) '10' AND me.rolname OPERATOR(pg_catalog.<>) current_user
ORDER BY me.rolname`

const owned = withMe + `
SELECT me.oid, me.rolname, pg_catalog.count(*), (pg_catalog.array_agg(pg_catalog.pg_describe_object(s.classid, s.objid, '0') ORDER BY s.objid))[1]
FROM pg_catalog.pg_shdepend s JOIN me ON me.oid OPERATOR(pg_catalog.=) s.refobjid
JOIN pg_catalog.pg_database d ON d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()
WHERE s.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_authid'::pg_catalog.regclass AND s.deptype OPERATOR(pg_catalog.=) 'o'
  AND (s.dbid OPERATOR(pg_catalog.=) d.oid OR s.dbid OPERATOR(pg_catalog.=) '0')
GROUP BY me.oid, me.rolname ORDER BY me.rolname`

// Grants on relations and on their columns, without those to the owner. UPDATE
// on pg_settings is everyone's by default and only a way to write SET.
const relationGrants = withMe + `
SELECT n.nspname, g.oid, g.rolname, c.relkind OPERATOR(pg_catalog.=) 'S', pg_catalog.array_agg(DISTINCT a.privilege_type),
       pg_catalog.count(DISTINCT c.oid), pg_catalog.min(c.relname::pg_catalog.text)
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
CROSS JOIN LATERAL (
  SELECT x.grantee, x.privilege_type FROM pg_catalog.aclexplode(c.relacl) x
  UNION ALL
  SELECT y.grantee, y.privilege_type FROM pg_catalog.pg_attribute t CROSS JOIN LATERAL pg_catalog.aclexplode(t.attacl) y
  WHERE t.attrelid OPERATOR(pg_catalog.=) c.oid AND t.attacl IS NOT NULL AND NOT t.attisdropped
) a
JOIN grantees g ON g.oid OPERATOR(pg_catalog.=) a.grantee
WHERE a.privilege_type OPERATOR(pg_catalog.<>) 'SELECT' AND a.grantee OPERATOR(pg_catalog.<>) c.relowner
  AND c.oid OPERATOR(pg_catalog.<>) 'pg_catalog.pg_settings'::pg_catalog.regclass
GROUP BY 1, 2, 3, 4 ORDER BY 1, 3, 4`

const schemaGrants = withMe + `
SELECT n.nspname, g.oid, g.rolname
FROM pg_catalog.pg_namespace n CROSS JOIN LATERAL pg_catalog.aclexplode(n.nspacl) a
JOIN grantees g ON g.oid OPERATOR(pg_catalog.=) a.grantee
WHERE a.privilege_type OPERATOR(pg_catalog.=) 'CREATE' AND a.grantee OPERATOR(pg_catalog.<>) n.nspowner
ORDER BY 1, 3`

// A database without an ACL gives everyone TEMPORARY.
const databaseGrants = withMe + `
SELECT d.datname, a.privilege_type, g.oid, g.rolname
FROM pg_catalog.pg_database d
CROSS JOIN LATERAL pg_catalog.aclexplode(COALESCE(d.datacl, pg_catalog.acldefault('d', d.datdba))) a
JOIN grantees g ON g.oid OPERATOR(pg_catalog.=) a.grantee
WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()
  AND a.privilege_type OPERATOR(pg_catalog.<>) 'CONNECT' AND a.grantee OPERATOR(pg_catalog.<>) d.datdba
ORDER BY 2, 4`

// signature is a routine's name and arguments as REVOKE takes them.
const signature = `pg_catalog.format('%I.%I(%s)', n.nspname, p.proname, pg_catalog.pg_get_function_identity_arguments(p.oid))`

// A function without an ACL is everyone's. Trigger functions can't be called.
const definers = withMe + `
SELECT ` + signature + `, pg_catalog.pg_get_userbyid(p.proowner), g.oid, g.rolname
FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) p.pronamespace
CROSS JOIN LATERAL pg_catalog.aclexplode(COALESCE(p.proacl, pg_catalog.acldefault('f', p.proowner))) a
JOIN grantees g ON g.oid OPERATOR(pg_catalog.=) a.grantee
WHERE p.prosecdef AND a.grantee OPERATOR(pg_catalog.<>) p.proowner
  AND p.prorettype OPERATOR(pg_catalog.<>) 'pg_catalog.trigger'::pg_catalog.regtype::pg_catalog.oid
  AND p.prorettype OPERATOR(pg_catalog.<>) 'pg_catalog.event_trigger'::pg_catalog.regtype::pg_catalog.oid
ORDER BY 1, 4`

// Built-ins that somebody opened since initdb (the last column is true), and
// those that write and that initdb leaves open: large objects, which PostgreSQL
// 15 and older write even in read-only transactions, and messages to the WAL.
const builtins = withMe + `
SELECT ` + signature + `, g.oid, g.rolname, i.objoid IS NOT NULL
FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) p.pronamespace
CROSS JOIN LATERAL pg_catalog.aclexplode(COALESCE(p.proacl, pg_catalog.acldefault('f', p.proowner))) a
JOIN grantees g ON g.oid OPERATOR(pg_catalog.=) a.grantee
LEFT JOIN pg_catalog.pg_init_privs i ON i.objoid OPERATOR(pg_catalog.=) p.oid
  AND i.classoid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass AND i.privtype OPERATOR(pg_catalog.=) 'i'
WHERE p.oid OPERATOR(pg_catalog.<) '16384' AND a.grantee OPERATOR(pg_catalog.<>) p.proowner
  AND CASE WHEN i.objoid IS NULL
      THEN p.proname OPERATOR(pg_catalog.=) ANY
        ('{lo_creat,lo_create,lo_from_bytea,lo_put,lowrite,lo_unlink,lo_truncate,lo_truncate64,pg_logical_emit_message}'::pg_catalog.name[])
      ELSE NOT EXISTS (SELECT FROM pg_catalog.aclexplode(i.initprivs) b WHERE b.grantee OPERATOR(pg_catalog.=) a.grantee)
      END
ORDER BY 1, 3`

const settings = withMe + `
SELECT s.parname, a.privilege_type, g.oid, g.rolname
FROM pg_catalog.pg_parameter_acl s CROSS JOIN LATERAL pg_catalog.aclexplode(s.paracl) a
JOIN grantees g ON g.oid OPERATOR(pg_catalog.=) a.grantee
WHERE a.grantee OPERATOR(pg_catalog.<>) '10'
ORDER BY 1, 2, 4`
