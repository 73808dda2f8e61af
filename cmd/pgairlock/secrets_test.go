package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// output is everything that leaves the process, but for the SQL sockets, and
// what clients are told.
type output struct {
	process strings.Builder // log, records, commands
	clients strings.Builder // errors and notices
}

// disclosed looks for a value in all the ways in which it may be written.
func disclosed(text, value string) string {
	quoted, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	for how, form := range map[string]string{
		"as it is": value, "as a URL": url.QueryEscape(value), "as JSON": strings.Trim(string(quoted), `"`),
		"in base64": base64.StdEncoding.EncodeToString([]byte(value)), "in hexadecimal": hex.EncodeToString([]byte(value)),
		"as SQL": strings.ReplaceAll(value, "'", "''"),
	} {
		if i := strings.Index(text, form); i >= 0 {
			return fmt.Sprintf("%s: …%s…", how, text[max(0, i-80):min(len(text), i+len(form)+20)])
		}
	}
	return ""
}

// Known secrets are driven through everything that prints: errors, refusals,
// a session that panics, commands. None comes out.
func TestSecretsDoNotComeOut(t *testing.T) {
	awkward := func(name string) string { return name + `-p'w "ä\ %&` + rand.Text() }
	h := newHouse(t, map[string]string{"reader": awkward("reader"), "reporting": awkward("agent"), "audit_key": awkward("key")})
	var out output
	s := h.serve(t)
	driveRefusals(t, s, &out)
	s.stop(t)
	out.process.WriteString(s.log.String())
	driveBadUpstream(t, h, &out)
	drivePanic(t, h, &out)
	driveCommands(t, h, &out)
	records, err := os.ReadFile(h.path("audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	out.process.Write(records)

	for name, value := range h.secrets {
		if where := disclosed(out.process.String(), value); where != "" {
			t.Errorf("%s came out %s", name, where)
		}
		if where := disclosed(out.clients.String(), value); where != "" {
			t.Errorf("clients are told %s %s", name, where)
		}
	}
	// The honest twin: the values passed by, and were replaced.
	for _, name := range []string{"reader", "reporting"} {
		if !strings.Contains(out.process.String(), "[credential:"+name+"]") {
			t.Errorf("%s was never replaced: the test drives nothing", name)
		}
	}
}

// driveRefusals lets a client say the values wherever it can say something.
func driveRefusals(t *testing.T, s *served, out *output) {
	t.Helper()
	conn := s.connect(t)
	for _, value := range s.secrets {
		literal := "'" + strings.ReplaceAll(value, "'", "''") + "'"
		name := `"` + strings.ReplaceAll(value, `"`, `""`) + `"`
		for _, sql := range []string{
			"SELECT " + literal,
			"SELECT " + literal + "::int",
			"SELECT * FROM " + name,
			"SELECT card FROM payments WHERE card = " + literal,
			"SET application_name = " + literal,
			"SET pgairlock.on_behalf_of = " + literal,
			"SELECT pg_read_file(" + literal + ")",
			"SELEC " + literal,
			"SELECT " + literal + " -- " + value,
			"SELECT '" + value, // not closed
		} {
			_, err := conn.Exec(t.Context(), sql).ReadAll()
			out.tell(err, value)
		}
		for _, config := range []func(*pgconn.Config){
			func(c *pgconn.Config) { c.User = value },
			func(c *pgconn.Config) { c.Database = value },
			func(c *pgconn.Config) { c.Password = value + "x" },
			func(c *pgconn.Config) { c.RuntimeParams["application_name"] = value },
			func(c *pgconn.Config) { c.RuntimeParams["search_path"] = value },
			func(c *pgconn.Config) { c.RuntimeParams["pgairlock.on_behalf_of"] = value },
			func(c *pgconn.Config) { c.RuntimeParams["options"] = "-c work_mem=" + value },
		} {
			out.tell(tryConnect(t, s, config), value)
		}
	}
}

func tryConnect(t *testing.T, s *served, change func(*pgconn.Config)) error {
	t.Helper()
	config, err := pgconn.ParseConfig(s.dsn("reporting", s.secrets["reporting"]))
	if err != nil {
		t.Fatal(err)
	}
	change(config)
	conn, err := pgconn.ConnectConfig(t.Context(), config)
	if err != nil {
		return err
	}
	return conn.Close(t.Context())
}

// tell keeps what a client is told, but for what it said itself.
func (o *output) tell(err error, said string) {
	var server *pgconn.PgError
	if errors.As(err, &server) {
		text := fmt.Sprintf("%s %s %s %s\n", server.Code, server.Message, server.Detail, server.Hint)
		if said != "" {
			text = strings.ReplaceAll(text, said, "…")
		}
		o.clients.WriteString(text)
	}
}

// driveBadUpstream lets the server refuse the proxy's own login.
func driveBadUpstream(t *testing.T, h *house, out *output) {
	t.Helper()
	h.db.Exec(t, fmt.Sprintf("ALTER ROLE %s PASSWORD 'another'", h.role))
	s := h.serve(t)
	s.logged(t, "upstream can't be used now")
	_, err := pgconn.Connect(t.Context(), s.dsn("reporting", s.secrets["reporting"]))
	if codeOf(t, err) != "08006" {
		t.Errorf("an upstream login that is refused gives %v", err)
	}
	out.tell(err, "")
	write(t, h.path("policy.yaml"), housePolicy+"  "+h.secrets["reader"]+": "+h.secrets["reporting"]+"\n")
	s.logged(t, "reload refused: the policy and the secrets of before stay in force")
	write(t, h.path("policy.yaml"), housePolicy)
	s.stop(t)
	out.process.WriteString(s.log.String())
	h.db.Exec(t, fmt.Sprintf("ALTER ROLE %s PASSWORD '%s'", h.role, strings.ReplaceAll(h.secrets["reader"], "'", "''")))
}

// drivePanic breaks the recorder, so that the session that records a statement
// panics. The proxy goes on.
func drivePanic(t *testing.T, h *house, out *output) {
	t.Helper()
	log := &lockedBuffer{}
	d, err := open(t.Context(), h.path("pgairlock.yaml"), log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.run(ctx) }() // ends with cancel
	s := &served{house: h, log: log}
	address := d.listeners[0].Addr().String()
	s.port = address[strings.LastIndexByte(address, ':')+1:]
	conn := s.connect(t)
	whole := d.recorder.ids
	d.recorder.ids = nil
	_, err = conn.Exec(t.Context(), "SELECT '"+strings.ReplaceAll(h.secrets["reader"], "'", "''")+"'").ReadAll()
	if err == nil {
		t.Error("a session that panics answers")
	}
	out.tell(err, h.secrets["reader"])
	d.recorder.ids = whole
	if value, _ := ask(t, s.connect(t), "SELECT count(*) FROM orders"); value != "50" {
		t.Errorf("after a session's panic the proxy answers %q", value)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "session ended by a fault") {
		t.Errorf("the log does not tell of the panic:\n%s", log)
	}
	out.process.WriteString(log.String())
}

// driveCommands lets every command meet the values.
func driveCommands(t *testing.T, h *house, out *output) {
	t.Helper()
	t.Chdir(h.dir)
	dsn := func(password string) string {
		return fmt.Sprintf("host=127.0.0.1 port=%s dbname=%s user=%s sslmode=disable password='%s'", portOf(h), h.db.Name, h.role,
			strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(password))
	}
	good, bad := dsn(h.secrets["reader"]), dsn(h.secrets["audit_key"])
	secretPolicy := strings.Replace(housePolicy, "secret:reporting", `"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(h.secrets["reporting"])+`"`, 1)
	write(t, "clear.yaml", secretPolicy)
	for _, args := range [][]string{
		{"doctor", "--dsn", good}, {"doctor", "--dsn", bad}, {"doctor", "--dsn", good + " port=x"}, {"doctor", "--json", "--dsn", good},
		{"explain", "--agent", "reporting", "--dsn", good, "SELECT * FROM payments"}, {"explain", "--agent", "reporting", "--dsn", bad, "SELECT 1"},
		{"check", "clear.yaml"}, {"check", "--json", "clear.yaml"}, {"check", "policy.yaml", "--dsn", bad},
		{"audit", "show", "audit.jsonl"}, {"audit", "show", "--json", "audit.jsonl"}, {"audit", "verify", "audit.jsonl"},
		{"serve", "-c", "clear.yaml"}, {"catalog", "dump", "--dsn", bad},
	} {
		var b strings.Builder
		run(t.Context(), args, strings.NewReader(""), &b, &b)
		out.process.WriteString(b.String())
	}
}
