package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// recordSaboteurs break what holds for single records.
var recordSaboteurs = []saboteur{
	{7, "folds case to find an entry", reading(func(r store.Reader) store.Reader { return foldsEntry{r} })},
	{7, "folds case to find a customer", reading(func(r store.Reader) store.Reader { return foldsCustomer{r} })},
	{7, "takes keys for equal that differ by case", writing(func(tx store.Tx) store.Writer { return foldsKeys{tx, tx} })},
	{7, "trims customers", onLicense(func(l *store.License) { l.CustomerID = strings.TrimRight(l.CustomerID, " ") })},
	{7, "composes accents", onDelivery(func(d *store.Delivery) { d.EndpointID = strings.ReplaceAll(d.EndpointID, "e\u0301", "é") })},
	{7, "cuts names at 255 bytes", onLicense(func(l *store.License) { l.Name = l.Name[:min(len(l.Name), 255)] })},
	{7, "compacts documents", onLicense(func(l *store.License) {
		var b bytes.Buffer
		if json.Compact(&b, l.Metadata) == nil {
			l.Metadata = b.Bytes()
		}
	})},
	{7, "rewrites numbers in documents", onEvent(func(e *store.Event) {
		var v any
		if json.Unmarshal(e.Data, &v) == nil {
			e.Data, _ = json.Marshal(v)
		}
	})},
	{7, "sorts licences without regard to case", reading(func(r store.Reader) store.Reader { return sortsFolded{r} })},
	{7, "folds the names of tallies", writing(func(tx store.Tx) store.Writer { return foldsTallies{tx} })},
	{7, "takes wildcards in subjects", reading(func(r store.Reader) store.Reader { return wildSubjects{r} })},

	{8, "returns local times", reading(func(r store.Reader) store.Reader { return localTimes{r} })},
	{8, "keeps whole seconds", onLicense(func(l *store.License) { l.StateAt = l.StateAt.Truncate(time.Second) })},
	{8, "returns the epoch for no time", reading(func(r store.Reader) store.Reader { return epochs{r} })},
	{8, "keeps nanoseconds in 64 bits", onEntry(func(e *store.Entry) { e.CreatedAt = time.Unix(0, e.CreatedAt.UnixNano()).UTC() })},
	{8, "takes the epoch for no time", onActivation(func(a *store.Activation) {
		if a.LastSeenAt.UnixMilli() == 0 {
			a.LastSeenAt = time.Time{}
		}
	})},
	{8, "drops zones", onEvent(func(e *store.Event) {
		_, offset := e.Time.Zone()
		e.Time = e.Time.UTC().Add(time.Duration(offset) * time.Second)
	})},

	{9, "keeps the reason of a licence", writing(func(tx store.Tx) store.Writer { return keepsReason{tx, tx} })},
	{9, "keeps the owner of an entry that has none any more", writing(func(tx store.Tx) store.Writer { return keepsOwner{tx, tx} })},
	{9, "loses when a delivery was updated", onDelivery(func(d *store.Delivery) { d.UpdatedAt = time.Time{} })},
	{9, "keeps numbers in 32 bits", onLicense(func(l *store.License) { l.LeaseSeconds = int64(int32(l.LeaseSeconds)) })},
	{9, "loses terms in lists", reading(func(r store.Reader) store.Reader { return listsWithoutTerms{r} })},
	{9, "replaces an event's data only", writing(func(tx store.Tx) store.Writer { return replacesDataOnly{tx, tx} })},
	{9, "finds licences by their old keys", newOldKeys},

	{13, "keeps what it is passed", func() store.Store {
		a := &aliases{passed: map[string][]byte{}}
		return spoiling(func(r store.Reader) store.Reader { return aliasReader{r, a} },
			func(tx store.Tx) store.Writer { return aliasWriter{tx, a} })()
	}},
	{13, "returns what it keeps", func() store.Store {
		k := &keptDeliveries{kept: map[string][]byte{}}
		return reading(func(r store.Reader) store.Reader { return sharesDeliveries{r, k} })()
	}},
	{13, "returns a list in one piece of memory", reading(func(r store.Reader) store.Reader { return oneBuffer{r} })},

	{14, "returns nothing and no error", reading(func(r store.Reader) store.Reader { return silentMisses{r} })},
	{14, "returns an error of its own for a miss", reading(func(r store.Reader) store.Reader { return foreignMisses{r} })},
	{14, "deletes what is not there", onError(func(method string, err error) error {
		if method == "DeleteEntry" && errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	})},
	{14, "takes a taken key for a missing licence", onError(func(method string, err error) error {
		if method == "UpdateLicense" && errors.Is(err, store.ErrExists) {
			return store.ErrNotFound
		}
		return err
	})},
	{14, "puts half a licence with a taken key", writing(func(tx store.Tx) store.Writer { return halfLicense{tx, tx} })},
	{14, "puts a licence in the place of another", writing(func(tx store.Tx) store.Writer { return overwrites{tx} })},
	{14, "takes a seat twice", writing(func(tx store.Tx) store.Writer { return replacesSeat{tx, tx} })},

	{19, "keeps the activations of a deleted licence", writing(func(tx store.Tx) store.Writer { return orphans{tx, tx} })},
	{19, "keeps the key of a deleted licence", writing(func(tx store.Tx) store.Writer { return reservesKeys{tx, tx} })},
	{19, "deletes the activations of its neighbours", writing(func(tx store.Tx) store.Writer { return prefixCascade{tx, tx} })},
}

