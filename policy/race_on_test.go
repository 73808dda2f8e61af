//go:build race

package policy_test

// slowdown is how much longer things may take under the race detector.
const slowdown = 10
