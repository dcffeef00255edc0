package webhook

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestOverdueCursorsAreWaiting: a cursor whose work has been due for more than a minute
// waits, unless its webhook fails.
func TestOverdueCursorsAreWaiting(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	w, _ := f.webhook(t)
	other, _ := f.webhook(t)
	f.position(t, 2)
	due := f.now
	is.NoErr(f.update(t.Context(), func(tx *transaction) error {
		return putCursor(t.Context(), tx, w.ID, hookCursor{Position: 2, Due: due, UpdatedAt: tx.now})
	}))
	lag := func() (bool, *time.Time) {
		t.Helper()
		waiting, since, err := f.lag(t.Context(), f.store)
		is.NoErr(err)
		return waiting, since
	}
	waiting, _ := lag()
	is.True(!waiting)
	f.now = f.now.Add(2 * time.Minute)
	waiting, since := lag()
	is.True(waiting)
	is.Equal(*since, due)
	_, err := f.reportOn(t.Context(), other.ID, resultFailed)
	is.NoErr(err)
	waiting, _ = lag()
	is.True(waiting)
	_, err = f.reportOn(t.Context(), w.ID, resultFailed)
	is.NoErr(err)
	waiting, _ = lag()
	is.True(!waiting)
}

// TestASlowWebhookIsNotOverdue: deliveries to a slow receiver that are being made are
// not overdue work.
func TestASlowWebhookIsNotOverdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		b := newBench(memory.New(), 0)
		b.hook(t, "x.example", api.EventLicenseCreated)
		b.delay = func(string) time.Duration { return 10 * time.Second }
		want := b.licenses(t, 60)
		defer b.run(t)()
		for range 20 {
			time.Sleep(10 * time.Second)
			waiting, since, err := b.lag(t.Context(), b.store)
			is.NoErr(err)
			if waiting || since != nil {
				t.Fatalf("%d sent: waiting %t, since %v", len(b.at("x.example")), waiting, since)
			}
		}
		sameOnce(t, b.at("x.example"), want)
	})
}
