package license_test

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// counted is the status of every license, counted one by one.
func counted(t *testing.T, s *license.Service, at time.Time) (byStatus map[api.LicenseStatus]int64, expiring int64) {
	t.Helper()
	byStatus = map[api.LicenseStatus]int64{}
	for l, err := range s.All(t.Context(), api.ListLicensesParams{}) {
		is.New(t).NoErr(err)
		byStatus[l.Status]++
		if (l.Status == api.LicenseActive || l.Status == api.LicenseScheduled) && l.ExpiresAt != nil && !l.ExpiresAt.After(at.Add(api.ExpiringSoon)) {
			expiring++
		}
	}
	return byStatus, expiring
}

// TestCountFollowsTheClock compares the counts with a count of all
// licenses, for times around every kind of boundary, through every change that
// a license can go through.
func TestCountFollowsTheClock(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	ctx := t.Context()
	dice := rand.New(rand.NewPCG(1, 2))
	midnight := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	instants := []time.Time{start, midnight, midnight.AddDate(0, 0, 29), start.Add(api.ExpiringSoon)}
	for _, d := range []time.Duration{-time.Millisecond, time.Millisecond, -time.Hour, time.Hour, 37 * time.Minute, 95 * time.Minute, 24 * time.Hour, -48 * time.Hour, 400 * 24 * time.Hour} {
		for _, at := range instants[:4] {
			instants = append(instants, at.Add(d))
		}
	}
	pick := func() *time.Time {
		if dice.IntN(4) == 0 {
			return nil
		}
		return ptr(instants[dice.IntN(len(instants))])
	}
	for i := range 120 {
		l, err := f.Create(ctx, api.CreateLicenseParams{Name: "Atlas", ProductID: "atlas", CustomerID: "ada", StartsAt: pick(), ExpiresAt: pick()})
		if errors.Is(err, api.ErrInvalid) {
			continue // it would end before it starts
		}
		is.NoErr(err)
		switch i % 8 {
		case 0:
			_, err = f.Suspend(ctx, api.ChangeStateParams{ID: l.ID})
		case 1:
			_, err = f.Revoke(ctx, api.ChangeStateParams{ID: l.ID})
		case 2:
			if _, err = f.Suspend(ctx, api.ChangeStateParams{ID: l.ID}); err == nil {
				_, err = f.Reinstate(ctx, api.ChangeStateParams{ID: l.ID})
			}
		case 3:
			_, err = f.Update(ctx, api.UpdateLicenseParams{ID: l.ID, StartsAt: api.ToNull[time.Time](), ExpiresAt: api.To(start.Add(time.Hour))})
		case 4:
			err = f.Delete(ctx, api.DeleteLicenseParams{ID: l.ID})
		}
		is.NoErr(err)
	}
	for _, now := range instants {
		f.now = now
		c, err := f.Count(ctx, api.ListLicensesParams{})
		is.NoErr(err)
		byStatus, expiring := counted(t, f.Service, now)
		total := int64(0)
		for _, status := range statuses {
			if c.ByStatus[status] != byStatus[status] {
				t.Errorf("at %v: %d %s, want %d", now, c.ByStatus[status], status, byStatus[status])
			}
			total += byStatus[status]
		}
		is.Equal(c.At, now)
		is.Equal(c.Total, total)
		is.Equal(c.Expiring, expiring)
	}
}
