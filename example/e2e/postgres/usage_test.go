package postgres_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// TestUsageOfTwoServices: two services on one database admit exactly as many units of a
// hard limit as it has, and count reports that both get once.
func TestUsageOfTwoServices(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	schema := ""
	var services []*licensing.Handler
	for range 2 {
		db := open(t, "pgx", sharedDSN(t))
		if schema == "" {
			schema = newSchema(t, db)
		}
		services = append(services, licensing.NewHandler(newStore(t, db, schema), licensing.Options{}))
	}
	l, err := services[0].Service().Create(ctx, api.CreateLicenseParams{Name: "Ada", ProductID: "atlas", CustomerID: "ada", Terms: api.Terms{
		Meters: map[string]api.Meter{"exports": {Limit: new(int64(30))}, "calls": {}, "activations": {Limit: new(int64(5))}},
	}})
	is.NoErr(err)
	var admitted, activated atomic.Int64
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			h := services[i%2]
			count := func(meter, id string, total int64) error {
				_, err := h.Metering().CountUsage(ctx, api.CountUsageParams{Key: l.Key, Usage: []api.UsageReport{{Meter: meter, ID: id, Total: total}}})
				return err
			}
			for j := range 8 {
				if err := count("exports", fmt.Sprint(i, "-", j), 1); err == nil {
					admitted.Add(1)
				} else if !errors.Is(err, api.ErrUsageLimit) {
					t.Error(err)
				}
				if err := count("calls", "job", int64(j+1)); err != nil { // all report the same job
					t.Error(err)
				}
			}
			if _, err := h.Service().Activate(ctx, api.ActivateKeyParams{Key: l.Key, Fingerprint: fmt.Sprint("pc-", i)}); err == nil {
				activated.Add(1)
			} else if !errors.Is(err, api.ErrUsageLimit) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	is.Equal([]int64{admitted.Load(), activated.Load()}, []int64{30, 5})
	v, err := services[1].Service().Validate(ctx, api.ValidateKeyParams{Key: l.Key})
	is.NoErr(err)
	var used []int64
	for _, u := range v.Meters { // activations, calls, exports
		used = append(used, u.Used)
	}
	is.Equal(used, []int64{5, 8, 30})
}

// TestRandomUsageOfTwoServices: reports that two services get at the same time, each several
// times and in any order, count as much as the greatest total of each ID says. Where an ID
// belongs to one day, so does what it counts.
func TestRandomUsageOfTwoServices(t *testing.T) {
	ctx := t.Context()
	schema := newSchema(t, open(t, "pgx", sharedDSN(t)))
	now := time.Date(2028, 3, 1, 12, 0, 0, 0, time.UTC) // after 29 February
	var services []*licensing.Handler
	for range 2 {
		services = append(services, licensing.NewHandler(newStore(t, open(t, "pgx", sharedDSN(t)), schema), licensing.Options{Now: func() time.Time { return now }}))
	}
	for seed := range uint64(6) {
		is := is.New(t)
		random := rand.New(rand.NewPCG(seed, 51))
		l, err := services[0].Service().Create(ctx, api.CreateLicenseParams{Name: "Ada", ProductID: "atlas", CustomerID: "ada", Terms: api.Terms{
			Meters: map[string]api.Meter{"calls": {}, "daily": {Limit: new(int64(3)), Per: api.PerDay}, "monthly": {Per: api.PerMonth}},
		}})
		is.NoErr(err)
		greatest, want := map[string]int64{}, map[string]int64{}
		var reports []api.UsageReport
		for range 60 {
			days := random.IntN(5)
			at := now.AddDate(0, 0, -days)
			r := api.UsageReport{ID: fmt.Sprint(days, " ", random.IntN(3)), Total: 1 + random.Int64N(20), At: &at}
			r.Meter = []string{"calls", "daily", "monthly"}[random.IntN(3)]
			period := map[string]string{"daily": at.Format("2006-01-02"), "monthly": at.Format("2006-01") + "-01"}[r.Meter]
			key := r.Meter + " " + r.ID
			want[r.Meter+" "+period] += max(0, r.Total-greatest[key])
			greatest[key] = max(greatest[key], r.Total)
			reports = append(reports, r)
		}
		var wg sync.WaitGroup
		for i := range 6 {
			order := random.Perm(len(reports))
			wg.Go(func() {
				for some := range slices.Chunk(order, 7) {
					var call []api.UsageReport
					for _, n := range some {
						call = append(call, reports[n])
					}
					if _, err := services[i%2].Metering().CountUsage(ctx, api.CountUsageParams{Key: l.Key, Usage: call}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		page, err := services[1].Metering().ListUsage(ctx, api.ListUsageParams{LicenseID: l.ID})
		is.NoErr(err)
		used := map[string]int64{}
		for _, p := range page.Data {
			from := ""
			if p.From != nil {
				from = p.From.Format("2006-01-02")
			}
			used[p.Meter+" "+from] = p.Used
		}
		is.Equal(used, want)
	}
}
