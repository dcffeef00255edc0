package license

import "context"

// CountPlan returns how many licenses have the plan with an ID, among the newest
// that a search finds in one page, and whether there may be more.
func (s internals) CountPlan(ctx context.Context, id string) (n int64, more bool, err error) {
	page, err := s.List(ctx, ListParams{Search: id, NewestFirst: true, Limit: maxLimit})
	for _, l := range page.Data {
		if l.PlanID == id {
			n++
		}
	}
	return n, page.HasMore, err
}
