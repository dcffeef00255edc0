package find

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/meters"
	"github.com/seed-d8a106b4/licensekit/store"
)

// nearMeterLimit returns the IDs of those of some licenses that are near the limit of a
// meter: at least 80 % of it is used in the period of an instant. A license without meters
// costs no read; the rows of the others are read together, [store.MaxLimit] in one read.
func nearMeterLimit(ctx context.Context, r store.Reader, list []record.License, at time.Time) (map[string]bool, error) {
	metered := slices.DeleteFunc(slices.Clone(list), func(l record.License) bool { return len(l.Meters) == 0 })
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
