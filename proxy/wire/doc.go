// Package wire is PostgreSQL's frontend/backend protocol (version 3) as seen
// from the middle: bytes in, messages and their meaning out. It owns no socket,
// no goroutine and no clock, so recorded sessions replay through it exactly.
//
// Two parts:
//
//   - Splitter cuts one direction's bytes into messages, with every length
//     checked before anything is read for it. Messages whose bodies can be huge
//     (rows, COPY data, bound values) come out in pieces.
//   - Flow knows which replies the server owes, in which order. It says of each
//     client message whether it is legal now, and of each server message which
//     client message it answers. The transaction status it reports is the
//     server's own, never computed.
//
// Source: PostgreSQL documentation, chapter "Frontend/Backend Protocol", and
// the behaviour of servers 14 to 18 where the chapter is silent.
package wire
