package seats

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/store"
)

// freeSeats ends leases that are over, as many as needed to free the seats that the call
// takes of a full license: at most one batch. If that is not enough and more may have ended,
// it returns errMoreLeases.
func (s Service) freeSeats(ctx context.Context, r store.Reader, d *decision) error {
	if err := d.countSpent(ctx, r, d.license.ID); err != nil {
		return err
	}
	d.taken = d.count - d.own() + d.spent
	need := int64(d.taken) - d.license.MaxActivations + 1 + d.more
	if d.license.MaxActivations < 0 || need <= 0 {
		return nil
	}
	batch := max(licenses.SeatsBatch, d.more+1)
	q := store.ActivationQuery{LicenseID: d.license.ID, LeaseEnds: lapsedAt(d.at), Limit: int(min(need+int64(d.own()), batch))}
	rows, err := r.Activations(ctx, q)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if d.seated && row.ID == d.seat.ID { // takeSeat replaces it
			continue
		}
		a, err := record.ReadActivation(row)
		if err != nil {
			return err
		}
		a.EndedAt, a.EndReason = a.LeaseEndsAt, string(api.ActivationLeaseEnded)
		d.leases = append(d.leases, a.Row())
		d.count, d.taken, d.recount = d.count-1, d.taken-1, true
		need--
	}
	switch {
	case need <= 0:
		return nil
	case int64(len(rows)) == batch:
		return errMoreLeases
	}
	long, _, err := licenses.Of(s.Call).LongLeases(ctx, r, d.license, d.at)
	d.leases, d.recount = append(d.leases, long...), d.recount || len(long) > 0
	return err
}
