package license

//lint:file-ignore U1000 package inner reaches these methods through a promoted method, which the check does not see.

import (
	"context"
	"sync/atomic"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/failing"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/find"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/holds"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/leave"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/link"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/meters"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/movein"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/notices"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/plans"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/purchases"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/refusals"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/revocations"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/sales"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/seats"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// The rooms of the rules, for the calls of a Service.

func (s *Service) licenses() licenses.Service   { return licenses.Of(&s.c) }
func (s *Service) holds() holds.Service         { return holds.Of(&s.c) }
func (s *Service) seats() seats.Service         { return seats.Of(&s.c) }
func (s *Service) plans() plans.Service         { return plans.Of(&s.c) }
func (s *Service) purchases() purchases.Service { return purchases.Of(&s.c) }
func (s *Service) meters() meters.Service       { return meters.Of(&s.c) }
func (s *Service) notices() notices.Service     { return notices.Of(&s.c) }
func (s *Service) links() link.Service          { return link.Of(&s.c) }
func (s *Service) leave() leave.Service         { return leave.Of(&s.c) }
func (s *Service) movein() movein.Service { // which reads many pages
	return movein.Service{Call: &s.c, Find: find.Service{Call: &s.c, Kept: s.kept}}
}
func (s *Service) find() find.Service {
	return find.Service{Call: &s.c, Kept: s.kept, Searched: s.searched}
}
func (s *Service) refusals() refusals.Service {
	return refusals.Service{Call: &s.c, Pending: s.pending}
}

// inside leads the other packages of this module to the methods of internals,
// with [inner.Of].
type inside = inner.Methods[internals]

// internals are the methods of a Service for the handler, for the pages and for the
// other doors: the call that it serves, and its rooms. Other files declare more of them.
type internals struct{ *Service }

// Of returns the methods for s.
func (internals) Of(s *Service) internals { return internals{s} }

func (s internals) Call() *call.Call                 { return &s.c }
func (s internals) Licenses() licenses.Service       { return s.licenses() }
func (s internals) Holds() holds.Service             { return s.holds() }
func (s internals) Seats() seats.Service             { return s.seats() }
func (s internals) Revocations() revocations.Service { return revocations.Of(&s.c) }
func (s internals) Plans() plans.Service             { return s.plans() }
func (s internals) Purchases() purchases.Service     { return s.purchases() }
func (s internals) Meters() meters.Service           { return s.meters() }
func (s internals) Links() link.Service              { return s.links() }
func (s internals) Find() find.Service               { return s.find() }
func (s internals) Refused() refusals.Service        { return s.refusals() }
func (s internals) Sales() sales.Service             { return sales.Of(&s.c) }
func (s internals) MoveIn() movein.Service           { return s.movein() }
func (s internals) Leave() leave.Service             { return s.leave() }
func (s internals) Payments() *failing.Events        { return s.failing }

// SetOffice makes a new Service that of the office with a file; nil: it is not one.
func (s internals) SetOffice(c *licensefile.Claims) {
	if c == nil {
		return
	}
	id, _ := licensefile.KeyID(c.Office.Key) // which was read from the file
	s.c.Opts.Office = &call.Office{Claims: *c, KeyID: id}
}

// ForRequest returns the Service for one request of a browser: its searches
// examine a limited number of rows together, and each makes at least one call of the store.
func (s internals) ForRequest() *Service {
	as := *s.Service
	as.searched = new(atomic.Int64)
	return &as
}

// in returns the parts of a change with the second as a function of a Service inside an
// Update.
func in[T any](prepare func() error, change func(*call.Call) (T, error)) (func() error, func(*Service) (T, error)) {
	return prepare, func(in *Service) (T, error) { return change(&in.c) }
}

// CreateInParts returns the parts of Create for [internals.OncePrepared].
func (s internals) CreateInParts(ctx context.Context, p api.CreateLicenseParams) (prepare func() error, change func(*Service) (api.License, error)) {
	return in(s.licenses().CreateInParts(ctx, p))
}

// CreateBatchInParts returns the parts of CreateBatch for [internals.OncePrepared].
func (s internals) CreateBatchInParts(ctx context.Context, p api.CreateBatchParams) (prepare func() error, change func(*Service) (api.Batch, error)) {
	return in(s.licenses().CreateBatchInParts(ctx, p))
}

// TransferInParts returns the parts of Transfer for [internals.OncePrepared].
func (s internals) TransferInParts(ctx context.Context, p api.TransferLicenseParams) (prepare func() error, change func(*Service) (api.License, error)) {
	return in(s.leave().TransferInParts(ctx, p))
}

// ChangeCustomerStateInParts returns the parts of SuspendCustomer or ReinstateCustomer for
// [internals.OncePrepared].
func (s internals) ChangeCustomerStateInParts(ctx context.Context, p api.ChangeCustomerStateParams, suspend bool) (prepare func() error, change func(*Service) (api.CustomerSuspension, error)) {
	return in(s.holds().MoveInParts(ctx, p, suspend))
}

// StartTrialInParts returns the parts of StartTrial for [internals.OncePrepared].
func (s internals) StartTrialInParts(ctx context.Context, p api.StartTrialParams) (prepare func() error, change func(*Service) (api.Trial, error)) {
	return in(s.purchases().StartTrialInParts(ctx, p))
}

// ReopenInParts returns the parts of ReopenPurchase for [internals.OncePrepared].
func (s internals) ReopenInParts(ctx context.Context, p api.ReopenPurchaseParams) (prepare func() error, change func(*Service) (api.Purchase, error)) {
	return in(s.purchases().ReopenInParts(ctx, p))
}

// insideCustomer leads the other packages of this module to the methods of
// customerInternals, with [inner.Of].
type insideCustomer = inner.Methods[customerInternals]

// customerInternals are the methods of a Customer for the pages.
type customerInternals struct{ *Customer }

// Of returns the methods for c.
func (customerInternals) Of(c *Customer) customerInternals { return customerInternals{c} }

// Claim is Customer.Claim for a customer of whom more is known.
func (c customerInternals) Claim(ctx context.Context, p api.ClaimLicenseParams) (api.License, error) {
	if c.wrong != nil {
		return api.License{}, c.wrong
	}
	return c.s.Claim(ctx, p)
}

// Service returns the Service for which only the licenses of the customer exist.
func (c customerInternals) Service() *Service { return c.s }
