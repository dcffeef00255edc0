//go:build race

package storetest

// racing says that the race detector is on, under which everything takes
// several times as long.
const racing = true
