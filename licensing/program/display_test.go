package program

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// TestDisplay: the status says what is left of a meter and what will change, from the first
// answer on, after a report, and after a restart without the service, until it is over.
func TestDisplay(t *testing.T) {
	onStage(t, func(s *stage) {
		sell := s.vendor.Handler.Selling()
		for _, p := range []api.PutPlanParams{
			{ID: "pro", Name: "Pro", Terms: api.Terms{MaxActivations: new(int64(2)), Meters: map[string]api.Meter{"exports": {Limit: new(int64(5)), Per: api.PerDay}}}},
			{ID: "seats", Name: "More seats", Kind: api.PlanAddOn, Terms: api.Terms{MaxActivations: new(int64(3))}},
		} {
			p.ProductID = "atlas"
			_, err := sell.PutPlan(s.Context(), p)
			s.NoErr(err)
		}
		start := time.Now()
		more := start.Add(30 * time.Hour)
		f, err := sell.RecordPurchase(s.Context(), api.RecordPurchaseParams{Reference: "shop:1", At: start, CustomerID: "cus_1", PlanID: "pro", State: api.PurchaseActive, Until: api.To(start.Add(100 * day))})
		s.NoErr(err)
		s.license = *f.License
		_, err = sell.RecordPurchase(s.Context(), api.RecordPurchaseParams{Reference: "shop:2", At: start, CustomerID: "cus_1", PlanID: "seats", LicenseID: s.license.ID, State: api.PurchaseActive, Until: api.To(more)})
		s.NoErr(err)

		b := s.box("pc-1")
		l := b.open()
		left := func(l *License) int64 {
			t.Helper()
			m := l.Status().Meters
			if len(m) != 1 {
				t.Fatalf("the meters are %v", m)
			}
			return *m[0].Remaining
		}
		s.Equal(left(l), int64(5))
		s.Equal(len(l.Status().Upcoming), 1)
		s.True(l.Status().Upcoming[0].At.Equal(more))
		s.Equal(l.Status().Upcoming[0].MaxActivations, api.To(int64(2)))
		s.NoErr(l.Use(s.Context(), "exports", 2))
		s.Equal(left(l), int64(3))
		_, err = s.vendor.Handler.Metering().RecordUsage(s.Context(), api.RecordUsageParams{Licenses: []api.LicenseUsage{{LicenseID: s.license.ID, Usage: []api.UsageReport{{Meter: "exports", ID: "web", Total: 1}}}}})
		s.NoErr(err)
		time.Sleep(2 * time.Hour) // a check
		s.Equal(left(l), int64(2))
		l.Count("exports", 1)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		s.Equal(left(l), int64(1))

		s.vendor.Die()
		l = b.restart(l)
		s.is(l, "valid")
		s.Equal(left(l), int64(1))
		s.Equal(len(l.Status().Upcoming), 1)
		time.Sleep(time.Until(start.Add(day)) + longestNap) // another day
		synctest.Wait()
		s.Equal(len(l.Status().Meters), 0)
		s.Equal(len(l.Status().Upcoming), 1)
		time.Sleep(time.Until(more) + longestNap)
		synctest.Wait()
		s.is(l, "valid", CodeUnreachable)
		s.Equal(len(l.Status().Upcoming), 0)

		s.vendor.Answer()
		s.NoErr(l.Refresh(s.Context()))
		s.Equal(left(l), int64(5))
		_, err = os.Stat(filepath.Join(b.opts.Dir, displayName))
		s.NoErr(err)
		s.NoErr(l.Release(s.Context()))
		s.Equal(len(l.Status().Meters), 0)
		_, err = os.Stat(filepath.Join(b.opts.Dir, displayName))
		s.True(os.IsNotExist(err))
	})
}

// TestDisplayOfAnotherKey: what was said of one license is not shown for another.
func TestDisplayOfAnotherKey(t *testing.T) {
	onStage(t, func(s *stage) {
		s.meter("exports", api.MeterChange{Limit: api.To[int64](3)})
		b := s.box("pc-1")
		l := b.open()
		s.Equal(len(l.Status().Meters), 1)
		other, err := s.service().Create(s.Context(), api.CreateLicenseParams{Name: "Other", ProductID: "atlas", CustomerID: "cus_2"})
		s.NoErr(err)
		b.opts.Key = other.Key
		s.vendor.Die()
		l = b.restart(l)
		s.Equal(len(l.Status().Meters), 0)
		s.vendor.Answer()
		s.NoErr(l.Refresh(s.Context()))
		s.is(l, "valid")
		s.Equal(len(l.Status().Meters), 0)

		b.opts.Key = "" // two processes, of which one gets another key
		l = b.restart(l)
		s.NoErr(l.SetKey(s.Context(), s.license.Key))
		s.Equal(len(l.Status().Meters), 1)
		s.NoErr(b.open().SetKey(s.Context(), other.Key))
		s.vendor.Die()
		s.True(l.Refresh(s.Context()) != nil) // it has read the directory
		s.Equal(l.Status().LicenseID, other.ID)
		s.Equal(len(l.Status().Meters), 0)
	})
}
