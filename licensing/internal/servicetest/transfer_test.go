package servicetest

import (
	"fmt"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestTransferWithManySeats: more activations than one batch are all deleted.
func TestTransferWithManySeats(t *testing.T) {
	is := is.New(t)
	s := licensing.NewHandler(memory.New(), licensing.Options{Logger: discard}).Service()
	l, err := s.Create(t.Context(), api.CreateLicenseParams{Name: "Ada", ProductID: "atlas", CustomerID: "ada", Terms: api.Terms{MaxActivations: new(int64(500))}})
	is.NoErr(err)
	is.NoErr(s.Atomically(t.Context(), func(s *license.Service) error {
		for i := range 450 {
			if _, err := s.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: fmt.Sprint("pc-", i)}); err != nil {
				return err
			}
		}
		return nil
	}))
	moved, err := s.Transfer(t.Context(), api.TransferLicenseParams{ID: l.ID, CustomerID: "grace"})
	is.NoErr(err)
	is.Equal(moved.Revision, int64(2))
	seats, err := s.ListActivations(t.Context(), api.ListActivationsParams{LicenseID: l.ID, Ended: true})
	is.NoErr(err)
	is.Equal(len(seats.Data), 0)
}