// on… open stores that change a record before they write it.

type changesLicense struct {
	store.Writer
	change func(*store.License)
}

func onLicense(change func(*store.License)) func() store.Store {
	return writing(func(tx store.Tx) store.Writer { return changesLicense{tx, change} })
}

func (w changesLicense) CreateLicense(ctx context.Context, l store.License) error {
	w.change(&l)
	return w.Writer.CreateLicense(ctx, l)
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

func (w changesActivation) PutActivation(ctx context.Context, a store.Activation) error {
	w.change(&a)
	return w.Writer.PutActivation(ctx, a)
}

type changesEvent struct {
	store.Writer
	change func(*store.Event)
}

func onEvent(change func(*store.Event)) func() store.Store {
	return writing(func(tx store.Tx) store.Writer { return changesEvent{tx, change} })
}

func (w changesEvent) AppendEvent(ctx context.Context, e store.Event) (int64, error) {
	w.change(&e)
	return w.Writer.AppendEvent(ctx, e)
}

type changesEntry struct {
	store.Writer
	change func(*store.Entry)
}

func onEntry(change func(*store.Entry)) func() store.Store {
	return writing(func(tx store.Tx) store.Writer { return changesEntry{tx, change} })
}

func (w changesEntry) PutEntry(ctx context.Context, e store.Entry) error {
	w.change(&e)
	return w.Writer.PutEntry(ctx, e)
}

type changesDelivery struct {
	store.Writer
	change func(*store.Delivery)
}

func onDelivery(change func(*store.Delivery)) func() store.Store {
	return writing(func(tx store.Tx) store.Writer { return changesDelivery{tx, change} })
}

func (w changesDelivery) PutDelivery(ctx context.Context, d store.Delivery) error {
	w.change(&d)
	return w.Writer.PutDelivery(ctx, d)
}

// onError opens stores that change what the methods of Writer return.
func onError(change func(method string, err error) error) func() store.Store {
	return writing(func(tx store.Tx) store.Writer {
		return hooked{func(ctx context.Context, method string, call written) error { return change(method, call(ctx, tx)) }}
	})
}

// Rule 7.

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

func (w foldsKeys) CreateLicense(ctx context.Context, l store.License) error {
	if _, err := w.tx.LicenseByKey(ctx, strings.ToLower(l.Key)); err == nil {
		return store.ErrExists
	}
	return w.Writer.CreateLicense(ctx, l)
}

type sortsFolded struct{ store.Reader }

func (r sortsFolded) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	rows, err := r.Reader.Licenses(ctx, q)
	if q.Order == store.ByID && !q.Descending {
		slices.SortFunc(rows, func(a, b store.License) int { return strings.Compare(strings.ToLower(a.ID), strings.ToLower(b.ID)) })
	}
	return rows, err
}

type foldsTallies struct{ store.Writer }

