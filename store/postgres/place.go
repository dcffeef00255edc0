package postgres

import (
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"
	"time"

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
	if p.kind != q.kind {
		return int(p.kind) - int(q.kind)
	}
	return strings.Compare(p.a+"\x00"+p.b, q.a+"\x00"+q.b)
}

// A row is what was read at a place. At a unique key, that is the place of the row
// which has it.
type row struct {
	value   any   // *store.License, *store.Activation, *store.Entry, place, or nil: there is none
	version int64 // of the write that put it there
}

// points are the statements that read one place, with the same columns for all.
var points = map[byte]string{
	licenseAt:     pointLicense + `l.id = ?`,
	keyAt:         pointLicense + `l.key = ?`,
	activationAt:  pointActivation + `a.license_id = ? AND a.id = ?`,
	fingerprintAt: pointActivation + `a.license_id = ? AND a.fingerprint = ?`,
	seatsAt:       pointActivation + `a.license_id = ? LIMIT 1`,
	entryAt: `SELECT 'e', e.version, e.kind, e.key, e.owner, '', '', '', e.expires_at, e.created_at, e.move::bigint, e.data
		FROM licensing_entries e WHERE e.kind = ? AND e.key = ?`,
}

const (
	pointLicense = `SELECT 'l', l.version, l.id, l.key, l.customer_id, l.product_id, l.state, l.text, l.starts_at, l.expires_at, 0::bigint, l.document
		FROM licensing_licenses l WHERE `
	pointActivation = `SELECT 'a', a.version, a.license_id, a.id, a.fingerprint, '', '', '', a.lease_ends_at, a.ended_at, 0::bigint, a.document
		FROM licensing_activations a WHERE `
)

func scanPoint(rows *sql.Rows, _ ...any) (r row, err error) {
	var kind string
	var t [6]string
	var one, other time.Time
	var n int64
	var data []byte
	err = rows.Scan(&kind, &r.version, &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], instant{&one}, instant{&other}, &n, &data)
	switch kind {
	case "l":
		r.value = &store.License{ID: t[0], Key: t[1], CustomerID: t[2], ProductID: t[3], State: store.State(t[4]), Text: t[5], StartsAt: one, ExpiresAt: other, Document: data}
	case "a":
		r.value = &store.Activation{LicenseID: t[0], ID: t[1], Fingerprint: t[2], LeaseEndsAt: one, EndedAt: other, Document: data}
	case "e":
		r.value = &store.Entry{Kind: t[0], Key: t[1], Owner: t[2], ExpiresAt: one, CreatedAt: other, Move: store.Move(n), Data: data}
	}
	return r, err
}

// placeOf returns the place of a row's value.
func placeOf(value any) place {
	switch v := value.(type) {
	case *store.License:
		return place{licenseAt, v.ID, ""}
	case *store.Activation:
		return place{activationAt, v.LicenseID, v.ID}
	case *store.Entry:
		return place{entryAt, v.Kind, v.Key}
	}
	return place{}
}

// uniqueKey returns the first of keysOf, or no place.
func uniqueKey(value any) place { return append(keysOf(value), place{})[0] }

// keysOf returns the other places at which a row's value is found.
func keysOf(value any) []place {
	switch v := value.(type) {
	case *store.License:
		return []place{{keyAt, v.Key, ""}}
	case *store.Activation:
		return []place{{fingerprintAt, v.LicenseID, v.Fingerprint}, {seatsAt, v.LicenseID, ""}}
	}
	return nil
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
	if a.tx == nil {
		if met := a.s.batches.queued(a, asked); len(met) > 0 {
			return a.stale(met...)
		}
	}
	for some := range slices.Chunk(asked, placesPerStatement) {
		if err := a.fetchSome(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

func (a *attempt) fetchSome(ctx context.Context, asked []place) error {
	var texts []string
	var args []any
	for _, p := range asked {
		text := points[p.kind]
		for _, arg := range []any{p.a, p.b}[:strings.Count(text, "?")] {
			args = append(args, arg)
			text = strings.Replace(text, "?", "$"+strconv.Itoa(len(args)), 1)
		}
		texts = append(texts, "("+text+")")
	}
	a.statements++
	found, err := all(ctx, a.session(), scanPoint, strings.Join(texts, " UNION ALL "), args...)
	if err != nil {
		return a.fail(ctx, err)
	}
	for _, p := range asked {
		a.seen[p] = row{}
	}
	for _, r := range found {
		a.see(r)
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
	if err := a.ready(ctx); err != nil || a.tx != nil {
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
	add(place{fingerprintAt, w.LicenseID, w.Fingerprint}, w.LicenseID != "" && w.Fingerprint != "")
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
