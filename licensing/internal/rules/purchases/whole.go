package purchases

import (
	"context"
	"errors"
	"slices"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A whole is a license with all of its purchases, which are read once to show many of them.
type whole struct {
	id    string
	rec   record.License
	err   error // [store.ErrNotFound]: the license is deleted
	all   []Purchase
	is    []terms.Purchase
	grant *terms.Grant
	shown *api.License // nil: to be made
}

// wholeOf returns a license with all of its purchases.
func (s Service) wholeOf(ctx context.Context, r store.Reader, licenseID string, all []Purchase) (*whole, error) {
	w := &whole{id: licenseID, all: all}
	row, err := r.License(ctx, licenseID)
	if errors.Is(err, store.ErrNotFound) {
		w.err = err
		return w, nil
	}
	if err == nil {
		w.rec, err = licenses.Read(row, s.Now())
	}
	if err == nil {
		all, err = started(ctx, r, all)
	}
	if err != nil {
		return nil, err
	}
	w.is = termsOf(all...)
	w.grant = terms.GrantOf(w.is, w.rec.ProductID)
	return w, nil
}

// started returns purchases with the first activation of their license in those that have yet to
// record it; see [Purchase.start].
func started(ctx context.Context, r store.Reader, all []Purchase) ([]Purchase, error) {
	i := slices.IndexFunc(all, Purchase.starts)
	if i < 0 {
		return all, nil
	}
	first := all[i]
	if err := first.start(ctx, r, all); err != nil || first.starts() {
		return all, err
	}
	all = slices.Clone(all)
	for i := range all {
		if all[i].starts() {
			all[i].Activated = first.Activated
		}
	}
	return all, nil
}

// A together reads once what several purchases that are shown have in common: plans, and
// licenses with all of their purchases.
type together struct {
	store.Reader
	wholes  map[string]*whole
	entries map[[2]string]entryRead
}

type entryRead struct {
	store.Entry
	err error
}

// Together returns a Reader with which [Service.ShowPurchase] shows several purchases of one
// snapshot.
func Together(r store.Reader) store.Reader {
	return &together{r, map[string]*whole{}, map[[2]string]entryRead{}}
}

// Entry implements [store.Reader].
func (t *together) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	is, ok := t.entries[[2]string{kind, key}]
	if !ok {
		is.Entry, is.err = t.Reader.Entry(ctx, kind, key)
		t.entries[[2]string{kind, key}] = is
	}
	return is.Entry, is.err
}

// whole returns the license of a purchase that has been granted.
func (t *together) whole(ctx context.Context, s Service, licenseID string) (*whole, error) {
	if w := t.wholes[licenseID]; w != nil {
		return w, nil
	}
	all, err := OfLicense(ctx, t.Reader, licenseID)
	if err != nil {
		return nil, err
	}
	w, err := s.wholeOf(ctx, t.Reader, licenseID, all)
	t.wholes[licenseID] = w
	return w, err
}
