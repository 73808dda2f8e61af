//go:build !race

package policy_test

// slowdown is how much longer things may take: no race detector is on.
const slowdown = 1
