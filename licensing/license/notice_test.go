package license_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
)

const day = 24 * time.Hour

// expiring creates a license that ends after d.
func (f *fixture) expiring(t *testing.T, d time.Duration) api.License {
	t.Helper()
	return f.create(t, func(p *api.CreateLicenseParams) { p.ExpiresAt = ptr(f.now.Add(d)) })
}

// notify gives all notices that are due.
func (f *fixture) notify(t *testing.T) {
	t.Helper()
	for more := true; more; {
		var err error
		if more, err = f.GiveNotices(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// notices returns the notices about a license: "7" for seven days before, "0"
// for the end.
func (f *fixture) notices(t *testing.T, id string) (got []string) {
	t.Helper()
	events, err := f.store.Events(t.Context(), store.EventQuery{Subject: id})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		switch e.Type {
		case api.EventLicenseExpired:
			got = append(got, "0")
		case api.EventLicenseExpiring:
			got = append(got, fmt.Sprint(*eventData(t, e).NoticeSeconds/86400))
		}
	}
	return got
}

func TestNoticesComeOnceEachAtTheirTime(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	f.notify(t) // begins
	year, trial := f.expiring(t, 365*day), f.expiring(t, 5*day)
	endless, revoked := f.create(t), f.expiring(t, 40*day)
	_, err := f.Revoke(t.Context(), api.ChangeStateParams{ID: revoked.ID})
	is.NoErr(err)
	for _, step := range []struct {
		days        int
		year, trial string
	}{
		{3, "[]", "[]"}, {4, "[]", "[1]"}, {5, "[]", "[1 0]"}, {334, "[]", "[1 0]"}, {335, "[30]", "[1 0]"},
		{357, "[30]", "[1 0]"}, {358, "[30 7]", "[1 0]"}, {364, "[30 7 1]", "[1 0]"}, {365, "[30 7 1 0]", "[1 0]"}, {800, "[30 7 1 0]", "[1 0]"},
	} {
		f.now = start.Add(time.Duration(step.days)*day + time.Minute)
		f.notify(t)
		f.notify(t)
		is.Equal(fmt.Sprint(f.notices(t, year.ID)), step.year)
		is.Equal(fmt.Sprint(f.notices(t, trial.ID)), step.trial)
	}
	is.Equal(len(f.notices(t, endless.ID)), 0)
	is.Equal(len(f.notices(t, revoked.ID)), 0)
	e, data := f.lastEvent(t)
	is.Equal(e.Type, api.EventLicenseLapsed)
	is.Equal(e.Actor, "clock")
	is.Equal(data.License.Status, api.LicenseExpired)
	is.Equal(data.License.Key, "")
}

// TestNoticesOutliveAnyPause is a service that nothing ran for half a year,
// and then two concurrent processes.
func TestNoticesOutliveAnyPause(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	other := *f
	other.Service = license.New(f.store, license.Options{Now: func() time.Time { return f.now }})
	f.notify(t)
	var ids []string
	for i := range 250 { // more than two batches
		ids = append(ids, f.expiring(t, time.Duration(60+i%90)*day).ID)
	}
	f.now = f.now.Add(180 * day)
	for more := true; more; {
		a, err := f.GiveNotices(t.Context())
		is.NoErr(err)
		b, err := other.GiveNotices(t.Context())
		is.NoErr(err)
		more = a || b
	}
	for _, id := range ids {
		is.Equal(f.notices(t, id), []string{"0"})
	}
}

// TestOnlyTheNearestNoticeComesAfterAPause: when several notices became due
// while nothing ran, only the last one that still holds is given.
func TestOnlyTheNearestNoticeComesAfterAPause(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	f.notify(t)
	soon, later, over := f.expiring(t, 103*day), f.expiring(t, 120*day), f.expiring(t, 75*day)
	f.now = f.now.Add(100 * day)
	f.notify(t)
	is.Equal(f.notices(t, soon.ID), []string{"7"})
	is.Equal(f.notices(t, later.ID), []string{"30"})
	is.Equal(f.notices(t, over.ID), []string{"0"}) // it ended 25 days ago
	f.now = f.now.Add(30 * day)
	f.notify(t)
	is.Equal(f.notices(t, soon.ID), []string{"7", "0"})
	is.Equal(f.notices(t, later.ID), []string{"30", "0"})
}

// TestNoticesResumeAfterAClockWasAhead: what expires before the time that the
// clock showed still gets its notices at their time.
func TestNoticesResumeAfterAClockWasAhead(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	f.notify(t)
	f.now = f.now.Add(365 * day)
	f.notify(t)
	f.now = f.now.Add(-365 * day)
	f.notify(t)
	l := f.expiring(t, 8*day)
	f.now = f.now.Add(2 * day)
	f.notify(t)
	is.Equal(f.notices(t, l.ID), []string{"7"})
}

// TestExpiryIsNotedAfterAClockWasMinutesAhead: a license that ends before the time that
// the clock showed, and was created after the clock was corrected, gets license.expired.
func TestExpiryIsNotedAfterAClockWasMinutesAhead(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	f.notify(t)
	before := f.expiring(t, 10*time.Minute)
	f.now = start.Add(50 * time.Minute)
	f.notify(t)
	f.now = start
	f.notify(t)
	after := f.expiring(t, 20*time.Minute)
	for range 60 {
		f.now = f.now.Add(time.Minute)
		f.notify(t)
	}
	is.Equal(f.notices(t, before.ID), []string{"0"})
	is.Equal(f.notices(t, after.ID), []string{"0"})
}

// TestNoticesAreNotRepeatedAfterAClockWasAhead, however often it is, unless the
// license was renewed meanwhile.
func TestNoticesAreNotRepeatedAfterAClockWasAhead(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	f.notify(t)
	given, renewed, later := f.expiring(t, 100*day), f.expiring(t, 110*day), f.expiring(t, 390*day)
	f.now = start.Add(99*day + time.Minute)
	f.notify(t)
	is.Equal(f.notices(t, given.ID), []string{"1"})
	f.now = start.Add(300 * day)
	f.notify(t)
	is.Equal(f.notices(t, given.ID), []string{"1", "0"})
	is.Equal(f.notices(t, renewed.ID), []string{"30", "0"})
	for i := range 250 { // more than one page of events
		_, err := f.Update(t.Context(), api.UpdateLicenseParams{ID: given.ID, Name: ptr(fmt.Sprint("name ", i))})
		is.NoErr(err)
	}
	f.now = start.Add(40 * day)
	f.notify(t)
	f.now = start.Add(95 * day) // ahead again, and corrected again
	f.notify(t)
	f.now = start
	f.notify(t)
	_, err := f.Renew(t.Context(), api.RenewLicenseParams{ID: renewed.ID, ExpiresAt: ptr(start.Add(120 * day))})
	is.NoErr(err)
	created := f.expiring(t, 105*day)
	for d := range 400 {
		f.now = start.Add(time.Duration(d)*day + time.Minute)
		f.notify(t)
	}
	is.Equal(f.notices(t, given.ID), []string{"1", "0", "7", "30"}) // 7 was given at the second time ahead
	is.Equal(f.notices(t, renewed.ID), []string{"30", "0", "30", "7", "1", "0"})
	is.Equal(f.notices(t, created.ID), []string{"30", "7", "1", "0"})
	is.Equal(f.notices(t, later.ID), []string{"30", "7", "1", "0"})
	marks, err := f.store.Entries(t.Context(), store.EntryQuery{Kind: "watermark"})
	is.NoErr(err)
	for _, m := range marks {
		require.NotContains(t, string(m.Data), "given") // the clock has passed it
	}
}

func TestARenewalEarnsNewNotices(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	f.notify(t)
	l := f.expiring(t, 10*day)
	f.now = f.now.Add(4 * day)
	f.notify(t)
	is.Equal(f.notices(t, l.ID), []string{"7"})
	_, err := f.Renew(t.Context(), api.RenewLicenseParams{ID: l.ID, ExpiresAt: ptr(f.now.Add(100 * day))})
	is.NoErr(err)
	f.now = f.now.Add(30 * day)
	f.notify(t)
	is.Equal(f.notices(t, l.ID), []string{"7"}) // not the end that was
	f.now = f.now.Add(200 * day)
	f.notify(t)
	is.Equal(f.notices(t, l.ID), []string{"7", "0"})
}

// TestNoticesBeginWithTheFirstCall uses a store that is years old.
func TestNoticesBeginWithTheFirstCall(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, func(o *license.Options) { o.Events.ExpiryNotices = []time.Duration{2 * day} })
	old := f.expiring(t, 10*day)
	f.now = f.now.Add(1000 * day)
	soon := f.expiring(t, day)
	f.notify(t)
	is.Equal(len(f.notices(t, old.ID)), 0)
	f.now = f.now.Add(2 * day)
	f.notify(t)
	is.Equal(f.notices(t, soon.ID), []string{"0"})
	is.Equal(len(f.notices(t, old.ID)), 0)
}

func TestQuietRoundsWriteNothing(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	f.notify(t)
	f.expiring(t, 100*day)
	counting := &countingStore{Store: f.store}
	s := license.New(counting, license.Options{Now: func() time.Time { return f.now }})
	for range 10 {
		f.now = f.now.Add(time.Minute)
		_, err := s.GiveNotices(t.Context())
		is.NoErr(err)
	}
	is.Equal(counting.count("Update"), 0)
}

// TestALicenseLapsesOnceAtTheEndOfItsGrace, in every way in which the end can change
// after the license has expired.
func TestALicenseLapsesOnceAtTheEndOfItsGrace(t *testing.T) {
	update := func(change func(*api.UpdateLicenseParams)) func(*testing.T, *fixture, string) {
		return func(t *testing.T, f *fixture, id string) {
			p := api.UpdateLicenseParams{ID: id}
			change(&p)
			_, err := f.Update(t.Context(), p)
			is.New(t).NoErr(err)
		}
	}
	grace := func(days int64) func(*testing.T, *fixture, string) {
		return update(func(p *api.UpdateLicenseParams) { p.GraceSeconds = ptr(days * 86400) })
	}
	renew := func(t *testing.T, f *fixture, id string) {
		_, err := f.Renew(t.Context(), api.RenewLicenseParams{ID: id, ExpiresAt: ptr(start.Add(40 * day))})
		is.New(t).NoErr(err)
	}
	for name, test := range map[string]struct {
		grace int64
		at    int // the day of the change
		do    func(*testing.T, *fixture, string)
		want  []int // the days of license.lapsed, of a license that ends on day 10
	}{
		"without grace":       {want: []int{10}},
		"with grace":          {grace: 7, want: []int{17}},
		"grace grows":         {grace: 7, at: 12, do: grace(14), want: []int{24}},
		"grace shrinks":       {grace: 7, at: 12, do: grace(3), want: []int{13}},
		"grace is taken":      {grace: 7, at: 12, do: grace(0), want: []int{12}},
		"renewed in grace":    {grace: 7, at: 12, do: renew, want: []int{47}},
		"renewed after it":    {grace: 7, at: 20, do: renew, want: []int{17, 47}},
		"grace again":         {grace: 7, at: 20, do: grace(14), want: []int{17, 24}},
		"edited after it":     {grace: 7, at: 20, do: grace(8), want: []int{17}},
		"ended early":         {grace: 7, at: 5, do: update(func(p *api.UpdateLicenseParams) { p.ExpiresAt = api.To(start.Add(4 * day)) }), want: []int{11}},
		"endless in grace":    {grace: 7, at: 12, do: update(func(p *api.UpdateLicenseParams) { p.ExpiresAt = api.ToNull[time.Time]() })},
		"endless, then ended": {grace: -1, at: 12, do: update(func(p *api.UpdateLicenseParams) { p.ExpiresAt = api.To(start.Add(4 * day)) }), want: []int{12}},
		"revoked in grace": {grace: 7, at: 12, do: func(t *testing.T, f *fixture, id string) {
			_, err := f.Revoke(t.Context(), api.ChangeStateParams{ID: id})
			is.New(t).NoErr(err)
		}},
		"suspended in grace": {grace: 7, at: 12, do: func(t *testing.T, f *fixture, id string) {
			_, err := f.Suspend(t.Context(), api.ChangeStateParams{ID: id})
			is.New(t).NoErr(err)
		}, want: []int{17}},
		"deleted in grace": {grace: 7, at: 12, do: func(t *testing.T, f *fixture, id string) {
			is.New(t).NoErr(f.Delete(t.Context(), api.DeleteLicenseParams{ID: id}))
		}},
		"the clock was ahead": {grace: 7, at: 5, do: func(t *testing.T, f *fixture, id string) {
			f.now = start.Add(11 * day)
			f.notify(t)
			f.now = start.Add(5 * day)
		}, want: []int{17}},
		"the clock was ahead, then grace grows": {grace: 7, at: 5, do: func(t *testing.T, f *fixture, id string) {
			f.now = start.Add(11 * day)
			f.notify(t)
			f.now = start.Add(5 * day)
			grace(14)(t, f, id)
		}, want: []int{24}},
		"the clock was far off": {grace: 7, at: 5, do: func(t *testing.T, f *fixture, id string) {
			f.now = start.Add(99 * day)
			f.notify(t)
			f.now = start.Add(5 * day)
		}, want: []int{99}},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			f := newFixture(t)
			f.notify(t)
			l := f.create(t, func(p *api.CreateLicenseParams) {
				if test.grace >= 0 {
					p.ExpiresAt, p.GraceSeconds = ptr(start.Add(10*day)), test.grace*86400
				}
			})
			for d := range 60 {
				f.now = start.Add(time.Duration(d)*day + time.Minute)
				if d == test.at && test.do != nil {
					test.do(t, f, l.ID)
				}
				f.notify(t)
			}
			var got []int
			events, err := f.store.Events(t.Context(), store.EventQuery{Subject: l.ID})
			is.NoErr(err)
			for _, e := range events {
				if e.Type == api.EventLicenseLapsed {
					is.Equal(e.Actor, "clock")
					data := eventData(t, e)
					is.Equal(*data.GraceEndsAt, data.License.ExpiresAt.Add(time.Duration(data.License.GraceSeconds)*time.Second))
					got = append(got, int(e.Time.Sub(start)/day))
				}
			}
			is.Equal(got, test.want)
			left, err := f.store.Entries(t.Context(), store.EntryQuery{Kind: "license_notice"})
			is.NoErr(err)
			is.Equal(len(left), 0)
		})
	}
}

