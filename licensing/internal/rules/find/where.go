package find

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A where has conditions on licenses that no index knows. All conditions that are set
// must hold.
type where struct {
	planID    string
	nearLimit bool            // see NearLimits
	updates   store.TimeRange // when the updates end
	due       bool            // see EndsOf
}

// soon is how soon updates end that end soon.
const soon = 30 * 24 * time.Hour

// whereOf returns the condition with a name, "" for none, and that on the plan.
func whereOf(planID, name string, now time.Time) (where, error) {
	w := where{planID: planID}
	switch name {
	case "":
	case "near_limit":
		w.nearLimit = true
	case "updates_ended":
		w.updates.Before = now
	case "updates_end_soon":
		w.updates = store.TimeRange{From: now, Before: now.Add(soon)}
	case "due":
		w.due = true
	default:
		return w, api.Invalid("condition", api.FieldUnknown, "is not a condition")
	}
	return w, nil
}

// A page of ListWhere examines up to maxExamined licenses, in batches, and starts no new
// batch after whereTime.
const (
	maxExamined = store.MaxExamined
	whereBatch  = 200
	whereTime   = time.Second
)

// ListWhere returns a page of the licenses that p selects, that have a plan ("": any), and
// for which a condition holds ("": none): "near_limit", see [NearLimits], among those of
// [NearKind] and in order of ID, unless it searches;
// "updates_ended"; "updates_end_soon", in the next 30 days; "due", see [EndsOf]. The page can be short although
// HasMore is true; examined is the number of licenses that it looked at. Seats are those of
// [Service.SeatCounts]. A caller limited to some products gets [api.ErrProductForbidden].
func (s Service) ListWhere(ctx context.Context, p api.ListLicensesParams, planID, condition string) (page api.ListPage, examined int, err error) {
	w, err := whereOf(planID, condition, s.Now())
	if err != nil {
		return page, 0, err
	}
	if s.Caller.Products != nil {
		return page, 0, fmt.Errorf("list licenses: %w", api.ErrProductForbidden)
	}
	limit := cmp.Or(p.Limit, valid.DefaultLimit)
	p.Limit = whereBatch
	for began := time.Now(); ; {
		var part rowPage
		if w.nearLimit && p.Search == "" && p.KeyPart == "" && p.IDs == nil {
			part, err = s.nearRows(ctx, p)
		} else {
			part, err = s.listRows(ctx, p, whereBatch)
		}
		if err != nil {
			return api.ListPage{}, 0, err
		}
		q := queryOf(p, part.start.Pinned)
		matches, err := w.matches(ctx, s.Reader(), part, q)
		if err != nil {
			return api.ListPage{}, 0, fmt.Errorf("list licenses: %w", err)
		}
		page.HasMore, page.NextCursor = part.page.HasMore, part.page.NextCursor
		for i, row := range part.rows {
			if examined++; !matches[i] {
				continue
			}
			l, err := licenses.FromRow(row, part.at)
			if err != nil {
				return api.ListPage{}, 0, fmt.Errorf("list licenses: %w", err)
			}
			page.Data = append(page.Data, s.Shown(l))
			if rest := i < len(part.rows)-1; rest && len(page.Data) == limit {
				part.start.After = q.Position(row)
				page.HasMore, page.NextCursor = true, part.start.String()
				return page, examined, nil
			}
		}
		if !part.page.SearchedTo.IsZero() { // it has examined more than it has found
			examined += whereBatch - len(part.rows)
		}
		if !page.HasMore || len(page.Data) == limit || examined >= maxExamined || time.Since(began) >= whereTime {
			return page, examined, nil
		}
		p.Cursor = page.NextCursor
	}
}

// matches reports for each row of a page whether the conditions and q hold. It reads seats and
// meters of those only for which the others hold.
func (w where) matches(ctx context.Context, r store.Reader, part rowPage, q store.LicenseQuery) ([]bool, error) {
	all := make([]bool, len(part.rows))
	var recs []record.License
	for i, row := range part.rows {
		l, err := licenses.Read(row, part.at)
		if err != nil {
			return nil, err
		}
		all[i] = selects(q, row) && (w.planID == "" || l.PlanID == w.planID) &&
			(w.updates.IsZero() || !l.UpdatesUntil.IsZero() && w.updates.Contains(l.UpdatesUntil))
		if all[i] && w.due {
			shown, err := licenses.FromRecord(l, part.at)
			if err != nil {
				return nil, err
			}
			all[i] = isDue(shown, part.at)
		}
		if all[i] {
			recs = append(recs, l)
		}
	}
	if !w.nearLimit {
		return all, nil
	}
	near, err := NearLimits(ctx, r, recs, part.at)
	for i, row := range part.rows {
		_, is := near[row.ID]
		all[i] = all[i] && is
	}
	return all, err
}
