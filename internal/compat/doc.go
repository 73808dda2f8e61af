// Package compat holds no code: its tests are the faults that other proxies,
// poolers and servers of the same protocol had, each as a test of its whole
// kind. The same bytes go to the server directly and through the proxy, and the
// answers are compared message by message; where the proxy is meant to answer
// differently (a refusal), the order and the state are compared with those of
// an error of the server's own.
package compat
