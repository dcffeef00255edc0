package refusals

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A UsageDay counts the validations and refusals of one day in UTC.
type UsageDay struct {
	From        time.Time // start of the day
	Validations int64     // calls of Validate, whatever the verdict
	// Refused counts refusals of Validate, Activate and usage by code. Calls with
	// unknown keys are counted as [api.VerdictNotFound].
	Refused map[api.VerdictCode]int64
}

// UsageKind is the kind of entries with the usage of one day. Key is the date;
// Data is a usageRecord.
const UsageKind = "usage"

// usageDays is the number of days of [Service.Usage].
const usageDays = 365

type usageRecord struct {
	Validations int64                     `json:"validations"`
	Refused     map[api.VerdictCode]int64 `json:"refused,omitempty"`
}

// merge adds the usage of another record, which it does not change.
func (u *usageRecord) merge(other usageRecord) {
	u.Validations += other.Validations
	if u.Refused == nil {
		u.Refused = make(map[api.VerdictCode]int64, len(other.Refused))
	}
	for code, n := range other.Refused {
		u.Refused[code] += n
	}
}

// Usage returns the validations and refusals of each of the last
// 365 days, oldest first and today last. It has the limits of
// [Service.Refusals]: what other processes counted in the last minute can be
// missing. A caller limited to some products gets [api.ErrProductForbidden].
func (s Service) Usage(ctx context.Context) ([]UsageDay, error) {
	if s.Caller.Products != nil {
		return nil, fmt.Errorf("usage: %w", api.ErrProductForbidden)
	}
	first := dayOf(s.Now()) - usageDays + 1
	entries, err := s.Reader().Entries(ctx, store.EntryQuery{Kind: UsageKind, From: dayText(first), Limit: usageDays})
	if err != nil {
		return nil, fmt.Errorf("usage: %w", err)
	}
	records := s.Pending.usage()
	for _, e := range entries {
		var stored usageRecord
		if err := call.Decode(e.Data, &stored); err != nil {
			return nil, fmt.Errorf("usage of %s: %w", e.Key, err)
		}
		day, err := time.Parse(time.DateOnly, e.Key)
		if err != nil {
			return nil, fmt.Errorf("usage: %w", err)
		}
		stored.merge(records[dayOf(day)])
		records[dayOf(day)] = stored
	}
	list := make([]UsageDay, usageDays)
	for i := range list {
		u := records[first+i]
		list[i] = UsageDay{startOf(first + i), u.Validations, maps.Clone(u.Refused)}
	}
	return list, nil
}
