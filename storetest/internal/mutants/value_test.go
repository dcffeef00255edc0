package mutants

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// valueMutants break the rules about fields.
var valueMutants = []mutant{
	{7, "folds case to find an entry", reading(func(r store.Reader) store.Reader { return foldsEntry{r} })},
	{7, "folds case to find a customer", reading(func(r store.Reader) store.Reader { return foldsCustomer{r} })},
	{7, "treats keys that differ in case as equal", writing(func(tx store.Tx) store.Writer { return foldsKeys{tx, tx} })},
	{7, "trims customers", onLicense(func(l *store.License) { l.CustomerID = strings.TrimRight(l.CustomerID, " ") })},
	{7, "composes accents", onEntry(func(e *store.Entry) { e.Owner = strings.ReplaceAll(e.Owner, "e\u0301", "é") })},
	{7, "cuts actors at 255 bytes", onEvent(func(e *store.Event) { e.Actor = e.Actor[:min(len(e.Actor), 255)] })},
	{7, "cuts keys at 1,000 bytes", onLicense(func(l *store.License) { l.Key = l.Key[:min(len(l.Key), 1000)] })},
	{7, "compacts documents", onLicense(func(l *store.License) {
		var b bytes.Buffer
		if json.Compact(&b, l.Document) == nil {
			l.Document = b.Bytes()
		}
	})},
	{7, "rewrites numbers in documents", onEvent(func(e *store.Event) {
		var v any
		if json.Unmarshal(e.Data, &v) == nil {
			e.Data, _ = json.Marshal(v)
		}
	})},
	{7, "sorts licenses without regard to case", reading(func(r store.Reader) store.Reader { return sortsFolded{r} })},
	{7, "takes wildcards in subjects", reading(func(r store.Reader) store.Reader { return wildSubjects{r} })},

	{8, "returns local times", reading(func(r store.Reader) store.Reader { return localTimes{r} })},
	{8, "keeps whole seconds", onEvent(func(e *store.Event) { e.Time = e.Time.Truncate(time.Second) })},
	{8, "returns the epoch for the zero time", reading(func(r store.Reader) store.Reader { return epochs{r} })},
	{8, "keeps nanoseconds in 64 bits", onEntry(func(e *store.Entry) { e.CreatedAt = time.Unix(0, e.CreatedAt.UnixNano()).UTC() })},
	{8, "treats the epoch as the zero time", onActivation(func(a *store.Activation) {
		if a.EndedAt.UnixMilli() == 0 {
			a.EndedAt = time.Time{}
		}
	})},
	{8, "drops zones", onEvent(func(e *store.Event) {
		_, offset := e.Time.Zone()
		e.Time = e.Time.UTC().Add(time.Duration(offset) * time.Second)
	})},
	{8, "cuts the bounds of a range", reading(func(r store.Reader) store.Reader { return cutsBounds{r} })},

	{9, "keeps the document of a license", writing(func(tx store.Tx) store.Writer { return keepsDocument{tx, tx} })},
	{9, "keeps the owner when it is cleared", writing(func(tx store.Tx) store.Writer { return keepsOwner{tx, tx} })},
	{9, "loses the Move of an entry", onEntry(func(e *store.Entry) { e.Move = store.Kept })},
	{9, "renews only the lease of an activation", writing(func(tx store.Tx) store.Writer { return renewsLease{tx, tx} })},
	{9, "loses documents in lists", reading(func(r store.Reader) store.Reader { return listsWithoutDocuments{r} })},
	{9, "replaces an event's data only", writing(func(tx store.Tx) store.Writer { return replacesDataOnly{tx, tx} })},
	{9, "finds licenses by their old keys", newOldKeys},
}

type changesLicense struct {
	store.Writer
	change func(*store.License)
}

func onLicense(change func(*store.License)) func() store.Store {
	return writing(func(tx store.Tx) store.Writer { return changesLicense{tx, change} })
}

