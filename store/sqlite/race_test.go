//go:build race

package sqlite

// The engine is C turned into Go. Under the race detector each of its memory
// accesses is checked, and it takes ten times as long.
const raceDetector = true
