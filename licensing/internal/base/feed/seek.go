package feed

import (
	"context"
	"sort"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// ClockSkew is the largest difference between the clocks of processes. Events are in the
// order in which they were committed, which is that of their times except for this
// difference.
const ClockSkew = time.Hour

// Before returns the position for a list, newest first, that has every event from before an
// instant and begins at most [ClockSkew] later. The zero Place is for all events. It reads a
// few events, however many there are.
func Before(ctx context.Context, r store.Reader, at time.Time) (p Place, err error) {
	late := func(below int64) (newest int64, is bool) { // the newest event below a Seq, or of all for 0
		events, wrong := r.Events(ctx, store.EventQuery{Descending: true, After: below, Limit: 1})
		if wrong != nil {
			err = wrong
		}
		for _, e := range events {
			newest, is = e.Seq, !e.Time.Before(at.Add(ClockSkew))
		}
		return newest, is
	}
	newest, is := late(0)
	if !is || err != nil {
		return Place{}, err
	}
	first := sort.Search(int(newest), func(i int) bool {
		_, is := late(int64(i) + 1)
		return is
	})
	return PlaceAt(int64(first)), err
}
