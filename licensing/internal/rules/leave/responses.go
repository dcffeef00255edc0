package leave

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/store"
)

func (s Service) eraseAnswersTo(ctx context.Context, events []store.Event) error {
	if s.Erasing == nil || len(events) == 0 {
		return nil
	}
	return s.Erasing(ctx, s.Joined(), events)
}

// eraseAnswers removes the answers to the events that EraseCustomer blanks next.
// Once they are blanked, they no longer name the customer, so a repeated call would
// not find them. It reads the feed after a Seq for the updates that moved a license
// away from the customer, and returns the Seq before the first batch with one, or the
// last Seq.
func (s Service) eraseAnswers(ctx context.Context, customerID string, after int64) (before int64, err error) {
	var events []store.Event
	for more := true; more; {
		err := s.Read(ctx, func(r store.Reader) error {
			events, more = nil, false
			licenses, err := r.Licenses(ctx, store.LicenseQuery{CustomerID: customerID, Limit: 1})
			if err != nil || len(licenses) > 0 { // licenses are deleted first
				return err
			}
			if events, err = aboutCustomer(ctx, r, customerID); err != nil || len(events) > 0 {
				return err
			}
			through, former, err := formerCustomer(ctx, r, customerID, after)
			if events = former; len(former) == 0 {
				more = through > after
				after = through
			}
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	return after, s.eraseAnswersTo(ctx, events)
}
