package find

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/meters"
	"github.com/seed-d8a106b4/licensekit/store"
)

// NearLimit returns the IDs of those of some licenses that are near the limit of a meter: at
// least 80 % of it is used in the period of an instant. A license without meters costs no
// read; the rows of the others are read together, [store.MaxLimit] in one read.
func NearLimit(ctx context.Context, r store.Reader, rows []store.License, at time.Time) (map[string]bool, error) {
	var metered []record.License
	for _, row := range rows {
		l, err := licenses.Read(row, at)
		if err != nil {
			return nil, fmt.Errorf("licenses near a limit: %w", err)
		}
		if len(l.Meters) > 0 {
			metered = append(metered, l)
		}
	}
	uses, err := meters.UsesOf(ctx, r, metered, at)
	if err != nil {
		return nil, fmt.Errorf("licenses near a limit: %w", err)
	}
	near := map[string]bool{}
	for id, all := range uses {
		if slices.ContainsFunc(all, meters.Near) {
			near[id] = true
		}
	}
	return near, nil
}
