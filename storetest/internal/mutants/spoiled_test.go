package mutants

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// spoiled is a store whose readers and writers are replaced.
type spoiled struct {
	store.Reader
	inner store.Store
	read  func(store.Reader) store.Reader
	write func(store.Tx) store.Writer
}

type joined struct {
	store.Reader
	store.Writer
}

// Want reads, so that it fails as a read does.
func (j joined) Want(ctx context.Context, _ store.Wanted) error {
	if _, err := j.Reader.Entry(ctx, "", ""); !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return nil
}

func (s spoiled) View(ctx context.Context, fn func(store.Reader) error) error {
	return s.inner.View(ctx, func(r store.Reader) error { return fn(s.read(r)) })
}

func (s spoiled) Update(ctx context.Context, fn func(store.Tx) error) error {
	return s.inner.Update(ctx, func(tx store.Tx) error { return fn(joined{s.read(tx), s.write(tx)}) })
}

// reading opens stores all of whose readers are replaced.
func reading(read func(store.Reader) store.Reader) func() store.Store {
	return spoiling(read, func(tx store.Tx) store.Writer { return tx })
}

// writing opens stores whose writers are replaced.
func writing(write func(store.Tx) store.Writer) func() store.Store {
	return spoiling(func(r store.Reader) store.Reader { return r }, write)
}

func spoiling(read func(store.Reader) store.Reader, write func(store.Tx) store.Writer) func() store.Store {
	return func() store.Store {
		inner := memory.New()
		return spoiled{read(inner), inner, read, write}
	}
}

// updating opens stores with another way to run an Update.
func updating(update func(inner store.Store, ctx context.Context, fn func(store.Tx) error) error) func() store.Store {
	return func() store.Store { return updatedBy{memory.New(), update} }
}

type updatedBy struct {
	store.Store
	update func(inner store.Store, ctx context.Context, fn func(store.Tx) error) error
}

func (s updatedBy) Update(ctx context.Context, fn func(store.Tx) error) error {
	return s.update(s.Store, ctx, fn)
}

// written is one call of a method of Writer that can be repeated on any Writer.
type written func(context.Context, store.Writer) error

// hooked is a Writer that passes each call to do.
type hooked struct {
	do func(ctx context.Context, method string, call written) error
}

// journal returns a Writer that calls w, and records the calls in log.
func journal(w store.Writer, log *[]written) store.Writer {
	return hooked{func(ctx context.Context, _ string, call written) error {
		err := call(ctx, w)
		if err == nil {
			*log = append(*log, call)
		}
		return err
	}}
}

// replay makes the calls again in their own Update.
func replay(st store.Store, log []written) error {
	return st.Update(context.Background(), func(tx store.Tx) error {
		for _, call := range log {
			if err := call(context.Background(), tx); err != nil {
				return err
			}
		}
		return nil
	})
}

func (h hooked) CreateLicenses(ctx context.Context, licenses ...store.License) error {
	licenses = copies(licenses)
	return h.do(ctx, "CreateLicenses", func(ctx context.Context, w store.Writer) error { return w.CreateLicenses(ctx, licenses...) })
}

func (h hooked) UpdateLicense(ctx context.Context, l store.License) error {
	l = copied(l)
	return h.do(ctx, "UpdateLicense", func(ctx context.Context, w store.Writer) error { return w.UpdateLicense(ctx, l) })
}

func (h hooked) DeleteLicense(ctx context.Context, id string) error {
	return h.do(ctx, "DeleteLicense", func(ctx context.Context, w store.Writer) error { return w.DeleteLicense(ctx, id) })
}

func (h hooked) PutActivations(ctx context.Context, activations ...store.Activation) error {
	activations = copies(activations)
	return h.do(ctx, "PutActivations", func(ctx context.Context, w store.Writer) error { return w.PutActivations(ctx, activations...) })
}

func (h hooked) DeleteActivations(ctx context.Context, licenseID string, ids ...string) error {
	ids = slices.Clone(ids)
	return h.do(ctx, "DeleteActivations", func(ctx context.Context, w store.Writer) error {
		return w.DeleteActivations(ctx, licenseID, ids...)
	})
}

func (h hooked) AppendEvents(ctx context.Context, events ...store.Event) error {
	events = copies(events)
	return h.do(ctx, "AppendEvents", func(ctx context.Context, w store.Writer) error { return w.AppendEvents(ctx, events...) })
}

func (h hooked) ReplaceEvent(ctx context.Context, e store.Event) error {
	e = copied(e)
	return h.do(ctx, "ReplaceEvent", func(ctx context.Context, w store.Writer) error { return w.ReplaceEvent(ctx, e) })
}

func (h hooked) DeleteEvents(ctx context.Context, through int64, limit int) (n int, err error) {
	first := true
	err = h.do(ctx, "DeleteEvents", func(ctx context.Context, w store.Writer) error {
		m, err := w.DeleteEvents(ctx, through, limit)
		if first { // a replay may run after the caller has returned
			n, first = m, false
		}
		return err
	})
	return n, err
}

func (h hooked) PutEntries(ctx context.Context, entries ...store.Entry) error {
	entries = copies(entries)
	return h.do(ctx, "PutEntries", func(ctx context.Context, w store.Writer) error { return w.PutEntries(ctx, entries...) })
}

func (h hooked) DeleteEntries(ctx context.Context, kind string, keys ...string) error {
	keys = slices.Clone(keys)
	return h.do(ctx, "DeleteEntries", func(ctx context.Context, w store.Writer) error { return w.DeleteEntries(ctx, kind, keys...) })
}

// copied returns a copy of row that shares no slice with it.
func copied[R any](row R) R {
	v := reflect.ValueOf(&row).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Slice {
			f.Set(reflect.AppendSlice(reflect.MakeSlice(f.Type(), 0, f.Len()), f))
		}
	}
	return row
}

// copies returns copies of rows that share no slice with them.
func copies[R any](rows []R) []R {
	rows = slices.Clone(rows)
	for i, row := range rows {
		rows[i] = copied(row)
	}
	return rows
}

// onError opens stores that change what the methods of Writer return.
func onError(change func(method string, err error) error) func() store.Store {
	return writing(func(tx store.Tx) store.Writer {
		return hooked{func(ctx context.Context, method string, call written) error { return change(method, call(ctx, tx)) }}
	})
}
