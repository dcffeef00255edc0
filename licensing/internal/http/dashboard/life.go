package dashboard

import (
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// A life is the time of a license from its start to its end, as a bar.
type life struct {
	From, To *kit.Moment
	Gone     string // how much of it has passed
	Class    string // "gone", "late" if it ends soon, "bad" if it is over
}

// lifeOf returns the life of a license; nil: it has no end.
func lifeOf(v *kit.Visit, l api.License) *life {
	if l.ExpiresAt == nil {
		return nil
	}
	now, from := v.Opts.Now(), l.CreatedAt
	if l.StartsAt != nil {
		from = *l.StartsAt
	}
	whole, gone := l.ExpiresAt.Sub(from), now.Sub(from)
	if whole <= 0 {
		return nil
	}
	f := &life{v.Moment(from), v.EndOf(l.ExpiresAt), kit.Percent(100 * max(0, min(1, gone.Seconds()/whole.Seconds()))), "gone"}
	switch {
	case gone >= whole:
		f.Class = "bad"
	case l.ExpiresAt.Sub(now) < api.ExpiringSoon:
		f.Class = "late"
	}
	return f
}
