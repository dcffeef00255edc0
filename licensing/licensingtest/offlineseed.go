package licensingtest

import (
	"fmt"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// offlineSeeds are the sequences in which a fault would let a program run
// without a seat. The license has three seats.
var offlineSeeds = []struct {
	name string
	run  func(*offlineWalk)
}{
	{"nothing", func(*offlineWalk) {}},
	{"take-over", func(w *offlineWalk) {
		for i := range 9 {
			w.may(w.activate(w.node(), pc(i), api.TakeOverOldest, api.Duration{Days: 10}, false))
		}
		w.fill()
	}},
	{"validate after issue", func(w *offlineWalk) {
		w.issue()
		for range 3 { // a file under the hold, then one that extends it
			for i := range 3 {
				w.must(w.validate(w.node(), pc(i), api.Duration{Days: 10}, false))
			}
			w.clock.Advance(day)
		}
		w.fill()
	}},
	{"reactivation", func(w *offlineWalk) {
		w.issue()
		for i := range 3 {
			w.must(w.release(w.node(), pc(i)))
			w.must(w.activate(w.node(), pc(i), "", api.Duration{}, false))
			w.must(w.validate(w.node(), pc(i), api.Duration{Days: 1}, false))
		}
		w.fill()
	}},
	{"clean-up", func(w *offlineWalk) {
		w.clock.Advance(300 * day)
		for i := range 3 {
			w.must(w.request(w.node(), fmt.Sprint(i), pc(i), api.Duration{Days: 400}, false))
			w.must(w.release(w.node(), pc(i)))
		}
		w.clock.Advance(31 * day)
		for range 10 {
			w.must(w.activate(w.node(), pc(8), "", api.Duration{}, false))
			w.must(w.deactivate(w.node(), pc(8)))
		}
		w.must(w.upkeep(w.node()))
		w.may(w.activate(w.node(), pc(0), "", api.Duration{Days: 1}, false))
	}},
	{"lowered limit", func(w *offlineWalk) {
		w.issue()
		w.must(w.limit(w.node(), 1))
		for i := range 6 {
			w.may(w.validate(w.node(), pc(i), api.Duration{Days: 20}, false))
			w.may(w.deactivate(w.node(), pc(i)))
		}
		w.fill()
		w.beforeEnd(skew / 2)
		w.fill()
	}},
	{"no limit for a while", func(w *offlineWalk) {
		w.issue()
		w.must(w.unlimit(w.node(), 2))
		for i := range 6 {
			w.may(w.validate(w.node(), pc(i), api.Duration{Days: 5}, false))
		}
		w.fill()
	}},
	{"lease changes", func(w *offlineWalk) {
		w.must(w.lease(w.node(), 3600))
		w.issue()
		w.must(w.lease(w.node(), 60))
		w.clock.Advance(day)
		w.fill()
		w.must(w.lease(w.node(), 0))
		w.must(w.validate(w.node(), pc(0), api.Duration{}, false))
		w.must(w.lease(w.node(), 60))
		w.clock.Advance(day)
		w.fill()
	}},
	{"crash before signing", func(w *offlineWalk) {
		for i := range 3 {
			w.must(w.activate(w.node(), pc(i), "", api.Duration{Days: 10}, true))
			w.may(w.deactivate(w.node(), pc(i)))
		}
		for i := range 3 {
			w.may(w.activate(w.node(), pc(i), "", api.Duration{Days: 10}, false))
		}
		w.fill()
	}},
	{"replays", func(w *offlineWalk) {
		for i := range 3 {
			w.must(w.request(w.node(), fmt.Sprint(i), pc(i), api.Duration{Days: 10}, true))
			w.may(w.deactivate(w.node(), pc(i)))
		}
		w.fill()
		for i := range 6 { // the second time from the other Service
			w.may(w.request(w.node(), fmt.Sprint(i%3), pc(i%3), api.Duration{Days: 10}, false))
		}
		w.fill()
	}},
	{"void files", func(w *offlineWalk) {
		w.issue()
		w.must(w.void(w.node()))
		w.fill()
		for i := range 3 {
			w.may(w.validate(w.node(), pc(i), api.Duration{Days: 10}, false))
		}
		w.fill()
	}},
	{"clocks 5 minutes apart", func(w *offlineWalk) {
		w.issue()
		w.clock.Advance(skew / 5)
		for i := range 3 {
			w.must(w.validate(w.node(), pc(i), api.Duration{Days: 10}, false))
		}
		w.fill()
		w.beforeEnd(skew / 5)
		w.fill()
		w.clock.Advance(skew / 5)
		w.fill()
		if n := w.programs(); n == 0 {
			w.t.Error("no program got a seat of a file that has expired")
		}
	}},
}

// issue issues a file for each of the three seats.
func (w *offlineWalk) issue() {
	w.t.Helper()
	for i := range 3 {
		w.must(w.activate(w.node(), pc(i), "", api.Duration{Days: 10}, false))
	}
	if n := w.programs(); n != 3 {
		w.t.Fatalf("%d programs can run from license files, want 3", n)
	}
}

// fill tries to get as many files as possible: the slower Service releases
// seats, and the faster one, whose clock frees them earlier, takes them.
func (w *offlineWalk) fill() {
	w.t.Helper()
	for i := range fingerprints {
		takeOver := ""
		if i%2 == 1 {
			takeOver = api.TakeOverOldest
		}
		w.may(w.deactivate(w.nodes[0], pc(i)))
		w.may(w.activate(w.nodes[1], pc(fingerprints-1-i), takeOver, api.Duration{Days: 10}, false))
	}
	if w.t.Failed() {
		w.t.FailNow()
	}
}
