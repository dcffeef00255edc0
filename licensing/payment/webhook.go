package payment

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

const maxBody = 1 << 20 // of an event

// A webhook receives the events of a provider.
type webhook struct {
	provider string
	sales    *selling.Service
	verify   func(r *http.Request, body []byte, now time.Time) error
	// apply brings up to date what an event is about, and returns that; empty: the event says
	// nothing.
	apply func(ctx context.Context, body []byte) (about string, err error)
	// accepts reports whether an event that has failed is answered 200; nil: never.
	accepts func(error) bool

	refusedAt atomic.Int64 // when a refused request was last logged
}

// ServeHTTP answers 400 if the request is not from the provider, and 500 if the event fails.
// Providers show the text of the answer.
func (h *webhook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "events of "+h.provider+" are sent here with POST", http.StatusMethodNotAllowed)
		return
	}
	in := inner.Of(h.sales)
	now, log := in.Now(), in.Logger().With("provider", h.provider)
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil {
		err = h.verify(r, body, now)
	}
	if err != nil { // from anybody, so it is logged once a minute
		if last := h.refusedAt.Load(); now.Unix() >= last+60 && h.refusedAt.CompareAndSwap(last, now.Unix()) {
			log.WarnContext(r.Context(), "event of a payment provider refused", "error", err)
		}
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	about, err := h.apply(r.Context(), body)
	if err == nil {
		if about != "" {
			in.Payments().Passed(h.provider, about)
		}
		return
	}
	if about == "" { // it cannot be read: a repetition has the same bytes
		about = fmt.Sprintf("%x", sha256.Sum256(body))
	}
	log.ErrorContext(r.Context(), "event of a payment provider failed", "about", about, "error", err)
	_, isUnknown := errors.AsType[*stateError](err)
	accepted := h.accepts != nil && h.accepts(err)
	in.Payments().Failed(h.provider, about, err, accepted || isUnknown || isRefused(err), now)
	if accepted {
		fmt.Fprintln(w, "accepted, and not applied:", err)
		return
	}
	http.Error(w, err.Error(), http.StatusInternalServerError)
}

// syncBack is how old what was paid once may be for Sync.
const syncBack = 7 * 24 * time.Hour

// syncing has a channel for each account by a digest, which is full while the account is read.
var syncing sync.Map

// readAll calls read, unless another call reads the same account: then it waits. read reads
// what was paid once after since, and calls failed with the error of each object, or nil.
func (a *account) readAll(ctx context.Context, read func(since time.Time, failed func(error))) error {
	if a.key == "" {
		return errors.New("payment: Sync of " + a.provider + " needs Key, a key that may read what was sold")
	}
	found, _ := syncing.LoadOrStore(sha256.Sum256([]byte(a.provider+"\x00"+a.url+"\x00"+a.key)), make(chan struct{}, 1))
	lock := found.(chan struct{})
	select {
	case lock <- struct{}{}:
		defer func() { <-lock }()
	case <-ctx.Done():
		return ctx.Err()
	}
	began := a.now()
	a.patient = true
	var all []error
	read(began.Add(-syncBack), func(err error) {
		if err != nil && ctx.Err() == nil {
			all = append(all, err)
		}
	})
	if ctx.Err() != nil {
		all = append(all, ctx.Err())
	}
	if len(all) == 0 {
		inner.Of(a.sales).Payments().AllPassed(a.provider, began)
	}
	return errors.Join(all...)
}