func (w foldsTallies) AddTally(ctx context.Context, kind, name string, delta int64) error {
	return w.Writer.AddTally(ctx, kind, strings.ToLower(name), delta)
}

type wildSubjects struct{ store.Reader }

func (r wildSubjects) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	if strings.Trim(q.Subject, "%_") == "" {
		q.Subject = ""
	}
	return r.Reader.Events(ctx, q)
}

// Rule 8.

var farAway = time.FixedZone("far away", 3600)

type localTimes struct{ store.Reader }

func (r localTimes) Delivery(ctx context.Context, id string) (store.Delivery, error) {
	d, err := r.Reader.Delivery(ctx, id)
	d.CreatedAt = d.CreatedAt.In(farAway)
	return d, err
}

type epochs struct{ store.Reader }

func (r epochs) License(ctx context.Context, id string) (store.License, error) {
	l, err := r.Reader.License(ctx, id)
	if l.ExpiresAt.IsZero() {
		l.ExpiresAt = time.Unix(0, 0).UTC()
	}
	return l, err
}

// Rule 9.

type keepsReason struct {
	store.Writer
	tx store.Tx
}

func (w keepsReason) UpdateLicense(ctx context.Context, l store.License) error {
	if old, err := w.tx.License(ctx, l.ID); err == nil {
		l.StateReason = old.StateReason
	}
	return w.Writer.UpdateLicense(ctx, l)
}

type keepsOwner struct {
	store.Writer
	tx store.Tx
}

func (w keepsOwner) PutEntry(ctx context.Context, e store.Entry) error {
	if old, err := w.tx.Entry(ctx, e.Kind, e.Key); err == nil && e.Owner == "" {
		e.Owner = old.Owner
	}
	return w.Writer.PutEntry(ctx, e)
}

type listsWithoutTerms struct{ store.Reader }

func (r listsWithoutTerms) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	rows, err := r.Reader.Licenses(ctx, q)
	for i := range rows {
		rows[i].Terms = nil
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

// newOldKeys opens a store that keeps, in entries, the keys that licences have
// had.
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
	return w.PutEntry(ctx, store.Entry{Kind: "\x00key", Key: old.Key, Owner: l.ID})
}

// Rule 13.

// aliases are the slices that were passed as an entry's data, by key and what
// they held.
type aliases struct {
	mu     sync.Mutex
	passed map[string][]byte
}

type aliasWriter struct {
	store.Writer
	*aliases
}

func (w aliasWriter) PutEntry(ctx context.Context, e store.Entry) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.passed[e.Kind+e.Key+string(e.Data)] = e.Data
	return w.Writer.PutEntry(ctx, e)
}

type aliasReader struct {
	store.Reader
	*aliases
}

func (r aliasReader) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	e, err := r.Reader.Entry(ctx, kind, key)
	r.mu.Lock()
	defer r.mu.Unlock()
	if data, ok := r.passed[kind+key+string(e.Data)]; ok {
		e.Data = bytes.Clone(data)
	}
	return e, err
}

type keptDeliveries struct {
	mu   sync.Mutex
	kept map[string][]byte
}

type sharesDeliveries struct {
	store.Reader
	*keptDeliveries
}

func (r sharesDeliveries) Delivery(ctx context.Context, id string) (store.Delivery, error) {
	d, err := r.Reader.Delivery(ctx, id)
	r.mu.Lock()
	defer r.mu.Unlock()
	if data, ok := r.kept[id+string(d.Data)]; ok {
		d.Data = data
	} else {
		r.kept[id+string(d.Data)] = d.Data
	}
	return d, err
}

type oneBuffer struct{ store.Reader }

func (r oneBuffer) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	rows, err := r.Reader.Events(ctx, q)
	var buffer []byte
	for _, e := range rows {
		buffer = append(buffer, e.Data...)
	}
	for i, e := range rows {
		rows[i].Data, buffer = buffer[:len(e.Data)], buffer[len(e.Data):] // with the rest as its capacity
	}
	return rows, err
}

// Rule 14.

type silentMisses struct{ store.Reader }

func (r silentMisses) Activation(ctx context.Context, licenseID, fingerprint string) (store.Activation, error) {
	a, err := r.Reader.Activation(ctx, licenseID, fingerprint)
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return a, err
}

