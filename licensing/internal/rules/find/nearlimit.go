package find

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/meters"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A Near is the limit of a license of which most is used.
type Near struct {
	Meter       string // empty: the limit of the seats
	Used, Limit int64
}

// Share returns the part of the limit that is used.
func (n Near) Share() float64 { return float64(n.Used) / float64(n.Limit) }

// NearKind is the kind of the entries of licenses that were near a limit when package
// sales last counted one of their events. Key is the license ID, and Data the time at which an
// activation was last refused because no seat is free, if sales has seen one.
const NearKind = "near"

// fewSeats is the number of seats below which all of them are often in use, and 80 % says
// nothing. A refused activation says it for reachedFor.
const (
	fewSeats   = 5
	reachedFor = 30 * 24 * time.Hour
)

// ReadReached returns when the limit of the seats of a license was reached.
func ReadReached(e store.Entry) (at time.Time, err error) {
	if len(e.Data) > 0 {
		err = call.Decode(e.Data, &at)
	}
	return at, err
}

// nearRows is listRows for the licenses of a batch of these entries, in order of ID. Some
// may not match p.
func (s Service) nearRows(ctx context.Context, p api.ListLicensesParams) (rowPage, error) {
	if err := call.Check(p); err != nil {
		return rowPage{}, err
	}
	start := call.Cursor{Scope: s.scope(p), Pinned: s.Now()}
	if p.Cursor != "" {
		var ok bool
		if start, ok = call.ParseCursor(p.Cursor, start.Scope, "lic"); !ok {
			return rowPage{}, call.ErrCursor
		}
	}
	near, err := s.Reader().Entries(ctx, store.EntryQuery{Kind: NearKind, After: store.Position{ID: start.After.ID}, Descending: p.NewestFirst, Limit: p.Limit})
	if err != nil {
		return rowPage{}, fmt.Errorf("licenses near a limit: %w", err)
	}
	ids := make([]string, len(near))
	for i, e := range near {
		ids[i] = e.Key
	}
	rows, err := s.Reader().Licenses(ctx, store.LicenseQuery{IDs: ids, Descending: p.NewestFirst})
	if err != nil {
		return rowPage{}, fmt.Errorf("licenses near a limit: %w", err)
	}
	found := s.page(p, rows, start.Pinned)
	found.start = start
	if len(near) == p.Limit {
		start.After = store.Position{ID: ids[len(ids)-1]}
		found.page.HasMore, found.page.NextCursor = true, start.String()
	}
	return found, nil
}

// NearLimits returns, by ID, those of some licenses that are near a limit at an instant: at
// least 80 % of five or more seats, or of the limit of a meter in its period, are used, or an
// activation was refused in the last 30 days because no seat was free; and the license is
// neither revoked nor past its grace period. It reads the seats of all licenses
// together, and their meters; a license without limits costs no read.
func NearLimits(ctx context.Context, r store.Reader, list []record.License, at time.Time) (map[string]Near, error) {
	var seated []string
	var metered []record.License
	limits := map[string]int64{}
	for _, l := range list {
		if l.State == store.StateRevoked || !l.ExpiresAt.IsZero() && !at.Before(licenses.GraceEnd(l)) {
			continue
		}
		if l.MaxActivations > 0 {
			seated, limits[l.ID] = append(seated, l.ID), l.MaxActivations
		}
		if len(l.Meters) > 0 {
			metered = append(metered, l)
		}
	}
	used, err := SeatCounts(ctx, r, seated)
	if err != nil {
		return nil, fmt.Errorf("licenses near a limit: %w", err)
	}
	reached := map[string]time.Time{}
	for some := range slices.Chunk(seated, store.MaxLimit) {
		part, err := entries.Of(ctx, r, NearKind, some, ReadReached)
		if err != nil {
			return nil, fmt.Errorf("licenses near a limit: %w", err)
		}
		maps.Copy(reached, part)
	}
	uses, err := meters.UsesOf(ctx, r, metered, at)
	if err != nil {
		return nil, fmt.Errorf("licenses near a limit: %w", err)
	}
	near := map[string]Near{}
	add := func(id string, n Near) {
		if was, found := near[id]; !found || n.Share() > was.Share() {
			near[id] = n
		}
	}
	for _, id := range seated {
		n, refused := int64(used[id].N), reached[id]
		if limits[id] >= fewSeats && n*5 >= limits[id]*4 || !refused.IsZero() && at.Sub(refused) < reachedFor {
			add(id, Near{Used: n, Limit: limits[id]})
		}
	}
	for id, all := range uses {
		for _, u := range all {
			if meters.Near(u) {
				add(id, Near{u.Name, u.Used, *u.Limit})
			}
		}
	}
	return near, nil
}
