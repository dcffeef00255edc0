package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestThereAreAtMostTenThousandWebhooks: their number is kept, and counted in a store
// that has been moved.
func TestThereAreAtMostTenThousandWebhooks(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	set := func(change func(*changeRecord)) {
		is.NoErr(f.update(t.Context(), func(tx *transaction) error {
			c, err := readChange(t.Context(), tx)
			is.NoErr(err)
			change(&c)
			return tx.putChange(t.Context(), c)
		}))
	}
	full := func() bool {
		t.Helper()
		_, _, err := f.Create(t.Context(), CreateParams{URL: "https://x.example/"})
		is.True(err == nil || errors.Is(err, license.ErrInvalid))
		return err != nil
	}
	w, _ := f.webhook(t)
	set(func(c *changeRecord) { is.Equal(c.Count, 1); c.Count = maxWebhooks - 1 })
	is.True(!full())
	is.True(full())
	is.NoErr(f.Delete(t.Context(), w.ID))
	_, _, err := f.RotateSecret(t.Context(), RotateParams{ID: w.ID})
	is.True(errors.Is(err, license.ErrNotFound))
	is.True(!full())
	is.True(full())
	set(func(c *changeRecord) { *c = changeRecord{} }) // a store that has been moved
	is.True(!full())
	set(func(c *changeRecord) { is.Equal(c.Count, 3) })
}

// A readWebhooks counts the webhooks and lanes that a store returns.
type readWebhooks struct {
	store.Store
	n atomic.Int64
}

func (r *readWebhooks) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	entries, err := r.Store.Entries(ctx, q)
	if q.Kind == webhookKind || q.Kind == laneKind {
		r.n.Add(int64(len(entries)))
	}
	return entries, err
}

func (r *readWebhooks) View(ctx context.Context, fn func(store.Reader) error) error {
	return r.Store.View(ctx, func(v store.Reader) error { return fn(viewOfWebhooks{v, r}) })
}

type viewOfWebhooks struct {
	store.Reader
	to *readWebhooks
}

func (v viewOfWebhooks) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	entries, err := v.Reader.Entries(ctx, q)
	v.to.n.Add(int64(len(entries)))
	return entries, err
}

// TestAChangeReadsOnlyWhatChanged: the process that sends reads the webhooks that
// have changed, or all of them if more have changed than the store keeps track of.
func TestAChangeReadsOnlyWhatChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		st := &readWebhooks{Store: memory.New()}
		b := newBench(st, 0)
		var hooks []Webhook
		for i := range 200 {
			hooks = append(hooks, b.hook(t, fmt.Sprintf("%d.example", i), license.EventLicenseCreated))
		}
		defer b.run(t)()
		time.Sleep(time.Minute)
		// settle returns how many webhooks and lanes were read since the last call.
		settle := func() int64 {
			time.Sleep(time.Minute)
			return st.n.Swap(0)
		}
		settle()
		created := b.hook(t, "new.example", license.EventLicenseCreated)
		_, err := b.Update(t.Context(), UpdateParams{ID: hooks[0].ID, Status: ptr(StatusPaused)})
		is.NoErr(err)
		is.NoErr(b.Delete(t.Context(), hooks[1].ID))
		is.True(settle() < 20)
		want := b.licenses(t, 2)
		time.Sleep(time.Minute)
		sameOnce(t, b.at("new.example"), want)
		sameOnce(t, b.at("2.example"), want)
		is.Equal(len(b.at("0.example"))+len(b.at("1.example")), 0)

		_, err = b.Update(t.Context(), UpdateParams{ID: hooks[0].ID, Status: ptr(StatusActive), ResumeFrom: ResumeFromNow})
		is.NoErr(err)
		settle()
		for i := range changesKept + 1 {
			_, err := b.Update(t.Context(), UpdateParams{ID: hooks[i%2*2].ID, Description: ptr(fmt.Sprint("changed ", i))})
			is.NoErr(err)
		}
		_, err = b.Update(t.Context(), UpdateParams{ID: created.ID, Types: &[]string{license.EventLicenseRevoked}})
		is.NoErr(err)
		is.True(settle() >= 2*200)
		more := b.licenses(t, 1)
		time.Sleep(time.Minute)
		sameOnce(t, b.at("0.example"), more)
		sameOnce(t, b.at("new.example"), want)
	})
}

// TestSecretCountsAreKept: counting reads the webhooks only after one has changed
// or a secret has expired, also if another process changed it.
func TestSecretCountsAreKept(t *testing.T) {
	is := is.New(t)
	now := start
	st := &readWebhooks{Store: memory.New()}
	open := func() *Service {
		return New(license.New(st, license.Options{
			Now: func() time.Time { return now }, MasterKey: []byte(strings.Repeat("k", 32)), Logger: slog.New(slog.DiscardHandler),
		}), nil, Options{})
	}
	s, other := open(), open()
	counts := func() (n int, read int64) {
		t.Helper()
		st.n.Store(0)
		got, err := s.Internal().SecretCounts(t.Context())
		is.NoErr(err)
		return got.Sealed, st.n.Load()
	}
	check := func(sealed int, reads bool) {
		t.Helper()
		n, read := counts()
		is.Equal(n, sealed)
		is.Equal(read > 0, reads)
	}
	check(0, false) // there are none
	w, _, err := other.Create(t.Context(), CreateParams{URL: "https://x.example/"})
	is.NoErr(err)
	check(1, true)
	check(1, false)
	_, _, err = other.RotateSecret(t.Context(), RotateParams{ID: w.ID, Overlap: time.Hour})
	is.NoErr(err)
	check(2, true)
	now = now.Add(time.Hour - time.Millisecond)
	check(2, false)
	now = now.Add(time.Millisecond)
	check(1, true)
	now = now.Add(-time.Hour) // the clock was ahead
	check(2, true)
	is.NoErr(other.Delete(t.Context(), w.ID))
	check(0, false)
}

// TestRetentionReadsOnlyLanesThatHaveWork: how many webhooks are level with the feed
// costs a purge of events nothing.
func TestRetentionReadsOnlyLanesThatHaveWork(t *testing.T) {
	is := is.New(t)
	now := start
	st := &readWebhooks{Store: memory.New()}
	s := New(license.New(st, license.Options{Now: func() time.Time { return now }}), nil, Options{})
	for range 20 {
		_, _, err := s.Create(t.Context(), CreateParams{URL: "https://x.example/"})
		is.NoErr(err)
	}
	is.NoErr(st.Update(t.Context(), func(tx store.Tx) error { return feed.WriteCursor(t.Context(), tx, cursorKey, 20, now) }))
	now = now.Add(49 * time.Hour)
	retention := feed.Retention{Store: st, Now: func() time.Time { return now }, Keep: 48 * time.Hour, Needs: []feed.Needs{s.needs}}
	needs := func() int64 {
		st.n.Store(0)
		is.NoErr(st.View(t.Context(), func(r store.Reader) error {
			_, err := s.needs(t.Context(), r, 10)
			return err
		}))
		return st.n.Load()
	}
	is.True(needs() >= 40) // whether there are webhooks of an earlier version
	is.Equal(needs(), int64(0))
	more, err := retention.Purge(t.Context())
	is.NoErr(err)
	is.True(more)
}
