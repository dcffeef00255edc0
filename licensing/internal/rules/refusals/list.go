package refusals

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/find"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/meters"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A RefusedLicense is a license that was refused, with what an operator needs to
// see to resolve it.
type RefusedLicense struct {
	License  api.License
	Seats    find.SeatNumber
	Refusals []api.Refusal // as from [Service.Refusals]
	meters   []api.MeterUse
}

// Applies reports whether the next request with a code would be refused for the
// same reason, as far as the license decides.
func (l RefusedLicense) Applies(code api.VerdictCode) bool {
	return refusalApplies(code, l.License, l.License.MaxActivations != nil && int64(l.Seats.N) >= *l.License.MaxActivations, l.meters)
}

func refusalApplies(code api.VerdictCode, l api.License, full bool, uses []api.MeterUse) bool {
	switch code {
	case api.VerdictUsageLimit:
		return slices.ContainsFunc(uses, func(u api.MeterUse) bool { return !u.Soft && u.Remaining != nil && *u.Remaining == 0 })
	case api.VerdictActivationLimit: // a program without an activation gets this code, too, when it activates
		return full
	case api.VerdictExpired, api.VerdictSuspended, api.VerdictRevoked, api.VerdictScheduled:
		return string(l.Status) == string(code)
	}
	return false
}

// RefusalApplies is Applies for a license of which full says whether no seat is free, and
// uses what was used of its meters.
func (Service) RefusalApplies(code api.VerdictCode, l api.License, full bool, uses []api.MeterUse) bool {
	return refusalApplies(code, l, full, uses)
}

// RefusedParams select refused licenses.
type RefusedParams struct {
	Code   api.VerdictCode // empty: any
	Days   int             // the last days; 0: all that are kept
	Open   bool            // only licenses to which the code still applies
	Cursor string
	Limit  int // 0: no limit but maxRefusedScan
}

// RefusedParams are the parameters of RefusedLicenses.
func (Service) RefusedParams(code api.VerdictCode, days int, open bool, cursor string, limit int) RefusedParams {
	return RefusedParams{code, days, open, cursor, limit}
}

const (
	// maxRefusedScan is how many licenses with refusals RefusedLicenses and
	// RefusalGroups examine.
	maxRefusedScan = 1000
	// refusedBatch is how many they read together.
	refusedBatch = 200
)

// RefusedLicenses lists licenses that were refused, those refused last first, by
// whole days; the order within a day is that of the license IDs. It examines at
// most 1,000 licenses, so a page may have fewer than the limit and still have more
// pages. Refusals of the last minute come first. It has the limits of
// [Service.Refusals].
func (s Service) RefusedLicenses(ctx context.Context, p RefusedParams) (page api.Page[RefusedLicense], err error) {
	from, key, ok := strings.Cut(p.Cursor, ".")
	day, err := strconv.Atoi(cmp.Or(from, "0"))
	if p.Cursor != "" && (!ok || err != nil || !record.IsID("lic", key)) {
		return page, api.Invalid("cursor", api.FieldInvalidFormat, "is not a cursor of this list")
	}
	day = min(day, dayOf(s.Now()))
	first := dayOf(s.Now()) - cmp.Or(p.Days, refusalDays) + 1
	match := func(l RefusedLicense) bool {
		return slices.ContainsFunc(l.Refusals, func(r api.Refusal) bool {
			return (p.Code == "" || p.Code == r.Code) && dayOf(r.LastAt) >= first && (!p.Open || l.Applies(r.Code))
		})
	}
	return call.View(ctx, s.Call, "refused licenses", func(r store.Reader) (page api.Page[RefusedLicense], err error) {
		pending := s.Pending.ids(maxPending)
		slices.Sort(pending)
		if p.Cursor == "" {
			records, err := entries.Of(ctx, r, RefusalKind, pending, call.ReadJSON[refusalRecord])
			if err != nil {
				return page, err
			}
			if page.Data, err = s.refused(ctx, r, pending, records); err != nil {
				return page, err
			}
			page.Data = slices.DeleteFunc(page.Data, func(l RefusedLicense) bool { return !match(l) })
			day = dayOf(s.Now())
		}
		scanned := 0
		for ; day >= first; day, key = day-1, "" {
			for {
				expires := store.TimeRange{From: startOf(day + refusalDays), Before: startOf(day + refusalDays + 1)}
				q := store.EntryQuery{Kind: RefusalKind, Order: store.ByExpiry, Expires: expires, Limit: refusedBatch}
				if key != "" {
					q.After = store.Position{Time: expires.From, ID: key}
				}
				entries, err := r.Entries(ctx, q)
				if err != nil {
					return page, err
				}
				var ids []string
				records := map[string]refusalRecord{}
				for _, e := range entries {
					var record refusalRecord
					if err := call.Decode(e.Data, &record); err != nil {
						return page, err
					}
					if _, waits := slices.BinarySearch(pending, e.Key); !waits {
						ids, records[e.Key] = append(ids, e.Key), record
					}
				}
				list, err := s.refused(ctx, r, ids, records)
				if err != nil {
					return page, err
				}
				for i, l := range list {
					if !match(l) {
						continue
					}
					if page.Data = append(page.Data, l); p.Limit > 0 && len(page.Data) >= p.Limit && (i < len(list)-1 || len(entries) == refusedBatch || day > first) {
						page.HasMore, page.NextCursor = true, strconv.Itoa(day)+"."+l.License.ID
						return page, nil
					}
				}
				if len(entries) < refusedBatch {
					break
				}
				key = entries[len(entries)-1].Key
				if scanned += len(entries); scanned >= maxRefusedScan {
					page.HasMore, page.NextCursor = true, strconv.Itoa(day)+"."+key
					return page, nil
				}
			}
		}
		return page, nil
	})
}

