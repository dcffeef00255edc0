package feed

import (
	"errors"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestAPlaceIsGoneUnlessTheFeedContinuesThere: after events were purged, and after a
// backup was restored, in which other events may have the same numbers.
func TestAPlaceIsGoneUnlessTheFeedContinuesThere(t *testing.T) {
	is := is.New(t)
	st := memory.New()
	now := stored(time.Now())
	var places []Place
	is.NoErr(st.Update(t.Context(), func(tx store.Tx) error {
		for range 5 {
			e := store.Event{ID: store.NewID("evt", now), Type: "license.created", Time: now}
			if err := tx.AppendEvents(t.Context(), e); err != nil {
				return err
			}
		}
		events, err := tx.Events(t.Context(), store.EventQuery{})
		if err != nil {
			return err
		}
		for _, e := range events {
			places = append(places, PlaceOf(e))
		}
		_, err = purgeEvents(t.Context(), tx, events[2], now)
		return err
	}))
	other := func(seq int64) Place { return PlaceOf(store.Event{Seq: seq, ID: "evt_other"}) }
	for name, test := range map[string]struct {
		at   Place
		gone bool
	}{
		"the newest event":                   {places[4], false},
		"an earlier event":                   {places[3], false},
		"the last purged event":              {places[2], false},
		"another event than the last purged": {other(places[2].Seq()), true},
		"before the last purged event":       {places[1], true},
		"the beginning":                      {Place{}, true},
		"another event":                      {other(places[3].Seq()), true},
		"beyond the end":                     {other(places[4].Seq() + 1), true},
	} {
		purged, err := ReadPurged(t.Context(), st)
		is.NoErr(err)
		err = test.at.Check(t.Context(), st, purged)
		if is.True(err == nil || errors.Is(err, api.ErrCursorGone)); (err != nil) != test.gone {
			t.Errorf("%s: %v", name, err)
		}
	}
}
