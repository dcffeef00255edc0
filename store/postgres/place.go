package postgres

import (
	"cmp"
	"context"
	"slices"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A place is what an Update reads or writes: a row by its primary key, a unique key, or
// a part of a table.
type place struct {
	kind byte
	a, b string
}

// The kinds of places, as the functions of the schema know them.
const (
	licenseAt     = 'l' // a license, by its ID
	keyAt         = 'k' // the license with a key
	activationAt  = 'a' // an activation, by its license and its ID
	fingerprintAt = 'f' // the activation of a license by a fingerprint
	seatsAt       = 'n' // any activation of a license
	entryAt       = 'e' // an entry, by its kind and its key
	kindAt        = 'K' // the entries of a kind
	feedAt        = 'h' // the events
)

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.kind, q.kind), cmp.Compare(p.a, q.a), cmp.Compare(p.b, q.b))
}

// placesPerStatement is how many places one statement reads.
const placesPerStatement = 100

// fetch reads those of the places that are not known, in one statement unless they are
// many.
func (a *attempt) fetch(ctx context.Context, places ...place) error {
	var asked []place
	for _, p := range places {
		if _, ok := a.known(p, false); !ok && storable(p.a, p.b) {
			asked = append(asked, p)
		}
	}
	if a.conn == nil {
		if met := a.s.batches.queued(a, asked); len(met) > 0 {
			return a.stale(met...)
		}
	}
	for some := range slices.Chunk(asked, placesPerStatement) {
		a.statements++
		found, err := read(ctx, inside{a}, some...)
		if err != nil {
			return a.fail(ctx, err)
		}
		for _, p := range some {
			a.seen[p] = row{}
		}
		for _, r := range found {
			a.see(r)
		}
	}
	return nil
}

// see records a row at its places.
func (a *attempt) see(r row) {
	p := placeOf(r.value)
	a.seen[p] = r
	for _, key := range keysOf(r.value) {
		a.seen[key] = row{value: p}
	}
}

// Want reads what the function is going to read, in one round trip, but for what is most
// probably absent, which is presumed to be.
func (a *attempt) Want(ctx context.Context, w store.Wanted) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.usable(ctx); err != nil || a.conn != nil {
		return err
	}
	var places []place
	add := func(p place, wanted bool) {
		if wanted {
			places = append(places, p)
		}
	}
	add(place{licenseAt, w.LicenseID, ""}, w.LicenseID != "")
	add(place{keyAt, w.LicenseKey, ""}, w.LicenseKey != "")
	for _, fingerprint := range w.Fingerprints {
		add(place{fingerprintAt, w.LicenseID, fingerprint}, w.LicenseID != "")
	}
	add(place{seatsAt, w.LicenseID, ""}, w.LicenseID != "" && w.Activations)
	for _, e := range w.Entries {
		add(place{entryAt, e[0], e[1]}, true)
	}
	for _, e := range w.Absent {
		p := place{entryAt, e[0], e[1]}
		if _, ok := a.known(p, false); !ok && storable(p.a, p.b) && !a.careful {
			a.seen[p], a.presumed[p] = row{}, true
		}
	}
	return about(a.fetch(ctx, places...), "read what is wanted")
}
