// Package clients holds no code: its tests have stock clients and drivers speak
// through the proxy as programs do, and compare what they print with what is
// known. A few run with every test; with -all, all of testdata/clients do.
package clients
