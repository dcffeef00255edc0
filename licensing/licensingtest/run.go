package licensingtest

import (
	"net/http"
	"sync"
	"testing"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// areas are the parts of the suite; each uses a new service.
var areas = []struct {
	name string
	run  func(*site)
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
	{"Maintenance", testMaintenance},
	{"Handover", testHandover},
	{"Malformed", testMalformed},
	{"Awkward", testAwkward},
	{"Route", testRoutes},
	{"Contention", testContention},
}

// RunAPI tests the service over HTTP on the stores that open returns: every
// operation, every kind of refusal, and concurrent requests. RunAPI calls open
// once for each area of the suite. open must return an empty store and close it
// with t.Cleanup.
//
// Each area then runs on store/memory, once in a process, and every response must be the same
// except for IDs, keys, tokens and cursors.
//
// Each function in around wraps the service, the last one outermost, to test
// middleware or to add checks. It sees every request and response, at paths
// without the mount prefix.
//
// Run it with the race detector. It takes a few seconds, more on a store that
// waits for a disk.
func RunAPI(t *testing.T, open func(t *testing.T) store.Store, around ...func(http.Handler) http.Handler) {
	for _, area := range areas {
		t.Run(area.name, func(t *testing.T) {
			st := open(t)
			got := newAPI(t, st, around...)
			area.run(got)
			if _, isReference := st.(*memory.Store); t.Failed() || isReference && len(around) == 0 {
				return
			}
			t.Run("SameAsMemory", func(t *testing.T) {
				if d := got.log.diff(onMemory(t, area.name, area.run)); d != "" {
					t.Errorf("the answer differs from that of the reference backend: %s", d)
				}
			})
		})
	}
}

// The transcripts of areas on store/memory, which a process needs once for all
// backends that it tests.
var references = struct {
	sync.Mutex
	of map[string]*transcript
}{of: make(map[string]*transcript)}

// onMemory returns the transcript of an area on store/memory.
func onMemory(t *testing.T, name string, run func(*site)) *transcript {
	references.Lock()
	defer references.Unlock()
	if references.of[name] == nil {
		a := newAPI(t, memory.New())
		run(a)
		if t.Failed() {
			t.FailNow()
		}
		references.of[name] = a.log
	}
	return references.of[name]
}
