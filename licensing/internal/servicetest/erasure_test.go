package servicetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

// TestErasureCoversWhatReceiversAnswered: an answer that names an erased customer is
// removed from the history, of all webhooks and also for a license that was moved to
// another customer. Other answers stay.
func TestErasureCoversWhatReceiversAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		p := newPostOffice()
		st := storetest.Twice(memory.New())
		h := licensing.NewHandler(st, postedBy(p))
		hooks := []api.Webhook{hook(t, h, "x.example", "license.*"), hook(t, h, "y.example", "license.*")}
		for _, host := range []string{"x.example", "y.example"} {
			p.answers(host, func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 500, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("unknown customer"))}, nil
			})
		}
		stop := begin(t, h)
		create := func(customer string) api.License {
			l, err := h.Service().Create(t.Context(), api.CreateLicenseParams{Name: "n", ProductID: "p", CustomerID: customer})
			is.NoErr(err)
			return l
		}
		create("gone")
		moved := create("gone")
		kept := "kept"
		_, err := h.Service().Update(t.Context(), api.UpdateLicenseParams{ID: moved.ID, CustomerID: &kept})
		is.NoErr(err)
		create("kept")
		time.Sleep(time.Hour)
		stop()
		answered := func() (n int) {
			for _, w := range hooks {
				for _, d := range deliveries(t, h, w.ID) {
					for _, a := range d.Attempts {
						is.Equal(a.Error, "answered 500")
						if a.Response != nil {
							n++
							break
						}
					}
				}
			}
			return n
		}
		is.Equal(answered(), 2*4)
		_, err = h.Service().EraseCustomer(t.Context(), "gone")
		is.NoErr(err)
		is.Equal(answered(), 2*1)
		_, err = h.Service().EraseCustomer(t.Context(), "kept")
		is.NoErr(err)
		is.Equal(answered(), 0)
	})
}

// TestErasureCoversDeliveriesUnderWay: a receiver answers while its customer is being
// erased, before or after the events are blanked.
func TestErasureCoversDeliveriesUnderWay(t *testing.T) {
	for name, late := range map[string]bool{"answer before": false, "answer after": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				p := newPostOffice()
				st := &lookups{Store: storetest.Twice(memory.New())}
				h := licensing.NewHandler(st, postedBy(p))
				w := hook(t, h, "x.example", "license.*")
				other := hook(t, h, "y.example", "license.*")
				release := make(chan struct{})
				answer := sync.OnceFunc(func() { close(release) })
				for _, host := range []string{"x.example", "y.example"} {
					p.answers(host, func(*http.Request) (*http.Response, error) {
						if host == "x.example" {
							<-release
						}
						return &http.Response{StatusCode: 500, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("unknown customer"))}, nil
					})
				}
				defer begin(t, h)()
				_, err := h.Service().Create(t.Context(), api.CreateLicenseParams{Name: "n", ProductID: "p", CustomerID: "gone"})
				is.NoErr(err)
				time.Sleep(5 * time.Second) // of the 15 that a receiver has
				if !late {
					st.looked = func() {
						answer()
						time.Sleep(time.Second)
					}
				}
				_, err = h.Service().EraseCustomer(t.Context(), "gone")
				is.NoErr(err)
				answer()
				time.Sleep(time.Hour)
				for _, id := range []string{w.ID, other.ID} {
					history := deliveries(t, h, id)
					is.Equal(len(history), 2)
					for _, d := range history {
						require.Greater(t, len(d.Attempts), 0)
						for _, a := range d.Attempts {
							is.Equal(a.StatusCode, 500)
							is.Equal(a.Response, nil)
						}
					}
				}
			})
		})
	}
}

// TestErasureLooksForAnswersOutsideUpdates: with many webhooks, that takes long, and
// other writers would wait.
func TestErasureLooksForAnswersOutsideUpdates(t *testing.T) {
	is := is.New(t)
	st := &lookups{Store: memory.New()}
	h := licensing.NewHandler(st, licensing.Options{})
	hook(t, h, "x.example", "license.*")
	for range 3 {
		_, err := h.Service().Create(t.Context(), api.CreateLicenseParams{Name: "n", ProductID: "p", CustomerID: "gone"})
		is.NoErr(err)
	}
	e, err := h.Service().EraseCustomer(t.Context(), "gone")
	is.NoErr(err)
	is.Equal(e.Events, 6)
	require.Greater(t, st.outside, 0)
	is.Equal(st.inside, 0)
}

// A lookups counts how often deliveries are looked up by their keys.
type lookups struct {
	store.Store
	outside, inside int    // of Updates
	looked          func() // called after each look-up outside of Updates; nil: not
}

func (st *lookups) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	if q.Kind == "delivery" && q.Keys != nil {
		st.outside++
		if st.looked != nil {
			defer st.looked()
		}
	}
	return st.Store.Entries(ctx, q)
}

func (st *lookups) Update(ctx context.Context, fn func(store.Tx) error) error {
	return st.Store.Update(ctx, func(tx store.Tx) error { return fn(lookupsTx{tx, st}) })
}

type lookupsTx struct {
	store.Tx
	st *lookups
}

func (tx lookupsTx) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	if q.Kind == "delivery" && q.Keys != nil {
		tx.st.inside++
	}
	return tx.Tx.Entries(ctx, q)
}

// TestErasureNamesTheCustomerToReceivers: a receiver that reads the feed finds the erased
// customer among its own, and the event names nobody to others. The erasure of an unknown
// customer looks the same.
func TestErasureNamesTheCustomerToReceivers(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	c.create("Ada Lovelace", "atlas", "cus_ada")
	for _, id := range []string{"cus_ada", "cus_unknown", "cus_ada"} {
		_, err := c.Handler.Service().EraseCustomer(t.Context(), id)
		is.NoErr(err)
	}
	events := c.do("GET", "/event?type=customer.erased", "").json["data"].([]any)
	is.Equal(len(events), 3)
	salts := map[string]bool{}
	for i, want := range []string{"cus_ada", "cus_unknown", "cus_ada"} {
		e := events[i].(map[string]any)
		is.Equal(e["subject"], "")
		is.Equal(e["customer_id"], nil)
		data := e["data"].(map[string]any)
		is.Equal(len(data), 4) // salt, digest, licenses and events
		salt, err := hex.DecodeString(data["salt"].(string))
		is.NoErr(err)
		is.Equal(len(salt), 16)
		salts[string(salt)] = true
		for _, mine := range []string{"cus_grace", "cus_ada", "cus_unknown", ""} { // as a receiver in any language does
			digest := sha256.Sum256(append(salt, mine...))
			is.Equal(hex.EncodeToString(digest[:]) == data["digest"], mine == want)
			erasure := api.EventErasure{Salt: data["salt"].(string), Digest: data["digest"].(string)}
			is.Equal(erasure.Names(mine), mine == want)
		}
	}
	is.Equal(len(salts), 3) // one customer has another digest each time
}
