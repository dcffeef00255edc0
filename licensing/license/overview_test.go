package license_test

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// The lengths of the charts of an overview.
const overviewDays, overviewWeeks = 365, 53

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

// TestOverviewCountsLikeTheClock compares the figures with a count of all
// licenses, for times around every kind of boundary, through every change that
// a license can go through.
func TestOverviewCountsLikeTheClock(t *testing.T) {
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
			_, err = f.Suspend(ctx, api.MoveLicenseParams{ID: l.ID})
		case 1:
			_, err = f.Revoke(ctx, api.MoveLicenseParams{ID: l.ID})
		case 2:
			if _, err = f.Suspend(ctx, api.MoveLicenseParams{ID: l.ID}); err == nil {
				_, err = f.Reinstate(ctx, api.MoveLicenseParams{ID: l.ID})
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
		o, err := f.Overview(ctx)
		is.NoErr(err)
		byStatus, expiring := counted(t, f.Service, now)
		total := int64(0)
		for _, status := range statuses {
			if o.ByStatus[status] != byStatus[status] {
				t.Errorf("at %v: %d %s, want %d", now, o.ByStatus[status], status, byStatus[status])
			}
			total += byStatus[status]
		}
		is.Equal(o.At, now)
		is.Equal(o.Total, total)
		is.Equal(o.Expiring, expiring)
	}
}

func TestOverviewOverTime(t *testing.T) {
	is := is.New(t)
	f := newFixture(t) // on a Sunday
	for _, at := range []time.Time{start.AddDate(0, 0, -365), start.AddDate(0, 0, -364), start.AddDate(0, 0, -1), start.AddDate(0, 0, -1)} {
		f.now = at
		f.create(t)
	}
	f.now = start
	for _, day := range []int{0, 1, 7, 7, 8, 52*7 + 1, 52*7 + 2} {
		f.create(t, func(p *api.CreateLicenseParams) { p.ExpiresAt = ptr(time.Date(2026, 3, 1+day, 23, 0, 0, 0, time.UTC)) })
	}
	o, err := f.Overview(t.Context())
	is.NoErr(err)
	is.Equal(len(o.Issued), overviewDays)
	is.Equal(o.Issued[0], api.Figure{From: time.Date(2025, 3, 2, 0, 0, 0, 0, time.UTC), N: 1}) // the day before is left out
	is.Equal(o.Issued[overviewDays-2].N, int64(2))
	is.Equal(o.Issued[overviewDays-1], api.Figure{From: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), N: 7})
	is.Equal(len(o.Ending), overviewWeeks)
	is.Equal(o.Ending[0], api.Figure{From: time.Date(2026, 2, 23, 0, 0, 0, 0, time.UTC), N: 1}) // the week that Sunday ends
	is.Equal(o.Ending[1].N, int64(3))
	is.Equal(o.Ending[2].N, int64(1))
	is.Equal(o.Ending[overviewWeeks-1].N, int64(0)) // what ends after the last week is left out
}

func TestOverviewIsOfAllProducts(t *testing.T) {
	f := newFixture(t)
	_, err := f.As(license.Caller{Products: []string{"atlas"}}).Overview(t.Context())
	require.ErrorIs(t, err, api.ErrProductForbidden)
}
