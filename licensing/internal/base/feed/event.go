package feed

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

// NewEvent converts a stored event.
func NewEvent(e store.Event) api.Event {
	ev := api.Event{
		Object: "event", ID: e.ID, Type: e.Type, Timestamp: e.Time, Actor: e.Actor, RequestID: e.RequestID,
		Subject: e.Subject, ProductID: e.ProductID, CustomerID: e.CustomerID, Data: e.Data, Seq: e.Seq,
	}
	if e.Actor == "customer" && e.CustomerID != "" { // stored without the ID, so that an erasure leaves none
		ev.Actor = "customer:" + e.CustomerID
	}
	if len(ev.Data) == 0 {
		ev.Data = json.RawMessage("{}")
	}
	return ev
}

// MatchType reports whether a pattern, an event type or a family such as
// "license.*", matches an event type.
func MatchType(pattern, eventType string) bool {
	if family, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasSuffix(family, ".") && strings.HasPrefix(eventType, family)
	}
	return pattern == eventType
}

// MatchTypes reports whether any pattern matches an event type. No patterns
// match every type.
func MatchTypes(patterns []string, eventType string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool { return MatchType(p, eventType) })
}

// IsPattern reports whether a pattern matches any of the event types.
func IsPattern(pattern string, types []string) bool {
	return slices.ContainsFunc(types, func(t string) bool { return MatchType(pattern, t) })
}
