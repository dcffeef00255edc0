package memory

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A reader reads one state. The Store reads through one as well, each time
// from what is committed.
type reader struct {
	// state returns the state to read, or the reason why there is none:
	// the context has ended, the function has returned, the store is closed.
	state func(context.Context) (*state, error)
}

// one returns a copy of the row that find finds, or ErrNotFound with what was
// looked for.
func one[R any](ctx context.Context, r reader, find func(*state) *R, clone func(*R) *R, format string, args ...any) (row R, err error) {
	s, err := r.state(ctx)
	if err != nil {
		return row, err
	}
	found := find(s)
	if found == nil {
		return row, fmt.Errorf("memory: "+format+": %w", append(args, store.ErrNotFound)...)
	}
	return *clone(found), nil
}

// list returns copies of the first rows that match, at most limit of them.
func list[R any](rows iter.Seq[*R], match func(*R) bool, clone func(*R) *R, limit int) []R {
	var found []R
	for row := range rows {
		if !match(row) {
			continue
		}
		found = append(found, *clone(row))
		if len(found) == store.Limit(limit) {
			break
		}
	}
	return found
}

// matches reports whether want is unset or equal to got.
func matches[S ~string](want, got S) bool { return want == "" || want == got }

// License looks in the tree of IDs.
func (r reader) License(ctx context.Context, id string) (store.License, error) {
	find := func(s *state) *store.License { return s.licenses.get(place{id: id}) }
	return one(ctx, r, find, copyLicense, "license %s", id)
}

// LicenseByKey looks in the tree of keys.
func (r reader) LicenseByKey(ctx context.Context, key string) (store.License, error) {
	find := func(s *state) *store.License { return s.licensesByKey.get(place{id: key}) }
	return one(ctx, r, find, copyLicense, "license by key") // a key is a credential
}

// in returns the tree of the order of q and the part of it with every license in
// that order, from After on.
func (s *state) in(q store.LicenseQuery) (*tree[store.License], span) {
	tree, part := s.licenses, group("")
	switch q.Order {
	case store.ByExpiresAt:
		tree, part = s.licensesByExpiry, during("", q.Expires)
	case store.ByStartsAt:
		tree, part = s.licensesByStart, during("", q.Starts)
	}
	if q.After.ID != "" || q.Order != store.ByID && !q.After.IsZero() {
		part = part.after(position(q.Order, q.After), q.Descending)
	}
	return tree, part
}

// selects reports whether l matches the filters of q.
func selects(q store.LicenseQuery, l *store.License) bool {
	return matches(q.CustomerID, l.CustomerID) && matches(q.ProductID, l.ProductID) && matches(q.State, l.State) &&
		q.Starts.Contains(l.StartsAt) && q.Expires.Contains(l.ExpiresAt)
}

// Licenses walks the tree of the order asked for, from After on, and leaves
// out what does not match.
func (r reader) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	s, err := r.state(ctx)
	if err == nil {
		err = q.Check()
	}
	if err != nil {
		return nil, fmt.Errorf("memory: %w", err)
	}
	tree, part := s.in(q)
	rows := tree.in(part, q.Descending)
	if q.IDs != nil {
		rows = tree.pick("", q.IDs, part, q.Descending)
	}
	return list(rows, func(l *store.License) bool { return selects(q, l) }, copyLicense, q.Limit), nil
}

// FindLicenses walks the tree of the order asked for, from After on, until it has found
// or examined as many licenses as it may.
func (r reader) FindLicenses(ctx context.Context, q store.LicenseQuery) (found []store.License, next store.Position, err error) {
	s, err := r.state(ctx)
	if err == nil {
		err = q.CheckFind()
	}
	if err != nil {
		return nil, next, fmt.Errorf("memory: %w", err)
	}
	if !valid(append([]string{q.KeyPart}, q.Text...)...) {
		return nil, next, nil
	}
	contains := func(l *store.License) bool {
		for _, text := range q.Text {
			if !strings.Contains(l.Text, text) {
				return false
			}
		}
		return strings.Contains(l.Key, q.KeyPart)
	}
	tree, part := s.in(q)
	examined := 0
	for l := range tree.in(part, q.Descending) {
		if selects(q, l) && contains(l) {
			found = append(found, *copyLicense(l))
		}
		if examined++; examined == store.Examined(q.Examine) || len(found) == store.Limit(q.Limit) {
			return found, q.Position(*l), nil
		}
	}
	return found, next, nil
}

// valid reports whether all are valid UTF-8: the bytes of another string could be a
// part of a character (rule 24).
func valid(all ...string) bool {
	return !slices.ContainsFunc(all, func(s string) bool { return !utf8.ValidString(s) })
}

// position returns the place of p in the tree of an order.
func position(order store.LicenseOrder, p store.Position) place {
	if order == store.ByID {
		return place{id: p.ID}
	}
	return at("", p.Time, p.ID)
}

