package license_test

import (
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// TestTransferLeavesNothing: files are void, seats are free and the reason of a
// status is gone, because all of them were the former customer's.
func TestTransferLeavesNothing(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, func(p *license.CreateParams) { p.MaxActivations = ptr[int64](1) })
	_, err := f.Activate(t.Context(), license.ActivateParams{Key: l.Key, Fingerprint: "former"})
	is.NoErr(err)
	_, err = f.Suspend(t.Context(), license.MoveParams{ID: l.ID, Reason: "The card of Ada was declined"})
	is.NoErr(err)
	moved, err := f.Transfer(t.Context(), license.TransferParams{ID: l.ID, CustomerID: "cus_next", KeepKey: true})
	is.NoErr(err)
	is.Equal(moved.Generation, l.Generation+1)
	is.Equal(moved.StatusReason, "")
	_, err = f.Reinstate(t.Context(), license.MoveParams{ID: l.ID})
	is.NoErr(err)
	_, err = f.Activate(t.Context(), license.ActivateParams{Key: moved.Key, Fingerprint: "next"})
	is.NoErr(err)
}
