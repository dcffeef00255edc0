package webhook

import (
	"errors"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
)

// TestThereAreAtMostAThousandWebhooks: a store that has more, of an earlier version,
// keeps them.
func TestThereAreAtMostAThousandWebhooks(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	w, _ := f.webhook(t)
	fill := func(n int) {
		is.NoErr(f.update(t.Context(), func(tx *transaction) error {
			for range n {
				err := tx.putWebhook(t.Context(), webhookRecord{ID: store.NewID("whk", tx.now), URL: "https://x.example/", Status: StatusActive})
				if err != nil {
					return err
				}
			}
			return nil
		}))
	}
	full := func() bool {
		t.Helper()
		_, _, err := f.Create(t.Context(), CreateParams{URL: "https://x.example/"})
		is.True(err == nil || errors.Is(err, license.ErrInvalid))
		return err != nil
	}
	fill(maxWebhooks - 2)
	is.True(!full())
	is.True(full())
	is.NoErr(f.Delete(t.Context(), w.ID))
	is.True(!full())
	fill(10)
	is.True(full())
	all, err := readAll(t.Context(), f.store)
	is.NoErr(err)
	is.Equal(len(all), maxWebhooks+10)
}