func (w changesLicense) CreateLicenses(ctx context.Context, licenses ...store.License) error {
	licenses = slices.Clone(licenses)
	for i := range licenses {
		w.change(&licenses[i])
	}
	return w.Writer.CreateLicenses(ctx, licenses...)
}

func (w changesLicense) UpdateLicense(ctx context.Context, l store.License) error {
	w.change(&l)
	return w.Writer.UpdateLicense(ctx, l)
}

type changesActivation struct {
	store.Writer
	change func(*store.Activation)
}

func onActivation(change func(*store.Activation)) func() store.Store {
	return writing(func(tx store.Tx) store.Writer { return changesActivation{tx, change} })
}

func (w changesActivation) PutActivations(ctx context.Context, activations ...store.Activation) error {
	activations = slices.Clone(activations)
	for i := range activations {
		w.change(&activations[i])
	}
	return w.Writer.PutActivations(ctx, activations...)
}

type changesEvent struct {
	store.Writer
	change func(*store.Event)
}

func onEvent(change func(*store.Event)) func() store.Store {
	return writing(func(tx store.Tx) store.Writer { return changesEvent{tx, change} })
}

func (w changesEvent) AppendEvents(ctx context.Context, events ...store.Event) error {
	events = slices.Clone(events)
	for i := range events {
		w.change(&events[i])
	}
	return w.Writer.AppendEvents(ctx, events...)
}

type changesEntry struct {
	store.Writer
	change func(*store.Entry)
}

func onEntry(change func(*store.Entry)) func() store.Store {
	return writing(func(tx store.Tx) store.Writer { return changesEntry{tx, change} })
}

func (w changesEntry) PutEntries(ctx context.Context, entries ...store.Entry) error {
	entries = slices.Clone(entries)
	for i := range entries {
		w.change(&entries[i])
	}
	return w.Writer.PutEntries(ctx, entries...)
}

type foldsEntry struct{ store.Reader }

func (r foldsEntry) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	e, err := r.Reader.Entry(ctx, kind, key)
	if errors.Is(err, store.ErrNotFound) {
		e, err = r.Reader.Entry(ctx, strings.ToLower(kind), strings.ToLower(key))
	}
	return e, err
}

type foldsCustomer struct{ store.Reader }

func (r foldsCustomer) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	if q.CustomerID == "" || len(q.CustomerID) > 20 || strings.ToLower(q.CustomerID) == q.CustomerID {
		return r.Reader.Licenses(ctx, q)
	}
	customer := q.CustomerID
	q.CustomerID = ""
	rows, err := r.Reader.Licenses(ctx, q)
	return slices.DeleteFunc(rows, func(l store.License) bool { return !strings.EqualFold(l.CustomerID, customer) }), err
}

type foldsKeys struct {
	store.Writer
	tx store.Tx
}

func (w foldsKeys) CreateLicenses(ctx context.Context, licenses ...store.License) error {
	for _, l := range licenses {
		if _, err := w.tx.LicenseByKey(ctx, strings.ToLower(l.Key)); err == nil {
			return store.ErrExists
		}
	}
	return w.Writer.CreateLicenses(ctx, licenses...)
}

type sortsFolded struct{ store.Reader }

func (r sortsFolded) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	rows, err := r.Reader.Licenses(ctx, q)
	if q.Order == store.ByID && !q.Descending {
		slices.SortFunc(rows, func(a, b store.License) int { return strings.Compare(strings.ToLower(a.ID), strings.ToLower(b.ID)) })
	}
	return rows, err
}

type wildSubjects struct{ store.Reader }

func (r wildSubjects) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	if strings.Trim(q.Subject, "%_") == "" {
		q.Subject = ""
	}
	return r.Reader.Events(ctx, q)
}

var farAway = time.FixedZone("far away", 3600)

type localTimes struct{ store.Reader }

