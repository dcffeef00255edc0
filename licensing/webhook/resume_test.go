package webhook

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

func TestResumeFrom(t *testing.T) {
	for name, test := range map[string]struct {
		from api.ResumeFrom
		sent int // of five events while it was paused
	}{
		"by default":       {"", 5},
		"where it stopped": {api.ResumeFromStop, 5},
		"now":              {api.ResumeFromNow, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				b := newBench(storetest.Twice(memory.New()), 0)
				w := b.hook(t, "x.example", api.EventLicenseCreated)
				defer b.run(t)()
				_, err := b.Update(t.Context(), api.UpdateWebhookParams{ID: w.ID, Status: ptr(api.WebhookPaused)})
				is.NoErr(err)
				missed := b.licenses(t, 5)
				_, err = b.Test(t.Context(), w.ID)
				is.NoErr(err)
				time.Sleep(time.Hour)
				is.Equal(len(b.at("x.example")), 0)
				pending, err := b.Deliveries(t.Context(), api.ListDeliveriesParams{WebhookID: w.ID, Status: api.DeliveryPending})
				is.NoErr(err)
				is.Equal(len(pending.Data), 1)
				is.Equal(pending.Data[0].EventType, api.EventWebhookTest)
				backlog, err := internals{b.Service}.Backlog(t.Context(), w.ID)
				is.NoErr(err)
				is.Equal(backlog.Events, 6) // the test waits as well

				newest, err := b.store.Events(t.Context(), store.EventQuery{Descending: true, Limit: 1})
				is.NoErr(err)
				skipped := newest[0].Seq - b.cursorOf(t, w.ID).Position
				w, err = b.Update(t.Context(), api.UpdateWebhookParams{ID: w.ID, Status: ptr(api.WebhookActive), ResumeFrom: test.from})
				is.NoErr(err)
				if test.from != api.ResumeFromNow {
					skipped = 0
				}
				is.Equal(w.SkippedEvents, skipped)
				more := b.licenses(t, 2)
				time.Sleep(time.Minute)
				got := each(b.at("x.example"))
				is.Equal(got[w.ID], 1) // the test
				for _, id := range more {
					is.Equal(got[id], 1)
				}
				sent := 0
				for _, id := range missed {
					sent += got[id]
				}
				is.Equal(sent, test.sent)
			})
		})
	}
	f := newFixture(t)
	w, _ := f.webhook(t)
	_, err := f.Update(t.Context(), api.UpdateWebhookParams{ID: w.ID, Status: ptr(api.WebhookActive), ResumeFrom: "tomorrow"})
	require.ErrorIs(t, err, api.ErrInvalid)
}

// TestRetentionSkipsEventsOfAPausedWebhook: they are removed on time, and the
// webhook counts them.
func TestRetentionSkipsEventsOfAPausedWebhook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		b := newBench(storetest.Twice(memory.New()), 0)
		b.keep, b.poll = 48*time.Hour, time.Minute
		w := b.hook(t, "x.example", api.EventLicenseCreated)
		defer b.run(t)()
		_, err := b.Update(t.Context(), api.UpdateWebhookParams{ID: w.ID, Status: ptr(api.WebhookPaused)})
		is.NoErr(err)
		b.licenses(t, 5)
		time.Sleep(3 * 24 * time.Hour)
		want := b.licenses(t, 2)
		time.Sleep(time.Hour)
		_, err = b.Update(t.Context(), api.UpdateWebhookParams{ID: w.ID, Status: ptr(api.WebhookActive)})
		is.NoErr(err)
		time.Sleep(10 * time.Minute)
		sameOnce(t, b.at("x.example"), want)
		w, err = b.Get(t.Context(), w.ID)
		is.NoErr(err)
		is.Equal(w.SkippedEvents, int64(6)) // the licenses, and its own pause
	})
}

// TestAFailingWebhookHoldsRetentionForFiveDays: the events that wait for it are
// kept longer than others, and not forever.
func TestAFailingWebhookHoldsRetentionForFiveDays(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, func(o *license.Options, _ *Options) { o.Events.Retention = 48 * time.Hour })
	w, _ := f.webhook(t)
	for range 5 {
		f.license(t)
	}
	f.position(t, 100)
	is.NoErr(f.update(t.Context(), func(tx *transaction) error {
		return putCursor(t.Context(), tx, w.ID, hookCursor{Position: 3, Due: f.now, UpdatedAt: f.now})
	}))
	f.now = f.now.Add(4 * day)
	f.license(t)
	is.Equal(f.purgeAll(t), 4) // 4 to 6 and the newest
	f.now = f.now.Add(2 * day)
	is.Equal(f.purgeAll(t), 1)
}

func TestDeliveryIDsRepeat(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	f.license(t)
	e, _ := f.lastEvent(t)
	id := deliveryID("whk_a", e)
	is.Equal(id, deliveryID("whk_a", e))
	is.True(id != deliveryID("whk_b", e))
	is.True(record.IsID("dlv", id))
	is.Equal(id[:12], store.NewID("dlv", f.now)[:12]) // the time of the event
}

// TestAResumeWhileSending: a webhook that resumes from now, while requests are under
// way, gets nothing of what it skipped when these end.
func TestAResumeWhileSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		st := &positionStore{Store: memory.New(), t: t, last: make(map[string]int64)}
		b := newBench(st, 0)
		w := b.hook(t, "x.example", api.EventLicenseCreated)
		b.delay = func(string) time.Duration { return 3 * time.Second }
		b.licenses(t, 100)
		defer b.run(t)()
		time.Sleep(2 * time.Second)
		for _, status := range []api.WebhookStatus{api.WebhookPaused, api.WebhookActive} {
			_, err := b.Update(t.Context(), api.UpdateWebhookParams{ID: w.ID, Status: ptr(status), ResumeFrom: api.ResumeFromNow})
			is.NoErr(err)
		}
		want := b.licenses(t, 1)
		time.Sleep(5 * time.Minute)
		is.Equal(each(b.at("x.example"))[want[0]], 1)
		is.Equal(len(b.at("x.example")), targetSlots+1)
	})
}
