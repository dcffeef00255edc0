package find

import (
	"context"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// An Overview has numbers of the whole store.
type Overview struct {
	Licenses api.Counts
	Seats    seatUse
}

// heldFrom is how many licenses are counted again after each change.
const heldFrom = 1000

// held makes the work of a page after a change independent of the number of licenses.
func (o Overview) held() bool { return o.Licenses.Total > heldFrom }

// Overview counts all licenses and their seats, and whether a later change can be missing:
// more than 1,000 licenses are counted at most once a minute, others again after each
// change. A caller limited to some products gets [api.ErrProductForbidden].
func (s Service) Overview(ctx context.Context) (o Overview, held bool, err error) {
	if s.Caller.Products != nil {
		return o, false, fmt.Errorf("overview: %w", api.ErrProductForbidden)
	}
	o, err = kept(ctx, s, "overview", s.Kept.reading, func() (o Overview, err error) {
		if o.Licenses, err = s.countAll(ctx, api.ListLicensesParams{}); err == nil {
			o.Seats, err = s.seatUse(ctx)
		}
		return o, err
	})
	if err != nil {
		return Overview{}, false, fmt.Errorf("overview: %w", err)
	}
	return o, o.held(), nil
}
