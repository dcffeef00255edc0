package licenses

import (
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Read decodes a row of the store as it is at an instant: the changes of its terms that
// have come by then are made, whether or not they are stored. Each that a caller can see
// adds 1 to the revision, and sets UpdatedAt to its instant.
func Read(row store.License, at time.Time) (record.License, error) {
	rec, err := record.ReadLicense(row)
	if err != nil {
		return rec, err
	}
	return Passed(rec, at)
}

// Passed returns a license as it is at an instant that is not before the one at which it
// was read.
func Passed(rec record.License, at time.Time) (record.License, error) {
	if rec.ChangesAt.IsZero() || at.Before(rec.ChangesAt) {
		return rec, nil
	}
	state, err := StateOf(rec)
	if err != nil {
		return rec, err
	}
	state, passed := state.Pass(at)
	next := rec
	if next.Stored == nil {
		next.Stored = new(rec)
	}
	PutState(state, &next)
	for _, c := range passed {
		next.Ended = append(next.Ended, c.Ended...)
		if c.Visible() {
			next.Revision, next.UpdatedAt = next.Revision+1, c.At
		}
	}
	return next, nil
}

// comingChanges is the document of the changes of a license.
type comingChanges struct {
	Changes []terms.Change `json:"changes"`
}

// ChangesOf returns what time will change in a license.
func ChangesOf(rec record.License) ([]terms.Change, error) {
	if len(rec.Changes) == 0 {
		return nil, nil
	}
	var coming comingChanges
	if err := call.Decode(rec.Changes, &coming); err != nil {
		return nil, fmt.Errorf("license %s: changes to come: %w", rec.ID, err)
	}
	return coming.Changes, nil
}

// StateOf returns what package terms knows of a license.
func StateOf(rec record.License) (terms.State, error) {
	s := terms.State{Awaits: rec.Awaits, Terms: terms.Terms{
		ProductID: rec.ProductID, Name: rec.Name, PlanID: rec.PlanID, Reference: rec.Reference,
		ExpiresAt: rec.ExpiresAt, UpdatesUntil: rec.UpdatesUntil, GraceSeconds: rec.GraceSeconds,
		MaxActivations: rec.MaxActivations, LeaseSeconds: rec.LeaseSeconds, OfflineSeconds: rec.OfflineSeconds,
	}}
	var err error
	s.Changes, err = ChangesOf(rec)
	err = errors.Join(err, call.Decode(rec.Entitlements, &s.Entitlements), call.Decode(rec.Metadata, &s.Metadata), call.Decode(rec.Meters, &s.Meters), call.Decode(rec.Hand, &s.Hand))
	if err != nil {
		return s, fmt.Errorf("license %s: stored document: %w", rec.ID, err)
	}
	return s, nil
}

// PutState sets what package terms knows of a license, and values derived from it.
func PutState(s terms.State, rec *record.License) {
	rec.ProductID, rec.Name, rec.PlanID, rec.Reference = s.ProductID, s.Name, s.PlanID, s.Reference
	rec.ExpiresAt, rec.UpdatesUntil, rec.GraceSeconds = s.ExpiresAt, s.UpdatesUntil, s.GraceSeconds
	rec.MaxActivations, rec.LeaseSeconds, rec.OfflineSeconds = s.MaxActivations, s.LeaseSeconds, s.OfflineSeconds
	rec.Entitlements, rec.Meters = call.EncodeMap(s.Entitlements), call.EncodeMap(s.Meters)
	metadata := make(map[string]string, len(s.Metadata))
	for name, v := range s.Metadata {
		if v != nil {
			metadata[name] = *v
		}
	}
	rec.Metadata = call.EncodeMap(metadata)
	rec.Text = call.TextOf(*rec, metadata)
	rec.Hand, rec.Changes, rec.ChangesAt, rec.Awaits = nil, nil, time.Time{}, s.Awaits
	if document := record.Encode(s.Hand); string(document) != "{}" {
		rec.Hand = document
	}
	if len(s.Changes) > 0 {
		rec.Changes, rec.ChangesAt = record.Encode(comingChanges{s.Changes}), s.Changes[0].At
	}
}

// SuspensionOf returns who suspends a license.
func SuspensionOf(rec record.License) (terms.Suspension, error) {
	if len(rec.Suspension) == 0 {
		if rec.State == store.StateSuspended { // only an operator does
			return terms.Suspension{Held: true, HeldReason: rec.StateReason}, nil
		}
		return terms.Suspension{}, nil
	}
	var is terms.Suspension
	if err := call.Decode(rec.Suspension, &is); err != nil {
		return is, fmt.Errorf("license %s: suspension: %w", rec.ID, err)
	}
	return is, nil
}

// PutSuspension sets who suspends a license that is not revoked, and its state.
func PutSuspension(is terms.Suspension, rec *record.License, now time.Time) {
	state := store.StateActive
	if is.Suspended() {
		state = store.StateSuspended
	}
	if state != rec.State {
		rec.State, rec.StateAt, rec.StateReason = state, now, ""
	}
	if is.Suspended() {
		rec.StateReason = is.Reason()
	}
	rec.Suspension = nil
	if is.By != "" || is.ByCustomer || len(is.Lifted) > 0 { // a hold alone is in the state
		rec.Suspension = record.Encode(is)
	}
}
