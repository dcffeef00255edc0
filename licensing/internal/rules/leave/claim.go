package leave

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/purchases"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A claim is a call of Claim.
type claim struct {
	Service
	api.ClaimLicenseParams
}

// Claim gives a license to a customer who has its key; see package license. It is a
// correction of the customer's ID, because the customer has used the license already. Only
// the address is that of another person.
func (s Service) Claim(ctx context.Context, p api.ClaimLicenseParams) (api.License, error) {
	if s.Owner != nil {
		p.CustomerID = cmp.Or(s.Owner.CustomerID, "mail:"+s.Owner.Address)
		p.Email = cmp.Or(s.Owner.Address, p.Email)
	}
	if err := call.Check(p); err != nil {
		return api.License{}, err
	}
	c := claim{s, p}
	rec, err := c.find(ctx, s.Reader())
	if err == nil { // refuse before waiting for the write lock
		_, err = c.allowed(rec, licenses.StatusAt(rec.License, s.Now()))
	}
	if err != nil {
		return api.License{}, fmt.Errorf("claim license: %w", err)
	}
	l, err := call.Do(ctx, s.Call, "claim license", func(tx *call.Tx) (api.License, error) { return c.do(ctx, tx) })
	return s.Shown(l), err
}

// find returns the license, and finds the customer who claims it if an address does.
func (c *claim) find(ctx context.Context, r store.Reader) (record.License, error) {
	rec, found, err := licenses.Of(c.Call).ByKey(ctx, r, c.Key)
	switch {
	case err == nil && !found:
		err = fmt.Errorf("license key: %w", api.ErrNotFound)
	case err == nil && c.Owner != nil && c.Owner.Address != "":
		c.CustomerID, err = c.customerOf(ctx, r)
	}
	return rec, err
}

// customersRead is how many licenses of an address are read to find its customer.
const customersRead = 50

// customerOf returns the customer of the licenses that have the address of the Owner or, if
// there is none or several, an ID that is made of the address.
func (c *claim) customerOf(ctx context.Context, r store.Reader) (id string, err error) {
	prefix := licenses.AddressPrefix(c.Owner.Address)
	found, err := r.Entries(ctx, store.EntryQuery{Kind: licenses.AddressKind, From: prefix, Before: store.PrefixEnd(prefix), Limit: customersRead})
	ids := make([]string, len(found))
	for i, e := range found {
		ids[i] = strings.TrimPrefix(e.Key, prefix)
	}
	own := "mail:" + c.Owner.Address
	if err != nil || len(ids) == 0 {
		return own, err
	}
	rows, err := r.Licenses(ctx, store.LicenseQuery{IDs: ids})
	for _, row := range rows {
		rec, err := licenses.Read(row, c.Now())
		owned, wrong := c.Owned(rec)
		switch {
		case cmp.Or(err, wrong) != nil:
			return "", cmp.Or(err, wrong)
		case !owned || c.Opts.Claimable(rec.CustomerID): // it is no customer's yet
		case id != "" && id != rec.CustomerID:
			return own, nil
		default:
			id = rec.CustomerID
		}
	}
	return cmp.Or(id, own), err
}

// allowed returns why the license cannot be claimed, or whether the customer has it already.
// One that is suspended cannot, because its batch may be: a claim must not end that.
func (c *claim) allowed(rec record.License, status api.LicenseStatus) (has bool, err error) {
	owned, err := c.Owned(rec)
	claimable := c.Opts.Claimable(rec.CustomerID)
	switch {
	case err != nil:
		return false, err
	case owned && (rec.CustomerID == c.CustomerID || c.Owner != nil && !claimable):
		return true, nil
	case !claimable:
		return false, api.ErrClaimed
	case status == api.LicenseSuspended, status == api.LicenseRevoked:
		return false, &api.StateError{Change: "claim", From: status, To: status}
	}
	return false, nil
}

// do claims the license in an Update. The event has both IDs, and not the former address.
func (c *claim) do(ctx context.Context, tx *call.Tx) (api.License, error) {
	changes := map[string]api.FieldChange{}
	l, err := licenses.Of(c.Call).EditIn(ctx, tx, licenses.Edit{
		Event: api.EventLicenseClaimed, Changes: changes,
		Find: func(r store.Reader) (record.License, error) { return c.find(ctx, r) },
		Apply: func(l api.License, next *record.License, _ time.Time) error {
			has, err := c.allowed(*next, l.Status)
			if err != nil || has {
				return err
			}
			fields := licenses.ParamsOf(l)
			fields.CustomerID, fields.Name, fields.Metadata = c.CustomerID, cmp.Or(c.Name, l.Name), maps.Clone(l.Metadata)
			if delete(fields.Metadata, c.Opts.EmailKey); c.Email != "" {
				fields.Metadata[c.Opts.EmailKey] = c.Email
			}
			if err := call.InvalidFields(call.Normalize(&fields)); err != nil {
				return err
			}
			licenses.WriteFields(fields, next)
			changes["customer_id"] = api.FieldChange{From: l.CustomerID, To: c.CustomerID}
			if fields.Name != l.Name {
				changes["name"] = api.FieldChange{From: l.Name, To: fields.Name}
			}
			return nil
		},
	})
	if err != nil || len(changes) == 0 {
		return l, err
	}
	return l, forgetAddress(ctx, tx, l.ID, c.Opts.EmailKey)
}

// forgetAddress removes the address of the former customer from the purchases of a license.
func forgetAddress(ctx context.Context, tx *call.Tx, licenseID, emailKey string) error {
	all, err := purchases.OfLicense(ctx, tx, licenseID)
	for _, p := range all {
		if err == nil {
			_, err = purchases.PutPurchase(ctx, tx, p, p.WithoutAddress(emailKey))
		}
	}
	return err
}
