package servicetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// BenchmarkCountSales counts updates of names; one operation is one event.
func BenchmarkCountSales(b *testing.B) {
	ends := time.Now().AddDate(1, 0, 0)
	for name, p := range map[string]api.CreateLicenseParams{
		"plain": {},
		"rich": {ExpiresAt: &ends, Metadata: map[string]string{"order": "A-1001", "po": "4711", "sales": "Ann"}, Terms: api.Terms{
			MaxActivations: new(int64(3)), Entitlements: map[string]any{"api": true, "export": true, "region": "eu", "seats": 25, "tier": "pro"}}},
	} {
		for _, what := range []string{"update", "create"} {
			b.Run(name+"/"+what, func(b *testing.B) {
				h := licensing.NewHandler(memory.New(), licensing.Options{Logger: discard})
				p.Name, p.ProductID, p.CustomerID = "n", "p", "c"
				rules := inner.Of(h.Service()).Sales()
				count := func() {
					for more := true; more; {
						var err error
						if _, more, err = rules.Count(b.Context()); err != nil {
							b.Fatal(err)
						}
					}
				}
				var ids []string
				create := func(n int) {
					for range n {
						l, err := h.Service().Create(b.Context(), p)
						if err != nil {
							b.Fatal(err)
						}
						ids = append(ids, l.ID)
					}
				}
				create(1000)
				count()
				if what == "create" {
					create(b.N)
				} else {
					for i := range b.N {
						if _, err := h.Service().Update(b.Context(), api.UpdateLicenseParams{ID: ids[i%1000], Name: new(fmt.Sprint("n", i))}); err != nil {
							b.Fatal(err)
						}
					}
				}
				b.ResetTimer()
				b.ReportAllocs()
				count()
			})
		}
	}
}
