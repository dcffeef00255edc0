package mutants

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest/internal/pick"
)

// queryMutants answer one query, or one call, as a database does that was asked in the
// obvious way.
var queryMutants = []mutant{
	{6, "renews the snapshot of a View at its 1,000th read", viewing(func(st, r store.Reader) store.Reader {
		reads := 0
		return pick.Reader{From: func() store.Reader {
			if reads++; reads >= 1000 {
				return st
			}
			return r
		}}
	})},
	{6, "counts the licenses of names in a later state", func() store.Store { return lateCounts{memory.New()} }},
	{7, "ends the data of a replaced event at a zero byte", writing(func(tx store.Tx) store.Writer { return endsAtZero{tx} })},
	{7, "loses zero bytes at the end of the data of an entry", onEntry(func(e *store.Entry) { e.Data = bytes.TrimRight(e.Data, "\x00") })},
	{7, "compares kinds without case", func() store.Store {
		kinds := new(sync.Map)
		return spoiling(func(r store.Reader) store.Reader { return foldsKind{r, kinds} }, func(tx store.Tx) store.Writer { return notesKind{tx, kinds} })()
	}},
	{7, "takes per cents in prefixes of fingerprints for wildcards", reading(func(r store.Reader) store.Reader { return wildPerCents{r} })},
	{8, "cuts the bounds of starts", reading(func(r store.Reader) store.Reader { return cutsStarts{r} })},
	{8, "cuts the bounds of leases", reading(func(r store.Reader) store.Reader { return cutsLeases{r} })},
	{8, "cuts the bounds of counts", reading(func(r store.Reader) store.Reader { return cutsCounts{r} })},
	{8, "cuts the bounds of searches", reading(func(r store.Reader) store.Reader { return cutsSearches{r} })},
	{10, "returns more than 50 Keys in the order given", reading(func(r store.Reader) store.Reader { return ordersFew{r} })},
	{11, "lists no keys from the last character on", reading(func(r store.Reader) store.Reader { return lastCharacter{r} })},
	{14, "finds an entry twice in a call only within 100", writing(func(tx store.Tx) store.Writer { return twiceWithin{tx} })},
	{22, "refuses 1,000 edges", reading(func(r store.Reader) store.Reader { return fewEdges{r} })},
	{24, "stores customers that are not UTF-8 as others", onLicense(func(l *store.License) { l.CustomerID = strings.ToValidUTF8(l.CustomerID, "?") })},
	{24, "stores keys of entries that are not UTF-8 as others", onEntry(func(e *store.Entry) { e.Key = strings.ToValidUTF8(e.Key, "?") })},
	{24, "stores subjects that are not UTF-8 as others", onEvent(func(e *store.Event) { e.Subject = strings.ToValidUTF8(e.Subject, "?") })},
	{31, "skips names that continue with a control character", reading(func(r store.Reader) store.Reader { return skipsControls{r} })},
	{31, "counts nothing after edge 256", reading(func(r store.Reader) store.Reader { return edgesInAByte{r} })},
}

// lateCounts lists names before a license moves, and counts after it.
type lateCounts struct{ store.Store }

func (s lateCounts) LicenseNames(ctx context.Context, q store.NamesQuery) ([]store.NameCount, error) {
	names, err := s.Store.LicenseNames(ctx, q)
	time.Sleep(time.Millisecond)
	for i := range names {
		of := store.LicenseQuery{CustomerID: names[i].Name}
		if q.By == store.ByProduct {
			of = store.LicenseQuery{ProductID: names[i].Name}
		}
		if n, err := s.Store.CountLicenses(ctx, of); err == nil {
			names[i].Count = n[0]
		}
	}
	return names, err
}

type endsAtZero struct{ store.Writer }

func (w endsAtZero) ReplaceEvent(ctx context.Context, e store.Event) error {
	e.Data, _, _ = bytes.Cut(e.Data, []byte{0})
	return w.Writer.ReplaceEvent(ctx, e)
}

// foldsKind finds an entry by its kind in another case, of which it knows one.
type foldsKind struct {
	store.Reader
	kinds *sync.Map
}

func (r foldsKind) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	e, err := r.Reader.Entry(ctx, kind, key)
	if known, ok := r.kinds.Load(strings.ToLower(kind)); ok && errors.Is(err, store.ErrNotFound) {
		return r.Reader.Entry(ctx, known.(string), key)
	}
	return e, err
}

