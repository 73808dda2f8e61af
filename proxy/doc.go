// Package proxy is the data plane: it carries one client session over one
// upstream connection, and lets nothing through that was not judged.
//
//	        client bytes                                   server bytes
//	             │                                              ▲
//	listener ─ begin (TLS, version, parameters, SCRAM) ─ connect (pgconn, Hijack)
//	             │                                              │
//	  fromClient: wire.Splitter → wire.Flow.Admit → gate.go → upstream
//	  fromServer: wire.Splitter → wire.Flow.Reply → rows counted, errors mapped → client
//
// Two goroutines serve a session. fromClient is the only writer to the upstream
// connection, fromServer the only writer to the client once the session runs
// (but for a last FATAL). What they share is in session, under its mutex. Both
// end before session.run returns.
//
// A refused message is not dropped: a text that cannot parse takes its place,
// and the server's error for it is replaced by the refusal. So order,
// transaction status and the skip to the next Sync are the server's own.
package proxy
