package mutants

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest/internal/pick"
)

// everyMutants break a rule for one method, one shape of a query or one type of record
// only.
var everyMutants = []mutant{
	{3, "counts only committed licenses in an Update", readingInUpdates(func(before, tx store.Reader) store.Reader {
		return countsOf{tx, before}
	})},
	{3, "lists only committed names in an Update", readingInUpdates(func(before, tx store.Reader) store.Reader {
		return namesOf{tx, before}
	})},
	{6, "counts the latest commit in a View", viewing(func(st, r store.Reader) store.Reader { return countsOf{r, st} })},
	{6, "lists the latest names in a View", viewing(func(st, r store.Reader) store.Reader { return namesOf{r, st} })},
	{4, "keeps what a large call wrote in an Update that fails", updating(keepsLarge)},
	{4, "returns a sentinel without the error that wraps it", updating(func(st store.Store, ctx context.Context, fn func(store.Tx) error) error {
		if err := st.Update(ctx, fn); !errors.Is(err, store.ErrDamaged) {
			return err
		}
		return store.ErrDamaged
	})},
	{7, "compares the first 1,000 bytes of an owner", reading(func(r store.Reader) store.Reader { return shortOwners{r} })},
	{7, "takes wildcards in prefixes of fingerprints", reading(func(r store.Reader) store.Reader { return wildPrefixes{r} })},
	{7, "folds kinds", reading(func(r store.Reader) store.Reader { return foldsKinds{r} })},
	{8, "compares leases by whole seconds", reading(func(r store.Reader) store.Reader { return leasesBySecond{r} })},
	{11, "lists 500 licenses of IDs at most", reading(func(r store.Reader) store.Reader { return fewIDs{r} })},
	{12, "continues after the entry instead of its position", reading(func(r store.Reader) store.Reader { return followsEntry{r} })},
	{12, "keeps positions of the feed in 32 bits", reading(func(r store.Reader) store.Reader { return smallPositions{r} })},
	{14, "keeps the first 1,000 activations of a call that is refused", writing(func(tx store.Tx) store.Writer { return inChunks{tx} })},
	{14, "refuses a fingerprint that was given up in the call", writing(func(tx store.Tx) store.Writer { return oncePerCall{tx} })},
	{16, "revives the Tx of an earlier run", updating(revives)},
	{17, "leaves Views open that panic", func() store.Store { return &leavesOpen{Store: memory.New()} }},
	{18, "returns half of a list whose context ends", reading(func(r store.Reader) store.Reader { return halfLists{r} })},
	{20, "keeps Seqs in 53 bits", writing(func(tx store.Tx) store.Writer { return roundsSeqs{tx} })},
	{24, "replaces what is not UTF-8", onLicense(func(l *store.License) { l.Key = strings.ToValidUTF8(l.Key, "?") })},
	{24, "takes NUL for the next part of an index", reading(func(r store.Reader) store.Reader { return runsInto{r} })},
	{24, "refuses documents of more than 512 KiB in activations", writing(func(tx store.Tx) store.Writer { return smallDocuments{tx} })},
	{30, "examines as many licenses as it needs", reading(func(r store.Reader) store.Reader { return examinesAll{r} })},
	{31, "counts 20,000 licenses of a name at most", reading(func(r store.Reader) store.Reader { return smallNames{r} })},
}

// viewing opens stores that replace the Reader of a View, given one of the store.
func viewing(read func(st, r store.Reader) store.Reader) func() store.Store {
	return func() store.Store { return viewed{memory.New(), read} }
}

type viewed struct {
	store.Store
	read func(st, r store.Reader) store.Reader
}

func (s viewed) View(ctx context.Context, fn func(store.Reader) error) error {
	return s.Store.View(ctx, func(r store.Reader) error {
		var over atomic.Bool
		defer over.Store(true)
		live := pick.Reader{From: func() store.Reader {
			if over.Load() {
				return r
			}
			return s.Store
		}}
		return fn(s.read(live, r))
	})
}

type countsOf struct {
	store.Reader
	from store.Reader
}

