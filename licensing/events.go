package licensing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A Subscriber is Go code that receives events while [Handler.Run] is running:
// each at least once, after its change is committed, in feed order, one at a
// time, in one process at a time. After a restart it continues where it stopped.
type Subscriber struct {
	// Name identifies the subscriber and its stored position: 1 to 100
	// characters, unique. Renaming a subscriber starts a new one. If no
	// process runs a subscriber for Options.Events.Retention, events are no
	// longer kept for it.
	Name string

	// Types are the event types to receive, or families such as
	// "license.*". Default: all.
	Types []string

	// FromStart makes a new subscriber start with the oldest event that is
	// kept. Default: start with events after Run first runs it.
	FromStart bool

	// MaxAttempts is how often Handle may fail on an event, in all processes
	// together, before the subscriber gives up on it. The event becomes a dead
	// letter, which [Handler.DeadLetters] lists and [Handler.RetryDeadLetter]
	// retries, and later events no longer wait. Ten attempts take about nine
	// minutes. A dead letter and its event are kept for 30 days after the last
	// failure.
	// Default: no limit.
	MaxAttempts int

	// Handle handles one event. After an error, a panic or runtime.Goexit, which is logged,
	// Handle is called again with the same event after a pause, which grows
	// from a second to five minutes and outlasts a restart; later events
	// wait. Return nil for an event that can never be handled, such as one
	// about a license that has since been deleted. The log, the dashboard
	// and [Handler.Health] report a subscriber that keeps failing.
	//
	// An event may be repeated after a success if the process ends or loses
	// the subscriber to another process before the position is stored;
	// recognize it by its ID. When Run stops, ctx stays valid for up to 20
	// seconds.
	Handle func(ctx context.Context, e api.Event) error
}

// checkSubscribers reports what is wrong with the subscribers.
func (o Options) checkSubscribers(add func(option, code, detail string)) {
	var names []string
	for i, s := range o.Subscribers {
		option := fmt.Sprintf("Subscribers[%d].", i)
		switch {
		case s.Name == "" || len(s.Name) > 100 || strings.TrimSpace(s.Name) != s.Name:
			add(option+"Name", api.FieldInvalidFormat, "must be 1 to 100 characters without leading or trailing white space")
		case slices.Contains(names, s.Name):
			add(option+"Name", api.FieldTaken, "must be unique")
		}
		names = append(names, s.Name)
		if s.MaxAttempts < 0 {
			add(option+"MaxAttempts", api.FieldOutOfRange, "must not be negative")
		}
		if s.Handle == nil {
			add(option+"Handle", api.FieldRequired, "must not be nil")
		}
		if slices.ContainsFunc(s.Types, func(t string) bool { return !feed.IsPattern(t, api.EventTypes()) }) {
			add(option+"Types", api.FieldUnknown, `must be types of events, or families such as "license.*"`)
		}
	}
}

func (h *Handler) newEngine() *feed.Engine {
	o := h.opts
	c := feed.Config{
		Store: h.store, Now: o.Now, Logger: o.Logger, PollInterval: o.PollInterval, Retention: o.Events.Retention,
		Background: []feed.Background{
			inner.Of(h.service).Background(), inner.Of(h.webhooks).Background(),
			{Tasks: func(*feed.Run) []feed.Task { return []feed.Task{{Name: "retry_write", Step: h.store.retry}} }},
		},
		Upkeep: []func(context.Context) (bool, error){h.auth.Purge, inner.Of(h.operators).Purge},
	}
	if o.Observe != nil {
		c.Observe = h.observe
	}
	for _, s := range o.Subscribers {
		c.Subscribers = append(c.Subscribers, feed.Subscriber{
			Name: s.Name, Types: s.Types, FromStart: s.FromStart, MaxAttempts: s.MaxAttempts,
			Handle: func(ctx context.Context, e store.Event) error { return s.Handle(ctx, feed.NewEvent(e)) },
		})
	}
	return feed.New(c)
}

// limitOf returns the products that an actor may currently see, nil for all, and
// false if it is a disabled API client.
func (h *Handler) limitOf(ctx context.Context, actor string) (products []string, ok bool, err error) {
	id, isClient := strings.CutPrefix(actor, "client:")
	if !isClient {
		return nil, true, nil
	}
	c, err := h.auth.GetClient(ctx, id)
	if errors.Is(err, api.ErrNotFound) {
		return nil, false, nil
	}
	return c.Products, !c.Disabled, err
}

// Run does the background work until ctx ends: it delivers events to webhooks and
// to Options.Subscribers, appends expiry notices, and removes expired records. After a
// write has failed, it tries one every ten seconds until one succeeds, for
// [Handler.Health]. When ctx ends, it starts no new work, finishes the work in progress
// within 20 seconds, and returns nil.
//
// Store failures are logged and the work is retried. Any number of processes may
// call Run on one store and share the work; if one is killed, another continues.
// The handler's responses do not depend on Run.
func (h *Handler) Run(ctx context.Context) error { return h.engine.Run(ctx) }
