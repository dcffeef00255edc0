package license

import (
	"context"
	"io"
	"iter"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// Import reads licenses from r, one [api.LicenseRow] in JSON per line, and
// creates the ones that do not exist. A row with purchases brings them: what the license
// is follows from them, from what was set by hand and from who suspends it, as in the
// service that exported the row. A row with a reference alone is the license of that
// purchase and keeps its terms until the next event about it. Import calls report for each line, in order,
// after the line is processed and stored; it skips blank lines. Each row
// needs its own ID, key or both, so that a failed import can be repeated:
// existing licenses are left unchanged. A Caller that is limited to products
// cannot choose the ID of a new license.
//
// Rows keep their ID, key, state and creation time. A row with the ID of a deleted
// license that may still have files gets a higher generation, so that those stay
// refused. New licenses start at revision 1, and each appends a license.created
// event. Import does not call Options.BeforeCreate. A refused row does not affect
// the others. After 1,000 refused rows Import reports [api.ImportStopped] for the next
// row and returns nil. Import stops at the first error of r, report or the store;
// rows already reported stay imported.
func (s *Service) Import(ctx context.Context, r io.Reader, report func(api.RowResult) error) error {
	return s.movein().Import(ctx, r, report)
}

// Export writes the licenses that p selects to w, one [api.LicenseRow] per line,
// in the order of [Service.All]. A row has each purchase of its license, what was set by
// hand and who suspends it, unless the Caller is limited to other products. The output contains license keys unless the
// Caller may not see them; store it accordingly. An export with keys appends a
// license_export.created event before it writes its last page, or after it fails.
func (s *Service) Export(ctx context.Context, w io.Writer, p api.ListLicensesParams) error {
	return s.movein().Export(ctx, w, p)
}

// All iterates over the licenses that p selects and stops after the first
// error. It ignores p.Limit and p.Cursor. Each page is a separate read:
// licenses created, changed or deleted during the iteration may or may not
// be included.
func (s *Service) All(ctx context.Context, p api.ListLicensesParams) iter.Seq2[api.License, error] {
	return s.movein().All(ctx, p)
}

// Delete removes a license with its activations and appends a
// license.deleted event that holds the license's last state. If the license
// has more than a hundred activations, it removes the rest in batches
// afterwards, so that other writes do not wait; if it is interrupted, Run
// removes them. It returns [api.ErrNotFound] or a [*api.StaleError].
func (s *Service) Delete(ctx context.Context, p api.DeleteLicenseParams) error {
	return s.leave().Delete(ctx, p)
}

// Transfer gives a license to another customer. It gets a new key unless KeepKey is
// set; its files are void, its activations and refusals are deleted, and its name,
// metadata and status reason, which say something about the former customer, are
// replaced by those of p. Its purchases become those of the new customer, without
// what they said of the former one. Later events about them that name the former
// customer, or none, still change the license: see Service.RecordPurchase of package selling. With
// Options.HoldOffline, a seat that a license file holds stays spent until the file has
// expired, unless its fingerprint takes a seat again.
//
// It appends one license.transferred event, which names both customers and nothing
// else about them. Errors are those of [Service.Rekey]. To correct the ID of the same
// customer, use [Service.Update].
//
// A license with more than a hundred activations is transferred in several Updates,
// of which the last one transfers it. Everything that can refuse the transfer is decided
// before the first. Until the last, the license is the former customer's and works:
// programs whose activations are already deleted activate again. A repeated call
// finishes a transfer that was interrupted. If the license is revoked, deleted or gets
// another customer between two Updates, the error says so. Inside Atomically or Once
// there is only their one Update, however many activations there are.
func (s *Service) Transfer(ctx context.Context, p api.TransferLicenseParams) (api.License, error) {
	return s.leave().Transfer(ctx, p)
}

// Claim gives a license that no customer has yet to one who has its key: its customer ID
// begins with a text of Options.ClaimFrom. The key, activations, license files, usage and
// metadata stay, because who has the key has used the license, and its purchases get the ID
// of the customer; later events about them may name either ID. Only the address in the
// metadata is replaced by p.Email, or removed, since an address opens the license. If the
// customer is suspended, so is the license.
//
// It appends a license.claimed event with both IDs. A customer who has the license gets it
// unchanged. It returns [api.ErrNotFound] if no license has the key, [api.ErrClaimed] if its
// customer ID does not begin so, a [*api.StateError] if it is suspended or revoked, or an
// [*api.InvalidError]. An expired license can be claimed. Limit how often a customer can try
// keys.
func (s *Service) Claim(ctx context.Context, p api.ClaimLicenseParams) (api.License, error) {
	return s.leave().Claim(ctx, p)
}

// SuspendCustomer suspends a customer: all licenses of the customer that are not revoked,
// and all that the customer gets until [Service.ReinstateCustomer], whether they are
// created, bought, imported, transferred or corrected. None of them can be reinstated by
// itself. A license that an operator or a purchase suspends too stays suspended after the
// reinstatement, and one that leaves the customer does not.
//
// The first Update stores that the customer is suspended and appends a customer.suspended
// event; each of the others suspends up to 50 licenses, with one license.suspended event
// each. A call that was interrupted is finished by a repeated one, which changes what is
// left. It returns [api.ErrProductForbidden] if the caller is limited to products, or an
// [*api.InvalidError]. Inside Atomically or Once it is part of their one Update.
func (s *Service) SuspendCustomer(ctx context.Context, p api.ChangeCustomerStateParams) (api.CustomerSuspension, error) {
	return s.holds().Suspend(ctx, p)
}

// ReinstateCustomer ends the suspension of a customer. Its Updates, events and errors are
// like those of [Service.SuspendCustomer]. It is no error if the customer is not suspended.
func (s *Service) ReinstateCustomer(ctx context.Context, p api.ChangeCustomerStateParams) (api.CustomerSuspension, error) {
	return s.holds().Reinstate(ctx, p)
}

// ChangeCustomerID gives a customer another ID, as when a company was bought: all
// licenses, and purchases without a license, get it as by a correction with
// [Service.Update]. Keys, activations, files, names and metadata stay, and a
// license.updated event is appended for each license. If the new ID is that of another customer, the two
// become one, which cannot be undone. A customer who is suspended stays so; to merge one with
// another who is not is refused. A later event about a purchase may name either ID; a
// new purchase under the old ID creates a license of that ID. Events keep the ID that
// the customer had at their time; for their erasure see [Service.EraseCustomer].
//
// It takes several Updates of up to 50 licenses or purchases. Between two of them, each
// license is whole under one of the IDs and works; a repeated call finishes a change that
// was interrupted. Inside Atomically or Once all of it is in their one Update. An unknown
// customer is not an error. A caller limited to some products gets
// [api.ErrProductForbidden]; other errors are an [*api.InvalidError].
func (s *Service) ChangeCustomerID(ctx context.Context, p api.ChangeCustomerIDParams) (api.ChangedCustomerID, error) {
	return s.leave().ChangeCustomerID(ctx, p)
}

// ExportCustomer writes what is stored about a customer to w as a JSON object, to answer
// the customer's request for access. It has a list for each kind of record that
// [Service.EraseCustomer] erases: licenses, activations and events as the API shows them,
// and the others as they are stored. Left out are digests, replies stored by
// [Service.Once], links of programs that end within minutes, what receivers of webhooks
// answered, and events of other customers that name this one as the customer before.
//
// The output contains license keys unless the Caller may not see them. An export with keys
// appends a license_export.created event first. The lists are read one after the other, so
// they may differ by what happens meanwhile. If it returns an error, the output is not
// complete. A caller limited to some products gets [api.ErrProductForbidden].
func (s *Service) ExportCustomer(ctx context.Context, w io.Writer, customerID string) error {
	return s.leave().ExportCustomer(ctx, w, customerID)
}

// EraseCustomer erases a customer: it deletes the customer's licenses with
// their activations and blanks the events about them. A blanked event keeps
// only its position, time, type, actor, request ID, license ID and product
// ID. If the ID of the customer was corrected, events about the license under the ID
// before are blanked too. Of the customer's purchases, also those without a license, and trials, only
// digests of their references and subjects are kept, so that they cannot be used
// again. At the end it appends a customer.erased event, which does not name the
// customer. Erasing an unknown or already erased customer is not an error,
// so a failed call can be repeated: each of its Updates leaves what a repeated call needs.
//
// If an update or a transfer moved a license of the customer to another customer, that
// event names both; its changes and its reason are removed. To find those events,
// EraseCustomer reads the whole feed, outside its Updates. The license stays, with the
// references of its purchases.
//
// What receivers of webhooks answered to the blanked events is removed from the
// history of deliveries, because it may name the customer. The answer to a request
// that is under way at that time is not stored.
//
// Replies stored by [Service.Once] may hold the customer's data until they
// expire. A caller limited to some products gets [api.ErrProductForbidden].
func (s *Service) EraseCustomer(ctx context.Context, customerID string) (api.Erased, error) {
	return s.leave().EraseCustomer(ctx, customerID)
}
