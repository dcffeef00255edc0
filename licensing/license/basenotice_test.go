package license_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestNoticesOfABaseThatEndsBeforeItsLicense: a license with a free plan never expires, but
// its paid base does, and has notices and renewals of its own.
func TestNoticesOfABaseThatEndsBeforeItsLicense(t *testing.T) {
	year := func(reference string, day float64) bought { return sold(reference, "year", day) }
	for _, test := range []struct {
		name  string
		sales []bought
		quiet int      // nothing runs before this day
		want  []string // the day of each notice or renewal
	}{
		{"a free plan", []bought{sold("a", "free", 0)}, 0, nil},
		{"a subscription ends", []bought{sold("a", "free", 0), until(sold("b", "month", 0), 100)}, 0, []string{
			"70 expiring 30 [b] 101", "93 expiring 7 [b] 101", "99 expiring 1 [b] 101",
		}},
		{"it is renewed", []bought{sold("a", "free", 0), until(sold("b", "month", 0), 60), until(sold("b", "month", 31), 120)}, 0, []string{
			"30 expiring 30 [b] 61", "31 renewed", "90 expiring 30 [b] 121", "113 expiring 7 [b] 121", "119 expiring 1 [b] 121",
		}},
		{"it is renewed in grace", []bought{sold("a", "free", 0), until(sold("b", "month", 0), 20), until(sold("b", "month", 21), 50)}, 0, []string{
			"13 expiring 7 [b] 21", "19 expiring 1 [b] 21", "21 renewed", "43 expiring 7 [b] 51", "49 expiring 1 [b] 51",
		}},
		{"it is canceled", []bought{sold("a", "free", 0), until(sold("b", "month", 0), 100), said("b", 80, "ended")}, 0, []string{"70 expiring 30 [b] 101"}},
		{"another year continues it", []bought{sold("a", "free", 0), year("b", 0), year("c", 340)}, 0, []string{
			"335 expiring 30 [b] 365", "340 renewed", "700 expiring 30 [c] 730", "723 expiring 7 [c] 730", "729 expiring 1 [c] 730",
		}},
		{"an add-on ends before it", []bought{sold("a", "free", 0), until(sold("b", "month", 0), 100), until(sold("c", "seats", 1), 80)}, 0, []string{
			"70 expiring 30 [b] 101", "93 expiring 7 [b] 101", "99 expiring 1 [b] 101",
		}},
		{"two of them end", []bought{sold("a", "free", 0), until(sold("b", "month", 0), 40), until(sold("c", "year", 1), 50)}, 0, []string{
			"20 expiring 30 [c] 50", "43 expiring 7 [c] 50", "49 expiring 1 [c] 50", // the month adds nothing to the year
		}},
		{"the license expires after it", []bought{sold("a", "month", 0), until(sold("b", "year", 0), 20)}, 0, []string{
			"0 expiring 30 [] 31", "13 expiring 7 [b] 20", "19 expiring 1 [b] 20", "23 expiring 7 [] 31", "29 expiring 1 [] 31",
		}},
		{"the license expires with it", []bought{sold("a", "month", 0), until(sold("b", "year", 0), 30.5)}, 0, []string{"0 renewed", "1 expiring 30 [] 31", "24 expiring 7 [] 31", "30 expiring 1 [] 31"}},
		{"nothing runs for a while", []bought{sold("a", "free", 0), until(sold("b", "month", 0), 100)}, 95, []string{"95 expiring 7 [b] 101", "99 expiring 1 [b] 101"}},
		{"nothing runs until it has ended", []bought{sold("a", "free", 0), until(sold("b", "month", 0), 100)}, 100, nil},
		{"bought late", []bought{sold("a", "free", 0), until(sold("b", "month", 0), 5)}, 0, []string{"4 expiring 1 [b] 6"}},
	} {
		for _, clock := range []bool{true, false} {
			t.Run(fmt.Sprint(test.name, clock), func(t *testing.T) {
				is := is.New(t)
				s := newShop(t, memory.New())
				notify := func() {
					t.Helper()
					for more := true; more; {
						var err error
						more, err = s.GiveNotices(t.Context())
						is.NoErr(err)
					}
					if clock {
						_, err := inner.Of(s.Service).Licenses().ApplyDue(t.Context())
						is.NoErr(err)
					}
				}
				notify()
				id, told := "", 0
				for day := range 740 {
					s.now = onDay(float64(day)).Add(time.Minute)
					for ; told < len(test.sales) && !test.sales[told].event.At.After(s.now); told++ {
						e := test.sales[told].event
						if e.CustomerID = "cus_ada"; test.sales[told].reference != "a" {
							e.LicenseID = id
						}
						if f := s.tell(t, test.sales[told].reference, e); id == "" {
							id = f.LicenseID
						}
					}
					if day >= test.quiet {
						notify()
					}
				}
				events, err := s.store.Events(t.Context(), store.EventQuery{Subject: id})
				is.NoErr(err)
				var got []string
				for _, e := range events {
					data := eventData(t, e)
					switch at := int(e.Time.Sub(start) / day); e.Type {
					case api.EventLicenseExpiring:
						got = append(got, fmt.Sprint(at, " expiring ", *data.NoticeSeconds/86400, " ", data.Ended, " ", data.GraceEndsAt.Sub(start).Hours()/24))
					case api.EventLicenseRenewed:
						got = append(got, fmt.Sprint(at, " renewed"))
					}
				}
				is.Equal(got, test.want)
				left, err := s.store.Entries(t.Context(), store.EntryQuery{Kind: "license_notice"})
				is.NoErr(err)
				is.Equal(len(left), 0)
			})
		}
	}
}

// TestNoticesOfABaseAreNotThoseOfTheLicense, when events say which notices were given
// before the clock was corrected.
func TestNoticesOfABaseAreNotThoseOfTheLicense(t *testing.T) {
	is := is.New(t)
	s := newShop(t, memory.New())
	var id string
	for _, step := range []struct {
		day  float64
		want string // the notices so far
	}{
		{0, "[]"}, {93.1, "[30 7[b]]"}, {102.5, "[30 7[b] 1]"}, {94, "[30 7[b] 1]"}, {96.1, "[30 7[b] 1 7]"}, {102.6, "[30 7[b] 1 7]"}, {104, "[30 7[b] 1 7]"},
	} {
		s.now = onDay(step.day)
		for more := true; more; {
			var err error
			more, err = s.GiveNotices(t.Context())
			is.NoErr(err)
		}
		if id == "" {
			id = s.tell(t, "a", event{CustomerID: "cus_ada", PlanID: "month", State: api.PurchaseActive, Until: api.To(onDay(103))}).LicenseID
			s.tell(t, "b", event{CustomerID: "cus_ada", LicenseID: id, PlanID: "year", State: api.PurchaseActive, Until: api.To(onDay(100))})
		}
		events, err := s.store.Events(t.Context(), store.EventQuery{Subject: id})
		is.NoErr(err)
		got := []string{}
		for _, e := range events {
			if data := eventData(t, e); e.Type == api.EventLicenseExpiring {
				got = append(got, fmt.Sprint(*data.NoticeSeconds/86400)+strings.TrimPrefix(fmt.Sprint(data.Ended), "[]"))
			}
		}
		is.Equal(fmt.Sprint(got), step.want)
	}
}
