package license

import (
	"context"
	"slices"

	"github.com/seed-d8a106b4/licensekit/store"
)

// An eraser removes what receivers of events answered to them. Its function is nil
// if nothing keeps answers.
type eraser struct {
	fn func(ctx context.Context, st store.Store, events []store.Event) error
}

// OnErase sets the function that [Service.EraseCustomer] calls with the events that
// it blanks, outside its Updates. Call it before the Service is used.
func (s internals) OnErase(fn func(ctx context.Context, st store.Store, events []store.Event) error) {
	s.erasing.fn = fn
}

func (e *eraser) answers(ctx context.Context, st store.Store, events []store.Event) error {
	if e.fn == nil || len(events) == 0 {
		return nil
	}
	return e.fn(ctx, st, events)
}

// eraseAnswers removes the answers to the events that EraseCustomer blanks next, and
// returns the events. Once they are blanked, they no longer name the customer, so a
// repeated call would not find them.
func (s *Service) eraseAnswers(ctx context.Context, customerID string, after int64) (events []store.Event, err error) {
	err = s.view(ctx, func(r store.Reader) error {
		events = nil
		licenses, err := r.Licenses(ctx, store.LicenseQuery{CustomerID: customerID, Limit: 1})
		if err != nil || len(licenses) > 0 { // licenses are deleted first
			return err
		}
		if events, err = aboutCustomer(ctx, r, customerID); err == nil && len(events) == 0 {
			_, events, err = formerCustomer(ctx, r, customerID, after)
		}
		return err
	})
	if err == nil {
		err = s.erasing.answers(ctx, s.Internal().Store(), events)
	}
	return events, err
}

// newEvents returns the events that are not in old.
func newEvents(events, old []store.Event) []store.Event {
	return slices.DeleteFunc(slices.Clone(events), func(e store.Event) bool {
		return slices.ContainsFunc(old, func(o store.Event) bool { return o.Seq == e.Seq })
	})
}
