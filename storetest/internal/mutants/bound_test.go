package mutants

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// boundMutants are wrong at the bounds of values: times before 1970, positions of
// which a part is empty, numbers that a caller brings, strings that are joined.
var boundMutants = []mutant{
	{8, "rounds times before 1970 up", onEvent(func(e *store.Event) {
		if t := e.Time.Truncate(time.Millisecond); t.Before(e.Time) && e.Time.Unix() < 0 {
			e.Time = t.Add(time.Millisecond)
		}
	})},
	{8, "rounds positions up", reading(func(r store.Reader) store.Reader { return roundsPositions{r} })},
	{11, "rounds LiveAt up", reading(func(r store.Reader) store.Reader { return roundsLiveAt{r} })},
	{25, "starts entries at the beginning after a time without a key", reading(func(r store.Reader) store.Reader { return needsKey{r} })},
	{25, "starts licenses at the end after an id without a time", reading(func(r store.Reader) store.Reader { return needsTime{r} })},
	{20, "ignores the Seqs that events bring", writing(func(tx store.Tx) store.Writer { return ignoresSeqs{tx} })},
	{21, "removes all events through a negative Seq", writing(func(tx store.Tx) store.Writer { return unsignedThrough{tx} })},
	{7, "joins the kind and the key of an entry", writing(func(tx store.Tx) store.Writer { return joinsEntries{tx, tx} })},
	{7, "joins a license and a fingerprint", reading(func(r store.Reader) store.Reader { return joinsSeats{r} })},
	{24, "finds fingerprints by NUL and a part of the license", reading(func(r store.Reader) store.Reader { return joinsPrefix{r} })},
}

type roundsPositions struct{ store.Reader }

func (r roundsPositions) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	if t := q.After.Time.Truncate(time.Millisecond); q.Order != store.ByID && t.Before(q.After.Time) {
		q.After.Time = t.Add(time.Millisecond)
	}
	return r.Reader.Licenses(ctx, q)
}

type roundsLiveAt struct{ store.Reader }

func (r roundsLiveAt) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	if !q.LiveAt.IsZero() {
		q.LiveAt = q.LiveAt.Add(time.Millisecond - 1).Truncate(time.Millisecond)
	}
	return r.Reader.Activations(ctx, q)
}

type needsKey struct{ store.Reader }

func (r needsKey) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	if q.After.ID == "" {
		q.After = store.Position{}
	}
	return r.Reader.Entries(ctx, q)
}

type needsTime struct{ store.Reader }

func (r needsTime) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	if q.Order != store.ByID && q.After.Time.IsZero() {
		q.After = store.Position{}
	}
	return r.Reader.Licenses(ctx, q)
}

type ignoresSeqs struct{ store.Writer }

func (w ignoresSeqs) AppendEvents(ctx context.Context, events ...store.Event) error {
	events = slices.Clone(events)
	for i := range events {
		events[i].Seq = 0
	}
	return w.Writer.AppendEvents(ctx, events...)
}

type unsignedThrough struct{ store.Writer }

func (w unsignedThrough) DeleteEvents(ctx context.Context, through int64, limit int) (int, error) {
	if through < 0 {
		through = 1<<63 - 1
	}
	return w.Writer.DeleteEvents(ctx, through, limit)
}

type joinsEntries struct {
	store.Writer
	tx store.Tx
}

// PutEntries overwrites short entries whose kinds and keys are equal to those of
// others when they are joined.
func (w joinsEntries) PutEntries(ctx context.Context, entries ...store.Entry) error {
	for _, e := range entries {
		both := e.Kind + e.Key
		for i := 1; i < len(both) && len(both) < 5; i++ {
			if both[:i] != e.Kind {
				_ = w.tx.DeleteEntries(ctx, both[:i], both[i:])
			}
		}
	}
	return w.Writer.PutEntries(ctx, entries...)
}

type joinsSeats struct{ store.Reader }

func (r joinsSeats) Activation(ctx context.Context, licenseID, fingerprint string) (store.Activation, error) {
	both := licenseID + "/" + fingerprint
	for i := range both {
		if both[i] != '/' {
			continue
		}
		if a, err := r.Reader.Activation(ctx, both[:i], both[i+1:]); err == nil {
			return a, nil
		}
	}
	return r.Reader.Activation(ctx, licenseID, fingerprint)
}

type joinsPrefix struct{ store.Reader }

func (r joinsPrefix) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	print, license, joined := strings.Cut(q.FingerprintPrefix, "\x00")
	if !joined {
		return r.Reader.Activations(ctx, q)
	}
	q.FingerprintPrefix = print
	rows, err := r.Reader.Activations(ctx, q)
	return slices.DeleteFunc(rows, func(a store.Activation) bool {
		return a.Fingerprint != print || !strings.HasPrefix(a.LicenseID, license)
	}), err
}
