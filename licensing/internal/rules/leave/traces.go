package leave

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/link"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/meters"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/plans"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/purchases"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/refusals"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/revocations"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/seats"
)

// A trace is something stored beside the records of licenses that says something of
// the customer who has or had a license.
type trace struct {
	name   string
	kinds  []string // of its entries
	events []string // types of its events; nil: none

	// What happens to it in the Update that deletes a license, transfers it, or corrects
	// the ID of its customer. Nil: nothing, or what the comment says.
	deleted, transferred, corrected func(context.Context, *call.Tx, departure) error

	// erased removes or blanks a batch of what is left of a customer's. Nil: nothing is
	// left when the licenses are deleted, or what the comment says.
	erased func(*erasure, context.Context, *call.Tx) error

	// renamed gives a batch of what is left of a customer's the new ID. Nil: it follows the
	// license, or it does not name the customer.
	renamed func(*renaming, context.Context, *call.Tx) error

	// disclosed writes it to an export of what is stored about a customer. Nil: its entries
	// are found by the license or the customer, as disclosure.entries does.
	disclosed func(*disclosure, context.Context) error
	// hidden are the kinds that an export leaves out: their entries have only digests, or
	// lead to others.
	hidden []string
}

// traces is the list of listTraces. It is set by init because what it contains refers to it.
var traces []trace

func init() { traces = listTraces() }

// listTraces returns the one list of what says something of a customer. Deletion,
// transfer, correction, change of the ID, erasure and export go through it in this order. A test fails if an
// entry or event names a customer and is not in it.
func listTraces() []trace {
	return []trace{
		{name: "licenses", erased: (*erasure).deleteLicenses, renamed: (*renaming).moveLicenses, disclosed: (*disclosure).putLicenses},
		// Those beyond the first batch go in other Updates: see remove and Transfer.
		{name: "activations", deleted: deleteSeats, transferred: deleteSeats, disclosed: (*disclosure).putActivations},
		{name: "seat counts", kinds: []string{seats.SeatsKind}, deleted: removeSeatCount, transferred: removeSeatCount},
		// Refusals in memory belong to a customer too: see pendingUsage.
		{name: "refusals", kinds: []string{refusals.RefusalKind}, deleted: removeRefusals, transferred: removeRefusals},
		// What is left of those of a deleted license expires, and so do the IDs of reports, of
		// which only digests are stored.
		{name: "usage", kinds: []string{meters.MeterKind, meters.CountedKind}, deleted: leaveUsage, transferred: leaveUsage},
		// After a transfer with the key, the offices continue with their totals.
		{name: "usage of offices", kinds: []string{meters.OfficeKind}, deleted: removeOffices, transferred: removeOffices},
		// Those of a deleted license expire.
		{name: "spent seats", kinds: []string{seats.SpentKind}, transferred: removeSpentSeats},
		// A transfer raises the generation, so replace revokes the files.
		{name: "license files", kinds: []string{revocations.FilesKind, revocations.Kind}, deleted: revokeDeleted},
		// Those of a deleted license stay, because their references are used.
		{
			name: "purchases", kinds: []string{purchases.PurchaseKind, purchases.PurchaseOfLicenseKind, purchases.PurchaseOfCustomerKind, plans.PurchaseOfPlanKind, purchases.WaitingWithLicenseKind},
			deleted: leavePurchases, transferred: givePurchases, corrected: renamePurchases, erased: (*erasure).blankPurchases, renamed: (*renaming).movePurchases, disclosed: (*disclosure).putPurchases,
			hidden: []string{purchases.PurchaseOfLicenseKind, purchases.PurchaseOfCustomerKind, plans.PurchaseOfPlanKind, purchases.WaitingWithLicenseKind},
		},
		// Notices of a deleted license are removed when they are due.
		{name: "changes and notices to come", kinds: []string{licenses.DueKind, licenses.NoticeKind}, deleted: removeDue},
		// They are digests, and follow the metadata.
		{name: "addresses", kinds: []string{licenses.AddressKind}, deleted: removeAddress, hidden: []string{licenses.AddressKind}},
		// They are digests, and expire within 24 hours.
		{name: "addresses that support has changed", kinds: []string{licenses.ChangedAddressKind}, hidden: []string{licenses.ChangedAddressKind}},
		{name: "suspension of the customer", kinds: []string{licenses.HoldKind}, erased: (*erasure).removeHold, renamed: (*renaming).removeHold},
		// They are digests. After a transfer they are those of the former customer.
		{name: "trials", kinds: []string{purchases.TrialKind}, corrected: bindTrial, hidden: []string{purchases.TrialKind}},
		// They expire within Options.IdempotencyTTL.
		{name: "replies", kinds: []string{call.OnceKind}, hidden: []string{call.OnceKind}},
		// An approved one names only a license and an activation; when that leaves, its program does
		// not get the key. One that waits belongs to no customer yet. Both end within 10 minutes.
		{name: "links of programs", kinds: []string{link.LinkKind, link.CodeKind}, hidden: []string{link.LinkKind, link.CodeKind}},
		// What receivers of webhooks answered is removed outside the Updates: see erasure.run.
		{name: "deliveries", kinds: []string{"delivery"}, hidden: []string{"delivery"}},
		{
			name: "events", erased: (*erasure).blankEvents, disclosed: (*disclosure).putEvents,
			events: []string{
				api.EventLicenseCreated, api.EventLicenseUpdated, api.EventLicenseSuspended, api.EventLicenseReinstated, api.EventLicenseRevoked,
				api.EventLicenseRenewed, api.EventLicenseRekeyed, api.EventLicenseTransferred, api.EventLicenseClaimed, api.EventLicenseDeleted, api.EventLicenseExpiring, api.EventLicenseExpired, api.EventLicenseLapsed,
				api.EventActivationCreated, api.EventActivationReleased, api.EventActivationEvicted, api.EventActivationLimit, api.EventFileIssued, api.EventFilesVoided, api.EventTrialAllowed,
				api.EventUsageCounted, api.EventUsageThreshold, api.EventLicensesExported,
			},
		},
		// Those events are blanked with the ones about licenses.
		{name: "events about the customer", events: []string{api.EventCustomerSuspended, api.EventCustomerReinstated, api.EventCustomerLinkMailed}},
		{name: "events that name the customer before", erased: (*erasure).blankMoves, events: []string{api.EventLicenseUpdated, api.EventLicenseTransferred, api.EventLicenseClaimed}},
	}
}

