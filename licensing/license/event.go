package license

import (
	"context"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// append adds an event about l to the feed.
func (s *Service) append(ctx context.Context, tx *transaction, eventType string, l api.License, data api.EventData) error {
	_, err := tx.AppendEvents(ctx, s.event(tx.now, eventType, l, data))
	return err
}

// appendOther adds an event without the state of a license. It sets the ID, the time and
// who caused it.
func (s *Service) appendOther(ctx context.Context, tx *transaction, e store.Event) error {
	e.ID, e.Time, e.Actor, e.RequestID = store.NewID("evt", tx.now), tx.now, s.actor(), s.caller.RequestID
	_, err := tx.AppendEvents(ctx, e)
	return err
}

// event returns an event about l.
func (s *Service) event(now time.Time, eventType string, l api.License, data api.EventData) store.Event {
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
		Data:       record.Encode(data),
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
func (s *Service) actorOn(l api.License) string {
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
