package licensingtest

import (
	"flag"
	"fmt"
	"testing"

	"github.com/seed-d8a106b4/licensekit/store/memory"
)

var walks = flag.Int("walks", 5, "how many random `walks` through license files and seats to take; 1,000 take a minute")

// TestWalks takes longer random walks than RunService.
func TestWalks(t *testing.T) {
	for seed := range *walks {
		for _, hold := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d,hold=%t", seed, hold), func(t *testing.T) {
				newWalk(t, memory.New(), uint64(1000+seed), hold).walk(250)
			})
		}
	}
}
