package mutants

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// leftoverMutants leave stale data in an index, or list by other values than the
// stored ones.
var leftoverMutants = []mutant{
	{4, "undoes repeated writes from first to last", updating(func(st store.Store, ctx context.Context, fn func(store.Tx) error) error {
		var w *forwardUndo
		err := st.Update(ctx, func(tx store.Tx) error {
			w = &forwardUndo{Writer: tx, tx: tx, images: map[string][]*store.Entry{}}
			return fn(joined{tx, w})
		})
		if err != nil && w != nil {
			_ = replay(st, w.ghosts())
		}
		return err
	})},
	{14, "takes the new key of a missing license", func() store.Store {
		k := &takenKeys{taken: map[string]bool{}}
		return writing(func(tx store.Tx) store.Writer { return takesKeys{tx, k} })()
	}},
	{19, "keeps deleted activations in the index of active ones", func() store.Store {
		k := &keptActive{kept: map[string]int{}}
		return spoiling(func(r store.Reader) store.Reader { return listsKept{r, k} },
			func(tx store.Tx) store.Writer { return keepsActive{tx, tx, k} })()
	}},
	{11, "filters the first 1,000 licenses", reading(func(r store.Reader) store.Reader { return filtersPage{r} })},
	{11, "lists 500 licenses of a customer", reading(func(r store.Reader) store.Reader { return loses501st{r} })},
	{21, "removes 1,000 events at most", writing(func(tx store.Tx) store.Writer { return removesPage{tx} })},
	{12, "starts again after a deleted license, descending and without filters", reading(func(r store.Reader) store.Reader { return startsAgain{r} })},
	{8, "orders licenses by times that are not truncated", func() store.Store {
		u := &uncut{at: map[string]time.Time{}}
		return spoiling(func(r store.Reader) store.Reader { return ordersUncut{r, u} },
			func(tx store.Tx) store.Writer { return notesUncut{tx, u} })()
	}},
}

// forwardUndo records the entries that each write replaced.
type forwardUndo struct {
	store.Writer
	tx     store.Tx
	images map[string][]*store.Entry
}

func (w *forwardUndo) note(ctx context.Context, kind, key string) {
	e, err := w.tx.Entry(context.WithoutCancel(ctx), kind, key)
	name := kind + "\x00" + key
	if err != nil {
		w.images[name] = append(w.images[name], nil)
	} else {
		w.images[name] = append(w.images[name], &e)
	}
}

func (w *forwardUndo) PutEntries(ctx context.Context, entries ...store.Entry) error {
	for _, e := range entries {
		w.note(ctx, e.Kind, e.Key)
	}
	return w.Writer.PutEntries(ctx, entries...)
}

func (w *forwardUndo) DeleteEntries(ctx context.Context, kind string, keys ...string) error {
	for _, key := range keys {
		w.note(ctx, kind, key)
	}
	return w.Writer.DeleteEntries(ctx, kind, keys...)
}

// ghosts are the remains of entries that were written more than once: the values
// that the last write replaced.
func (w *forwardUndo) ghosts() (calls []written) {
	for _, images := range w.images {
		if e := images[len(images)-1]; len(images) > 1 && e != nil {
			calls = append(calls, func(ctx context.Context, w store.Writer) error { return w.PutEntries(ctx, *e) })
		}
	}
	return calls
}

type takenKeys struct {
	mu    sync.Mutex
	taken map[string]bool
}

type takesKeys struct {
	store.Writer
	*takenKeys
}

func (w takesKeys) UpdateLicense(ctx context.Context, l store.License) error {
	err := w.Writer.UpdateLicense(ctx, l)
	if errors.Is(err, store.ErrNotFound) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.taken[l.Key] = true
	}
	return err
}

func (w takesKeys) CreateLicenses(ctx context.Context, licenses ...store.License) error {
	w.mu.Lock()
	taken := slices.ContainsFunc(licenses, func(l store.License) bool { return w.taken[l.Key] })
	w.mu.Unlock()
	if taken {
		return store.ErrExists
	}
	return w.Writer.CreateLicenses(ctx, licenses...)
}

type keptActive struct {
	mu   sync.Mutex
	kept map[string]int
}

type keepsActive struct {
	store.Writer
	tx store.Tx
	*keptActive
}

