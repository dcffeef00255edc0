package mutants

import (
	"context"
	"errors"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// misuseMutants are wrong about arguments that they may not change, text that they
// refuse, contexts that have ended, and functions that have returned.
var misuseMutants = []mutant{
	{13, "sorts the IDs of a query", reading(func(r store.Reader) store.Reader { return sortsIDs{r} })},
	{13, "cuts the times of entries that it is passed", writing(func(tx store.Tx) store.Writer { return cutsArguments{tx} })},
	{13, "writes Seqs into the events that it is passed", writing(func(tx store.Tx) store.Writer { return writesSeqs{tx} })},
	{13, "appends to the keys that it is passed", writing(func(tx store.Tx) store.Writer { return appendsKeys{tx} })},
	{24, "writes the entries before one that is not UTF-8", writing(func(tx store.Tx) store.Writer { return writesSome{tx} })},
	{24, "cuts kinds at 32 bytes", onEntry(func(e *store.Entry) { e.Kind = e.Kind[:min(len(e.Kind), store.MaxKind)] })},
	{24, "refuses more than 4,000 entries in one call", writing(func(tx store.Tx) store.Writer { return refusesMany{tx} })},
	{16, "takes the error of a context before ErrTxDone", spoiling(
		func(r store.Reader) store.Reader { return contextFirst{r} },
		func(tx store.Tx) store.Writer {
			return hooked{func(ctx context.Context, _ string, call written) error {
				if err := ctx.Err(); err != nil {
					return err
				}
				return call(ctx, tx)
			}}
		},
	)},
	{18, "calls the function of an Update whose context has ended", updating(func(st store.Store, ctx context.Context, fn func(store.Tx) error) error {
		if err := ctx.Err(); err != nil {
			return errors.Join(st.Update(context.WithoutCancel(ctx), fn), err)
		}
		return st.Update(ctx, fn)
	})},
	{3, "answers from what a Want found", func() store.Store { return wantsStale{memory.New()} }},
	{16, "lets a Want pass when the Update is over", func() store.Store { return wantsForever{memory.New()} }},
	{18, "calls the function of a View whose context has ended", func() store.Store { return &viewsLate{memory.New()} }},
}

// wantsStale remembers the license that a Want names.
type wantsStale struct{ store.Store }

func (s wantsStale) Update(ctx context.Context, fn func(store.Tx) error) error {
	return s.Store.Update(ctx, func(tx store.Tx) error { return fn(&staleTx{Tx: tx}) })
}

type staleTx struct {
	store.Tx
	found *store.License
}

func (t *staleTx) Want(ctx context.Context, w store.Wanted) error {
	if l, err := t.Tx.License(ctx, w.LicenseID); err == nil {
		t.found = &l
	}
	return t.Tx.Want(ctx, w)
}

func (t *staleTx) License(ctx context.Context, id string) (store.License, error) {
	if t.found != nil && t.found.ID == id {
		return *t.found, ctx.Err()
	}
	return t.Tx.License(ctx, id)
}

// wantsForever only looks at the context of a Want.
type wantsForever struct{ store.Store }

func (s wantsForever) Update(ctx context.Context, fn func(store.Tx) error) error {
	return s.Store.Update(ctx, func(tx store.Tx) error { return fn(foreverTx{tx}) })
}

type foreverTx struct{ store.Tx }

func (foreverTx) Want(ctx context.Context, _ store.Wanted) error { return ctx.Err() }

type sortsIDs struct{ store.Reader }

func (r sortsIDs) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	slices.Sort(q.IDs)
	return r.Reader.Licenses(ctx, q)
}

type cutsArguments struct{ store.Writer }

func (w cutsArguments) PutEntries(ctx context.Context, entries ...store.Entry) error {
	for i := range entries {
		entries[i].ExpiresAt = entries[i].ExpiresAt.Truncate(time.Millisecond).UTC()
	}
	return w.Writer.PutEntries(ctx, entries...)
}

type writesSeqs struct{ store.Writer }

func (w writesSeqs) AppendEvents(ctx context.Context, events ...store.Event) error {
	err := w.Writer.AppendEvents(ctx, events...)
	for i := range events {
		events[i].Seq++
	}
	return err
}

type appendsKeys struct{ store.Writer }

func (w appendsKeys) DeleteEntries(ctx context.Context, kind string, keys ...string) error {
	_ = append(keys, "")
	return w.Writer.DeleteEntries(ctx, kind, keys...)
}

type writesSome struct{ store.Writer }

func (w writesSome) PutEntries(ctx context.Context, entries ...store.Entry) error {
	for i, e := range entries {
		if !utf8.ValidString(e.Owner) {
			return errors.Join(w.Writer.PutEntries(ctx, entries[:i]...), errors.New("not UTF-8"))
		}
	}
	return w.Writer.PutEntries(ctx, entries...)
}

type refusesMany struct{ store.Writer }

func (w refusesMany) PutEntries(ctx context.Context, entries ...store.Entry) error {
	if len(entries) > 4000 {
		return errors.New("too many")
	}
	return w.Writer.PutEntries(ctx, entries...)
}

type contextFirst struct{ store.Reader }

func (r contextFirst) License(ctx context.Context, id string) (store.License, error) {
	if err := ctx.Err(); err != nil {
		return store.License{}, err
	}
	return r.Reader.License(ctx, id)
}

type viewsLate struct{ store.Store }

func (s viewsLate) View(ctx context.Context, fn func(store.Reader) error) error {
	return errors.Join(s.Store.View(context.WithoutCancel(ctx), fn), ctx.Err())
}