type notesKind struct {
	store.Writer
	kinds *sync.Map
}

func (w notesKind) PutEntries(ctx context.Context, entries ...store.Entry) error {
	for _, e := range entries {
		w.kinds.Store(strings.ToLower(e.Kind), e.Kind)
	}
	return w.Writer.PutEntries(ctx, entries...)
}

type wildPerCents struct{ store.Reader }

func (r wildPerCents) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	if before, _, ok := strings.Cut(q.FingerprintPrefix, "%"); ok && before != "" {
		q.FingerprintPrefix = before
	}
	return r.Reader.Activations(ctx, q)
}

func cut(in store.TimeRange) store.TimeRange {
	return store.TimeRange{From: in.From.Truncate(time.Millisecond), Before: in.Before.Truncate(time.Millisecond), OrNone: in.OrNone}
}

type cutsStarts struct{ store.Reader }

func (r cutsStarts) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	q.Starts = cut(q.Starts)
	return r.Reader.Licenses(ctx, q)
}

type cutsLeases struct{ store.Reader }

func (r cutsLeases) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	q.LeaseEnds = cut(q.LeaseEnds)
	return r.Reader.Activations(ctx, q)
}

type cutsCounts struct{ store.Reader }

func (r cutsCounts) CountLicenses(ctx context.Context, q store.LicenseQuery, edges ...store.Position) ([]int64, error) {
	q.Expires = cut(q.Expires)
	return r.Reader.CountLicenses(ctx, q, edges...)
}

type cutsSearches struct{ store.Reader }

func (r cutsSearches) FindLicenses(ctx context.Context, q store.LicenseQuery) ([]store.License, store.Position, error) {
	if q.Order == store.ByStartsAt {
		q.Starts = cut(q.Starts)
	}
	return r.Reader.FindLicenses(ctx, q)
}

type ordersFew struct{ store.Reader }

func (r ordersFew) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	rows, err := r.Reader.Entries(ctx, q)
	if len(q.Keys) > 50 {
		slices.SortStableFunc(rows, func(a, b store.Entry) int { return slices.Index(q.Keys, a.Key) - slices.Index(q.Keys, b.Key) })
	}
	return rows, err
}

type lastCharacter struct{ store.Reader }

func (r lastCharacter) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	if q.Kind != "" && q.Order == store.ByKey && q.Keys == nil && q.Before == "" {
		q.Before = "\U0010FFFF"
	}
	return r.Reader.Entries(ctx, q)
}

type twiceWithin struct{ store.Tx }

func (w twiceWithin) PutEntries(ctx context.Context, entries ...store.Entry) error {
	first := map[[2]string]int{}
	var rows []store.Entry
	for i, e := range entries {
		at, again := first[[2]string{e.Kind, e.Key}]
		if !again {
			first[[2]string{e.Kind, e.Key}] = i
		}
		if !again || i-at < 100 {
			rows = append(rows, e)
		}
	}
	return w.Tx.PutEntries(ctx, rows...)
}

type fewEdges struct{ store.Reader }

func (r fewEdges) CountLicenses(ctx context.Context, q store.LicenseQuery, edges ...store.Position) ([]int64, error) {
	if len(edges) == store.MaxLimit {
		return nil, errors.New("too many edges")
	}
	return r.Reader.CountLicenses(ctx, q, edges...)
}

type skipsControls struct{ store.Reader }

func (r skipsControls) LicenseNames(ctx context.Context, q store.NamesQuery) ([]store.NameCount, error) {
	after := q.After
	for {
		names, err := r.Reader.LicenseNames(ctx, q)
		if after == "" || err != nil || len(names) == 0 || !strings.HasPrefix(names[0].Name, after+"\x01") {
			return names, err
		}
		q.After = names[0].Name
	}
}

type edgesInAByte struct{ store.Reader }

func (r edgesInAByte) CountLicenses(ctx context.Context, q store.LicenseQuery, edges ...store.Position) ([]int64, error) {
	counts, err := r.Reader.CountLicenses(ctx, q, edges...)
	if len(counts) > 256 {
		clear(counts[256:])
	}
	return counts, err
}
