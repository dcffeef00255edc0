package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A selector finds records by one string.
type selector struct {
	by    string
	bytes int // at most
	rows  func(s string, n int) []any
	find  func(ctx context.Context, r store.Reader, s string) (int, error)
}

// selectors are every string by which a query or a get selects.
var selectors = func() (all []selector) {
	add := func(by string, bytes int, rows func(s string, n int) []any, find func(ctx context.Context, r store.Reader, s string) (int, error)) {
		all = append(all, selector{by, bytes, rows, find})
	}
	licensed := func(by string, bytes int, set func(l *store.License, s string), query func(s string) store.LicenseQuery) {
		rows := func(s string, n int) []any {
			l := license(n)
			set(&l, s)
			return []any{l}
		}
		if query("").IDs == nil {
			add("FindLicenses by "+by, bytes, rows, func(ctx context.Context, r store.Reader, s string) (int, error) {
				found, _, err := r.FindLicenses(ctx, query(s))
				return len(found), err
			})
		}
		if by != "KeyPart" && !strings.Contains(by, "Text") {
			add("Licenses by "+by, bytes, rows, func(ctx context.Context, r store.Reader, s string) (int, error) {
				found, err := r.Licenses(ctx, query(s))
				return len(found), err
			})
		}
	}
	licensed("IDs", maxID, func(l *store.License, s string) { l.ID = s }, func(s string) store.LicenseQuery { return store.LicenseQuery{IDs: []string{s}} })
	licensed("CustomerID", maxString, func(l *store.License, s string) { l.CustomerID = s }, func(s string) store.LicenseQuery { return store.LicenseQuery{CustomerID: s} })
	licensed("ProductID", maxString, func(l *store.License, s string) { l.ProductID = s }, func(s string) store.LicenseQuery { return store.LicenseQuery{ProductID: s} })
	licensed("State", maxID, func(l *store.License, s string) { l.State = store.State(s) }, func(s string) store.LicenseQuery { return store.LicenseQuery{State: store.State(s)} })
	licensed("KeyPart", maxString, func(l *store.License, s string) { l.Key = s }, func(s string) store.LicenseQuery { return store.LicenseQuery{KeyPart: s} })
	licensed("Text", store.MaxText, func(l *store.License, s string) { l.Text = s }, func(s string) store.LicenseQuery { return store.LicenseQuery{Text: []string{s}} })
	licensed("the last of 100 Texts", store.MaxText, func(l *store.License, s string) { l.Text = s }, func(s string) store.LicenseQuery {
		texts := make([]string, 100)
		texts[99] = s
		return store.LicenseQuery{Text: texts}
	})
	add("License", maxID, func(s string, n int) []any { l := license(n); l.ID = s; return []any{l} }, func(ctx context.Context, r store.Reader, s string) (int, error) {
		_, err := r.License(ctx, s)
		return miss(err)
	})
	add("LicenseByKey", maxString, func(s string, n int) []any { l := license(n); l.Key = s; return []any{l} }, func(ctx context.Context, r store.Reader, s string) (int, error) {
		_, err := r.LicenseByKey(ctx, s)
		return miss(err)
	})
	add("CountLicenses by CustomerID", maxString, func(s string, n int) []any { l := license(n); l.CustomerID = s; return []any{l} }, func(ctx context.Context, r store.Reader, s string) (int, error) {
		counts, err := r.CountLicenses(ctx, store.LicenseQuery{CustomerID: s})
		if err != nil || len(counts) != 1 {
			return 0, err
		}
		return int(counts[0]), nil
	})
	add("Activations by LicenseID", maxID, func(s string, n int) []any { l := license(n); l.ID = s; return []any{l, activation(s, n)} }, func(ctx context.Context, r store.Reader, s string) (int, error) {
		rows, err := r.Activations(ctx, store.ActivationQuery{LicenseID: s})
		return len(rows), err
	})
	add("Activation", maxString, seatWith, func(ctx context.Context, r store.Reader, s string) (int, error) {
		_, err := r.Activation(ctx, license(0).ID, s)
		return miss(err)
	})
	add("Activations by FingerprintPrefix", maxString, seatWith, func(ctx context.Context, r store.Reader, s string) (int, error) {
		rows, err := r.Activations(ctx, store.ActivationQuery{FingerprintPrefix: s})
		return len(rows), err
	})
	entryWith := func(set func(e *store.Entry, s string)) func(s string, n int) []any {
		return func(s string, n int) []any {
			e := entry("kind", n)
			set(&e, s)
			return []any{e}
		}
	}
	add("Entry by its kind", store.MaxKind, func(s string, n int) []any { e := entry(s, 0); return []any{e} }, func(ctx context.Context, r store.Reader, s string) (int, error) {
		_, err := r.Entry(ctx, s, entry("", 0).Key)
		return miss(err)
	})
	add("Entry by its key", store.MaxKey, entryWith(func(e *store.Entry, s string) { e.Key = s }), func(ctx context.Context, r store.Reader, s string) (int, error) {
		_, err := r.Entry(ctx, "kind", s)
		return miss(err)
	})
	add("Entries by Kind", store.MaxKind, entryWith(func(e *store.Entry, s string) { e.Kind = s }), func(ctx context.Context, r store.Reader, s string) (int, error) {
		rows, err := r.Entries(ctx, store.EntryQuery{Kind: s})
		return len(rows), err
	})
	add("Entries by Keys", store.MaxKey, entryWith(func(e *store.Entry, s string) { e.Key = s }), func(ctx context.Context, r store.Reader, s string) (int, error) {
		rows, err := r.Entries(ctx, store.EntryQuery{Kind: "kind", Keys: []string{s}})
		return len(rows), err
	})
	add("Entries by Owner", maxString, entryWith(func(e *store.Entry, s string) { e.Owner = s }), func(ctx context.Context, r store.Reader, s string) (int, error) {
		rows, err := r.Entries(ctx, store.EntryQuery{Kind: "kind", Order: store.ByExpiry, Owner: s})
		return len(rows), err
	})
	for by, query := range map[string]func(e *store.Event, s string) store.EventQuery{
		"Subject": func(e *store.Event, s string) store.EventQuery { e.Subject = s; return store.EventQuery{Subject: s} },
		"CustomerID": func(e *store.Event, s string) store.EventQuery {
			e.CustomerID = s
			return store.EventQuery{CustomerID: s}
		},
		"ProductID": func(e *store.Event, s string) store.EventQuery {
			e.ProductID = s
			return store.EventQuery{ProductID: s}
		},
	} {
		add("Events by "+by, maxString, func(s string, n int) []any {
			e := event(n)
			query(&e, s)
			return []any{e}
		}, func(ctx context.Context, r store.Reader, s string) (int, error) {
			rows, err := r.Events(ctx, query(new(store.Event), s))
			return len(rows), err
		})
	}
	return all
}()

