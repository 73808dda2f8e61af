// Package audit keeps the record of what was asked, decided and done: one JSON
// object a line, each chained to the one before by its hash, the chain signed at
// intervals.
//
// # Writing
//
// Open starts a Log with one goroutine that owns the file. A caller reserves a
// Slot before a statement goes to the server and fills it afterwards: Reserve
// waits while the queue is full and then refuses, filling never waits, and so
// nothing is lost without the caller knowing. Whatever is written passes the
// redaction function first, field by field.
//
// # The chain
//
// A line is
//
//	{"v":1,"n":12,"time":"…","type":"statement", … ,"prev":"…","hash":"…"}
//
// with its fields always in the same order and no blanks. hash is the SHA-256
// of the line's bytes up to the comma before "hash"; prev is the hash of the
// record before; n counts from 1 over all files of a chain. Every file starts
// with a header record that names the chain, the file's number in it and the
// public key.
//
// A chain alone can be rewritten, or cut at its end, by whoever can write the
// file. Checkpoint records therefore carry an Ed25519 signature over the chain's
// name, a record's number and its hash. Everything up to that record is covered:
// nobody without the key can change it unseen. Records after the last checkpoint
// are not covered, and a file whose end was cut together with its last
// checkpoints looks like an older file; Verify therefore says how far the
// signatures reach, and takes a head noted elsewhere (Stats.Checkpoint) that
// the files have to reach.
//
// # Files
//
// The current file is Options.Path. A full or old one is renamed to
// NAME-000001-20261130T101500Z.EXT (its number in the chain and the time), and
// the chain goes on in a new file. Files past Options.Keep are deleted, and a
// record says which.
package audit
