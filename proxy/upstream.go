package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/proxy/wire"
)

// upstream is the session's one connection to the server.
type upstream struct {
	conn      net.Conn
	hijacked  *pgconn.HijackedConn
	canceller *pgconn.PgConn // only ever used for CancelRequest, which opens a connection of its own
	pid       uint32
	user      string
	status    byte
	settings  map[string]string // ParameterStatus as of the handover
}

// connectTimeout bounds the dial, TLS and authentication with the server.
const connectTimeout = 15 * time.Second

// dial connects with pgconn, which does hosts, TLS and SCRAM. before runs on the
// connection while pgconn still has it.
func dial(ctx context.Context, base Database, role Role, settings map[string]string, onNotice func(*pgconn.Notice),
	before func(context.Context, *pgconn.PgConn) error) (*upstream, error) {
	ctx, stop := context.WithTimeout(ctx, connectTimeout)
	defer stop()
	config := base.Server.Copy()
	config.User = role.User
	config.Password = role.Password()
	for name, value := range settings {
		config.RuntimeParams[name] = value
	}
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { onNotice(n) }
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if err := before(ctx, conn); err != nil {
		closeQuietly(conn)
		return nil, err
	}
	if err := conn.SyncConn(ctx); err != nil {
		closeQuietly(conn)
		return nil, err
	}
	return takeOver(conn)
}

func closeQuietly(conn *pgconn.PgConn) {
	ctx, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	_ = conn.Close(ctx)
}

// takeOver gets the socket out of pgconn.
func takeOver(conn *pgconn.PgConn) (*upstream, error) {
	hijacked, err := conn.Hijack()
	if err != nil {
		return nil, fmt.Errorf("take over the connection: %w", err)
	}
	if n := hijacked.Frontend.ReadBufferLen(); n > 0 {
		_ = hijacked.Conn.Close()
		return nil, fmt.Errorf("take over the connection: %d bytes were read ahead", n)
	}
	canceller, err := pgconn.Construct(hijacked)
	if err != nil {
		_ = hijacked.Conn.Close()
		return nil, fmt.Errorf("take over the connection: %w", err)
	}
	return &upstream{conn: hijacked.Conn, hijacked: hijacked, canceller: canceller, pid: hijacked.PID, user: hijacked.Config.User,
		status: hijacked.TxStatus, settings: hijacked.ParameterStatuses}, nil
}

// upstreamSettings are the settings that a session starts with: what the client
// asked for and may have, and what is pinned.
func upstreamSettings(agent *policy.Agent, asked []setting) (map[string]string, *refusal) {
	settings := map[string]string{}
	if len(agent.SearchPath) > 0 {
		settings["search_path"] = quotePath(agent.SearchPath)
	}
	for _, s := range asked {
		if reason, ok := agent.StartupSetting(s.name, s.value); !ok {
			code := "42501"
			if reason.SQLSTATE == "42704" { // no such setting: the server's own word for it
				code = reason.SQLSTATE
			}
			return nil, &refusal{sqlstate: code, message: fmt.Sprintf("startup parameter %q: %s", s.name, reason.Message),
				hint: reason.Hint, rule: reason.Rule}
		}
		settings[s.name] = s.value
	}
	settings["client_encoding"] = "UTF8"
	settings["standard_conforming_strings"] = "on"
	if agent.Access == policy.ReadOnly {
		settings["default_transaction_read_only"] = "on"
	}
	limits := agent.Limits
	pin(settings, "statement_timeout", limits.StatementTimeout)
	pin(settings, "lock_timeout", limits.LockTimeout)
	pin(settings, "idle_in_transaction_session_timeout", limits.IdleInTransaction)
	return settings, nil
}

// pin sets a timeout unless the client asked for one, which is tighter.
func pin(settings map[string]string, name string, limit time.Duration) {
	if _, asked := settings[name]; !asked && limit > 0 {
		settings[name] = strconv.FormatInt(max(limit.Milliseconds(), 1), 10)
	}
}

// quotePath writes a search_path as a person would: only names that need it are
// quoted, since SHOW gives the text back. The server splits the list without the
// SQL parser, so key words need no quotes (varlena.c, SplitIdentifierString).
func quotePath(path []string) string {
	written := make([]string, len(path))
	for i, schema := range path {
		written[i] = schema
		if strings.Trim(schema, "abcdefghijklmnopqrstuvwxyz_0123456789") != "" || schema == "" || schema[0] >= '0' && schema[0] <= '9' {
			written[i] = `"` + strings.ReplaceAll(schema, `"`, `""`) + `"`
		}
	}
	return strings.Join(written, ", ")
}

// explainDial turns a failed connection into what the client may know. The
// server's word on a setting is the client's affair; the rest is the operator's.
func explainDial(err error, database string) error {
	var known *refusal
	if errors.As(err, &known) {
		return known
	}
	var server *pgconn.PgError
	if errors.As(err, &server) {
		switch server.Code {
		case "42704", "22023", "42501", "42602", "53300", "57P03":
			return &refusal{sqlstate: server.Code, message: server.Message, detail: server.Detail, hint: server.Hint, rule: "upstream"}
		}
	}
	return &upstreamError{refusal: refusal{sqlstate: "08006", message: fmt.Sprintf("the server of database %q cannot be reached or refused the proxy", database),
		hint: "This is not about your statement. The operator finds the cause in the log of pgairlock.", rule: "upstream"}, cause: err}
}

// upstreamError has one text for the client and another for the log.
type upstreamError struct {
	refusal
	cause error
}

func (e *upstreamError) Unwrap() []error { return []error{&e.refusal, e.cause} }

// greeting is what a client gets once its session stands, up to ReadyForQuery.
func greeting(up *upstream, key cancelKey, notices []*pgconn.Notice) ([]byte, error) {
	var out []byte
	names := make([]string, 0, len(up.settings))
	for name := range up.settings {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		out = wire.AppendSetting(out, name, up.settings[name])
	}
	for _, n := range notices {
		out = wire.AppendReport(out, wire.Report{Severity: n.Severity, SQLSTATE: n.Code, Message: n.Message, Detail: n.Detail, Hint: n.Hint})
	}
	if up.pid != 0 { // a server may give no key: then there is nothing that could be cancelled
		var err error
		if out, err = (&pgproto3.BackendKeyData{ProcessID: key.pid, SecretKey: []byte(key.secret)}).Encode(out); err != nil {
			return nil, fmt.Errorf("backend key: %w", err)
		}
	}
	return wire.AppendReady(out, up.status), nil
}
