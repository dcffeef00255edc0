package licensingtest

import (
	"net/http"
	"testing"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// areas are the parts of the suite, each on a service of its own.
var areas = []struct {
	name string
	run  func(*api)
}{
	{"Token", testTokens},
	{"Bearer", testBearer},
	{"License", testLicenses},
	{"Update", testUpdates},
	{"List", testLists},
	{"Condition", testConditions},
	{"Idempotency", testIdempotency},
	{"Product", testProducts},
	{"Move", testMoves},
	{"Verdict", testVerdicts},
	{"Activation", testActivations},
	{"Transfer", testTransfers},
	{"Malformed", testMalformed},
	{"Awkward", testAwkward},
	{"Route", testRoutes},
	{"Contention", testContention},
}

// RunAPI puts the service on the stores that open returns, and drives it over
// HTTP from outside: every operation, what each refuses, and what happens when
// many ask at once. open is called once for each area of the suite and returns
// an empty store each time; it closes the store with t.Cleanup.
//
// After its own checks, each area runs again on store/memory, and every answer
// must have been the same but for ids, keys, tokens and cursors.
//
// Each of around is put around the service on the stores of open, the last one
// outermost, and sees every request and every answer, at the paths that the
// service has without a mount: middleware of a host's own, or a check of one's
// own.
//
// Run it under the race detector. It takes a few seconds, and more on a
// backend that waits for a disk.
func RunAPI(t *testing.T, open func(t *testing.T) store.Store, around ...func(http.Handler) http.Handler) {
	for _, area := range areas {
		t.Run(area.name, func(t *testing.T) {
			got := newAPI(t, open(t), around...)
			area.run(got)
			if t.Failed() {
				return
			}
			t.Run("SameAsMemory", func(t *testing.T) {
				want := newAPI(t, memory.New())
				area.run(want)
				if d := got.log.diff(want.log); d != "" {
					t.Errorf("the answer differs from that of the reference backend: %s", d)
				}
			})
		})
	}
}
