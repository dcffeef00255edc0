package license_test

import (
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

func TestStatusFollowsTheClock(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, func(p *license.CreateParams) {
		p.StartsAt, p.ExpiresAt, p.GraceSeconds = ptr(start.Add(time.Hour)), ptr(start.Add(2*time.Hour)), 600
	})
	for _, step := range []struct {
		after time.Duration
		want  license.Status
	}{
		{0, license.StatusScheduled},
		{time.Hour - time.Millisecond, license.StatusScheduled},
		{time.Hour, license.StatusActive},
		{2*time.Hour - time.Millisecond, license.StatusActive},
		{2 * time.Hour, license.StatusExpired}, // active while now is before expires_at
		{1000 * time.Hour, license.StatusExpired},
	} {
		f.now = start.Add(step.after)
		read, err := f.Get(t.Context(), l.ID)
		is.NoErr(err)
		is.Equal(read.Status, step.want) // at the step's time
		is.Equal(read.Revision, int64(1))
	}
}

var statuses = []license.Status{license.StatusRevoked, license.StatusSuspended, license.StatusExpired, license.StatusScheduled, license.StatusActive}

func TestParseVersion(t *testing.T) {
	is := is.New(t)
	for _, status := range statuses {
		v := license.Version{Revision: 12, Status: status}
		read, ok := license.ParseVersion(v.String())
		is.True(ok)
		is.Equal(read, v)
	}
	plan, ok := license.ParseVersion("3")
	is.True(ok)
	is.Equal(plan, license.Version{Revision: 3})
	for _, text := range []string{"", "3.", "03", "0", ".active", "03.active", "+3.active", "3.ended", "0.active", "-1.active", "3.active ", "99999999999999999999.active"} {
		v, ok := license.ParseVersion(text)
		is.True(!ok) // not a version
		is.Equal(v, license.Version{})
	}
}
