package mapstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A reader reads the records that it is given at each call.
type reader struct {
	records func(context.Context) (*records, error)
}

// get returns a copy of the record of that name.
func get[R any](ctx context.Context, r reader, n name, clone func(R) R) (R, error) {
	var none R
	all, err := r.records(ctx)
	if err != nil {
		return none, err
	}
	row, ok := all.rows[n].(R)
	if !ok {
		return none, fmt.Errorf("mapstore: %s: %w", n.table, store.ErrNotFound)
	}
	return clone(row), nil
}

// find returns copies of all records of type R that match, in no order.
func find[R any](ctx context.Context, r reader, match func(R) bool, clone func(R) R) ([]R, error) {
	all, err := r.records(ctx)
	if err != nil {
		return nil, err
	}
	var found []R
	for _, row := range all.rows {
		if row, ok := row.(R); ok && match(row) {
			found = append(found, clone(row))
		}
	}
	return found, nil
}

// page sorts rows by their positions, and returns what lies behind after.
func page[R any](rows []R, position func(R) store.Position, descending bool, after store.Position, limit int) []R {
	order := func(a, b store.Position) int {
		c := a.Time.Compare(b.Time)
		if c == 0 {
			c = strings.Compare(a.ID, b.ID)
		}
		if descending {
			return -c
		}
		return c
	}
	if !after.IsZero() {
		after.Time = cut(after.Time)
		rows = slices.DeleteFunc(rows, func(row R) bool { return order(position(row), after) <= 0 })
	}
	slices.SortFunc(rows, func(a, b R) int { return order(position(a), position(b)) })
	return rows[:min(len(rows), store.Limit(limit))]
}

// is reports whether a filter lets a value pass.
func is[S ~string](filter, value S) bool { return filter == "" || filter == value }

func (r reader) License(ctx context.Context, id string) (store.License, error) {
	return get(ctx, r, name{table: "license", id: id}, copyLicense)
}

func (r reader) LicenseByKey(ctx context.Context, key string) (store.License, error) {
	found, err := find(ctx, r, func(l store.License) bool { return l.Key == key }, copyLicense)
	if err != nil {
		return store.License{}, err
	}
	if len(found) == 0 {
		return store.License{}, fmt.Errorf("mapstore: license by key: %w", store.ErrNotFound)
	}
	return found[0], nil
}

func (r reader) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	found, err := r.licenses(ctx, q)
	if q.Order == store.ByID {
		q.After.Time = time.Time{}
	}
	return page(found, place(q.Order), q.Descending, q.After, q.Limit), err
}

// place returns the position of a license in an order.
func place(order store.LicenseOrder) func(store.License) store.Position {
	return func(l store.License) store.Position {
		p := store.Position{ID: l.ID}
		switch order {
		case store.ByExpiresAt:
			p.Time = l.ExpiresAt
		case store.ByStartsAt:
			p.Time = l.StartsAt
		}
		return p
	}
}

// licenses returns the licenses that match and are in the order of q, in no order.
func (r reader) licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	return find(ctx, r, func(l store.License) bool {
		for _, part := range q.Text {
			if !utf8.ValidString(part) || !strings.Contains(l.Text, part) {
				return false
			}
		}
		return (q.IDs == nil || slices.Contains(q.IDs, l.ID)) && is(q.CustomerID, l.CustomerID) && is(q.ProductID, l.ProductID) && is(q.State, l.State) &&
			q.Starts.Contains(l.StartsAt) && q.Expires.Contains(l.ExpiresAt) &&
			utf8.ValidString(q.KeyPart) && strings.Contains(l.Key, q.KeyPart) &&
			(q.Order == store.ByID || !place(q.Order)(l).Time.IsZero())
	}, copyLicense)
}

// FindLicenses examines all licenses at every call, since finding what to examine
// would take as long.
func (r reader) FindLicenses(ctx context.Context, q store.LicenseQuery) (found []store.License, next string, err error) {
	if err := q.CheckFind(); err != nil {
		return nil, "", err
	}
	found, err = r.licenses(ctx, q)
	q.After.Time = time.Time{}
	found = page(found, place(store.ByID), q.Descending, q.After, q.Limit)
	if len(found) == store.Limit(q.Limit) {
		next = found[len(found)-1].ID
	}
	return found, next, err
}

func (r reader) CountLicenses(ctx context.Context, q store.LicenseQuery, edges ...store.Position) ([]int64, error) {
	if err := q.CheckCount(edges); err != nil {
		return nil, err
	}
	found, err := r.licenses(ctx, q)
	if err != nil {
		return nil, err
	}
	if len(edges) == 0 {
		return []int64{int64(len(found))}, nil
	}
	counts := make([]int64, len(edges)-1)
	for _, l := range found {
		p := place(q.Order)(l)
		for i := range counts {
			if !before(q.Order, p, edges[i]) && before(q.Order, p, edges[i+1]) {
				counts[i]++
			}
		}
	}
	return counts, nil
}