func (r countsOf) CountLicenses(ctx context.Context, q store.LicenseQuery, edges ...store.Position) ([]int64, error) {
	return r.from.CountLicenses(ctx, q, edges...)
}

type namesOf struct {
	store.Reader
	from store.Reader
}

func (r namesOf) LicenseNames(ctx context.Context, q store.NamesQuery) ([]store.NameCount, error) {
	return r.from.LicenseNames(ctx, q)
}

func keepsLarge(st store.Store, ctx context.Context, fn func(store.Tx) error) error {
	var kept []store.Entry
	err := st.Update(ctx, func(tx store.Tx) error {
		kept = nil
		return fn(joined{tx, notesLarge{tx, &kept}})
	})
	if err != nil && len(kept) > 0 {
		_ = st.Update(ctx, func(tx store.Tx) error { return tx.PutEntries(ctx, kept...) })
	}
	return err
}

type notesLarge struct {
	store.Writer
	kept *[]store.Entry
}

func (w notesLarge) PutEntries(ctx context.Context, entries ...store.Entry) error {
	if len(entries) > 1000 {
		*w.kept = entries[:1000]
	}
	return w.Writer.PutEntries(ctx, entries...)
}

type shortOwners struct{ store.Reader }

func (r shortOwners) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	if len(q.Owner) <= 1000 {
		return r.Reader.Entries(ctx, q)
	}
	owner := q.Owner[:1000]
	q.Owner = ""
	rows, err := r.Reader.Entries(ctx, q)
	return slices.DeleteFunc(rows, func(e store.Entry) bool { return !strings.HasPrefix(e.Owner, owner) }), err
}

type wildPrefixes struct{ store.Reader }

func (r wildPrefixes) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	if before, _, ok := strings.Cut(q.FingerprintPrefix, "_"); ok && before != "" && !strings.HasPrefix(q.FingerprintPrefix, "print") {
		q.FingerprintPrefix = before
	}
	return r.Reader.Activations(ctx, q)
}

// foldsKinds lists the entries of a kind in lower case with those of the kind.
type foldsKinds struct{ store.Reader }

func (r foldsKinds) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	rows, err := r.Reader.Entries(ctx, q)
	folded := strings.ToLower(q.Kind)
	if err != nil || folded == q.Kind {
		return rows, err
	}
	q.Kind = folded
	more, err := r.Reader.Entries(ctx, q)
	return append(rows, more...), err
}

type leasesBySecond struct{ store.Reader }

func (r leasesBySecond) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	q.LeaseEnds.From = q.LeaseEnds.From.Truncate(time.Second)
	return r.Reader.Activations(ctx, q)
}

type fewIDs struct{ store.Reader }

func (r fewIDs) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	rows, err := r.Reader.Licenses(ctx, q)
	if q.IDs != nil {
		rows = rows[:min(len(rows), 500)]
	}
	return rows, err
}

type followsEntry struct{ store.Reader }

func (r followsEntry) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	if q.Order == store.ByExpiry && q.After.ID != "" && !q.After.Time.IsZero() {
		if e, err := r.Entry(ctx, q.Kind, q.After.ID); err == nil && !e.ExpiresAt.IsZero() {
			q.After.Time = e.ExpiresAt
		}
	}
	return r.Reader.Entries(ctx, q)
}

type smallPositions struct{ store.Reader }

func (r smallPositions) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	q.After = min(q.After, 1<<32)
	return r.Reader.Events(ctx, q)
}

type inChunks struct{ store.Tx }

func (w inChunks) PutActivations(ctx context.Context, activations ...store.Activation) error {
	for chunk := range slices.Chunk(activations, 1000) {
		if err := w.Tx.PutActivations(ctx, chunk...); err != nil {
			return err
		}
	}
	return w.Tx.PutActivations(ctx) // for its context
}

type oncePerCall struct{ store.Tx }

