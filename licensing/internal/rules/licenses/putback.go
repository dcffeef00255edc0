package licenses

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A standing is the part of a license that Suspend and Reinstate change.
type standing struct {
	Reason     string           `json:"reason,omitempty"` // of a license that is active
	Suspension terms.Suspension `json:"suspension,omitzero"`
}

// Standing returns who suspends a license and why, as a text for [Service.PutBack].
func (s Service) Standing(ctx context.Context, id string) (string, error) {
	var is standing
	rec, err := s.Find(ctx, s.Reader(), id)
	if err != nil {
		return "", err
	}
	if is.Suspension, err = SuspensionOf(rec); !is.Suspension.Suspended() {
		is.Reason = rec.StateReason
	}
	return string(record.Encode(is)), err
}

// PutBack undoes Suspend or Reinstate: the operator's hold is that of a text of
// [Service.Standing], and the purchases of the license suspend it if they are paused now,
// unless the pause was ended before. The event has the reason of p. It returns a
// [*api.StateError] if the license is revoked; other errors are those of [Service.Suspend].
func (s Service) PutBack(ctx context.Context, p api.ChangeStateParams, text string) (api.License, error) {
	var was standing
	if json.Unmarshal([]byte(text), &was) != nil {
		return api.License{}, api.Invalid("id", api.FieldInvalidFormat, "does not have what the license was before")
	}
	for _, reason := range []string{p.Reason, was.Reason, was.Suspension.HeldReason} {
		if err := call.Check(api.ChangeStateParams{Reason: reason}); err != nil {
			return api.License{}, err
		}
	}
	return s.Edit(ctx, Edit{
		Verb:       "put back",
		Reason:     p.Reason,
		Find:       func(r store.Reader) (record.License, error) { return s.Find(ctx, r, p.ID) },
		IfMatch:    p.IfMatch,
		suspension: was.Suspension.Follow,
		Apply: func(l api.License, next *record.License, _ time.Time) error {
			if next.State == store.StateRevoked {
				return &api.StateError{Change: "undo", From: l.Status, To: l.Status}
			}
			next.StateReason = was.Reason
			return nil
		},
	})
}

// LeaveTexts makes what is stored beside the fields of a transferred license say nothing
// of the former customer: why it is suspended, and the name and metadata that were set by
// hand. Its purchases say none any more, so those of rec were set by hand.
func LeaveTexts(rec *record.License, now time.Time) error {
	is, err := SuspensionOf(*rec)
	if err != nil || !rec.Bought && len(rec.Suspension) == 0 {
		return err
	}
	is.HeldReason, is.CustomerReason, is.ByReason = "", "", ""
	PutSuspension(is, rec, now)
	if !rec.Bought {
		return nil
	}
	state, err := StateOf(*rec)
	if err != nil {
		return err
	}
	state.Hand.Name, state.Hand.Metadata = &state.Name, state.Metadata
	PutState(state, rec)
	return nil
}

// StateEvent returns the type of the event of a change of the state; empty: it has not
// changed.
func StateEvent(before, next record.License) string {
	switch {
	case next.State == store.StateSuspended && before.State != store.StateSuspended:
		return api.EventLicenseSuspended
	case next.State == store.StateActive && before.State == store.StateSuspended:
		return api.EventLicenseReinstated
	}
	return ""
}

// Paused returns the licenses among these that are suspended, but not by an operator, who
// can suspend them, too.
func (s Service) Paused(ctx context.Context, list ...api.License) (ids []string, err error) {
	var suspended []string
	for _, l := range list {
		if l.Status == api.LicenseSuspended {
			suspended = append(suspended, l.ID)
		}
	}
	for some := range slices.Chunk(suspended, store.MaxLimit) {
		found, err := s.Reader().Licenses(ctx, store.LicenseQuery{IDs: some})
		if err != nil {
			return nil, err
		}
		for _, row := range found {
			rec, err := record.ReadLicense(row)
			if err != nil {
				return nil, err
			}
			if is, err := SuspensionOf(rec); err != nil {
				return nil, err
			} else if (is.By != "" || is.ByCustomer) && !is.Held {
				ids = append(ids, rec.ID)
			}
		}
	}
	return ids, nil
}
