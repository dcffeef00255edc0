package webhook

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestAWebhookWithoutACursorIsAnError: nothing is sent or purged until its position is
// known again.
//
// Fault: the webhook receives every event from the beginning of the feed.
func TestAWebhookWithoutACursorIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		b := newBench(memory.New(), 0)
		b.licenses(t, 3)
		w := b.hook(t, "x.example", api.EventLicenseCreated)
		want := b.licenses(t, 3)
		cursor, err := b.store.Entry(t.Context(), cursorKind, w.ID)
		is.NoErr(err)
		is.NoErr(b.store.Update(t.Context(), func(tx store.Tx) error { return tx.DeleteEntries(t.Context(), cursorKind, w.ID) }))

		_, err = internals{b.Service}.Backlog(t.Context(), w.ID)
		require.ErrorIs(t, err, store.ErrNotFound)
		_, err = b.needs(t.Context(), b.store, 100)
		require.ErrorIs(t, err, store.ErrNotFound)
		defer b.run(t)()
		time.Sleep(time.Minute)
		is.Equal(len(b.at("x.example")), 0)

		is.NoErr(b.store.Update(t.Context(), func(tx store.Tx) error { return tx.PutEntries(t.Context(), cursor) }))
		time.Sleep(2 * time.Minute)
		sameOnce(t, b.at("x.example"), want)
	})
}
