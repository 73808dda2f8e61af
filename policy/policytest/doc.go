// Package policytest runs stories: text files in which the people who own a
// policy say what it has to allow and what it has to refuse. `pgairlock test
// DIR` runs them without any server, with the pipeline that serve uses.
//
// A story is one file DIR/NAME.txtar. It starts with prose for the reader.
// Then come files, each after a line "-- NAME --":
//
//	policy.yaml     the policy
//	tables.txt      the database: see Catalog
//	use.txt         in place of either, files beside the story:
//	                "policy: ../policy.yaml", "catalog: shop.json" (the latter
//	                as `pgairlock catalog dump` writes it)
//	01-name.sql     a text that an agent sends. Its first line says who it is:
//	                "-- as: reporting", "-- as: reporting, on: shop"
//	01-name.want    what becomes of it
//
// A .want has the verdict in its first line: "allow"; "rewrite"; "deny" or
// "hold" with the SQLSTATE and the rule. Then the reason and the hint, or the
// lines that are sent otherwise than they came, and a line "would deny: …" for
// each rule that is only tried out. The runner writes it on demand (update),
// and people read it.
package policytest
