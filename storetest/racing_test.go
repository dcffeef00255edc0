//go:build race

package storetest

// racing reports whether the race detector is on, which slows tests several times.
const racing = true
