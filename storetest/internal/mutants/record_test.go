package mutants

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/seed-d8a106b4/licensekit/store"
)

// recordMutants break the rules about single records.
var recordMutants = []mutant{
	{13, "keeps its arguments", func() store.Store {
		a := &aliases{passed: map[string][]byte{}}
		return spoiling(func(r store.Reader) store.Reader { return aliasReader{r, a} },
			func(tx store.Tx) store.Writer { return aliasWriter{tx, a} })()
	}},
	{13, "returns its own memory", func() store.Store {
		k := &keptEntries{kept: map[string][]byte{}}
		return reading(func(r store.Reader) store.Reader { return sharesEntries{r, k} })()
	}},
	{13, "returns a list in one piece of memory", reading(func(r store.Reader) store.Reader { return oneBuffer{r} })},

	{14, "returns nothing and no error", reading(func(r store.Reader) store.Reader { return silentMisses{r} })},
	{14, "returns its own error for a miss", reading(func(r store.Reader) store.Reader { return foreignMisses{r} })},
	{14, "deletes missing records without an error", onError(func(method string, err error) error {
		if method == "DeleteActivations" && errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	})},
	{14, "refuses to delete a missing entry", writing(func(tx store.Tx) store.Writer { return missesEntries{tx, tx} })},
	{14, "takes a taken key for a missing license", onError(func(method string, err error) error {
		if method == "UpdateLicense" && errors.Is(err, store.ErrExists) {
			return store.ErrNotFound
		}
		return err
	})},
	{14, "puts half a license with a taken key", writing(func(tx store.Tx) store.Writer { return halfLicense{tx, tx} })},
	{14, "overwrites an existing license", writing(func(tx store.Tx) store.Writer { return overwrites{tx} })},
	{14, "deletes entries up to the first that is missing", writing(func(tx store.Tx) store.Writer { return deletesUpToMissing{tx, tx} })},
	{14, "creates licenses up to the first that is taken", writing(func(tx store.Tx) store.Writer { return createsOneByOne{tx} })},
	{14, "puts activations up to the first that is refused", writing(func(tx store.Tx) store.Writer { return putsOneByOne{tx} })},
	{14, "deletes activations up to the first that is missing", writing(func(tx store.Tx) store.Writer { return freesOneByOne{tx} })},
	{14, "accepts a fingerprint twice", writing(func(tx store.Tx) store.Writer { return replacesSeat{tx, tx} })},
	{14, "refuses a fingerprint that the call has given up", writing(func(tx store.Tx) store.Writer { return looksBefore{tx, tx} })},

	{19, "deletes the activations with their license", writing(func(tx store.Tx) store.Writer { return cascades{tx, tx} })},
	{19, "deletes remaining activations when a license is created", writing(func(tx store.Tx) store.Writer { return clearsIDs{tx, tx} })},
	{19, "keeps the key of a deleted license", writing(func(tx store.Tx) store.Writer { return reservesKeys{tx, tx} })},
	{19, "takes the activations of neighbors for those of a license", writing(func(tx store.Tx) store.Writer { return takesPrefix{tx, tx} })},
}

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

func (w aliasWriter) PutEntries(ctx context.Context, entries ...store.Entry) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range entries {
		w.passed[e.Kind+e.Key+string(e.Data)] = e.Data
	}
	return w.Writer.PutEntries(ctx, entries...)
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

type keptEntries struct {
	mu   sync.Mutex
	kept map[string][]byte
}

type sharesEntries struct {
	store.Reader
	*keptEntries
}

func (r sharesEntries) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	e, err := r.Reader.Entry(ctx, kind, key)
	r.mu.Lock()
	defer r.mu.Unlock()
	if data, ok := r.kept[key+string(e.Data)]; ok {
		e.Data = data
	} else {
		r.kept[key+string(e.Data)] = e.Data
	}
	return e, err
}

type oneBuffer struct{ store.Reader }

func (r oneBuffer) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	rows, err := r.Reader.Events(ctx, q)
	var buffer []byte
	for _, e := range rows {
		buffer = append(buffer, e.Data...)
	}
	for i, e := range rows {
		rows[i].Data, buffer = buffer[:len(e.Data)], buffer[len(e.Data):] // its capacity includes the rest
	}
	return rows, err
}

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
			old.Document = l.Document
			_ = w.Writer.UpdateLicense(ctx, old)
		}
	}
	return err
}

type missesEntries struct {
	store.Writer
	tx store.Tx
}

func (w missesEntries) DeleteEntries(ctx context.Context, kind string, keys ...string) error {
	for _, key := range keys {
		if _, err := w.tx.Entry(ctx, kind, key); err != nil {
			return err
		}
	}
	return w.Writer.DeleteEntries(ctx, kind, keys...)
}

type deletesUpToMissing struct {
	store.Writer
	tx store.Tx
}

func (w deletesUpToMissing) DeleteEntries(ctx context.Context, kind string, keys ...string) error {
	for i, key := range keys {
		if _, err := w.tx.Entry(ctx, kind, key); errors.Is(err, store.ErrNotFound) {
			keys = keys[:i]
			break
		}
	}
	return w.Writer.DeleteEntries(ctx, kind, keys...)
}