func (r localTimes) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	e, err := r.Reader.Entry(ctx, kind, key)
	e.CreatedAt = e.CreatedAt.In(farAway)
	return e, err
}

type epochs struct{ store.Reader }

func (r epochs) License(ctx context.Context, id string) (store.License, error) {
	l, err := r.Reader.License(ctx, id)
	if l.ExpiresAt.IsZero() {
		l.ExpiresAt = time.Unix(0, 0).UTC()
	}
	return l, err
}

type keepsDocument struct {
	store.Writer
	tx store.Tx
}

func (w keepsDocument) UpdateLicense(ctx context.Context, l store.License) error {
	if old, err := w.tx.License(ctx, l.ID); err == nil {
		l.Document = old.Document
	}
	return w.Writer.UpdateLicense(ctx, l)
}

type renewsLease struct {
	store.Writer
	tx store.Tx
}

func (w renewsLease) PutActivations(ctx context.Context, activations ...store.Activation) error {
	activations = slices.Clone(activations)
	for i, a := range activations {
		if old, err := w.tx.Activation(ctx, a.LicenseID, a.Fingerprint); err == nil && old.ID == a.ID {
			activations[i].Document = old.Document
		}
	}
	return w.Writer.PutActivations(ctx, activations...)
}

type keepsOwner struct {
	store.Writer
	tx store.Tx
}

func (w keepsOwner) PutEntries(ctx context.Context, entries ...store.Entry) error {
	entries = slices.Clone(entries)
	for i, e := range entries {
		if old, err := w.tx.Entry(ctx, e.Kind, e.Key); err == nil && e.Owner == "" {
			entries[i].Owner = old.Owner
		}
	}
	return w.Writer.PutEntries(ctx, entries...)
}

type listsWithoutDocuments struct{ store.Reader }

func (r listsWithoutDocuments) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	rows, err := r.Reader.Licenses(ctx, q)
	for i := range rows {
		rows[i].Document = nil
	}
	return rows, err
}

type replacesDataOnly struct {
	store.Writer
	tx store.Tx
}

func (w replacesDataOnly) ReplaceEvent(ctx context.Context, e store.Event) error {
	rows, err := w.tx.Events(ctx, store.EventQuery{After: e.Seq - 1, Limit: 1})
	if err == nil && len(rows) == 1 && rows[0].Seq == e.Seq {
		e.CustomerID = rows[0].CustomerID
	}
	return w.Writer.ReplaceEvent(ctx, e)
}

// newOldKeys opens a store that keeps former license keys in entries.
func newOldKeys() store.Store {
	return spoiling(func(r store.Reader) store.Reader { return oldKeyReader{r} },
		func(tx store.Tx) store.Writer { return oldKeyWriter{tx, tx} })()
}

type oldKeyReader struct{ store.Reader }

func (r oldKeyReader) LicenseByKey(ctx context.Context, key string) (store.License, error) {
	l, err := r.Reader.LicenseByKey(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		if e, err := r.Entry(ctx, "\x00key", key); err == nil {
			if l, err := r.License(ctx, e.Owner); err == nil {
				return l, nil
			}
		}
	}
	return l, err
}

type oldKeyWriter struct {
	store.Writer
	tx store.Tx
}

func (w oldKeyWriter) UpdateLicense(ctx context.Context, l store.License) error {
	old, _ := w.tx.License(ctx, l.ID)
	if err := w.Writer.UpdateLicense(ctx, l); err != nil || old.Key == l.Key {
		return err
	}
	return w.PutEntries(ctx, store.Entry{Kind: "\x00key", Key: old.Key, Owner: l.ID})
}

type cutsBounds struct{ store.Reader }

func (r cutsBounds) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	q.Expires.From, q.Expires.Before = q.Expires.From.Truncate(time.Millisecond), q.Expires.Before.Truncate(time.Millisecond)
	return r.Reader.Licenses(ctx, q)
}
