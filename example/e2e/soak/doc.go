// Package soak runs a service under mixed load and checks that nothing grows:
// memory, goroutines, open files, the store and the log. The clock runs 4,000 times
// as fast as time, so that events, deliveries, replies and tokens are purged meanwhile.
//
// The short form runs with the other tests, and is too short to judge the store.
// These are the weekly and the long form:
//
//	go test ./soak -run 'TestSoak$' -long 10m -timeout 20m
//	go test ./soak -run TestSoakWithPanics -long 10m -timeout 20m
//	go test ./soak -run 'TestSoak$' -long 2h -timeout 3h
package soak
