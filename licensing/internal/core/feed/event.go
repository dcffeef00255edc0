package feed

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// An Event has the fields of license.Event, so that one converts to the
// other; license.Event has the JSON names.
type Event struct {
	Object     string
	ID         string
	Type       string
	Timestamp  time.Time
	Actor      string
	RequestID  string
	Subject    string
	ProductID  string
	CustomerID string
	Data       json.RawMessage
	Seq        int64
}

// NewEvent converts a stored event.
func NewEvent(e store.Event) Event {
	ev := Event{
		Object: "event", ID: e.ID, Type: e.Type, Timestamp: e.Time, Actor: e.Actor, RequestID: e.RequestID,
		Subject: e.Subject, ProductID: e.ProductID, CustomerID: e.CustomerID, Data: e.Data, Seq: e.Seq,
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