// seatWith returns an activation with a fingerprint.
func seatWith(s string, n int) []any {
	a := activation(license(0).ID, n)
	a.Fingerprint = s
	return []any{a}
}

// similar are pairs of strings that are equal, or of which one matches the other, in
// some databases. Neither contains the other.
var similar = [][2]string{
	{"a_c", "abc"}, {"a%c", "abc"}, {"a*c", "abc"}, {"a?c", "abc"}, {"a[b]c", "abc"}, {`a\c`, "ac"}, {`a\\c`, `a\c`}, {"Abc", "abc"},
	{"e\u0301x", "\u00e9x"}, {"abc ", "abc\t"}, {" abc", "\tabc"}, {"straße", "strasse"}, {"\u212b", "\u00c5"},
	{strings.Repeat("x", store.MaxText-1) + "a", strings.Repeat("x", store.MaxText-1) + "b"},
}

// similarStrings stores two records that differ in one string, and finds each by its
// own, and not before it is there. Two plain strings come first: what fails with those belongs to other rules.
func similarStrings(b *bench) {
	b.add(license(0))
	n := 1
	for _, by := range selectors {
		plain := &bench{Store: b.Store, ctx: b.ctx, rule: b.rule, limits: b.limits, findings: &findings{}}
		for i, pair := range append([][2]string{{"one", "two"}}, similar...) {
			to := b
			if i == 0 {
				to = plain
			}
			var strs [2]string
			for j, s := range pair {
				prefix := fmt.Sprintf("(%d)", n) // each pair of strings is stored once
				strs[j] = prefix + ending(s, by.bytes-len(prefix))
			}
			var failed error
			for j, s := range strs {
				found, err := by.find(b.ctx, b.Store, s)
				to.equal(found, 0, "records found by %s %.40q, before one is there, beside %.40q", by.by, s, strs[1-j])
				failed = errors.Join(failed, err, to.tryAdd(by.rows(s, n)...))
				n++
			}
			if !to.equal(failed, nil, "adding two records for %s", by.by) {
				break
			}
			for j, s := range strs {
				found, err := by.find(b.ctx, b.Store, s)
				to.equal(err, nil, "%s %.40q", by.by, s)
				cut := len(s) == by.bytes && found == 0
				to.under(map[bool]int{true: 24, false: to.rule}[cut]).equal(found, 1, "records found by %s %.40q, beside %.40q", by.by, s, strs[1-j])
			}
			if len(plain.found()) > 0 {
				break
			}
		}
	}
}

// miss counts what a get finds: one or none.
func miss(err error) (int, error) {
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	return 1, err
}
