package postgres

import (
	"context"
	"slices"

	"github.com/seed-d8a106b4/licensekit/store"
)

// License reads by the primary key.
func (r reader) License(ctx context.Context, id string) (store.License, error) {
	l, err := get[store.License](ctx, r, place{licenseAt, id, ""})
	return l, about(err, "license %s", id)
}

// LicenseByKey reads by the unique key.
func (r reader) LicenseByKey(ctx context.Context, key string) (store.License, error) {
	l, err := get[store.License](ctx, r, place{keyAt, key, ""})
	return l, about(err, "license by key") // a key is a credential
}

// Licenses walks the index of the order, or looks up IDs.
func (r reader) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	s := from(licenses)
	if s.err = q.Check(); s.err == nil {
		s.licenses(q)
	}
	found, err := list[store.License](ctx, r, s, q.Limit)
	return found, about(err, "licenses")
}

// orders are the columns of each order of licenses.
var orders = [...][]string{
	store.ByID:        {"l.id"},
	store.ByExpiresAt: {"l.expires_at", "l.id"},
	store.ByStartsAt:  {"l.starts_at", "l.id"},
}

// position returns the values of the columns of an order.
func position(order store.LicenseOrder, p store.Position) []any {
	if order == store.ByID {
		return []any{p.ID}
	}
	return []any{p.Time.UnixMilli(), p.ID}
}

// licenses narrows a list of licenses to the matches of q, in its order and
// after its position. It uses the index that serves the filters of q.Walked.
func (s *selection) licenses(q store.LicenseQuery) {
	s.part, s.touches = place{kind: licenseAt}, func(_ place, v any) bool {
		l, ok := v.(*store.License)
		return ok && (q.CustomerID == "" || q.CustomerID == l.CustomerID) && (q.ProductID == "" || q.ProductID == l.ProductID) &&
			(q.State == "" || q.State == l.State) && (q.IDs == nil || slices.Contains(q.IDs, l.ID))
	}
	switch {
	case q.IDs != nil:
		s.among("l.id", q.IDs)
	default:
		w := q.Walked()
		s.leading("l.customer_id", w.CustomerID)
		s.leading("l.product_id", w.ProductID)
		s.leading("l.state", string(w.State))
		s.ended(q)
		if w.CustomerID != "" {
			q.CustomerID = ""
		}
		if w.State != "" {
			q.State = ""
		}
		q.ProductID = ""
	}
	s.filter(q)
	var after []any
	if q.After.ID != "" || q.Order != store.ByID && !q.After.IsZero() {
		after = position(q.Order, q.After)
	}
	s.order(q.Descending, after, orders[q.Order]...)
}

// ended adds the condition of the indexes without active licenses, if q walks one.
func (s *selection) ended(q store.LicenseQuery) {
	if w := q.Walked(); w.State != "" && (w.ProductID != "" || w.Order == store.ByExpiresAt) {
		s.and("l.state <> 'active'")
	}
}

// filter adds the conditions of q, and leaves only licenses in its order.
func (s *selection) filter(q store.LicenseQuery) {
	s.equal("l.customer_id", q.CustomerID)
	s.equal("l.product_id", q.ProductID)
	s.equal("l.state", string(q.State))
	s.within("l.starts_at", q.Starts)
	s.within("l.expires_at", q.Expires)
	if q.Order != store.ByID {
		s.and(orders[q.Order][0] + " IS NOT NULL")
	}
}