// refused returns the licenses with some IDs that exist for the caller and were
// refused, in order of their IDs.
func (s Service) refused(ctx context.Context, r store.Reader, ids []string, records map[string]refusalRecord) (list []RefusedLicense, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	now := s.Now()
	licenses, err := licenses.Of(s.Call).Existing(ctx, r, slices.Clone(ids), now)
	if err != nil {
		return nil, err
	}
	uses, err := s.usesOf(ctx, r, ids, records, now)
	if err != nil {
		return nil, err
	}
	seats, err := find.SeatCounts(ctx, r, ids)
	if err != nil {
		return nil, err
	}
	pending, err := s.Pending.present(ctx, r, ids...)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		record := records[id]
		record.merge(pending[id])
		if record.trim(now); len(record.Codes) > 0 && licenses[id].ID != "" {
			list = append(list, RefusedLicense{licenses[id], seats[id], record.refusals(), uses[id]})
		}
	}
	return list, nil
}

// usesOf returns what was used of the meters of those licenses that were refused usage.
func (s Service) usesOf(ctx context.Context, r store.Reader, ids []string, records map[string]refusalRecord, now time.Time) (map[string][]api.MeterUse, error) {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return records[id].Codes[api.VerdictUsageLimit] == nil })
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := r.Licenses(ctx, store.LicenseQuery{IDs: ids})
	if err != nil {
		return nil, err
	}
	recs := make([]record.License, len(rows))
	for i, row := range rows {
		if recs[i], err = licenses.Read(row, now); err != nil {
			return nil, err
		}
	}
	return meters.UsesOf(ctx, r, recs, now)
}

// A RefusalGroup counts the refusals with one code.
type RefusalGroup struct {
	Code     api.VerdictCode
	Calls    int64
	Licenses int
	Open     int // licenses to which it still applies
}

// RefusalGroups counts the refusals of the last days by code, the group with the
// most licenses to which it still applies first. The counts are minimums if more
// is true.
func (s Service) RefusalGroups(ctx context.Context, days int) (groups []RefusalGroup, more bool, err error) {
	page, err := s.RefusedLicenses(ctx, RefusedParams{Days: days})
	if err != nil {
		return nil, false, err
	}
	first := dayText(dayOf(s.Now()) - days + 1)
	byCode := map[api.VerdictCode]*RefusalGroup{}
	for _, l := range page.Data {
		for _, r := range l.Refusals {
			var calls int64
			for _, d := range r.Days {
				if d.Date >= first {
					calls += d.Count
				}
			}
			if calls == 0 {
				continue
			}
			g := byCode[r.Code]
			if g == nil {
				g = &RefusalGroup{Code: r.Code}
				byCode[r.Code] = g
			}
			g.Calls += calls
			g.Licenses++
			if l.Applies(r.Code) {
				g.Open++
			}
		}
	}
	for _, g := range byCode {
		groups = append(groups, *g)
	}
	slices.SortFunc(groups, func(a, b RefusalGroup) int {
		return cmp.Or(cmp.Compare(b.Open, a.Open), cmp.Compare(b.Licenses, a.Licenses), cmp.Compare(a.Code, b.Code))
	})
	return groups, page.HasMore, nil
}