func (w oncePerCall) PutActivations(ctx context.Context, activations ...store.Activation) error {
	holders := map[string]string{}
	for _, a := range activations {
		if id, ok := holders[a.LicenseID+"\x00"+a.Fingerprint]; ok && id != a.ID {
			return fmt.Errorf("%s: %w", a.ID, store.ErrExists)
		}
		holders[a.LicenseID+"\x00"+a.Fingerprint] = a.ID
	}
	return w.Tx.PutActivations(ctx, activations...)
}

// revives runs the function of an Update again if it began with a read and the first run
// succeeded, and lets the Tx of that run use the second one's.
func revives(st store.Store, ctx context.Context, fn func(store.Tx) error) error {
	var current atomic.Pointer[store.Tx]
	wrote, read := false, false
	reader := pick.Reader{From: func() store.Reader {
		read = read || !wrote
		return *current.Load()
	}}
	writer := hooked{func(ctx context.Context, _ string, call written) error {
		wrote = true
		return call(ctx, *current.Load())
	}}
	runs := 0
	run := func(tx store.Tx) error {
		current.Store(&tx)
		if err := fn(joined{reader, writer}); err != nil {
			return err
		}
		if runs++; runs == 1 && read {
			return errHonest
		}
		return nil
	}
	err := st.Update(ctx, run)
	if errors.Is(err, errHonest) {
		err = st.Update(context.WithoutCancel(ctx), run)
	}
	return err
}

// leavesOpen has room for 30 Views.
type leavesOpen struct {
	store.Store
	open atomic.Int32
}

func (s *leavesOpen) View(ctx context.Context, fn func(store.Reader) error) error {
	if s.open.Add(1) > 30 {
		<-ctx.Done()
		return ctx.Err()
	}
	returned := false
	err := s.Store.View(ctx, func(r store.Reader) error {
		err := fn(r)
		returned = true
		return err
	})
	if returned || err != nil {
		s.open.Add(-1)
	}
	return err
}

type halfLists struct{ store.Reader }

func (r halfLists) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	rows, err := r.Reader.Events(ctx, q)
	if err == nil && ctx.Err() != nil {
		rows = rows[:len(rows)/2]
	}
	return rows, err
}

type roundsSeqs struct{ store.Tx }

func (w roundsSeqs) AppendEvents(ctx context.Context, events ...store.Event) error {
	events = slices.Clone(events)
	for i := range events {
		events[i].Seq = int64(float64(events[i].Seq))
	}
	return w.Tx.AppendEvents(ctx, events...)
}

type runsInto struct{ store.Reader }

func (r runsInto) CountLicenses(ctx context.Context, q store.LicenseQuery, edges ...store.Position) ([]int64, error) {
	if customer, id, ok := strings.Cut(q.CustomerID, "\x00"); ok && id != "" {
		q.CustomerID = customer
	}
	return r.Reader.CountLicenses(ctx, q, edges...)
}

type smallDocuments struct{ store.Tx }

func (w smallDocuments) PutActivations(ctx context.Context, activations ...store.Activation) error {
	for _, a := range activations {
		if len(a.Document) > 1<<19 {
			return errors.New("too large")
		}
	}
	return w.Tx.PutActivations(ctx, activations...)
}

type examinesAll struct{ store.Reader }

func (r examinesAll) FindLicenses(ctx context.Context, q store.LicenseQuery) ([]store.License, store.Position, error) {
	for {
		found, next, err := r.Reader.FindLicenses(ctx, q)
		if err != nil || next.IsZero() || len(found) > 0 {
			return found, next, err
		}
		q.After = next
	}
}

type smallNames struct{ store.Reader }

func (r smallNames) LicenseNames(ctx context.Context, q store.NamesQuery) ([]store.NameCount, error) {
	names, err := r.Reader.LicenseNames(ctx, q)
	for i := range names {
		names[i].Count = min(names[i].Count, store.MaxExamined)
	}
	return names, err
}

// answersEmpty finds no entries of no keys, also after it was closed.
type answersEmpty struct{ *diskStore }

func (s answersEmpty) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	if q.Keys != nil && len(q.Keys) == 0 {
		return nil, ctx.Err()
	}
	return s.diskStore.Entries(ctx, q)
}
