package license_test

import (
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

func TestStatusFollowsTheClock(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, func(p *api.CreateLicenseParams) {
		p.StartsAt, p.ExpiresAt, p.GraceSeconds = ptr(start.Add(time.Hour)), ptr(start.Add(2*time.Hour)), 600
	})
	for _, step := range []struct {
		after time.Duration
		want  api.LicenseStatus
	}{
		{0, api.LicenseScheduled},
		{time.Hour - time.Millisecond, api.LicenseScheduled},
		{time.Hour, api.LicenseActive},
		{2*time.Hour - time.Millisecond, api.LicenseActive},
		{2 * time.Hour, api.LicenseExpired}, // active while now is before expires_at
		{1000 * time.Hour, api.LicenseExpired},
	} {
		f.now = start.Add(step.after)
		read, err := f.Get(t.Context(), l.ID)
		is.NoErr(err)
		is.Equal(read.Status, step.want) // at the step's time
		is.Equal(read.Revision, int64(1))
	}
}

var statuses = []api.LicenseStatus{api.LicenseRevoked, api.LicenseSuspended, api.LicenseExpired, api.LicenseScheduled, api.LicenseActive}

func TestParseVersion(t *testing.T) {
	is := is.New(t)
	for _, status := range statuses {
		v := api.Version{Revision: 12, Status: status}
		read, ok := api.ParseVersion(v.String())
		is.True(ok)
		is.Equal(read, v)
	}
	plan, ok := api.ParseVersion("3")
	is.True(ok)
	is.Equal(plan, api.Version{Revision: 3})
	for _, text := range []string{"", "3.", "03", "0", ".active", "03.active", "+3.active", "3.ended", "0.active", "-1.active", "3.active ", "99999999999999999999.active"} {
		v, ok := api.ParseVersion(text)
		is.True(!ok) // not a version
		is.Equal(v, api.Version{})
	}
}
