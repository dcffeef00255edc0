package refusals

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/seats"
	"github.com/seed-d8a106b4/licensekit/store"
)

const (
	// refusalDays is how long refusals of a license are kept.
	refusalDays = 90
	// recentRefusals is how many refusals of a license are kept one by one.
	recentRefusals = 20
)

// RefusalKind is the kind of entries with the refusals of one license. Key is
// the license ID; Data is a refusalRecord. Deleting the license deletes the
// entry.
const RefusalKind = "refusal"

// A refusalRecord holds the refusals of one license. It is limited by the
// number of codes, by refusalDays and by recentRefusals.
type refusalRecord struct {
	Codes  map[api.VerdictCode]*codeRecord `json:"codes"`
	Recent []refusedCall                   `json:"recent"` // oldest first

	full    bool      // pending: an activation was refused because no seat was free
	LimitAt time.Time `json:"limit_at,omitzero"` // stored: when the last event said so
}

type codeRecord struct {
	Last time.Time     `json:"last"`
	Days map[int]int64 `json:"days"` // by the number of the day; see dayOf
}

type refusedCall struct {
	Code api.VerdictCode `json:"code"`
	api.RefusedCall
}

// dayOf returns the number of a day in UTC.
func dayOf(t time.Time) int { return int(t.Unix() / secondsPerDay) }

// startOf returns when a day begins.
func startOf(day int) time.Time { return time.Unix(int64(day)*secondsPerDay, 0).UTC() }

// dayText returns the date of a day.
func dayText(day int) string { return startOf(day).Format(time.DateOnly) }

const secondsPerDay = 24 * 60 * 60

// add counts one refusal.
func (r *refusalRecord) add(c refusedCall) {
	if r.Codes == nil {
		r.Codes = map[api.VerdictCode]*codeRecord{}
	}
	count := r.Codes[c.Code]
	if count == nil {
		count = &codeRecord{Days: map[int]int64{}}
		r.Codes[c.Code] = count
	}
	count.Last = c.At
	count.Days[dayOf(c.At)]++
	r.full = r.full || c.Code == api.VerdictActivationLimit && c.Action == seats.ActionActivate
	r.Recent = slices.Delete(append(r.Recent, c), 0, max(0, len(r.Recent)+1-recentRefusals))
}

// merge adds the refusals of another record, which it does not change.
func (r *refusalRecord) merge(other refusalRecord) {
	if r.Codes == nil {
		r.Codes = make(map[api.VerdictCode]*codeRecord, len(other.Codes))
	}
	for code, from := range other.Codes {
		to := r.Codes[code]
		if to == nil {
			to = &codeRecord{Days: make(map[int]int64, len(from.Days))}
			r.Codes[code] = to
		}
		if from.Last.After(to.Last) {
			to.Last = from.Last
		}
		for day, n := range from.Days {
			to.Days[day] += n
		}
	}
	r.full = r.full || other.full
	r.Recent = append(r.Recent, other.Recent...)
	slices.SortStableFunc(r.Recent, func(a, b refusedCall) int { return a.At.Compare(b.At) })
	r.Recent = slices.Delete(r.Recent, 0, max(0, len(r.Recent)-recentRefusals))
}

// trim removes what is older than refusalDays.
func (r *refusalRecord) trim(now time.Time) {
	first := dayOf(now) - refusalDays + 1
	for code, c := range r.Codes {
		maps.DeleteFunc(c.Days, func(day int, _ int64) bool { return day < first })
		if len(c.Days) == 0 {
			delete(r.Codes, code)
		}
	}
	r.Recent = slices.DeleteFunc(r.Recent, func(c refusedCall) bool { return dayOf(c.At) < first })
}

// expiry returns when everything in the record is older than refusalDays.
func (r *refusalRecord) expiry() time.Time {
	last := 0
	for _, c := range r.Codes {
		for day := range c.Days {
			last = max(last, day)
		}
	}
	return startOf(last + refusalDays)
}

// refusals returns the public form of the record, latest first.
func (r *refusalRecord) refusals() []api.Refusal {
	list := make([]api.Refusal, 0, len(r.Codes))
	for code, c := range r.Codes {
		out := api.Refusal{Object: "refusal", Code: code, LastAt: c.Last, Days: []api.RefusalDay{}, Recent: []api.RefusedCall{}}
		for _, day := range slices.Backward(slices.Sorted(maps.Keys(c.Days))) {
			out.Count += c.Days[day]
			out.Days = append(out.Days, api.RefusalDay{Date: dayText(day), Count: c.Days[day]})
		}
		for _, call := range slices.Backward(r.Recent) {
			if call.Code == code {
				out.Recent = append(out.Recent, call.RefusedCall)
			}
		}
		list = append(list, out)
	}
	slices.SortFunc(list, func(a, b api.Refusal) int {
		return cmp.Or(b.LastAt.Compare(a.LastAt), cmp.Compare(a.Code, b.Code))
	})
	return list
}

// DeleteRefusals deletes the refusals of a license.
func DeleteRefusals(ctx context.Context, tx *call.Tx, licenseID string) error {
	return tx.DeleteEntries(ctx, RefusalKind, licenseID)
}

// Refusals returns why Validate and Activate refused a license in the last 90 days; see
// package license.
func (s Service) Refusals(ctx context.Context, p api.ListRefusalsParams) (api.Page[api.Refusal], error) {
	var pending map[string]refusalRecord
	record, err := call.View(ctx, s.Call, "refusals", func(r store.Reader) (record refusalRecord, err error) {
		if _, err := licenses.Of(s.Call).Find(ctx, r, p.ID); err != nil {
			return record, err
		}
		if pending, err = s.Pending.present(ctx, r, p.ID); err != nil {
			return record, err
		}
		e, err := r.Entry(ctx, RefusalKind, p.ID)
		if errors.Is(err, store.ErrNotFound) {
			return record, nil
		}
		if err != nil {
			return record, err
		}
		err = call.Decode(e.Data, &record)
		return record, err
	})
	if err != nil {
		return api.Page[api.Refusal]{}, err
	}
	record.merge(pending[p.ID])
	record.trim(s.Now())
	return api.Page[api.Refusal]{Data: record.refusals()}, nil
}
