package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A batch is records of every type, all of which every question finds.
type batch struct {
	licenses []store.License
	seats    []store.Activation // of the first license
	events   []store.Event
	entries  []store.Entry
}

// newBatch returns n records of each type, numbered from 1.
func newBatch(n int) (s batch) {
	for i := 1; i <= n; i++ {
		l, a, ev, e := license(i), activation(license(1).ID, i), event(i), entry("kind", i)
		l.CustomerID, l.ProductID, l.State, l.StartsAt, l.ExpiresAt = "customer", "product", "state", day(2), day(3)
		a.EndedAt, a.LeaseEndsAt = time.Time{}, day(2)
		ev.Subject, ev.CustomerID, ev.ProductID = "subject", "customer", "product"
		e.Owner, e.ExpiresAt = "owner", day(2)
		s.licenses, s.seats, s.events, s.entries = append(s.licenses, l), append(s.seats, a), append(s.events, ev), append(s.entries, e)
	}
	return s
}

// add writes the batch, with one call for each type.
func (s batch) add(ctx context.Context, w store.Writer) error {
	err := w.AppendEvents(ctx, s.events...)
	return errors.Join(err, w.CreateLicenses(ctx, s.licenses...), w.PutActivations(ctx, s.seats...), w.PutEntries(ctx, s.entries...))
}

// ids returns the IDs of the activations and the keys of the entries.
func (s batch) ids() (seats, entries []string) { return activationIDs(s.seats), entryKeys(s.entries) }

// A question is one method of Reader with one shape of its query. For each row of
// the table in store/indexes.go there is a question of that name.
type question struct {
	shape   string
	rule    int             // that a wrong number of records breaks
	limited bool            // whether it obeys a Limit
	row     func(n int) any // the n-th record that makes it find one
	ask     func(ctx context.Context, r store.Reader, limit int) (answer any, found int, err error)
}

// gets asks for the records 1 to 5, of which each may be missing.
func gets[R any](shape string, row func(n int) any, get func(ctx context.Context, r store.Reader, n int) (R, error)) question {
	return question{shape, 14, false, row, func(ctx context.Context, r store.Reader, _ int) (any, int, error) {
		answers, found := [5]any{}, 0
		for i := range answers {
			row, err := get(ctx, r, i+1)
			switch {
			case err == nil:
				answers[i] = row
				found++
			case !errors.Is(err, store.ErrNotFound):
				return nil, 0, err
			}
		}
		return answers, found, nil
	}}
}

// lists asks for a list.
func lists[R any](shape string, rule int, row func(n int) any, list func(ctx context.Context, r store.Reader, limit int) ([]R, error)) question {
	return question{shape, rule, true, row, func(ctx context.Context, r store.Reader, limit int) (any, int, error) {
		rows, err := list(ctx, r, limit)
		return rows, len(rows), err
	}}
}

