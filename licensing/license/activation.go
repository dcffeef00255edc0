package license

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// An Activation is one seat of a license, held by one fingerprint. Its JSON is
// its form on the wire.
type Activation struct {
	Object    string `json:"object"` // always "activation"
	ID        string `json:"id"`     // "act_" and 26 characters; sortable by time of creation
	LicenseID string `json:"license_id"`
	// Fingerprint tells the holders of seats apart. It is the licensed
	// program's own: a machine, a container, a user, whatever it counts.
	Fingerprint string            `json:"fingerprint"`
	Name        string            `json:"name"` // what the holder calls itself; may be empty
	Status      ActivationStatus  `json:"status"`
	LeaseEndsAt *time.Time        `json:"lease_ends_at"` // when the seat frees itself; nil: never
	EndedAt     *time.Time        `json:"ended_at"`      // when it was released or evicted
	Metadata    map[string]string `json:"metadata"`      // the holder's own; never nil
	CreatedAt   time.Time         `json:"created_at"`
	LastSeenAt  time.Time         `json:"last_seen_at"` // to the hour, unless there is a lease
}

// An ActivationStatus is what an activation is at an instant.
type ActivationStatus string

// The statuses of an activation. Only a live one holds a seat.
const (
	ActivationLive       ActivationStatus = "live"
	ActivationLeaseEnded ActivationStatus = "lease_ended"
	ActivationReleased   ActivationStatus = "released"
	ActivationEvicted    ActivationStatus = "evicted" // another took over its seat
)

// activationStatusAt derives the status of a stored activation. The store's
// LiveAt selects by the same rule.
func activationStatusAt(a store.Activation, at time.Time) ActivationStatus {
	switch {
	case !a.EndedAt.IsZero():
		return ActivationStatus(a.EndReason)
	case !a.LeaseEndsAt.IsZero() && !at.Before(a.LeaseEndsAt):
		return ActivationLeaseEnded
	}
	return ActivationLive
}

// activationAt returns a stored activation as it is at an instant.
func activationAt(a store.Activation, at time.Time) (Activation, error) {
	out := Activation{
		Object:      "activation",
		ID:          a.ID,
		LicenseID:   a.LicenseID,
		Fingerprint: a.Fingerprint,
		Name:        a.Name,
		Status:      activationStatusAt(a, at),
		LeaseEndsAt: optionalTime(a.LeaseEndsAt),
		EndedAt:     optionalTime(a.EndedAt),
		Metadata:    map[string]string{},
		CreatedAt:   a.CreatedAt,
		LastSeenAt:  a.LastSeenAt,
	}
	if out.Status == ActivationLeaseEnded {
		out.EndedAt = nil // an admission may have set it, when it gave the seat to another
	}
	if err := decode(a.Metadata, &out.Metadata); err != nil {
		return Activation{}, fmt.Errorf("activation %s: stored document: %w", a.ID, err)
	}
	return out, nil
}

// ListActivationsParams select the activations of one license.
type ListActivationsParams struct {
	// Exactly one of LicenseID and Key names the license; Key only if
	// Options.KeyHolderSeats is set.
	LicenseID string `json:"-"`
	Key       string `json:"key" wire:"body,required"`

	Ended  bool   `json:"ended"`                          // also those that hold no seat any more
	Limit  int    `json:"limit" validate:"min=0,max=200"` // activations on a page; 0: 50
	Cursor string `json:"cursor"`                         // the NextCursor of the page before
}

// ListActivations returns a page of a license's activations, the oldest
// first. One that has ended is kept for 30 days or longer. The error is
// [ErrNotFound], an [*InvalidError] or [ErrForbidden]. Cursors behave as in
// [Service.List].
func (s *Service) ListActivations(ctx context.Context, p ListActivationsParams) (Page[Activation], error) {
	if err := check(ctx, p); err != nil {
		return Page[Activation]{}, err
	}
	if p.Limit == 0 {
		p.Limit = defaultLimit
	}
	var page Page[Activation]
	err := s.view(ctx, func(r store.Reader) error {
		rec, err := s.seatsOf(ctx, r, p.LicenseID, p.Key)
		if err != nil {
			return err
		}
		at := cursor{scope: scopeOf("activations %q %t", rec.ID, p.Ended), pinned: s.now()}
		if p.Cursor != "" {
			var ok bool
			if at, ok = parseCursor(p.Cursor, at.scope, "act"); !ok {
				return errCursor
			}
		}
		q := store.ActivationQuery{LicenseID: rec.ID, After: at.after.ID, Limit: p.Limit + 1}
		if !p.Ended {
			q.LiveAt = at.pinned
		}
		rows, err := r.Activations(ctx, q)
		if err != nil {
			return err
		}
		page = Page[Activation]{Data: make([]Activation, 0, len(rows))}
		if len(rows) > p.Limit {
			rows = rows[:p.Limit]
			at.after.ID = rows[p.Limit-1].ID
			page.HasMore, page.NextCursor = true, at.String()
		}
		for _, row := range rows {
			a, err := activationAt(row, at.pinned)
			if err != nil {
				return err
			}
			page.Data = append(page.Data, a)
		}
		return nil
	})
	if err != nil {
		return Page[Activation]{}, fmt.Errorf("list activations: %w", err)
	}
	return page, nil
}

// seatsOf returns the license whose seats a caller looks after, by its id or,
// where that is allowed, by its key.
func (s *Service) seatsOf(ctx context.Context, r store.Reader, id, key string) (store.License, error) {
	switch {
	case (id == "") == (key == ""):
		return store.License{}, Invalid("license_id", CodeRequired, "name the license by its id or its key")
	case id != "":
		return s.find(ctx, r, id)
	case !s.opts.KeyHolderSeats:
		return store.License{}, ErrForbidden
	}
	rec, ok, err := s.byKey(ctx, r, key)
	if err == nil && !ok {
		err = fmt.Errorf("license: %w", ErrNotFound)
	}
	return rec, err
}

// byKey returns the license with a key as somebody typed it, if it exists for
// the caller. What cannot be a key is looked up like any other, so that the
// store's part tells nobody the difference.
func (s *Service) byKey(ctx context.Context, r store.Reader, typed string) (rec store.License, ok bool, err error) {
	key := canonicalKey(typed)
	if !isKey(key) {
		key = NewKey() // which no license has
	}
	rec, err = r.LicenseByKey(ctx, key)
	if errors.Is(err, store.ErrNotFound) || err == nil && !s.sees(rec.ProductID) {
		return store.License{}, false, nil
	}
	return rec, err == nil, err
}

// seat returns the activation of a license with that id, or [ErrNotFound].
func seat(ctx context.Context, r store.Reader, licenseID, id string) (store.Activation, error) {
	missing := fmt.Errorf("activation: %w", ErrNotFound)
	if !isID("act", id) {
		return store.Activation{}, missing
	}
	// The id without its last character sorts before it, and before at most
	// 31 others.
	rows, err := r.Activations(ctx, store.ActivationQuery{LicenseID: licenseID, After: id[:len(id)-1], Limit: 32})
	if err != nil {
		return store.Activation{}, err
	}
	for _, row := range rows {
		if row.ID == id {
			return row, nil
		}
	}
	return store.Activation{}, missing
}
