package storetest

import (
	"errors"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// contentionCases check what calls return while others write.
func contentionCases() []testCase {
	return []testCase{
		{"Contention", "ReadYourWrites", 2, readYourWritesUnderContention},
		{"Contention", "UndoneByItsOwner", 23, undoneByItsOwner},
	}
}

// readYourWritesUnderContention has many callers write, and read their writes as
// soon as their Update has returned, while others wait to write: a store that
// commits several Updates together must not return before that commit.
func readYourWritesUnderContention(b *bench) {
	const rounds = 6
	b.add(license(1))
	b.together(crowd, func(i int) {
		for n := range rounds {
			mine := entry("kind", i)
			mine.Owner = word("round", n)
			seat := activation(license(1).ID, i*rounds+n)
			b.update(func(tx store.Tx) error {
				time.Sleep(200 * time.Microsecond) // so that others wait
				if err := put(b.ctx, tx, mine); err != nil {
					return err
				}
				return put(b.ctx, tx, seat)
			})
			got, err := b.Entry(b.ctx, mine.Kind, mine.Key)
			if errors.Is(err, store.ErrNotFound) {
				got, err = store.Entry{}, nil
			}
			b.ok(err, "Entry")
			if !b.equal(got.Owner, mine.Owner, "Owner of an entry, read by the caller whose Update has just returned, while others write") {
				return
			}
			var found store.Activation
			b.view(func(r store.Reader) error {
				found, err = r.Activation(b.ctx, seat.LicenseID, seat.Fingerprint)
				return nil
			})
			b.equal(found.ID, seat.ID, "activation in a View of the caller whose Update has just returned, while others write (error: %v)", err)
		}
	})
}

// undoneByItsOwner has an Update take a key and fail, while another Update needs
// the same key. The second may wait or run again, but it must not fail, because
// the first Update's writes never took effect.
func undoneByItsOwner(b *bench) {
	for n := range 2 {
		first, second := license(2*n), license(2*n+1)
		second.Key = first.Key
		holding := make(chan struct{})
		var once sync.Once
		proceed := func() { once.Do(func() { close(holding) }) }
		answered := b.start(func() {
			<-holding
			b.equal(b.tryAdd(second), nil, "creating a license with a key that only an undone Update had taken")
		})
		err := b.undo(func(tx store.Tx) error {
			err := tx.CreateLicenses(b.ctx, first)
			proceed()
			windowOr(answered)
			return err
		})
		proceed()
		<-answered
		if !errors.Is(err, store.ErrExists) { // it ran again after the other committed
			b.is(err, errOnPurpose, "Update whose function failed")
		}
	}
}