// questions are all questions. Those with a set of ids or keys have as many as a
// query may.
var questions = func() (all []question) {
	seatOf := license(1).ID
	theLicense := func(n int) any { return newBatch(n).licenses[n-1] }
	theSeat := func(n int) any { return newBatch(n).seats[n-1] }
	theEvent := func(n int) any { return newBatch(n).events[n-1] }
	theEntry := func(n int) any { return newBatch(n).entries[n-1] }
	all = []question{
		gets("License", func(n int) any { l := newBatch(n).licenses[n-1]; l.ID = license(1).ID; return l }, func(ctx context.Context, r store.Reader, n int) (store.License, error) {
			return r.License(ctx, license(n).ID)
		}),
		gets("LicenseByKey", func(n int) any { l := newBatch(n).licenses[n-1]; l.Key = license(1).Key; return l }, func(ctx context.Context, r store.Reader, n int) (store.License, error) {
			return r.LicenseByKey(ctx, license(n).Key)
		}),
		gets("Activation", func(n int) any { a := newBatch(n).seats[n-1]; a.Fingerprint = activation("", 1).Fingerprint; return a }, func(ctx context.Context, r store.Reader, n int) (store.Activation, error) {
			return r.Activation(ctx, seatOf, activation("", n).Fingerprint)
		}),
		gets("Entry", func(n int) any { e := newBatch(n).entries[n-1]; e.Key = entry("", 1).Key; return e }, func(ctx context.Context, r store.Reader, n int) (store.Entry, error) {
			return r.Entry(ctx, "kind", entry("", n).Key)
		}),
	}
	var ids, keys []string
	for n := 1; n <= store.MaxLimit; n++ {
		ids, keys = append(ids, license(n).ID), append(keys, entry("", n).Key)
	}
	direction := map[bool]string{true: ", descending"}
	for _, of := range []struct {
		shape string
		store.LicenseQuery
	}{
		{"", store.LicenseQuery{}}, {": IDs", store.LicenseQuery{IDs: ids}}, {": CustomerID", store.LicenseQuery{CustomerID: "customer"}},
		{": CustomerID, ProductID", store.LicenseQuery{CustomerID: "customer", ProductID: "product"}},
		{": ProductID", store.LicenseQuery{ProductID: "product"}}, {": State", store.LicenseQuery{State: "state"}},
		{": ProductID, State", store.LicenseQuery{ProductID: "product", State: "state"}},
		{": ByExpiresAt, State", store.LicenseQuery{Order: store.ByExpiresAt, State: "state"}},
		{": ByExpiresAt", store.LicenseQuery{Order: store.ByExpiresAt}}, {": ByExpiresAt, ProductID", store.LicenseQuery{Order: store.ByExpiresAt, ProductID: "product"}},
		{": ByStartsAt", store.LicenseQuery{Order: store.ByStartsAt}}, {": ByStartsAt, ProductID", store.LicenseQuery{Order: store.ByStartsAt, ProductID: "product"}},
	} {
		for _, descending := range []bool{false, true} {
			q := of.LicenseQuery
			q.Descending = descending
			all = append(all, lists("Licenses"+of.shape+direction[descending], 11, theLicense, func(ctx context.Context, r store.Reader, limit int) ([]store.License, error) {
				q := q
				q.Limit = limit
				return r.Licenses(ctx, q)
			}))
			if q.IDs == nil {
				all = append(all, lists("FindLicenses"+of.shape+direction[descending], 30, theLicense, func(ctx context.Context, r store.Reader, limit int) ([]store.License, error) {
					q := q
					q.Limit, q.KeyPart = limit, "key_"
					found, _, err := r.FindLicenses(ctx, q)
					return found, err
				}))
			}
		}
		if q := of.LicenseQuery; q.IDs == nil {
			all = append(all, question{"CountLicenses" + of.shape, 31, false, theLicense, func(ctx context.Context, r store.Reader, _ int) (any, int, error) {
				whole, err := r.CountLicenses(ctx, q)
				between, err2 := r.CountLicenses(ctx, q, store.Position{}, store.Position{Time: day(3), ID: license(3).ID}, store.Position{Time: day(9), ID: "z"})
				if err := errors.Join(err, err2); err != nil || len(whole) != 1 {
					return nil, 0, errors.Join(err, fmt.Errorf("%d numbers without edges", len(whole)))
				}
				return [][]int64{whole, between}, int(whole[0]), nil
			}})
		}
	}
	for name, by := range map[string]store.NameOrder{"ByCustomer": store.ByCustomer, "ByProduct": store.ByProduct} {
		all = append(all, lists("LicenseNames: "+name, 31, theLicense, func(ctx context.Context, r store.Reader, limit int) ([]store.NameCount, error) {
			return r.LicenseNames(ctx, store.NamesQuery{By: by, Limit: limit})
		}))
	}
	for shape, q := range map[string]store.ActivationQuery{
		"": {LicenseID: seatOf}, ": LiveAt": {LicenseID: seatOf, LiveAt: day(1)}, ": LeaseEnds": {LicenseID: seatOf, LeaseEnds: store.TimeRange{From: day(1)}},
		": FingerprintPrefix": {FingerprintPrefix: "print"},
	} {
		all = append(all, lists("Activations"+shape, 11, theSeat, func(ctx context.Context, r store.Reader, limit int) ([]store.Activation, error) {
			q := q
			q.Limit = limit
			return r.Activations(ctx, q)
		}))
	}
	for shape, q := range map[string]store.EventQuery{"": {}, ": Subject": {Subject: "subject"}, ": CustomerID": {CustomerID: "customer"}, ": ProductID": {ProductID: "product"}} {
		for _, descending := range []bool{false, true} {
			all = append(all, lists("Events"+shape+direction[descending], 11, theEvent, func(ctx context.Context, r store.Reader, limit int) ([]store.Event, error) {
				q := q
				q.Limit, q.Descending = limit, descending
				return r.Events(ctx, q)
			}))
		}
	}
	for shape, q := range map[string]store.EntryQuery{
		": all kinds": {}, ": ByKey": {Kind: "kind"}, ": ByKey, descending": {Kind: "kind", Descending: true, From: "key"}, ": Keys": {Kind: "kind", Keys: keys},
		": ByExpiry": {Kind: "kind", Order: store.ByExpiry}, ": ByExpiry, Owner": {Kind: "kind", Order: store.ByExpiry, Owner: "owner"},
	} {
		all = append(all, lists("Entries"+shape, 11, theEntry, func(ctx context.Context, r store.Reader, limit int) ([]store.Entry, error) {
			q := q
			q.Limit = limit
			return r.Entries(ctx, q)
		}))
	}
	slices.SortFunc(all, func(a, b question) int { return strings.Compare(a.shape, b.shape) })
	return all
}()

// answers asks all questions.
func answers(ctx context.Context, r store.Reader) (map[string]string, error) {
	all := map[string]string{}
	for _, q := range questions {
		answer, _, err := q.ask(ctx, r, many)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", q.shape, err)
		}
		all[q.shape] = fmt.Sprintf("%+v", answer) // in which nil is an empty slice
	}
	return all, nil
}

// sameAnswers compares answers, and shows the ones that differ.
func (b *bench) sameAnswers(got, want map[string]string, when string) {
	for _, q := range questions {
		b.equal(got[q.shape], want[q.shape], "%s %s", q.shape, when)
	}
}