// A departure is a change by which a license leaves the ID of its customer.
type departure struct {
	how      departureKind
	from     record.License // before the change
	to       record.License // after it; of a deletion, none
	exact    bool           // Options.HoldOffline
	released *int           // of a deletion: the number of activations that were deleted
	call     *call.Call     // for events
}

type departureKind int

const (
	licenseDeleted      departureKind = iota
	licenseTransferred                // to another customer
	customerIDCorrected               // the same customer has another ID
)

// LeaveCustomer does what the list of traces says about a license that has got another
// customer or, if CustomerSince stays, another ID of the same one.
func (s Service) LeaveCustomer(ctx context.Context, tx *call.Tx, before, after record.License) error {
	d := departure{how: customerIDCorrected, from: before, to: after, exact: s.Opts.HoldOffline, call: s.Call}
	if before.CustomerSince != after.CustomerSince {
		d.how = licenseTransferred
	}
	return leave(ctx, tx, d)
}

// leave does what the list of traces says about a departure.
func leave(ctx context.Context, tx *call.Tx, d departure) error {
	for _, t := range traces {
		do := [...]func(context.Context, *call.Tx, departure) error{t.deleted, t.transferred, t.corrected}[d.how]
		if do == nil {
			continue
		}
		if err := do(ctx, tx, d); err != nil {
			return err
		}
	}
	return nil
}

func removeSeatCount(ctx context.Context, tx *call.Tx, d departure) error {
	return tx.DeleteEntries(ctx, seats.SeatsKind, d.from.ID)
}

func removeRefusals(ctx context.Context, tx *call.Tx, d departure) error {
	return refusals.DeleteRefusals(ctx, tx, d.from.ID)
}

// leaveUsage reports the usage of a license that no event has reported, under the ID of the
// customer who used it. With a deleted license go the counts that would never expire, and
// with a transferred one those of periods that have ended: a running one stays, so that a
// transfer does not refill it.
func leaveUsage(ctx context.Context, tx *call.Tx, d departure) error {
	if !d.from.Metered {
		return nil
	}
	if err := meters.Of(d.call).TellAll(ctx, tx, d.from); err != nil {
		return err
	}
	if d.how == licenseDeleted {
		return meters.RemoveLasting(ctx, tx, d.from.ID)
	}
	return meters.RemoveEnded(ctx, tx, d.from.ID)
}

// removeOffices deletes what is known of the offices of a license. Those of a license with
// the same key may still report: their totals stay.
func removeOffices(ctx context.Context, tx *call.Tx, d departure) error {
	if !d.from.Metered || d.to.Key == d.from.Key {
		return nil
	}
	return meters.RemoveOffices(ctx, tx, d.from.ID)
}

// removeSpentSeats deletes the spent seats of a license. With Options.HoldOffline they
// stay, since the programs of the former customer may run until their files expire.
func removeSpentSeats(ctx context.Context, tx *call.Tx, d departure) error {
	if d.exact {
		return nil
	}
	return seats.RemoveSpent(ctx, tx, d.from.ID)
}

func removeDue(ctx context.Context, tx *call.Tx, d departure) error {
	if d.from.ChangesAt.IsZero() && d.from.Stored == nil {
		return nil
	}
	return licenses.RemoveDue(ctx, tx, d.from.ID)
}

func removeAddress(ctx context.Context, tx *call.Tx, d departure) error {
	return licenses.Of(d.call).FollowAddress(ctx, tx, d.from, record.License{})
}

func leavePurchases(ctx context.Context, tx *call.Tx, d departure) error {
	if !d.from.Bought && d.from.Reference == "" {
		return nil
	}
	return purchases.LicenseDeleted(ctx, tx, d.from.ID)
}

func revokeDeleted(ctx context.Context, tx *call.Tx, d departure) error {
	return revocations.Delete(ctx, tx, d.from)
}

// Traced returns the kinds of entries and the types of events that say something of a
// customer.
func Traced() (kinds, types []string) {
	for _, t := range traces {
		kinds, types = append(kinds, t.kinds...), append(types, t.events...)
	}
	return kinds, types
}

// Hidden returns the kinds of entries that an export of a customer leaves out.
func Hidden() (kinds []string) {
	for _, t := range traces {
		kinds = append(kinds, t.hidden...)
	}
	return kinds
}
