package license

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// An edit is one change of an existing license: an update or a state change.
type edit struct {
	verb    string // for errors
	event   string // type of the event to append
	reason  string // recorded in the event
	find    func(store.Reader) (record.License, error)
	ifMatch []api.Version
	// apply puts the change of l into next, which is l's record, or says
	// which rule forbids it.
	apply func(l api.License, next *record.License, now time.Time) error
}

// edit applies one change in one Update: it replaces the record and
// appends an event with the changed fields. If nothing changes,
// it writes nothing.
func (s *Service) edit(ctx context.Context, e edit) (api.License, error) {
	var edited api.License
	err := s.write(ctx, func(tx *transaction) error {
		rec, err := e.find(tx)
		if err != nil {
			return err
		}
		before, err := fromRecord(rec, tx.now)
		if err != nil {
			return err
		}
		if err := checkVersion(before.Version(), e.ifMatch); err != nil {
			return err
		}
		next := rec
		if err := e.apply(before, &next, tx.now); err != nil {
			return err
		}
		edited, _, err = s.replace(ctx, tx, rec, before, next, e.event, api.EventData{Reason: e.reason})
		return err
	})
	if err != nil {
		return api.License{}, fmt.Errorf("%s license: %w", e.verb, err)
	}
	return s.shown(edited), nil
}

// replace writes the record that a license, whose record is rec, has after a
// change, and appends the event, with all changes unless data has some. If the change changes nothing, it writes nothing.
func (s *Service) replace(ctx context.Context, tx *transaction, rec record.License, before api.License, next record.License, event string, data api.EventData) (after api.License, changed bool, err error) {
	if after, err = fromRecord(next, tx.now); err != nil {
		return api.License{}, false, err
	}
	if outdates(before, after) {
		next.Generation = generation(rec) + 1
		after.Generation = next.Generation
	}
	if changes := diff(before, after); len(changes) == 0 && after.Key == before.Key {
		return before, false, nil
	} else if data.Changes == nil {
		data.Changes = changes
	}
	next.Revision, next.UpdatedAt = rec.Revision+1, tx.now
	after.Revision, after.UpdatedAt = next.Revision, next.UpdatedAt
	if err := tx.UpdateLicense(ctx, next.Row()); errors.Is(err, store.ErrExists) {
		return api.License{}, false, api.ErrKeyTaken
	} else if err != nil {
		return api.License{}, false, err
	}
	if err := revokeFiles(ctx, tx, rec, next); err != nil {
		return api.License{}, false, err
	}
	if shortens(rec.LeaseSeconds, next.LeaseSeconds) {
		if err := s.shortenLeases(ctx, tx, next); err != nil {
			return api.License{}, false, err
		}
	}
	if before.CustomerID != after.CustomerID {
		if err := s.customerChanged(ctx, tx, rec, next); err != nil {
			return api.License{}, false, err
		}
	}
	return after, true, s.append(ctx, tx, event, after, data)
}
