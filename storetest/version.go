package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A case moves the store through versions to compare what all methods of a Reader
// see. Version 0 is the empty store. Version n, which follows version n-1, has the
// number n in a license, an activation and an entry, and n activations and
// events. So every method of Reader shows the version.

// write moves from version n-1 to version n.
func write(ctx context.Context, w store.Writer, n int) error {
	l := license(1)
	l.State, l.Document = store.State(number("state", n)), fmt.Appendf(nil, "%d", n)
	create := replace
	if n == 1 {
		create = put
	}
	if err := create(ctx, w, l); err != nil {
		return err
	}
	rows := []any{activation(l.ID, 1), event(n), entry("version", 1)}
	a, e := rows[0].(store.Activation), rows[2].(store.Entry)
	a.EndedAt, a.Document = day(n), fmt.Appendf(nil, "%d", n)
	e.Owner, e.Data = number("owner", n), fmt.Appendf(nil, "%d", n)
	rows[0], rows[2] = a, e
	if n > 1 {
		rows = append(rows, activation(l.ID, n))
	}
	for _, row := range rows {
		if err := put(ctx, w, row); err != nil {
			return err
		}
	}
	return nil
}

// erase moves from version n to version 0, except for the events.
func erase(ctx context.Context, w store.Writer, n int) error {
	l := license(1)
	rows := []any{entry("version", 1)}
	for i := 1; i <= n; i++ {
		rows = append(rows, activation(l.ID, i))
	}
	for _, row := range append(rows, l) {
		if err := remove(ctx, w, row); err != nil {
			return err
		}
	}
	return nil
}

func number(what string, n int) string { return fmt.Sprintf("%s %d", what, n) }

// version returns the highest number among fields of one record, so that
// a store that fails to replace one of them still shows the others.
func version(fields ...any) int {
	highest := 0
	for _, f := range fields {
		s := fmt.Sprint(f)
		n, err := strconv.Atoi(s[strings.LastIndexByte(s, ' ')+1:])
		if err == nil && n < 1000 {
			highest = max(highest, n)
		}
	}
	return highest
}

// A sighting is the version that a method of Reader showed.
type sighting struct {
	method  string
	version int
}

// look calls every method of r.
func look(ctx context.Context, r store.Reader) ([]sighting, error) {
	var seen []sighting
	var failed error
	see := func(method string, version int, err error) {
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", method, err))
		} else if err != nil {
			version = 0
		}
		seen = append(seen, sighting{method, version})
	}
	id := license(1).ID

	l, err := r.License(ctx, id)
	see("License", version(l.State, numberIn(l.Document)), err)
	l, err = r.LicenseByKey(ctx, license(1).Key)
	see("LicenseByKey", version(l.State, numberIn(l.Document)), err)
	ls, err := r.Licenses(ctx, store.LicenseQuery{Limit: many})
	n := 0
	for _, l := range ls {
		n = max(n, version(l.State, numberIn(l.Document)))
	}
	see("Licenses", n, err)

	ls, _, err = r.FindLicenses(ctx, store.LicenseQuery{Text: []string{license(1).Text}, Limit: many})
	n = 0
	for _, l := range ls {
		n = max(n, version(l.State, numberIn(l.Document)))
	}
	see("FindLicenses", n, err)

	a, err := r.Activation(ctx, id, activation(id, 1).Fingerprint)
	see("Activation", version(int(a.EndedAt.Sub(day(0)).Hours()/24), numberIn(a.Document)), err)
	as, err := r.Activations(ctx, store.ActivationQuery{LicenseID: id, Limit: many})
	see("Activations", len(as), err)

	evs, err := r.Events(ctx, store.EventQuery{Limit: many})
	see("Events", len(evs), err)

	e, err := r.Entry(ctx, "version", entry("", 1).Key)
	see("Entry", entryVersion(e), err)
	es, err := r.Entries(ctx, store.EntryQuery{Kind: "version", Limit: many})
	n = 0
	for _, e := range es {
		n = max(n, entryVersion(e))
	}
	see("Entries", n, err)

	return seen, failed
}

func entryVersion(e store.Entry) int { return version(e.Owner, numberIn(e.Data)) }

// numberIn returns the number that a document is, or 0.
func numberIn(document []byte) (n int) {
	_ = json.Unmarshal(document, &n) // what is no number is no version
	return n
}

// sees reads r and records a failure for each method that does not show version
// n, and for Events unless it returns the given number of events.
func (b *bench) sees(r store.Reader, n, events int, when string, args ...any) {
	seen, err := look(b.ctx, r)
	if err != nil && n == 0 { // a get of what is not there
		b = b.under(14)
	}
	if b.equal(err, nil, when, args...) {
		b.compare(seen, n, events, when, args...)
	}
}

func (b *bench) compare(seen []sighting, n, events int, when string, args ...any) {
	for _, s := range seen {
		want := n
		if s.method == "Events" {
			want = events
		}
		b.equal(number("version", s.version), number("version", want), "%s "+when, append([]any{s.method}, args...)...)
	}
}

// dump renders everything that the cases on single calls store, for comparison
// before and after a call.
func (b *bench) dump() string {
	var text strings.Builder
	b.view(func(r store.Reader) error {
		text.Reset()
		licenses, err := r.Licenses(b.ctx, store.LicenseQuery{Limit: many})
		for _, l := range licenses {
			var seats []store.Activation
			if err == nil {
				seats, err = r.Activations(b.ctx, store.ActivationQuery{LicenseID: l.ID, Limit: many})
			}
			fmt.Fprintf(&text, "%+v\n%+v\n", l, seats)
		}
		events, err1 := r.Events(b.ctx, store.EventQuery{Limit: many})
		fmt.Fprintf(&text, "%+v\n", events)
		for _, kind := range []string{"version", "call"} {
			entries, err2 := r.Entries(b.ctx, store.EntryQuery{Kind: kind, Limit: many})
			fmt.Fprintf(&text, "%+v\n", entries)
			err = errors.Join(err, err2)
		}
		return errors.Join(err, err1)
	})
	return text.String()
}
