package storetest

import (
	"errors"

	"github.com/seed-d8a106b4/licensekit/store"
)

// An admission admits a few of many goroutines: each Update counts the admitted
// ones and enters if there is room. Admissions differ in how they count.
type admission struct {
	name  string
	room  int
	needs []any
	// taken returns how many have entered, as read by the i-th goroutine.
	taken func(b *bench, r store.Reader, i int) (int, error)
	// enter writes the record of the i-th goroutine.
	enter func(b *bench, tx store.Tx, i int) error
}

// miss counts what a get finds: one or none.
func miss(err error) (int, error) {
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	return 1, err
}

var admissions = []admission{
	{
		name: "ListActivationsThenInsert", room: 3, needs: []any{license(1)},
		taken: func(b *bench, r store.Reader, _ int) (int, error) {
			return countActivations(b.ctx, r, many)
		},
		enter: func(b *bench, tx store.Tx, i int) error {
			return tx.PutActivations(b.ctx, activation(license(1).ID, i))
		},
	},
	{
		name: "ListThenInsert", room: 3,
		taken: func(b *bench, r store.Reader, _ int) (int, error) {
			rows, err := r.Licenses(b.ctx, store.LicenseQuery{CustomerID: "customer", Limit: many})
			return len(rows), err
		},
		enter: func(b *bench, tx store.Tx, i int) error {
			l := license(i)
			l.CustomerID = "customer"
			return tx.CreateLicenses(b.ctx, l)
		},
	},
	{
		name: "ListEntriesThenInsert", room: 2,
		taken: func(b *bench, r store.Reader, _ int) (int, error) {
			rows, err := r.Entries(b.ctx, store.EntryQuery{Kind: "kind", Limit: many})
			return len(rows), err
		},
		enter: func(b *bench, tx store.Tx, i int) error { return tx.PutEntries(b.ctx, entry("kind", i)) },
	},
	{
		name: "ListByExpiryThenInsert", room: 2,
		taken: func(b *bench, r store.Reader, _ int) (int, error) {
			rows, err := r.Entries(b.ctx, store.EntryQuery{Kind: "kind", Order: store.ByExpiry, Owner: "owner", Limit: many})
			return len(rows), err
		},
		enter: func(b *bench, tx store.Tx, i int) error {
			e := entry("kind", i)
			e.Owner = "owner"
			return tx.PutEntries(b.ctx, e)
		},
	},
	{
		name: "ListEventsThenAppend", room: 1,
		taken: func(b *bench, r store.Reader, _ int) (int, error) {
			rows, err := r.Events(b.ctx, store.EventQuery{Subject: "subject", Limit: many})
			return len(rows), err
		},
		enter: func(b *bench, tx store.Tx, i int) error {
			e := event(i)
			e.Subject = "subject"
			_, err := tx.AppendEvents(b.ctx, e)
			return err
		},
	},
	{
		name: "MissThenInsert", room: 1,
		taken: func(b *bench, r store.Reader, _ int) (int, error) {
			_, err := r.Entry(b.ctx, "kind", "key")
			return miss(err)
		},
		enter: func(b *bench, tx store.Tx, i int) error {
			e := entry("kind", i)
			e.Key = "key"
			return tx.PutEntries(b.ctx, e)
		},
	},
	{
		name: "MissOfAKeyThenInsertElsewhere", room: 1,
		taken: func(b *bench, r store.Reader, _ int) (int, error) {
			_, err := r.LicenseByKey(b.ctx, license(0).Key)
			return miss(err)
		},
		enter: func(b *bench, tx store.Tx, i int) error {
			l := license(i)
			l.Key = license(0).Key
			return tx.CreateLicenses(b.ctx, l)
		},
	},
	{
		name: "MissOfAFingerprintThenInsert", room: 1, needs: []any{license(1)},
		taken: func(b *bench, r store.Reader, _ int) (int, error) {
			_, err := r.Activation(b.ctx, license(1).ID, "print")
			return miss(err)
		},
		enter: func(b *bench, tx store.Tx, i int) error {
			a := activation(license(1).ID, i)
			a.Fingerprint = "print"
			return tx.PutActivations(b.ctx, a)
		},
	},
	{
		// Each of two goroutines reads the key that the other writes. Only
		// one may write.
		name: "MissThenInsertWhatTheOtherMissed", room: 1,
		taken: func(b *bench, r store.Reader, i int) (int, error) {
			_, err := r.Entry(b.ctx, "kind", word("key", max(0, 1-i)))
			n, err := miss(err)
			if i > 1 {
				n = 1 // only the first two compete
			}
			return n, err
		},
		enter: func(b *bench, tx store.Tx, i int) error { return tx.PutEntries(b.ctx, entry("kind", i)) },
	},
}

func (a admission) run(b *bench) {
	b.add(a.needs...)
	meet := newMeeting(crowd)
	var entered [crowd]bool
	b.together(crowd, func(i int) {
		b.update(func(tx store.Tx) error {
			entered[i] = false
			taken, err := a.taken(b, tx, i)
			if err != nil {
				return err
			}
			meet.wait()
			if taken >= a.room {
				return nil
			}
			entered[i] = true
			return a.enter(b, tx, i)
		})
	})
	in := 0
	for _, e := range entered {
		if e {
			in++
		}
	}
	b.equal(in, a.room, "goroutines admitted, of %d", crowd)
}
