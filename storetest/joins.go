package storetest

import (
	"slices"

	"github.com/seed-d8a106b4/licensekit/store"
)

func joinCases() []testCase {
	return []testCase{{"Text", "Joined", 7, joined}}
}

// joined stores pairs of strings that are equal when they are joined, also with a
// separator between them, as the two ids of a record, or as two of its fields.
func joined(b *bench) {
	var pairs [][2]string
	for _, sep := range []string{"", "/", ":", "|", ",", " ", "-", "_", ".", "\x01", "\x1f"} {
		pairs = append(pairs, [2]string{"l" + sep + "1", "2"}, [2]string{"l", "1" + sep + "2"})
	}
	firsts := map[string][]string{}
	var licenses, rows []any
	for n, p := range pairs {
		if firsts[p[0]] == nil {
			l := license(n)
			l.ID = p[0]
			licenses = append(licenses, l)
		}
		firsts[p[0]] = append(firsts[p[0]], p[1])
		l, a, e, ev := license(100+n), activation(p[0], n), entry(p[0], n), event(n)
		l.CustomerID, l.ProductID = p[0], p[1]
		a.ID, a.Fingerprint = p[1], p[1]
		e.Key, e.Owner = p[1], p[1]
		ev.Subject, ev.CustomerID = p[0], p[1]
		rows = append(rows, l, a, e, ev)
	}
	b.add(append(licenses, rows...)...)
	b.readers(func(how string, r store.Reader) {
		for n, p := range pairs {
			a, err := r.Activation(b.ctx, p[0], p[1])
			b.equal(err, nil, "Activation(%q) %s", p, how)
			b.equal([2]string{a.LicenseID, a.ID}, p, "Activation(%q) %s", p, how)
			e, err := r.Entry(b.ctx, p[0], p[1])
			b.equal(err, nil, "Entry(%q) %s", p, how)
			b.equal([2]string{e.Kind, e.Key}, p, "Entry(%q) %s", p, how)
			owned, err := r.Entries(b.ctx, store.EntryQuery{Kind: p[0], Order: store.ByExpiry, Owner: p[1], Limit: many})
			b.equal(err, nil, "Entries by %q %s", p, how)
			b.equal(entryKeys(owned), []string{p[1]}, "entries by kind and owner %q %s", p, how)
			found, err := r.Licenses(b.ctx, store.LicenseQuery{CustomerID: p[0], ProductID: p[1], Limit: many})
			b.equal(err, nil, "Licenses by %q %s", p, how)
			b.equal(licenseIDs(found), []string{license(100 + n).ID}, "licenses by customer and product %q %s", p, how)
			events, err := r.Events(b.ctx, store.EventQuery{Subject: p[0], CustomerID: p[1], Limit: many})
			b.equal(err, nil, "Events by %q %s", p, how)
			b.equal(eventIDs(events), []string{event(n).ID}, "events by subject and customer %q %s", p, how)
		}
		for first, seconds := range firsts {
			slices.Sort(seconds)
			seats, err := r.Activations(b.ctx, store.ActivationQuery{LicenseID: first, Limit: many})
			b.equal(err, nil, "Activations of %q %s", first, how)
			b.equal(slices.Sorted(slices.Values(activationIDs(seats))), seconds, "activations of the license %q %s", first, how)
			kept, err := r.Entries(b.ctx, store.EntryQuery{Kind: first, Limit: many})
			b.equal(err, nil, "Entries of %q %s", first, how)
			b.equal(slices.Sorted(slices.Values(entryKeys(kept))), seconds, "entries of the kind %q %s", first, how)
		}
	})
}
