package require

import (
	"os"
	"runtime/debug"
)

// The heaps of tests are small. With the default, collecting them takes a fifth of
// the CPU time of the packages that serve pages or search.
func init() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}
