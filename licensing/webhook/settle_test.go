package webhook

import (
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/outbox"
	"github.com/seed-d8a106b4/licensekit/store"
)

func TestApplyOutcome(t *testing.T) {
	fail := func(at time.Time) outcome {
		return outcome{kind: failed, attempt: api.Attempt{At: at, Error: "answered 500"}}
	}
	t.Run("the schedule of a resend in the meantime stays", func(t *testing.T) {
		is := is.New(t)
		d := newDelivery("whk_a", store.Event{Seq: 1, Time: start}, start)
		is.NoErr(applyOutcome(&d, fail(start), start.Add(time.Second), false))
		is.Equal(d.DueAt, start)
		is.Equal(d.Attempts, int64(1))
	})
	t.Run("the history keeps the newest attempts", func(t *testing.T) {
		is := is.New(t)
		d := newDelivery("whk_a", store.Event{Seq: 1, Time: start}, start)
		for i := range attemptsKept + 5 {
			at := start.Add(time.Duration(i) * time.Minute)
			is.NoErr(applyOutcome(&d, fail(at), at, true))
		}
		got, err := fromDelivery(d)
		is.NoErr(err)
		is.Equal(len(got.Attempts), attemptsKept)
		is.Equal(got.Attempts[0].At, start.Add(5*time.Minute))
	})
}

// TestNothingIsDueDuringAPause: a delivery that is due earlier waits for the breaker.
func TestNothingIsDueDuringAPause(t *testing.T) {
	is := is.New(t)
	cursor := hookCursor{breaker: breaker{Failures: breakAfter, Until: start.Add(time.Minute)}}
	for due, want := range map[time.Duration]time.Duration{time.Second: time.Minute, time.Hour: time.Hour} {
		rows := []outbox.Delivery{{DueAt: start.Add(due)}}
		got, err := new(batch).due(&transaction{now: start}, webhookRecord{Status: api.WebhookActive}, cursor, rows)
		is.NoErr(err)
		is.Equal(got, start.Add(want))
	}
}

// TestSkippedEventsAreTheOnesThatWereNotPassed: the webhook may have passed events that
// it does not select, although its stored position is before them.
func TestSkippedEventsAreTheOnesThatWereNotPassed(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	w, _ := f.webhook(t)
	err := f.store.Update(t.Context(), func(tx store.Tx) error {
		rec, err := f.findWebhook(t.Context(), tx, w.ID)
		is.NoErr(err)
		cursor, err := readCursor(t.Context(), tx, w.ID)
		is.NoErr(err)
		r := &run{Service: f.Service, Run: &feed.Run{Work: t.Context()}}
		b := &batch{run: r, hook: rec, after: cursor.Position + 2, through: cursor.Position + 2, purged: cursor.Position + 5}
		_, err = r.putOutcomes(&transaction{tx, f.now}, []*batch{b})
		return err
	})
	is.NoErr(err)
	w, err = f.Get(t.Context(), w.ID)
	is.NoErr(err)
	is.Equal(w.SkippedEvents, int64(3))
}