// CountLicenses walks the tree of the order asked for.
func (r reader) CountLicenses(ctx context.Context, q store.LicenseQuery, edges ...store.Position) ([]int64, error) {
	s, err := r.state(ctx)
	if err == nil {
		err = q.CheckCount(edges)
	}
	if err != nil {
		return nil, fmt.Errorf("memory: %w", err)
	}
	tree, whole := s.in(q)
	parts := []span{whole}
	if len(edges) > 0 {
		parts = nil
	}
	for i := 1; i < len(edges); i++ {
		parts = append(parts, whole.since(position(q.Order, edges[i-1])).before(position(q.Order, edges[i])))
	}
	counts := make([]int64, len(parts))
	for i, part := range parts {
		for l := range tree.in(part, false) {
			if selects(q, l) {
				counts[i]++
			}
		}
	}
	return counts, nil
}

// LicenseNames walks the tree of IDs.
func (r reader) LicenseNames(ctx context.Context, q store.NamesQuery) ([]store.NameCount, error) {
	s, err := r.state(ctx)
	if err == nil {
		err = q.Check()
	}
	if err != nil {
		return nil, fmt.Errorf("memory: %w", err)
	}
	counts := map[string]int64{}
	for l := range s.licenses.in(group(""), false) {
		name := l.CustomerID
		if q.By == store.ByProduct {
			name = l.ProductID
		}
		if name > q.After {
			counts[name]++
		}
	}
	var names []store.NameCount
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if len(names) < store.Limit(q.Limit) {
			names = append(names, store.NameCount{Name: name, Count: counts[name]})
		}
	}
	return names, nil
}

// Activation looks in the tree of fingerprints.
func (r reader) Activation(ctx context.Context, licenseID, fingerprint string) (store.Activation, error) {
	find := func(s *state) *store.Activation { return s.byFingerprint.get(place{group: fingerprint, id: licenseID}) }
	return one(ctx, r, find, copyActivation, "activation of license %s by %q", licenseID, fingerprint)
}

// Activations walks the license's part of the tree of activations, or of leases, or
// the part of the tree of fingerprints that begins with the prefix.
func (r reader) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	s, err := r.state(ctx)
	if err == nil {
		err = q.Check()
	}
	if err != nil {
		return nil, fmt.Errorf("memory: %w", err)
	}
	tree, part := s.activations, group(q.LicenseID)
	switch {
	case q.FingerprintPrefix != "":
		if !valid(q.FingerprintPrefix) {
			return nil, nil
		}
		tree, part = s.byFingerprint, beginning(q.FingerprintPrefix)
		if q.AfterFingerprint != "" {
			part = part.after(place{group: q.AfterFingerprint, id: q.AfterLicenseID}, false)
		}
	case !q.LeaseEnds.IsZero():
		tree, part = s.byLease, during(q.LicenseID, q.LeaseEnds)
	case q.After != "":
		part = part.after(place{group: q.LicenseID, id: q.After}, false)
	}
	return list(tree.in(part, false), func(a *store.Activation) bool {
		live := a.EndedAt.IsZero() && (a.LeaseEndsAt.IsZero() || a.LeaseEndsAt.After(q.LiveAt))
		return (q.LiveAt.IsZero() || live) && q.LeaseEnds.Contains(a.LeaseEndsAt)
	}, copyActivation, q.Limit), nil
}

// Events walks the feed from After on.
func (r reader) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	s, err := r.state(ctx)
	if err != nil {
		return nil, err
	}
	part := group("")
	if q.After != 0 {
		part = part.after(place{at: q.After}, q.Descending)
	}
	return list(s.events.in(part, q.Descending), func(e *store.Event) bool {
		return matches(q.Subject, e.Subject) && matches(q.CustomerID, e.CustomerID) && matches(q.ProductID, e.ProductID)
	}, copyEvent, q.Limit), nil
}

// Entry looks in the tree of kinds and keys.
func (r reader) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	find := func(s *state) *store.Entry { return s.entries.get(place{group: kind, id: key}) }
	return one(ctx, r, find, copyEntry, "%s entry", kind) // a key may be a credential
}

// Entries walks the kind's part of the tree of keys or of that of expiries, from
// After on.
func (r reader) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	s, err := r.state(ctx)
	if err == nil {
		err = q.Check()
	}
	if err != nil {
		return nil, fmt.Errorf("memory: %w", err)
	}
	tree, part, after := s.entries, group(q.Kind), place{group: q.Kind, id: q.After.ID}
	switch {
	case q.Kind == "":
		part.to.group, after.group = "\xff", q.AfterKind // no kind is above
	case q.Order == store.ByExpiry:
		tree, part, after = s.entriesByExpiry, during(q.Kind, q.Expires), at(q.Kind, q.After.Time, q.After.ID)
	default:
		part = part.since(place{group: q.Kind, id: q.From})
	}
	if q.Before != "" {
		part = part.before(place{group: q.Kind, id: q.Before})
	}
	if q.After.ID != "" || !q.Descending { // upward, all follow an empty key
		part = part.after(after, q.Descending)
	}
	rows := tree.in(part, q.Descending)
	if q.Keys != nil {
		rows = tree.pick(q.Kind, q.Keys, part, q.Descending)
	}
	return list(rows, func(e *store.Entry) bool {
		return matches(q.Owner, e.Owner) && q.Expires.Contains(e.ExpiresAt)
	}, copyEntry, q.Limit), nil
}
