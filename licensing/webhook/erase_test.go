package webhook

import (
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Without its event, it is not known whether the customer was erased, so the answer
// of the receiver is not stored.
func TestAnAnswerToAnEventThatIsNotKeptIsDiscarded(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	w, _ := f.webhook(t, api.EventLicenseCreated)
	f.license(t)
	kept, _ := f.lastEvent(t)
	gone := store.Event{ID: store.NewID("evt", f.now), Type: kept.Type, Seq: kept.Seq + 1}
	for _, test := range []struct {
		event  store.Event
		answer *string
	}{{kept, ptr("unknown customer")}, {gone, nil}} {
		a := erasedAnswers{Reader: f.store, blanked: map[int64]bool{}}
		o, err := a.discard(t.Context(), newDelivery(w.ID, test.event, f.now), outcome{attempt: api.Attempt{Response: ptr("unknown customer")}})
		is.NoErr(err)
		is.Equal(o.attempt.Response, test.answer)
	}
}
