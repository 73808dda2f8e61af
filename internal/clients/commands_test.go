package clients_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/pgairlock/pgairlock/internal/pgserver"
)

// core are the clients that run with every test.
var core = []client{
	{name: "psql", needs: "postgresql-client-15", command: program("psql", "./psql.sh")},
	{name: "pgx", needs: "go", command: program("go", "go", "run", "./pgx")},
	{name: "psycopg2", needs: "python3-psycopg2", command: python("psycopg2", "psycopg2_client.py")},
	{name: "psycopg3", needs: "python3-psycopg", command: python("psycopg", "psycopg3_client.py")},
	{name: "node", needs: "nodejs and npm", command: nodePG},
	{name: "jdbc", needs: "openjdk-17-jdk-headless and libpostgresql-jdbc-java", command: jdbc},
}

// others are those that scripts/clients installs.
var others = []client{
	{name: "psql18", needs: "postgresql-client-15 and npm", command: psql18},
	{name: "pgdump", needs: "postgresql-client-15", agent: "owner", command: program("pg_dump", "./pgdump.sh")},
	{name: "libpq", needs: "go", command: inFolder("libpq", "go", "run", ".")},
	{name: "asyncpg", needs: "python3-asyncpg", command: python("asyncpg", "asyncpg_client.py")},
	{name: "pg8000", needs: "python3-pg8000", agent: "legacy", command: python("pg8000", "pg8000_client.py")},
	{name: "sqlalchemy", needs: "python3-sqlalchemy", command: python("sqlalchemy", "sqlalchemy_client.py")},
	{name: "django", needs: "python3-django", command: python("django", "django_client.py")},
	{name: "odbc", needs: "odbc-postgresql and python3-pyodbc", command: python("pyodbc", "odbc_client.py")},
	{name: "postgresjs", needs: "npm", command: node("postgresjs_client.mjs")},
	{name: "knex", needs: "npm", command: node("knex_client.mjs")},
	{name: "sequelize", needs: "npm", command: node("sequelize_client.mjs")},
	{name: "typeorm", needs: "npm", command: node("typeorm_client.mjs")},
	{name: "drizzle", needs: "npm", command: node("drizzle_client.mjs")},
	{name: "prisma", needs: "npm", command: prisma},
	{name: "mcp", needs: "npm", command: node("mcp_client.mjs")},
	{name: "pdo", needs: "php8.2-cli and php8.2-pgsql", command: program("php", "php", "pdo_client.php")},
	{name: "ruby", needs: "ruby-pg", command: program("ruby", "ruby", "ruby_client.rb")},
	{name: "activerecord", needs: "ruby-activerecord", command: program("ruby", "ruby", "activerecord_client.rb")},
	{name: "dbdpg", needs: "libdbd-pg-perl", command: perl},
}

func program(needs string, args ...string) func(context.Context) (*exec.Cmd, error) {
	return func(ctx context.Context) (*exec.Cmd, error) {
		if _, err := exec.LookPath(needs); err != nil {
			return nil, errMissing
		}
		return exec.CommandContext(ctx, args[0], args[1:]...), nil
	}
}

// inFolder runs a program where a module of its own is: what only a client needs
// is no dependency of pgairlock.
func inFolder(folder string, args ...string) func(context.Context) (*exec.Cmd, error) {
	return func(ctx context.Context) (*exec.Cmd, error) {
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Dir = filepath.Join(scripts, folder)
		cmd.Env = append(os.Environ(), "GOWORK=off")
		return cmd, nil
	}
}

// python finds an interpreter that has the module: Debian's modules are for
// Debian's own.
func python(module, script string) func(context.Context) (*exec.Cmd, error) {
	return func(ctx context.Context) (*exec.Cmd, error) {
		for _, interpreter := range []string{"/usr/bin/python3", "python3"} {
			if exec.CommandContext(ctx, interpreter, "-c", "import "+module).Run() == nil {
				return exec.CommandContext(ctx, interpreter, "-W", "ignore", script), nil
			}
		}
		return nil, errMissing
	}
}

