package mapstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

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
	found, err := find(ctx, r, func(l store.License) bool {
		return (q.IDs == nil || slices.Contains(q.IDs, l.ID)) && is(q.CustomerID, l.CustomerID) && is(q.ProductID, l.ProductID) && is(q.State, l.State) &&
			q.Starts.Contains(l.StartsAt) && q.Expires.Contains(l.ExpiresAt)
	}, copyLicense)
	if err != nil {
		return nil, err
	}
	var at func(l store.License) time.Time
	switch q.Order {
	case store.ByExpiresAt:
		at = func(l store.License) time.Time { return l.ExpiresAt }
	case store.ByStartsAt:
		at = func(l store.License) time.Time { return l.StartsAt }
	default:
		q.After.Time = time.Time{}
		return page(found, func(l store.License) store.Position { return store.Position{ID: l.ID} }, q.Descending, q.After, q.Limit), nil
	}
	found = slices.DeleteFunc(found, func(l store.License) bool { return at(l).IsZero() })
	return page(found, func(l store.License) store.Position { return store.Position{Time: at(l), ID: l.ID} }, q.Descending, q.After, q.Limit), nil
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