func (w keepsActive) DeleteActivations(ctx context.Context, licenseID string, ids ...string) error {
	rows, _ := w.tx.Activations(ctx, store.ActivationQuery{LicenseID: licenseID})
	_, found := w.tx.License(ctx, licenseID)
	err := w.Writer.DeleteActivations(ctx, licenseID, ids...)
	if err == nil && errors.Is(found, store.ErrNotFound) { // leftovers of a deleted license
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, a := range rows {
			if a.EndedAt.IsZero() && slices.Contains(ids, a.ID) {
				w.kept[licenseID]++
			}
		}
	}
	return err
}

type listsKept struct {
	store.Reader
	*keptActive
}

func (r listsKept) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	rows, err := r.Reader.Activations(ctx, q)
	if err != nil || q.LiveAt.IsZero() || !q.LeaseEnds.IsZero() {
		return rows, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return append(rows, make([]store.Activation, r.kept[q.LicenseID])...), nil
}

type filtersPage struct{ store.Reader }

func (r filtersPage) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	if q.State == "" {
		return r.Reader.Licenses(ctx, q)
	}
	state, limit := q.State, store.Limit(q.Limit)
	q.State, q.Limit = "", 0
	rows, err := r.Reader.Licenses(ctx, q)
	rows = slices.DeleteFunc(rows, func(l store.License) bool { return l.State != state })
	return rows[:min(len(rows), limit)], err
}

type loses501st struct{ store.Reader }

func (r loses501st) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	rows, err := r.Reader.Licenses(ctx, q)
	if q.CustomerID == "" {
		return rows, err
	}
	q.Limit, q.After = 500, store.Position{}
	first, firstErr := r.Reader.Licenses(ctx, q)
	known := map[string]bool{}
	for _, l := range first {
		known[l.ID] = true
	}
	if len(first) < 500 {
		return rows, errors.Join(err, firstErr)
	}
	return slices.DeleteFunc(rows, func(l store.License) bool { return !known[l.ID] }), errors.Join(err, firstErr)
}

type removesPage struct{ store.Writer }

func (w removesPage) DeleteEvents(ctx context.Context, through int64, limit int) (int, error) {
	return w.Writer.DeleteEvents(ctx, through, min(limit, store.MaxLimit))
}

type startsAgain struct{ store.Reader }

func (r startsAgain) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	if q.Descending && q.After.ID != "" && q.CustomerID == "" && q.ProductID == "" && q.State == "" {
		if _, err := r.License(ctx, q.After.ID); errors.Is(err, store.ErrNotFound) {
			q.After = store.Position{}
		}
	}
	return r.Reader.Licenses(ctx, q)
}

// uncut holds the ends of licenses as they were passed, by license.
type uncut struct {
	mu sync.Mutex
	at map[string]time.Time
}

type notesUncut struct {
	store.Writer
	*uncut
}

func (w notesUncut) note(err error, licenses ...store.License) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range licenses {
		if err == nil {
			w.at[l.ID] = l.ExpiresAt
		}
	}
	return err
}

func (w notesUncut) CreateLicenses(ctx context.Context, licenses ...store.License) error {
	return w.note(w.Writer.CreateLicenses(ctx, licenses...), licenses...)
}

func (w notesUncut) UpdateLicense(ctx context.Context, l store.License) error {
	return w.note(w.Writer.UpdateLicense(ctx, l), l)
}

type ordersUncut struct {
	store.Reader
	*uncut
}

func (r ordersUncut) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	if q.Order != store.ByExpiresAt || q.Descending {
		return r.Reader.Licenses(ctx, q)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at := func(l store.License) time.Time {
		if t := r.at[l.ID]; t.Truncate(time.Millisecond).Equal(l.ExpiresAt) {
			return t
		}
		return l.ExpiresAt // the Update that passed the other one was undone
	}
	after, limit := q.After, store.Limit(q.Limit)
	q.After, q.Limit = store.Position{}, 0
	rows, err := r.Reader.Licenses(ctx, q)
	slices.SortStableFunc(rows, func(a, b store.License) int { return at(a).Compare(at(b)) })
	if !after.IsZero() {
		rows = slices.DeleteFunc(rows, func(l store.License) bool {
			c := at(l).Compare(after.Time)
			return c < 0 || c == 0 && l.ID <= after.ID
		})
	}
	return rows[:min(len(rows), limit)], err
}
