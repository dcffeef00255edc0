package servicetest

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestEventsContinueInAnotherStore moves a store with pending deliveries
// and notices given: nothing is lost, and nothing comes twice.
func TestEventsContinueInAnotherStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		var l ledger
		p := newPostOffice()
		opts := seldom(p)
		opts.Subscribers = []licensing.Subscriber{{Name: "ledger", FromStart: true, Types: []string{"license.*"}, Handle: l.handle}}
		from, to := memory.New(), memory.New()
		h := licensing.NewHandler(from, opts)
		hook(t, h, "x.example", "license.*")
		stop := begin(t, h)
		time.Sleep(2 * time.Minute) // the notices begin
		ends := time.Now().Add(20 * time.Hour)
		_, err := h.Service().Create(t.Context(), api.CreateLicenseParams{Name: "n", ProductID: "p", CustomerID: "c", ExpiresAt: &ends})
		is.NoErr(err)
		time.Sleep(21 * time.Hour)
		p.answers("x.example", refused)
		happen(t, h, 10)
		time.Sleep(2 * time.Minute)
		stop()
		happen(t, h, 10) // not handed on
		tried := len(p.at("x.example"))

		var archive bytes.Buffer
		is.NoErr(from.View(t.Context(), func(r store.Reader) error { return store.Export(t.Context(), r, &archive) }))
		is.NoErr(store.Import(t.Context(), to, &archive))
		p.answers("x.example", nil)
		next := licensing.NewHandler(to, opts)
		defer begin(t, next)()
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		is.Equal(len(ids(p.at("x.example"))), 23)  // 21 licenses, and two about the end of one
		is.Equal(len(p.at("x.example"))-tried, 20) // none of the three that had come
		is.Equal(len(l.got()), 23)                 // in one go through both stores
		is.Equal(l.got(), feed(t, next)[1:])       // all but the webhook's making
	})
}
