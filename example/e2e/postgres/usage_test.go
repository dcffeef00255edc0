package postgres_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

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
