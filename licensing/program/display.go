package program

import (
	"encoding/json"
	"reflect"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// A display is what the service last said of the license for its user to see. It is the
// contents of displayName. No one has signed it, so nothing depends on it.
type display struct {
	Key      string               `json:"key"` // as in storedFile
	Meters   []api.MeterUse       `json:"meters,omitempty"`
	Upcoming []api.UpcomingChange `json:"upcoming,omitempty"`
}

// show replaces what the user sees, and stores it. The caller holds l.mu.
func (l *License) show(d display) {
	if d.Key = l.digest(); reflect.DeepEqual(d, l.display) {
		return
	}
	l.display = d
	text := []byte(nil)
	if len(d.Meters)+len(d.Upcoming) > 0 {
		var err error
		if text, err = json.Marshal(d); err != nil {
			return // a time that has no JSON form
		}
	}
	l.unsaved[displayName] = string(text)
	l.save()
}

// showUsage makes the answer to a report of usage for a key part of the status.
func (l *License) showUsage(key string, answer []byte) {
	var u api.Usage
	if json.Unmarshal(answer, &u) != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	d, now := l.display, l.clock.now()
	d.Meters = slices.Clone(d.Meters)
	for _, m := range u.Meters {
		if i := slices.IndexFunc(d.Meters, func(known api.MeterUse) bool { return known.Name == m.Name }); i >= 0 && lasts(m, now) {
			d.Meters[i] = m
		}
	}
	if key == l.key {
		l.show(d)
		l.judge()
		l.poke()
	}
}

// lasts reports whether the period of a meter has not ended.
func lasts(m api.MeterUse, now time.Time) bool { return m.ResetsAt == nil || m.ResetsAt.After(now) }

// displayed sets the parts of a status that are for display: what is still true at an
// instant. The caller holds l.mu.
func (l *License) displayed(s *Status, now time.Time) {
	if l.display.Key != l.digest() {
		return
	}
	for _, m := range l.display.Meters {
		if lasts(m, now) {
			s.Meters = append(s.Meters, m)
		}
	}
	for _, c := range l.display.Upcoming {
		if c.At.After(now) {
			s.Upcoming = append(s.Upcoming, c)
		}
	}
}
