package license

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
)

// A Customer gives one customer access to their own licenses, for pages on which
// customers help themselves. A license or an activation of anyone else is
// [api.ErrNotFound]. It is safe for concurrent use.
type Customer struct {
	s     *Service
	wrong error // why no customer can have the ID or the address; nil: one can
	//lint:ignore U1000 see internals.go
	insideCustomer
}

// Customer returns the licenses of one customer as that customer may use them.
// Take the ID from a verified session. If the ID is empty or otherwise invalid,
// each method returns an [*api.InvalidError]. Events have the actor "customer:" and the
// ID, or "customer" once the customer was erased, unless the Caller has one.
func (s *Service) Customer(id string) *Customer {
	wrong := call.Check(api.ListLicensesParams{CustomerID: id})
	if id == "" {
		wrong = api.Invalid("customer_id", api.FieldRequired, "is required")
	}
	return s.owner(call.Owner{CustomerID: id}, wrong)
}

// Mailbox returns the licenses whose own metadata has an email address under "email", of all
// customers, as their customers may use them. Other licenses of these customers do not
// exist for it. The metadata is read by each call, so a license that loses the address is
// [api.ErrNotFound] from then on. Take the address from a session that proves that the
// visitor reads its mail. Case does not matter. If the address is not a single one, each
// method returns an [*api.InvalidError]. Events have the actor of [Service.Customer].
func (s *Service) Mailbox(address string) *Customer {
	var wrong error
	o := call.Owner{Address: call.Address(address)}
	if o.Address == "" || o.Address != strings.ToLower(address) {
		wrong = api.Invalid("email", api.FieldInvalidFormat, "must be one email address, without a name")
	}
	return s.owner(o, wrong)
}

func (s *Service) owner(o call.Owner, wrong error) *Customer {
	as := *s
	as.c = s.c.AsOwner(o)
	return &Customer{s: &as, wrong: wrong}
}

// checkWith returns an error if no customer can have the ID or the address, or if a call
// about a license names none.
func (c *Customer) checkWith(licenseID string) error {
	if c.wrong != nil || licenseID != "" {
		return c.wrong
	}
	return fmt.Errorf("license: %w", api.ErrNotFound)
}

// Get returns a license, or [api.ErrNotFound].
func (c *Customer) Get(ctx context.Context, licenseID string) (api.License, error) {
	if err := c.checkWith(licenseID); err != nil {
		return api.License{}, err
	}
	return c.s.Get(ctx, licenseID)
}

// List returns a page of the customer's licenses, as [Service.List] does. CustomerID,
// Search, KeyPart and IDs have no effect.
func (c *Customer) List(ctx context.Context, p api.ListLicensesParams) (api.ListPage, error) {
	if c.wrong != nil {
		return api.ListPage{}, c.wrong
	}
	return c.s.List(ctx, p)
}

// Verdict says whether a license is valid now, and every reason why not, as
// [Service.Explain] does. It returns [api.ErrNotFound].
func (c *Customer) Verdict(ctx context.Context, licenseID string) (api.Verdict, error) {
	if err := c.checkWith(licenseID); err != nil {
		return api.Verdict{}, err
	}
	return c.s.Explain(ctx, api.ExplainLicenseParams{ID: licenseID})
}

// Activations returns a page of the activations of a license, as
// [Service.ListActivations] does. It returns [api.ErrNotFound] or an [*api.InvalidError].
func (c *Customer) Activations(ctx context.Context, p api.ListActivationsParams) (api.Page[api.Activation], error) {
	if err := c.checkWith(p.LicenseID); err != nil {
		return api.Page[api.Activation]{}, err
	}
	p.Key = ""
	return c.s.ListActivations(ctx, p)
}

// Release releases an activation, so that its seat can be taken elsewhere. An
// activation that has ended is returned unchanged. It returns [api.ErrNotFound] or a
// [*api.SeatHeldError], which says when a seat becomes free that a license file holds.
func (c *Customer) Release(ctx context.Context, licenseID, activationID string) (api.Activation, error) {
	if err := c.checkWith(licenseID); err != nil {
		return api.Activation{}, err
	}
	return c.s.ReleaseActivation(ctx, api.ReleaseActivationParams{LicenseID: licenseID, ActivationID: activationID})
}

// LicenseFile issues a license file for an activation or, with an empty
// activation ID, for any machine if the license does not limit activations. It is
// valid for as long as that of a program with the key may be: see
// License.OfflineSeconds. Sign FileClaims as for [Service.IssueFile], whose errors it
// returns.
func (c *Customer) LicenseFile(ctx context.Context, licenseID, activationID string) (File, error) {
	return c.issue(ctx, api.IssueFileParams{LicenseID: licenseID, ActivationID: activationID})
}

// AnswerRequest issues the license file that answers the request text of a
// program without a network; see [licensefile.Request]. The machine takes a seat
// if it has none. The file is otherwise that of LicenseFile.
func (c *Customer) AnswerRequest(ctx context.Context, licenseID, request string) (File, error) {
	if request == "" {
		if _, err := c.Get(ctx, licenseID); err != nil {
			return File{}, err
		}
		return File{}, api.Invalid("request", api.FieldRequired, "is required: the whole request text of the program")
	}
	return c.issue(ctx, api.IssueFileParams{LicenseID: licenseID, Request: request})
}

// Claim gives the customer the license with a key, as [Service.Claim] does, without an
// address. With an address in the place of a customer, the license gets that, and the
// customer of the other licenses that have it or, if they have none or several, the ID "mail:"
// and the address. Limit how often a customer can try keys.
func (c *Customer) Claim(ctx context.Context, key string) (api.License, error) {
	return customerInternals{c}.Claim(ctx, api.ClaimLicenseParams{Key: key})
}

// Link returns the installation of a program that asks with a code to be activated:
// show its name and its product to the customer, and a warning that only a customer who
// has started the program should approve. It returns [api.ErrLinkGone] if no installation
// asks with the code, or does no longer. Limit how often a customer can try codes.
func (c *Customer) Link(ctx context.Context, code string) (api.LinkRequest, error) {
	if c.wrong != nil {
		return api.LinkRequest{}, c.wrong
	}
	return c.s.links().Request(ctx, code)
}

// ApproveLink activates the installation that asks with a code, as [Service.Activate]
// does. Its program gets the license key. It returns [api.ErrLinkGone],
// [api.ErrNotFound] for the license, a [*api.DeniedError] if the license is for another
// product, is not valid or has no free seat, or a [*api.SeatHeldError]; then the code can
// be used again.
func (c *Customer) ApproveLink(ctx context.Context, p api.ApproveLinkParams) (api.Activation, error) {
	if c.wrong != nil {
		return api.Activation{}, c.wrong
	}
	return c.s.links().Approve(ctx, p)
}

// DeclineLink ends the link with a code, without an activation. It returns
// [api.ErrLinkGone].
func (c *Customer) DeclineLink(ctx context.Context, code string) error {
	if c.wrong != nil {
		return c.wrong
	}
	return c.s.links().Decline(ctx, code)
}

func (c *Customer) issue(ctx context.Context, p api.IssueFileParams) (File, error) {
	if err := c.checkWith(p.LicenseID); err != nil {
		return File{}, err
	}
	return c.s.IssueFile(ctx, p)
}