type foreignMisses struct{ store.Reader }

func (r foreignMisses) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	e, err := r.Reader.Entry(ctx, kind, key)
	if errors.Is(err, store.ErrNotFound) {
		err = io.EOF
	}
	return e, err
}

type halfLicense struct {
	store.Writer
	tx store.Tx
}

func (w halfLicense) UpdateLicense(ctx context.Context, l store.License) error {
	err := w.Writer.UpdateLicense(ctx, l)
	if errors.Is(err, store.ErrExists) {
		if old, err := w.tx.License(ctx, l.ID); err == nil {
			old.Name = l.Name
			_ = w.Writer.UpdateLicense(ctx, old)
		}
	}
	return err
}

type overwrites struct{ store.Writer }

func (w overwrites) CreateLicense(ctx context.Context, l store.License) error {
	err := w.Writer.CreateLicense(ctx, l)
	if errors.Is(err, store.ErrExists) && w.Writer.UpdateLicense(ctx, l) == nil {
		return nil
	}
	return err
}

type replacesSeat struct {
	store.Writer
	tx store.Tx
}

func (w replacesSeat) PutActivation(ctx context.Context, a store.Activation) error {
	err := w.Writer.PutActivation(ctx, a)
	if errors.Is(err, store.ErrExists) {
		if old, err := w.tx.Activation(ctx, a.LicenseID, a.Fingerprint); err == nil {
			a.ID = old.ID
			return w.Writer.PutActivation(ctx, a)
		}
	}
	return err
}

// Rule 19.

// orphans keeps, in an entry, the activations of a deleted licence, and gives
// them to the next licence with its ID.
type orphans struct {
	store.Writer
	tx store.Tx
}

func (w orphans) DeleteLicense(ctx context.Context, id string) error {
	rows, _ := w.tx.Activations(ctx, store.ActivationQuery{LicenseID: id})
	if err := w.Writer.DeleteLicense(ctx, id); err != nil || len(rows) == 0 {
		return err
	}
	data, _ := json.Marshal(rows)
	return w.PutEntry(ctx, store.Entry{Kind: "\x00orphans", Key: id, Data: data})
}

func (w orphans) CreateLicense(ctx context.Context, l store.License) error {
	if err := w.Writer.CreateLicense(ctx, l); err != nil {
		return err
	}
	e, err := w.tx.Entry(ctx, "\x00orphans", l.ID)
	if err != nil {
		return nil
	}
	var rows []store.Activation
	_ = json.Unmarshal(e.Data, &rows)
	for _, a := range rows {
		if err := w.PutActivation(ctx, a); err != nil {
			return err
		}
	}
	return w.DeleteEntry(ctx, e.Kind, e.Key)
}

// reservesKeys keeps, in entries, the keys of deleted licences.
type reservesKeys struct {
	store.Writer
	tx store.Tx
}

func (w reservesKeys) DeleteLicense(ctx context.Context, id string) error {
	l, _ := w.tx.License(ctx, id)
	if err := w.Writer.DeleteLicense(ctx, id); err != nil {
		return err
	}
	return w.PutEntry(ctx, store.Entry{Kind: "\x00reserved", Key: l.Key})
}

func (w reservesKeys) CreateLicense(ctx context.Context, l store.License) error {
	if _, err := w.tx.Entry(ctx, "\x00reserved", l.Key); err == nil {
		return store.ErrExists
	}
	return w.Writer.CreateLicense(ctx, l)
}

// prefixCascade deletes by the beginning of an ID.
type prefixCascade struct {
	store.Writer
	tx store.Tx
}

func (w prefixCascade) DeleteLicense(ctx context.Context, id string) error {
	rows, _ := w.tx.Licenses(ctx, store.LicenseQuery{})
	for _, l := range rows {
		if l.ID == id || !strings.HasPrefix(l.ID, id) {
			continue
		}
		seats, _ := w.tx.Activations(ctx, store.ActivationQuery{LicenseID: l.ID})
		for _, a := range seats {
			if err := w.DeleteActivation(ctx, a.LicenseID, a.ID); err != nil {
				return err
			}
		}
	}
	return w.Writer.DeleteLicense(ctx, id)
}
