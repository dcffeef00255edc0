package storetest

import (
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// licenseLeavesActivations deletes a license with activations, then its
// activations, and creates it again.
func licenseLeavesActivations(b *bench) {
	l := license(1)
	seats := []store.Activation{activation(l.ID, 1), activation(l.ID, 2), activation(l.ID, 3)}
	seats[1].EndedAt = time.Time{}
	left := func(want int, when string) {
		b.readers(func(how string, r store.Reader) {
			rows, err := r.Activations(b.ctx, store.ActivationQuery{LicenseID: l.ID, Limit: many})
			b.equal(err, nil, "Activations %s, %s", how, when)
			b.equal(len(rows), want, "Activations %s, %s", how, when)
		})
	}
	again := l
	again.Key = "another"
	refused := func(when string) {
		for _, c := range []struct {
			what string
			want error
			row  any
		}{
			{"CreateLicenses with the ID", store.ErrExists, again},
			{"PutActivations of another activation", store.ErrNotFound, activation(l.ID, 4)},
			{"PutActivations of a remaining activation", store.ErrNotFound, seats[2]},
		} {
			var err error
			b.under(15).ok(b.try(func(tx store.Tx) error {
				err = put(b.ctx, tx, c.row)
				return nil
			}), "the Update")
			b.is(err, c.want, "%s %s", c.what, when)
		}
	}
	b.add(l, seats[0], seats[1], seats[2])
	b.update(func(tx store.Tx) error { return tx.DeleteLicense(b.ctx, l.ID) })
	left(3, "after their license was deleted")
	refused("of a deleted license with three activations")
	b.update(func(tx store.Tx) error { return tx.DeleteActivations(b.ctx, l.ID, seats[0].ID, seats[1].ID) })
	left(1, "after two of three were deleted, too")
	refused("of a deleted license with one activation")
	b.update(func(tx store.Tx) error { return tx.DeleteActivations(b.ctx, l.ID, seats[2].ID) })
	b.ok(b.tryAdd(again), "creating the license after its last activation was deleted")
	left(0, "after their license was created again")

	b.ok(b.tryAdd(seats[0], seats[1]), "putting the same activations again")
	b.ok(b.try(func(tx store.Tx) error {
		if err := tx.DeleteLicense(b.ctx, l.ID); err != nil {
			return err
		}
		if err := tx.DeleteActivations(b.ctx, l.ID, seats[0].ID, seats[1].ID); err != nil {
			return err
		}
		return tx.CreateLicenses(b.ctx, l)
	}), "deleting the license and its activations and creating it again in one Update")
	left(0, "after their license was deleted and created again in one Update")
}

// licenseLeavesActivationsAmongOthers has licenses and activations with similar
// ids.
func licenseLeavesActivationsAmongOthers(b *bench) {
	ids := []string{"lic_1", "lic_10", "lic_", "lic", "lic%", "LIC_1"}
	for i, id := range ids {
		l := license(i)
		l.ID = id
		b.add(l, activation(id, 1), activation(id, 2))
	}
	b.update(func(tx store.Tx) error { return tx.DeleteLicense(b.ctx, "lic_1") })
	for _, id := range []string{"lic_11", "lic_1_"} {
		l := license(10)
		l.ID, l.Key = id, "key of "+id
		b.ok(b.tryAdd(l), "creating %q beside activations of the deleted lic_1", id)
	}
	b.update(func(tx store.Tx) error {
		return tx.DeleteActivations(b.ctx, "lic_1", activation("", 1).ID, activation("", 2).ID)
	})
	for _, id := range ids[1:] {
		rows, err := b.Activations(b.ctx, store.ActivationQuery{LicenseID: id, Limit: many})
		b.equal(err, nil, "Activations")
		b.equal(len(rows), 2, "activations of %q after lic_1 and its activations were deleted", id)
		b.ok(b.tryAdd(activation(id, 3)), "putting an activation of %q", id)
	}
	l := license(0)
	l.ID = "lic_1"
	b.ok(b.tryAdd(l), "creating lic_1 beside activations of licenses with similar IDs")
}

// licenseKeyIsFree gives the key of a deleted license to another.
func licenseKeyIsFree(b *bench) {
	l := license(1)
	b.add(l)
	for n := 2; n < 5; n++ {
		next := license(n)
		next.Key = l.Key
		b.ok(b.try(func(tx store.Tx) error {
			if err := tx.DeleteLicense(b.ctx, l.ID); err != nil {
				return err
			}
			return tx.CreateLicenses(b.ctx, next)
		}), "giving a deleted license's key to another in the same Update")
		l = next
	}
	b.update(func(tx store.Tx) error { return tx.DeleteLicense(b.ctx, l.ID) })
	got, err := b.LicenseByKey(b.ctx, l.Key)
	b.gone(got.ID, err, "LicenseByKey of a deleted license")
	next := license(5)
	next.Key = l.Key
	b.ok(b.tryAdd(next), "giving a deleted license's key to another in the next Update")
	got, err = b.LicenseByKey(b.ctx, l.Key)
	b.ok(err, "LicenseByKey of a reused key")
	b.equal(got.ID, next.ID, "LicenseByKey of a reused key")
}