type createsOneByOne struct{ store.Writer }

func (w createsOneByOne) CreateLicenses(ctx context.Context, licenses ...store.License) error {
	for _, l := range licenses {
		if err := w.Writer.CreateLicenses(ctx, l); err != nil {
			return err
		}
	}
	return w.Writer.CreateLicenses(ctx)
}

type putsOneByOne struct{ store.Writer }

func (w putsOneByOne) PutActivations(ctx context.Context, activations ...store.Activation) error {
	for _, a := range activations {
		if err := w.Writer.PutActivations(ctx, a); err != nil {
			return err
		}
	}
	return w.Writer.PutActivations(ctx)
}

type freesOneByOne struct{ store.Writer }

func (w freesOneByOne) DeleteActivations(ctx context.Context, licenseID string, ids ...string) error {
	for _, id := range ids {
		if err := w.Writer.DeleteActivations(ctx, licenseID, id); err != nil {
			return err
		}
	}
	return w.Writer.DeleteActivations(ctx, licenseID)
}

type overwrites struct{ store.Writer }

func (w overwrites) CreateLicenses(ctx context.Context, licenses ...store.License) error {
	err := w.Writer.CreateLicenses(ctx, licenses...)
	if errors.Is(err, store.ErrExists) && w.Writer.UpdateLicense(ctx, licenses[0]) == nil {
		return nil
	}
	return err
}

type replacesSeat struct {
	store.Writer
	tx store.Tx
}

func (w replacesSeat) PutActivations(ctx context.Context, activations ...store.Activation) error {
	err := w.Writer.PutActivations(ctx, activations...)
	if errors.Is(err, store.ErrExists) {
		a := activations[0]
		if old, err := w.tx.Activation(ctx, a.LicenseID, a.Fingerprint); err == nil {
			a.ID = old.ID
			return w.Writer.PutActivations(ctx, a)
		}
	}
	return err
}

type looksBefore struct {
	store.Writer
	tx store.Tx
}

func (w looksBefore) PutActivations(ctx context.Context, activations ...store.Activation) error {
	for _, a := range activations {
		if old, err := w.tx.Activation(ctx, a.LicenseID, a.Fingerprint); err == nil && old.ID != a.ID {
			return store.ErrExists
		}
	}
	return w.Writer.PutActivations(ctx, activations...)
}

type cascades struct {
	store.Writer
	tx store.Tx
}

func (w cascades) DeleteLicense(ctx context.Context, id string) error {
	if err := w.Writer.DeleteLicense(ctx, id); err != nil {
		return err
	}
	return removeSeats(ctx, w.tx, id)
}

func removeSeats(ctx context.Context, tx store.Tx, id string) error {
	rows, err := tx.Activations(ctx, store.ActivationQuery{LicenseID: id})
	if err != nil {
		return err
	}
	for _, a := range rows {
		err = errors.Join(err, tx.DeleteActivations(ctx, id, a.ID))
	}
	return err
}

type clearsIDs struct {
	store.Writer
	tx store.Tx
}

func (w clearsIDs) CreateLicenses(ctx context.Context, licenses ...store.License) error {
	for _, l := range licenses {
		_, err := w.tx.License(ctx, l.ID)
		_, taken := w.tx.LicenseByKey(ctx, l.Key)
		if errors.Is(err, store.ErrNotFound) && errors.Is(taken, store.ErrNotFound) {
			if err := removeSeats(ctx, w.tx, l.ID); err != nil {
				return err
			}
		}
	}
	return w.Writer.CreateLicenses(ctx, licenses...)
}

// reservesKeys keeps, in entries, the keys of deleted licenses.
type reservesKeys struct {
	store.Writer
	tx store.Tx
}

func (w reservesKeys) DeleteLicense(ctx context.Context, id string) error {
	l, _ := w.tx.License(ctx, id)
	if err := w.Writer.DeleteLicense(ctx, id); err != nil {
		return err
	}
	return w.PutEntries(ctx, store.Entry{Kind: "\x00reserved", Key: l.Key})
}

func (w reservesKeys) CreateLicenses(ctx context.Context, licenses ...store.License) error {
	for _, l := range licenses {
		if _, err := w.tx.Entry(ctx, "\x00reserved", l.Key); err == nil {
			return store.ErrExists
		}
	}
	return w.Writer.CreateLicenses(ctx, licenses...)
}

// takesPrefix finds the remaining activations of a license by a prefix of its ID.
type takesPrefix struct {
	store.Writer
	tx store.Tx
}

func (w takesPrefix) CreateLicenses(ctx context.Context, licenses ...store.License) error {
	all, _ := w.tx.Licenses(ctx, store.LicenseQuery{})
	for _, l := range licenses {
		for _, other := range all {
			if other.ID == l.ID || !strings.HasPrefix(other.ID, l.ID) {
				continue
			}
			if rows, _ := w.tx.Activations(ctx, store.ActivationQuery{LicenseID: other.ID}); len(rows) > 0 {
				return store.ErrExists
			}
		}
	}
	return w.Writer.CreateLicenses(ctx, licenses...)
}