// TestALicenseThatComesInItsGraceLapses: no license.expired was due since it came.
func TestALicenseThatComesInItsGraceLapses(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	f.notify(t)
	l := f.create(t, func(p *api.CreateLicenseParams) { p.ExpiresAt, p.GraceSeconds = ptr(start.Add(-2*day)), 3*86400 })
	row := `{"key":"KEY-OF-LICENSE-%d","name":"A","product_id":"app","customer_id":"c","expires_at":"` + start.Add(-2*day).Format(time.RFC3339) + `","grace_seconds":259200}` + "\n"
	results := importAll(t, f.Service, fmt.Sprintf(row+row, 1, 2))
	is.Equal([]string{results[0].Result, results[1].Result}, []string{api.ImportCreated, api.ImportCreated})
	f.now = start.Add(2 * day)
	f.notify(t)
	f.notify(t)
	for _, id := range []string{l.ID, results[0].ID, results[1].ID} {
		events, err := f.store.Events(t.Context(), store.EventQuery{Subject: id})
		is.NoErr(err)
		is.Equal([]string{events[0].Type, events[len(events)-1].Type}, []string{api.EventLicenseCreated, api.EventLicenseLapsed})
		is.Equal(len(events), 2)
	}
}

// TestALicenseLapsesAtTheInstant: its grace period does not include its end.
func TestALicenseLapsesAtTheInstant(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	f.notify(t)
	l := f.create(t, func(p *api.CreateLicenseParams) { p.ExpiresAt, p.GraceSeconds = ptr(start.Add(day)), 86400 })
	for at, want := range []int{0, 0, 1, 1} {
		f.now = start.Add(2*day + time.Duration(at-2)*time.Millisecond)
		f.notify(t)
		page, err := f.Events(t.Context(), api.ListEventsParams{Subject: l.ID, Types: []string{api.EventLicenseLapsed}})
		is.NoErr(err)
		is.Equal(len(page.Data), want)
	}
}
