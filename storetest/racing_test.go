//go:build race

package storetest

// racing says that the race detector is on. It makes everything several times
// slower, so the saboteurs then stand in by one for each rule.
const racing = true
