package licenses

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/revocations"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
	"github.com/seed-d8a106b4/licensekit/store"
)

// An Edit is one change of an existing license: an update or a state change.
type Edit struct {
	Verb    string // for errors
	Event   string // type of the event to append; empty: that of what the edit did to the state
	Reason  string // recorded in the event
	Find    func(store.Reader) (record.License, error)
	IfMatch []api.Version
	// Changes are what the event says of the changes, which Apply fills in; nil: all of them.
	Changes map[string]api.FieldChange
	// Apply puts the change of l into next, which is l's record, or says
	// which rule forbids it.
	Apply func(l api.License, next *record.License, now time.Time) error
	// suspension returns who suspends the license then, from its purchases; nil: who did
	// so before.
	suspension func(*terms.Grant, time.Time) terms.Suspension
}

// Edit applies one change in one Update: it replaces the record and
// appends an event with the changed fields. If nothing changes,
// it writes nothing.
func (s Service) Edit(ctx context.Context, e Edit) (api.License, error) {
	var edited api.License
	err := s.Write(ctx, func(tx *call.Tx) (err error) {
		edited, err = s.EditIn(ctx, tx, e)
		return err
	})
	if err != nil {
		return api.License{}, fmt.Errorf("%s license: %w", e.Verb, err)
	}
	return s.Shown(edited), nil
}

// EditIn is [Service.Edit] in an Update. The license is as stored.
func (s Service) EditIn(ctx context.Context, tx *call.Tx, e Edit) (api.License, error) {
	rec, err := e.Find(tx)
	if err != nil {
		return api.License{}, err
	}
	before, err := FromRecord(rec, tx.Now)
	if err != nil {
		return api.License{}, err
	}
	if err := call.CheckVersion(before.Version(), e.IfMatch); err != nil {
		return api.License{}, err
	}
	next := rec
	if err := e.Apply(before, &next, tx.Now); err != nil {
		return api.License{}, err
	}
	if err := s.byHand(ctx, tx, rec, &next, e.suspension); err != nil {
		return api.License{}, err
	}
	event := cmp.Or(e.Event, StateEvent(rec, next), api.EventLicenseUpdated)
	edited, _, err := s.Replace(ctx, tx, rec, before, next, event, api.EventData{Reason: e.Reason, Changes: e.Changes})
	return edited, err
}

// byHand makes what an edit set in next stay until the purchases of the license give
// those fields other values. It also sets who suspends the license, unless suspension is
// nil. The reason in next is that of a license that is then active.
func (s Service) byHand(ctx context.Context, tx *call.Tx, rec record.License, next *record.License, suspension func(*terms.Grant, time.Time) terms.Suspension) error {
	var bought []terms.Purchase
	var is, want terms.State
	if rec.Bought {
		var err error
		if is, err = StateOf(rec); err != nil {
			return err
		}
		if want, err = StateOf(*next); err != nil {
			return err
		}
		if state, ok := is.EditTexts(want.Terms); ok && suspension == nil {
			PutState(state, next)
			return nil
		}
		if bought, err = s.Purchases(ctx, tx, rec.ID); err != nil {
			return err
		}
	}
	if suspension != nil {
		reason := next.StateReason
		PutSuspension(suspension(terms.GrantOf(bought, rec.ProductID), tx.Now), next, tx.Now)
		if next.State == store.StateActive {
			next.StateReason = reason
		}
	}
	if !rec.Bought {
		return nil
	}
	state, own := is.Edit(bought, want.Terms, tx.Now)
	PutState(state, next)
	if own == nil {
		return nil
	}
	return s.OwnChanged(ctx, tx, *own)
}

// Revised returns the record that Replace stores for a change that callers see: with
// another revision and, if the files of the license say too much now, generation.
func Revised(rec, next record.License, now time.Time) (record.License, error) {
	outdated, err := outdates(rec, next)
	if outdated {
		next.Generation = revocations.Generation(rec) + 1
	}
	next.Revision, next.UpdatedAt = rec.Revision+1, now
	return next, err
}

// Replace writes the record that a license, whose record is rec, has after a
// change, and appends the event, with all changes unless data has some. If the change changes nothing, it writes nothing.
func (s Service) Replace(ctx context.Context, tx *call.Tx, rec record.License, before api.License, next record.License, event string, data api.EventData) (after api.License, changed bool, err error) {
	if err := followCustomer(ctx, tx, rec, &next); err != nil {
		return api.License{}, false, err
	}
	revised, err := Revised(rec, next, tx.Now)
	if err != nil {
		return api.License{}, false, err
	}
	if after, err = FromRecord(revised, tx.Now); err != nil {
		return api.License{}, false, err
	}
	if changes := diff(before, after); len(changes) == 0 && after.Key == before.Key && bytes.Equal(rec.Suspension, next.Suspension) {
		if err := s.appendPassed(ctx, tx, rec, before); err != nil {
			return api.License{}, false, err
		}
		next.Generation = revised.Generation
		return before, false, s.putUnseen(ctx, tx, rec, next)
	} else if data.Changes == nil {
		data.Changes = changes
	}
	next = revised
	if err := tx.UpdateLicense(ctx, next.Row()); errors.Is(err, store.ErrExists) {
		return api.License{}, false, api.ErrKeyTaken
	} else if err != nil {
		return api.License{}, false, err
	}
	if err := s.appendPassed(ctx, tx, rec, before); err != nil {
		return api.License{}, false, err
	}
	if err := s.putDue(ctx, tx, rec, next); err != nil {
		return api.License{}, false, err
	}
	if err := s.FollowAddress(ctx, tx, rec, next); err != nil {
		return api.License{}, false, err
	}
	if err := revocations.Follow(ctx, tx, rec, next); err != nil {
		return api.License{}, false, err
	}
	if shortens(rec.LeaseSeconds, next.LeaseSeconds) {
		if err := s.shortenLeases(ctx, tx, next); err != nil {
			return api.License{}, false, err
		}
	}
	if before.CustomerID != after.CustomerID {
		if err := s.CustomerChanged(ctx, tx, rec, next); err != nil {
			return api.License{}, false, err
		}
	}
	return after, true, s.Append(ctx, tx, event, after, data)
}
