package licensing_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

func TestRunRemovesWhatHasEndedAndReturnsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		st := &brokenStore{Store: memory.New()}
		h := licensing.NewHandler(st, licensing.Options{Logger: slog.New(slog.DiscardHandler), PollInterval: time.Minute})
		c, secret, err := h.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "n"})
		is.NoErr(err)
		for range 25 { // more than a batch
			is.Equal(ask(t, h, "GET", "/oauth/token?client_id="+c.ID+"&client_secret="+secret, "", "").Code, 200)
		}
		_, _, err = h.Service().Once(t.Context(), "key", "print", func(*license.Service) ([]byte, error) { return []byte("reply"), nil })
		is.NoErr(err)
		count := func(kind string) int {
			entries, err := st.Entries(t.Context(), store.EntryQuery{Kind: kind})
			is.NoErr(err)
			return len(entries)
		}

		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- h.Run(ctx) }()
		synctest.Wait()
		is.Equal(count("token"), 25)
		is.Equal(count("once"), 1)

		st.fail(func(context.Context) error { return errors.New("not now") })
		time.Sleep(time.Hour + 2*time.Minute)
		synctest.Wait()
		st.fail(nil)
		is.Equal(count("token"), 25)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		is.Equal(count("token"), 0)
		is.Equal(count("once"), 1)
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		is.Equal(count("once"), 0)
		is.Equal(count("client"), 1)

		cancel()
		is.NoErr(<-done)
	})
}