// before reports whether a position is before an edge.
func before(order store.LicenseOrder, p, edge store.Position) bool {
	if c := p.Time.Compare(cut(edge.Time)); order != store.ByID && c != 0 {
		return c < 0
	}
	return p.ID < edge.ID
}

func (r reader) LicenseNames(ctx context.Context, q store.NamesQuery) (names []store.NameCount, err error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	found, err := r.licenses(ctx, store.LicenseQuery{})
	counts := map[string]int64{}
	for _, l := range found {
		name := l.CustomerID
		if q.By == store.ByProduct {
			name = l.ProductID
		}
		if name > q.After {
			counts[name]++
		}
	}
	for name, n := range counts {
		names = append(names, store.NameCount{Name: name, Count: n})
	}
	return page(names, func(n store.NameCount) store.Position { return store.Position{ID: n.Name} }, false, store.Position{}, q.Limit), err
}

func (r reader) Activation(ctx context.Context, licenseID, fingerprint string) (store.Activation, error) {
	found, err := find(ctx, r, func(a store.Activation) bool {
		return a.LicenseID == licenseID && a.Fingerprint == fingerprint
	}, copyActivation)
	if err != nil {
		return store.Activation{}, err
	}
	if len(found) == 0 {
		return store.Activation{}, fmt.Errorf("mapstore: activation of %s: %w", licenseID, store.ErrNotFound)
	}
	return found[0], nil
}

func (r reader) activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	return find(ctx, r, func(a store.Activation) bool {
		return a.LicenseID == q.LicenseID &&
			(q.LiveAt.IsZero() || a.EndedAt.IsZero() && (a.LeaseEndsAt.IsZero() || a.LeaseEndsAt.After(q.LiveAt))) &&
			(q.LeaseEnds.IsZero() || a.EndedAt.IsZero() && q.LeaseEnds.Contains(a.LeaseEndsAt))
	}, copyActivation)
}

func (r reader) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	if q.FingerprintPrefix != "" {
		found, err := find(ctx, r, func(a store.Activation) bool {
			return utf8.ValidString(q.FingerprintPrefix) && strings.HasPrefix(a.Fingerprint, q.FingerprintPrefix)
		}, copyActivation)
		var after store.Position
		if q.AfterFingerprint != "" {
			after.ID = q.AfterFingerprint + "\x00" + q.AfterLicenseID
		}
		return page(found, func(a store.Activation) store.Position {
			return store.Position{ID: a.Fingerprint + "\x00" + a.LicenseID}
		}, false, after, q.Limit), err
	}
	found, err := r.activations(ctx, q)
	if !q.LeaseEnds.IsZero() {
		return page(found, func(a store.Activation) store.Position { return store.Position{Time: a.LeaseEndsAt, ID: a.ID} }, false, store.Position{}, q.Limit), err
	}
	return page(found, func(a store.Activation) store.Position { return store.Position{ID: a.ID} }, false, store.Position{ID: q.After}, q.Limit), err
}

func (r reader) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	found, err := find(ctx, r, func(e store.Event) bool {
		return is(q.Subject, e.Subject) && is(q.CustomerID, e.CustomerID) && is(q.ProductID, e.ProductID)
	}, copyEvent)
	var after store.Position
	if q.After != 0 {
		after.ID = feedPlace(q.After)
	}
	return page(found, func(e store.Event) store.Position { return store.Position{ID: feedPlace(e.Seq)} }, q.Descending, after, q.Limit), err
}

// feedPlace writes a Seq so that its bytes are in the order of the feed.
func feedPlace(seq int64) string { return fmt.Sprintf("%019d", seq) }

func (r reader) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	return get(ctx, r, name{table: "entry", group: kind, id: key}, copyEntry)
}

func (r reader) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	byKey := q.Order == store.ByKey
	found, err := find(ctx, r, func(e store.Entry) bool {
		if byKey {
			return (q.Kind == "" || e.Kind == q.Kind) && e.Key >= q.From && (q.Before == "" || e.Key < q.Before) &&
				(q.Keys == nil || slices.Contains(q.Keys, e.Key))
		}
		return e.Kind == q.Kind && is(q.Owner, e.Owner) && !e.ExpiresAt.IsZero() && q.Expires.Contains(e.ExpiresAt)
	}, copyEntry)
	if q.Kind == "" {
		return page(found, func(e store.Entry) store.Position { return store.Position{ID: e.Kind + "\x00" + e.Key} }, false, store.Position{ID: q.AfterKind + "\x00" + q.After.ID}, q.Limit), err
	}
	if byKey {
		return page(found, func(e store.Entry) store.Position { return store.Position{ID: e.Key} }, q.Descending, store.Position{ID: q.After.ID}, q.Limit), err
	}
	return page(found, func(e store.Entry) store.Position { return store.Position{Time: e.ExpiresAt, ID: e.Key} }, false, q.After, q.Limit), err
}
