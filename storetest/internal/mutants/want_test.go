package mutants

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-d8a106b4/licensekit/store"
)

// wantMutants give a Want a meaning. Each has one of the faults that hinted knows.
var wantMutants = func() (list []mutant) {
	for _, does := range []string{
		listIsEmpty, entryStaysAway, licenseStaysAway, seatStaysAway, licenseStays, restIsAbsent, absentStays, madeOnce, wantFails, wantDooms,
	} {
		list = append(list, mutant{3, does, updating(func(st store.Store, ctx context.Context, fn func(store.Tx) error) error {
			return st.Update(ctx, func(tx store.Tx) error {
				h := &hinted{Tx: tx, fault: does, read: map[string]error{}}
				if err := fn(h); err != nil {
					return err
				}
				return h.doomed
			})
		})})
	}
	return list
}()

const (
	listIsEmpty      = "believes that a wanted list is empty, for one query"
	entryStaysAway   = "hides an entry that a Want has missed"
	licenseStaysAway = "hides a license that a Want has missed"
	seatStaysAway    = "hides an activation that a Want has missed"
	licenseStays     = "finds a wanted license after it was deleted"
	restIsAbsent     = "takes wanted entries after the first 100 for absent"
	absentStays      = "does not replace an entry that it presumes absent"
	madeOnce         = "refuses to make a wanted license again"
	wantFails        = "returns ErrNotFound from a Want of a missing license"
	wantDooms        = "fails an Update with a Want of an empty key"
)

// A hinted is a Tx that keeps what a Want has read: the error of each get.
type hinted struct {
	store.Tx
	fault  string
	w      store.Wanted
	read   map[string]error
	kept   store.License
	doomed error
}

func (h *hinted) is(fault string) bool { return h.fault == fault }

func (h *hinted) Want(ctx context.Context, w store.Wanted) error {
	if err := h.Tx.Want(ctx, w); err != nil {
		return err
	}
	h.w, h.read = w, map[string]error{}
	h.kept, h.read["license "+w.LicenseID] = h.Tx.License(ctx, w.LicenseID)
	for _, print := range w.Fingerprints {
		_, h.read["seat "+w.LicenseID+print] = h.Tx.Activation(ctx, w.LicenseID, print)
	}
	for _, e := range slices.Concat(w.Entries, w.Absent) {
		_, h.read["entry "+e[0]+e[1]] = h.Tx.Entry(ctx, e[0], e[1])
		if h.is(wantDooms) && e[1] == "" {
			h.doomed = errDoomed
		}
	}
	if h.is(wantFails) && w.LicenseID != "" {
		return h.read["license "+w.LicenseID]
	}
	return nil
}

// hide returns the error that a Want has met.
func (h *hinted) hide(fault, what string, err error) error {
	if h.is(fault) && err == nil {
		return h.read[what]
	}
	return err
}

func (h *hinted) License(ctx context.Context, id string) (store.License, error) {
	l, err := h.Tx.License(ctx, id)
	if h.is(licenseStays) && errors.Is(err, store.ErrNotFound) && id != "" && id == h.kept.ID {
		return h.kept, nil
	}
	return l, h.hide(licenseStaysAway, "license "+id, err)
}

func (h *hinted) Activation(ctx context.Context, licenseID, fingerprint string) (store.Activation, error) {
	a, err := h.Tx.Activation(ctx, licenseID, fingerprint)
	return a, h.hide(seatStaysAway, "seat "+licenseID+fingerprint, err)
}

func (h *hinted) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	e, err := h.Tx.Entry(ctx, kind, key)
	if at := slices.Index(h.w.Entries, [2]string{kind, key}); h.is(restIsAbsent) && at >= 100 && err == nil {
		return store.Entry{}, store.ErrNotFound
	}
	return e, h.hide(entryStaysAway, "entry "+kind+key, err)
}

func (h *hinted) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	rows, err := h.Tx.Activations(ctx, q)
	if h.is(listIsEmpty) && h.w.Activations && q.LicenseID == h.w.LicenseID && !q.LiveAt.IsZero() {
		rows = nil
	}
	return rows, err
}

func (h *hinted) PutEntries(ctx context.Context, entries ...store.Entry) error {
	if h.is(absentStays) {
		entries = slices.DeleteFunc(slices.Clone(entries), func(e store.Entry) bool { return slices.Contains(h.w.Absent, [2]string{e.Kind, e.Key}) })
	}
	return h.Tx.PutEntries(ctx, entries...)
}

func (h *hinted) CreateLicenses(ctx context.Context, licenses ...store.License) error {
	for _, l := range licenses {
		if h.is(madeOnce) && l.ID == h.kept.ID {
			return fmt.Errorf("%s: %w", l.ID, store.ErrExists)
		}
	}
	return h.Tx.CreateLicenses(ctx, licenses...)
}
