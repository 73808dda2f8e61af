package rig

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Pgbouncer runs pgbouncer with session pooling: as pgairlock does, it gives a
// client one server connection for as long as it stays.
func (r *Rig) Pgbouncer(ctx context.Context) (*Process, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	users, err := r.write("pgbouncer/users.txt", fmt.Sprintf("\"%s\" \"%s\"\n\"%s\" \"%s\"\n", Reader, r.Password, Writer, r.Password), 0o644)
	if err != nil {
		return nil, err
	}
	config, err := r.write("pgbouncer/pgbouncer.ini", fmt.Sprintf(`[databases]
%s = host=%s port=%d
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = scram-sha-256
auth_file = %s
pool_mode = session
max_client_conn = 1000
default_pool_size = 300
log_connections = 0
log_disconnections = 0
`, Database, r.Server.Host, r.Server.Port, port, users), 0o644)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program("pgbouncer"), "-q", config)
	if err := asNobody(cmd); err != nil { // it refuses to run as root
		return nil, err
	}
	return r.launch(ctx, "pgbouncer", port, cmd)
}

// Haproxy runs haproxy, which passes bytes.
func (r *Rig) Haproxy(ctx context.Context) (*Process, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	config, err := r.write("haproxy/haproxy.cfg", fmt.Sprintf(`global
    maxconn 1000
defaults
    mode tcp
    timeout connect 10s
    timeout client 1h
    timeout server 1h
listen postgres
    bind 127.0.0.1:%d
    server one %s:%d
`, port, r.Server.Host, r.Server.Port), 0o644)
	if err != nil {
		return nil, err
	}
	return r.launch(ctx, "haproxy", port, exec.Command(program("haproxy"), "-db", "-f", config))
}

// Pgairlock is how pgairlock is to run.
type Pgairlock struct {
	Program string // path of the binary
	Name    string // of its files and log
	Policy  string // text of policy.yaml
	Sync    string // audit.sync, such as [l1_append]; "": pgairlock's default
	Server  string // connection string of the database; "": the rig's
}

// Folder is where its files are.
func (r *Rig) Folder(name string) string { return filepath.Join(r.Dir, name) }

// Pgairlock runs pgairlock. Every agent of the policy has the rig's password as
// secret:agent, and may use the roles reader and writer.
func (r *Rig) Pgairlock(ctx context.Context, o Pgairlock) (*Process, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	server := o.Server
	if server == "" {
		server = fmt.Sprintf("host=%s port=%d dbname=%s sslmode=disable", r.Server.Host, r.Server.Port, Database)
	}
	sync := ""
	if o.Sync != "" {
		sync = ", sync: " + o.Sync
	}
	config := fmt.Sprintf(`listen: {tcp: 127.0.0.1:%d}
databases:
  %s:
    server: "%s"
    roles:
      reader: {user: %s, password: secret:agent}
      writer: {user: %s, password: secret:agent, accept_role_that_can_write: true}
secrets:
  agent: {file: secret}
  audit_key: {file: audit_key}
policy: policy.yaml
audit: {file: audit.jsonl, checkpoint_key: secret:audit_key%s}
admin: {pprof: true}
metrics: {listen: "127.0.0.1:0"}
log: {level: info}
`, port, Database, server, Reader, Writer, sync)
	for name, text := range map[string]string{"pgairlock.yaml": config, "policy.yaml": o.Policy, "secret": r.Password, "audit_key": r.Password + r.Password} {
		if _, err := r.write(o.Name+"/"+name, text, 0o600); err != nil {
			return nil, err
		}
	}
	return r.launch(ctx, o.Name, port, exec.Command(o.Program, "serve", "-c", filepath.Join(r.Folder(o.Name), "pgairlock.yaml")))
}

// program finds a program that Debian installs where only root looks.
func program(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	return "/usr/sbin/" + name
}

// asNobody makes root's command another user's.
func asNobody(cmd *exec.Cmd) error {
	if os.Geteuid() != 0 {
		return nil
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		return err
	}
	uid, err := strconv.ParseUint(strings.TrimSpace(nobody.Uid), 10, 32)
	if err != nil {
		return err
	}
	gid, err := strconv.ParseUint(strings.TrimSpace(nobody.Gid), 10, 32)
	if err != nil {
		return err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return nil
}
