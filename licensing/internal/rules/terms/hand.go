package terms

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// A Hand is the fields of a license that were set by hand. Each stays until its
// value in the purchases changes. It can be stored as JSON, and is never changed in
// place. Nil means that the field was not set by hand.
type Hand struct {
	ProductID *string `json:"product,omitempty"`
	Name      *string `json:"name,omitempty"`
	PlanID    *string `json:"plan,omitempty"`
	// An end gives way only to a later one, or when that of the purchases becomes earlier.
	ExpiresAt    *time.Time `json:"expires,omitempty"` // zero: never
	UpdatesUntil *time.Time `json:"updates,omitempty"` // zero: never
	GraceSeconds *int64     `json:"grace,omitempty"`
	// Seats is the part of MaxActivations that add-ons do not add, which may be less
	// than zero.
	Seats          *int64 `json:"seats,omitempty"`
	Unlimited      bool   `json:"unlimited,omitempty"` // MaxActivations was set to none; Seats is not nil
	LeaseSeconds   *int64 `json:"lease,omitempty"`     // negative: none
	OfflineSeconds *int64 `json:"offline,omitempty"`   // negative: none

	Entitlements map[string]any     `json:"entitlements,omitempty"` // nil: removed
	Metadata     map[string]*string `json:"metadata,omitempty"`     // nil: removed
	// Meters are set as a whole; nil: removed. Limit is the part that add-ons do not add,
	// which may be less than zero.
	Meters map[string]*api.Meter `json:"meters,omitempty"`
}

// maxMetadata is how many entries of metadata a license has at most.
const maxMetadata = 50

// Over returns the terms of a license: those that its purchases give, with the fields
// that were set by hand.
func (h Hand) Over(given Terms) Terms {
	give(&given.ProductID, h.ProductID)
	give(&given.Name, h.Name)
	give(&given.PlanID, h.PlanID)
	give(&given.ExpiresAt, h.ExpiresAt)
	give(&given.UpdatesUntil, h.UpdatesUntil)
	give(&given.GraceSeconds, h.GraceSeconds)
	if h.Seats != nil {
		given.MaxActivations = seats(*h.Seats, given.addOns, h.Unlimited)
	}
	give(&given.LeaseSeconds, h.LeaseSeconds)
	give(&given.OfflineSeconds, h.OfflineSeconds)
	given.Entitlements = over(given.Entitlements, h.Entitlements, maxEntitlements, func(v any) bool { return v == nil })
	given.Meters = h.meters(&given)
	given.Metadata = over(given.Metadata, h.Metadata, maxMetadata, func(v *string) bool { return v == nil })
	return given
}

// over returns the given entries with those set by hand, without removed ones. If there
// are too many, those set by hand are kept.
func over[V any](given, hand map[string]V, most int, removed func(V) bool) map[string]V {
	if len(hand) == 0 && len(given) <= most && !anyOf(given, removed) {
		return given
	}
	all := make(map[string]V, len(hand)+len(given))
	for name, v := range hand {
		if !removed(v) {
			all[name] = v
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if _, ok := hand[name]; !ok && !removed(given[name]) && len(all) < most {
			all[name] = given[name]
		}
	}
	return all
}

func anyOf[V any](entries map[string]V, is func(V) bool) bool {
	for _, v := range entries {
		if is(v) {
			return true
		}
	}
	return false
}

// The names of fields in Change.GivesWay. Entries follow after a slash.
const (
	fieldProduct     = "product"
	fieldName        = "name"
	fieldPlan        = "plan"
	fieldExpires     = "expires"
	fieldUpdates     = "updates"
	fieldGrace       = "grace"
	fieldSeats       = "seats"
	fieldLease       = "lease"
	fieldOffline     = "offline"
	fieldEntitlement = "entitlements/"
	fieldMetadata    = "metadata/"
	fieldMeter       = "meters/"
)

// follow returns what remains set by hand after the terms that the purchases give have
// changed from was to is, and the fields that give way.
func (h Hand) follow(was, is *Terms) (Hand, []string) {
	var gives []string
	way := func(byHand, changed bool, field string) {
		if byHand && changed {
			gives = append(gives, field)
		}
	}
	way(h.ProductID != nil, was.ProductID != is.ProductID, fieldProduct)
	way(h.Name != nil, was.Name != is.Name && is.Name != "", fieldName)
	way(h.PlanID != nil, was.PlanID != is.PlanID, fieldPlan)
	way(h.ExpiresAt != nil, endGivesWay(h.ExpiresAt, was.ExpiresAt, is.ExpiresAt), fieldExpires)
	way(h.UpdatesUntil != nil, endGivesWay(h.UpdatesUntil, was.UpdatesUntil, is.UpdatesUntil), fieldUpdates)
	way(h.GraceSeconds != nil, was.GraceSeconds != is.GraceSeconds, fieldGrace)
	way(h.Seats != nil, was.bases != is.bases, fieldSeats)
	way(h.LeaseSeconds != nil, was.LeaseSeconds != is.LeaseSeconds, fieldLease)
	way(h.OfflineSeconds != nil, was.OfflineSeconds != is.OfflineSeconds, fieldOffline)
	for name := range h.Entitlements {
		way(true, was.Entitlements[name] != is.Entitlements[name], fieldEntitlement+name)
	}
	for name := range h.Metadata {
		a, had := was.Metadata[name]
		b, has := is.Metadata[name]
		way(true, had != has || !sameText(a, b), fieldMetadata+name)
	}
	for name := range h.Meters {
		a, had := was.baseMeters[name]
		b, has := is.baseMeters[name]
		way(true, had != has || !sameMeter(a, b), fieldMeter+name)
	}
	slices.Sort(gives)
	return h.without(gives), gives
}

func endGivesWay(byHand *time.Time, was, is time.Time) bool {
	return compareEnds(is, was) < 0 || byHand != nil && compareEnds(is, was) > 0 && compareEnds(is, *byHand) > 0
}

func sameText(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// without returns the hand without some fields.
func (h Hand) without(fields []string) Hand {
	if len(fields) == 0 {
		return h
	}
	h.Entitlements, h.Metadata, h.Meters = maps.Clone(h.Entitlements), maps.Clone(h.Metadata), maps.Clone(h.Meters)
	for _, field := range fields {
		switch field {
		case fieldProduct:
			h.ProductID = nil
		case fieldName:
			h.Name = nil
		case fieldPlan:
			h.PlanID = nil
		case fieldExpires:
			h.ExpiresAt = nil
		case fieldUpdates:
			h.UpdatesUntil = nil
		case fieldGrace:
			h.GraceSeconds = nil
		case fieldSeats:
			h.Seats, h.Unlimited = nil, false
		case fieldLease:
			h.LeaseSeconds = nil
		case fieldOffline:
			h.OfflineSeconds = nil
		}
		if name, ok := strings.CutPrefix(field, fieldEntitlement); ok {
			delete(h.Entitlements, name)
		}
		if name, ok := strings.CutPrefix(field, fieldMetadata); ok {
			delete(h.Metadata, name)
		}
		if name, ok := strings.CutPrefix(field, fieldMeter); ok {
			delete(h.Meters, name)
		}
	}
	return h
}