// psql18 is Debian's psql on the client library of PostgreSQL 18.
func psql18(ctx context.Context) (*exec.Cmd, error) {
	cmd, err := program("psql", "./psql18.sh")(ctx)
	if err != nil {
		return nil, err
	}
	programs, err := pgserver.Find(ctx, 18)
	if err != nil {
		return nil, errMissing
	}
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Join(programs.Dir, "..", "lib"))
	return cmd, nil
}

// cache is where packages are kept that only clients need.
func cache(name string) (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a cache folder: %w", err)
	}
	return filepath.Join(dir, "pgairlock", name), nil
}

// nodePG installs the driver once into the user's cache: it is small.
func nodePG(ctx context.Context) (*exec.Cmd, error) {
	for _, name := range []string{"node", "npm"} {
		if _, err := exec.LookPath(name); err != nil {
			return nil, errMissing
		}
	}
	dir, err := cache("node-" + pgPackage)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "pg", "package.json")); err != nil {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		out, err := exec.CommandContext(ctx, "npm", "install", "--prefix", dir, "--silent", "--no-fund", "--no-audit", pgPackage).CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("npm install %s: %w: %s", pgPackage, err, out)
		}
	}
	cmd := exec.CommandContext(ctx, "node", "--no-deprecation", "node_client.cjs")
	cmd.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(dir, "node_modules"))
	return cmd, nil
}

// node runs a script beside the packages that scripts/clients has installed: a
// module looks for its packages in the folders above it.
func node(script string) func(context.Context) (*exec.Cmd, error) {
	return func(ctx context.Context) (*exec.Cmd, error) {
		dir, err := cache("clients-npm")
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(filepath.Join(dir, "installed")); err != nil {
			return nil, errMissing
		}
		for _, name := range []string{script, "common.mjs"} {
			text, err := os.ReadFile(filepath.Join(scripts, name))
			if err != nil {
				return nil, err
			}
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
				return nil, err
			}
		}
		cmd := exec.CommandContext(ctx, "node", "--no-deprecation", script)
		cmd.Dir = dir
		return cmd, nil
	}
}

// prisma makes the client from its schema and runs it.
func prisma(ctx context.Context) (*exec.Cmd, error) {
	cmd, err := node("prisma_client.mjs")(ctx)
	if err != nil {
		return nil, err
	}
	schema, err := os.ReadFile(filepath.Join(scripts, "schema.prisma"))
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(cmd.Dir, "schema.prisma"), schema, 0o644); err != nil {
		return nil, err
	}
	generate := exec.CommandContext(ctx, "node", "node_modules/prisma/build/index.js", "generate", "--schema", "schema.prisma")
	generate.Dir = cmd.Dir
	// it reads no database here, but without the address or the engine (for migrations) it would fetch programs
	generate.Env = append(os.Environ(), "DATABASE_URL=postgres://nowhere", "PRISMA_SCHEMA_ENGINE_BINARY=/bin/true", "CHECKPOINT_DISABLE=1")
	if out, err := generate.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("prisma generate: %w: %s", err, out)
	}
	return cmd, nil
}

// jdbc compiles and runs the script in one go.
func jdbc(ctx context.Context) (*exec.Cmd, error) {
	if _, err := os.Stat(jdbcJar); err != nil {
		return nil, errMissing
	}
	return program("java", "java", "-cp", jdbcJar, "JdbcClient.java")(ctx)
}

// perl has its driver unpacked in the cache: the package would replace the
// system's perl.
func perl(ctx context.Context) (*exec.Cmd, error) {
	dir, err := cache("clients-perl")
	if err != nil {
		return nil, err
	}
	libraries, err := filepath.Glob(filepath.Join(dir, "usr/lib", "*-linux-gnu", "perl5", "5.*"))
	if err != nil || len(libraries) == 0 || runtime.GOOS != "linux" {
		return nil, errMissing
	}
	cmd := exec.CommandContext(ctx, "perl", "dbdpg_client.pl")
	cmd.Env = append(os.Environ(), "PERL5LIB="+libraries[0])
	return cmd, nil
}
