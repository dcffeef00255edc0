package licensing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/delivery"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// A Subscriber is Go code that gets the events of the feed while [Handler.Run]
// runs: each at least once, after its change is committed, in the order of the
// feed, one at a time, and on one process at a time. Across restarts it goes
// on where it was.
type Subscriber struct {
	// Name is what its place in the feed is kept under: 1 to 100 characters,
	// different from those of the others. Under another name it is another
	// subscriber. The events behind the place of one that no process has
	// run for as long as Options.Events.Retention are not kept for it.
	Name string

	// Types are the types of events it gets, or families such as
	// "license.*". Default: all.
	Types []string

	// FromStart makes a new subscriber begin with the oldest event that is
	// kept. Default: it begins with what happens after Run first runs it.
	FromStart bool

	// Handle takes one event. An error, or a panic, is logged, and the same
	// event comes again after a pause, a second at first and at most five
	// minutes, while the ones behind it wait: return nil for an event that
	// can never be handled, such as one about a license that was deleted
	// since. The log and the dashboard name a subscriber that keeps failing,
	// and so does [license.Service.Backlog]. It may come again after a
	// success too, if the process ends before its place is written: tell
	// repetitions by the event's ID. When Run is to end, ctx goes on for 20
	// seconds.
	Handle func(ctx context.Context, e license.Event) error
}

// checkSubscribers reports what is wrong with the subscribers.
func (o Options) checkSubscribers() []error {
	var wrong []error
	add := func(format string, args ...any) {
		wrong = append(wrong, fmt.Errorf("licensing: Options."+format, args...))
	}
	var names []string
	for i, s := range o.Subscribers {
		switch {
		case s.Name == "" || len(s.Name) > 100 || strings.TrimSpace(s.Name) != s.Name:
			add("Subscribers[%d].Name must be 1 to 100 characters, without white space at either end", i)
		case slices.Contains(names, s.Name):
			add("Subscribers[%d].Name must be different from those of the others", i)
		}
		names = append(names, s.Name)
		if s.Handle == nil {
			add("Subscribers[%d].Handle must be a function", i)
		}
		if slices.ContainsFunc(s.Types, func(t string) bool { return !license.IsTypePattern(t) }) {
			add(`Subscribers[%d].Types must be types of events, or families such as "license.*"`, i)
		}
	}
	return wrong
}

func (h *Handler) newEngine() *delivery.Engine {
	o := h.opts
	c := delivery.Config{
		Store: h.store, Licenses: h.service, Now: o.Now, Logger: o.Logger, Poll: o.PollInterval,
		Webhooks: o.Webhooks,
		Limit:    h.limitOf, Sealed: o.MasterKey != nil,
		Upkeep: []func(context.Context) (bool, error){h.auth.Purge, h.operators.Purge, h.forms.Purge, h.service.Purge},
	}
	for _, s := range o.Subscribers {
		c.Subscribers = append(c.Subscribers, delivery.Subscriber(s))
	}
	return delivery.New(c)
}

// limitOf returns the products that an actor may see now, nil meaning all, and
// false if it is an API client that is disabled.
func (h *Handler) limitOf(ctx context.Context, actor string) (products []string, ok bool, err error) {
	id, isClient := strings.CutPrefix(actor, "client:")
	if !isClient {
		return nil, true, nil
	}
	c, err := h.auth.GetClient(ctx, id)
	if errors.Is(err, auth.ErrNotFound) {
		return nil, false, nil
	}
	return c.Products, !c.Disabled, err
}

// Run brings events out and looks after the store until ctx ends: it delivers
// events to webhooks and to Options.Subscribers, appends the notices of
// expiry, and removes what has ended or is no longer kept. When ctx ends it
// takes nothing new, finishes what is under way, in 20 seconds at most, and
// returns nil.
//
// A failure of the store is logged, and what failed is tried again. Any number
// of processes may run it on one store, and share the work; wherever one is
// killed, another or the next goes on. No answer of the handler depends on it.
func (h *Handler) Run(ctx context.Context) error { return h.engine.Run(ctx) }
