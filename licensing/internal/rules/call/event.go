package call

import (
	"context"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Append adds an event about l to the feed.
func (s *Call) Append(ctx context.Context, tx *Tx, eventType string, l api.License, data api.EventData) error {
	return tx.AppendEvents(ctx, s.Event(tx.Now, eventType, l, data))
}

// AppendOther adds an event without the state of a license. It sets the ID, the time and
// who caused it.
func (s *Call) AppendOther(ctx context.Context, tx *Tx, e store.Event) error {
	e.ID, e.Time, e.Actor, e.RequestID = store.NewID("evt", tx.Now), tx.Now, s.actor(), s.Caller.RequestID
	return tx.AppendEvents(ctx, e)
}

// AppendAbout adds an event about a license, without its state.
func (s *Call) AppendAbout(ctx context.Context, tx *Tx, eventType string, l store.License, data api.EventData) error {
	return tx.AppendEvents(ctx, store.Event{
		ID: store.NewID("evt", tx.Now), Type: eventType, Time: tx.Now, Actor: s.actorOn(l.ID), RequestID: s.Caller.RequestID,
		Subject: l.ID, ProductID: l.ProductID, CustomerID: l.CustomerID, Data: record.Encode(data),
	})
}

// GraceEnd returns when a license that expires stops being valid.
func GraceEnd(l api.License) time.Time {
	return terms.GraceEnd(*l.ExpiresAt, l.GraceSeconds)
}

// Event returns an event about l.
func (s *Call) Event(now time.Time, eventType string, l api.License, data api.EventData) store.Event {
	l.Key = ""
	data.License = &l
	switch eventType {
	case api.EventLicenseRenewed, api.EventLicenseExpiring, api.EventLicenseExpired, api.EventLicenseLapsed:
		if l.ExpiresAt == nil || data.GraceEndsAt != nil {
			break
		}
		if end := GraceEnd(l); !terms.IsLast(end) {
			data.GraceEndsAt = &end
		}
	}
	return store.Event{
		ID:         store.NewID("evt", now),
		Type:       eventType,
		Time:       now,
		Actor:      s.actorOn(l.ID),
		RequestID:  s.Caller.RequestID,
		Subject:    l.ID,
		ProductID:  l.ProductID,
		CustomerID: l.CustomerID,
		Data:       record.Encode(data),
	}
}

// actor returns the actor for events.
func (s *Call) actor() string {
	if s.Caller.Actor == "" {
		return "go"
	}
	return s.Caller.Actor
}

// actorOn returns the actor for events about a license; a license key holder appears
// as "license:" and the license ID.
func (s *Call) actorOn(licenseID string) string {
	if s.Holder && s.Caller.Actor == "" {
		return "license:" + licenseID
	}
	return s.actor()
}

// AsHolder returns a Service that acts for a license key holder if the
// Caller has no Actor.
func (s *Call) AsHolder() *Call {
	as := *s
	as.Holder = true
	return &as
}
