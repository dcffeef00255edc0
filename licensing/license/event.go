package license

import (
	"context"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// The event types of licenses, activations and customers. The list may grow.
const (
	EventLicenseCreated    = "license.created"
	EventLicenseUpdated    = "license.updated"
	EventLicenseSuspended  = "license.suspended"
	EventLicenseReinstated = "license.reinstated"
	EventLicenseRevoked    = "license.revoked"
	EventLicenseRenewed    = "license.renewed"
	EventLicenseRekeyed    = "license.rekeyed"
	EventLicenseDeleted    = "license.deleted"

	EventActivationCreated  = "activation.created"
	EventActivationReleased = "activation.released"
	EventActivationEvicted  = "activation.evicted"

	EventFileIssued  = "license_file.issued" // the first file of an activation, or one with other terms than the last
	EventFilesVoided = "license_file.voided" // see [Service.VoidFiles]

	EventCustomerErased = "customer.erased"

	EventLicensesExported = "license_export.created" // an export that contains license keys
)

// EventData is the JSON document in the Data of an event about a license or
// one of its activations. The event's Subject is the ID of the license.
// Events never contain license keys or secrets.
type EventData struct {
	// License is the license after the change; for license.deleted, its last
	// state.
	License *License `json:"license,omitempty"`
	// Activation is the activation after the change.
	Activation *Activation `json:"activation,omitempty"`
	// File is the license file that was issued.
	File *EventFile `json:"file,omitempty"`
	// Forced reports that a seat was released although a license file holds
	// it and the license has as many spent seats as it may have.
	Forced bool `json:"forced,omitempty"`
	// NoticeSeconds, set for license.expiring, is how long before the
	// license's expires_at the notice is due.
	NoticeSeconds *int64 `json:"notice_seconds,omitempty"`
	// Changes holds the changed fields under their API names.
	Changes map[string]FieldChange `json:"changes,omitempty"`
	// Reason is the reason given for a state change or a release.
	Reason string `json:"reason,omitempty"`
	// Erased reports that [Service.EraseCustomer] has blanked the event.
	Erased bool `json:"erased,omitempty"`
}

// An EventFile is the license file in an event.
type EventFile struct {
	ID         string    `json:"id"` // the jti of the file
	Generation int64     `json:"generation"`
	ExpiresAt  time.Time `json:"expires_at"`
}

// A FieldChange holds the old and the new value of a field.
type FieldChange struct {
	From any `json:"from"`
	To   any `json:"to"`
}

// append adds an event about l to the feed.
func (s *Service) append(ctx context.Context, tx *transaction, eventType string, l License, data EventData) error {
	_, err := tx.AppendEvents(ctx, s.event(tx.now, eventType, l, data))
	return err
}

// event returns an event about l.
func (s *Service) event(now time.Time, eventType string, l License, data EventData) store.Event {
	l.Key = ""
	data.License = &l
	return store.Event{
		ID:         store.NewID("evt", now),
		Type:       eventType,
		Time:       now,
		Actor:      s.actorOn(l),
		RequestID:  s.caller.RequestID,
		Subject:    l.ID,
		ProductID:  l.ProductID,
		CustomerID: l.CustomerID,
		Data:       encode(data),
	}
}

// actor returns the actor for events.
func (s *Service) actor() string {
	if s.caller.Actor == "" {
		return "go"
	}
	return s.caller.Actor
}

// actorOn returns the actor for events about l; a license key holder appears
// as "license:" and the license ID.
func (s *Service) actorOn(l License) string {
	if s.holder && s.caller.Actor == "" {
		return "license:" + l.ID
	}
	return s.actor()
}

// asHolder returns a Service that acts for a license key holder if the
// Caller has no Actor.
func (s *Service) asHolder() *Service {
	as := *s
	as.holder = true
	return &as
}
