package licenses

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/store"
)

// ChangedAddressKind is the kind of the entries of addresses to which no operator may mail a
// link until they expire. Key is the digest of the address.
const ChangedAddressKind = "address_changed"

// changedAddressFor is how long after support has changed an address no operator may mail a
// link to the new one: the former one has got a mail, and can object.
const changedAddressFor = 24 * time.Hour

// An emailChange is a call of [Service.ChangeEmail].
type emailChange struct {
	CustomerID string `json:"customer_id" validate:"text"`
	From       string `json:"from"`
	To         string `json:"email" validate:"text,address"`
	Reason     string `json:"reason" validate:"omitempty,text"`
}

// ChangeEmail gives those licenses of a customer whose email address is from, as [call.Address]
// returns it, another one, and returns their number. An empty from means the licenses without
// an address. Warn is for operators who may not see keys: it mails the new address to the former
// one, without which they cannot change it, and no operator may mail a link to the new one for
// 24 hours. Nil: neither. If there is no such license, it returns [api.ErrNotFound].
//
// The first Update keeps operators from mailing links to the new address, before a license has
// it. Then the former one gets its mail. If that fails, no license changes. Each of the other
// Updates changes a batch of licenses. If they stop in between, some licenses have the new address,
// the others the former one, and each opens the licenses that have it; a repeated call sends the
// mail again and changes the rest.
func (s Service) ChangeEmail(ctx context.Context, customerID, from, to, reason string, warn func(ctx context.Context, former, address string) error) (changed int, err error) {
	p := emailChange{customerID, from, to, reason}
	if err := call.Check(p); err != nil {
		return 0, err
	}
	if warn != nil && from == "" {
		return 0, api.ErrForbidden
	}
	if call.Address(to) == from || s.Opts.Claimable(customerID) {
		return 0, api.Invalid("email", api.FieldImmutable, "must be another address, for the licenses of a customer and not of a batch")
	}
	ids, err := s.withEmail(ctx, p)
	if err == nil && warn != nil {
		if err = s.Write(ctx, func(tx *call.Tx) error {
			return tx.PutEntries(ctx, store.Entry{Kind: ChangedAddressKind, Key: call.Digest(call.Address(to)), CreatedAt: tx.Now, ExpiresAt: tx.Now.Add(changedAddressFor)})
		}); err == nil {
			err = warn(ctx, from, to)
		}
	}
	for batch := range slices.Chunk(ids, addressBatch) {
		n := 0
		if err == nil {
			err = s.Write(ctx, func(tx *call.Tx) (err error) {
				n, err = s.changeEmails(ctx, tx, p, batch)
				return err
			})
		}
		if err != nil {
			return changed, fmt.Errorf("change email: %w", err)
		}
		changed += n
	}
	return changed, err
}

// withEmail returns the licenses of the customer with the former address.
func (s Service) withEmail(ctx context.Context, p emailChange) (ids []string, err error) {
	q := store.LicenseQuery{CustomerID: p.CustomerID, Limit: call.MaxLimit}
	for more := true; more; {
		rows, err := s.Reader().Licenses(ctx, q)
		for _, row := range rows {
			l, wrong := FromRow(row, s.Now())
			if err = errors.Join(err, wrong); s.Sees(l.ProductID) && s.Address(l.Metadata) == p.From {
				ids = append(ids, l.ID)
			}
			q.After.ID = row.ID
		}
		if more = len(rows) == q.Limit; err != nil {
			return nil, err
		}
	}
	if len(ids) == 0 {
		return nil, api.ErrNotFound
	}
	return ids, nil
}

// changeEmails gives a batch of licenses the new address, unless they have another one by now.
func (s Service) changeEmails(ctx context.Context, tx *call.Tx, p emailChange, ids []string) (n int, err error) {
	for _, id := range ids {
		_, err := s.EditIn(ctx, tx, Edit{
			Reason: p.Reason,
			Find:   func(r store.Reader) (record.License, error) { return s.Find(ctx, r, id) },
			Apply: func(l api.License, next *record.License, _ time.Time) error {
				if l.CustomerID != p.CustomerID || s.Address(l.Metadata) != p.From {
					return nil
				}
				n++
				fields := ParamsOf(l)
				apply(api.UpdateLicenseParams{Metadata: api.To(map[string]*string{s.Opts.EmailKey: &p.To})}, &fields)
				broken := call.Normalize(&fields)
				WriteFields(fields, next)
				return call.InvalidFields(broken)
			},
		})
		if err != nil && !errors.Is(err, api.ErrNotFound) {
			return 0, err
		}
	}
	return n, nil
}

// checkUnchanged returns an error if support has given a license its address in the last 24
// hours.
func (s Service) checkUnchanged(ctx context.Context, address string) error {
	e, err := s.Reader().Entry(ctx, ChangedAddressKind, call.Digest(address))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil || !s.Now().Before(e.ExpiresAt) {
		return err
	}
	return api.Invalid("email", api.FieldImmutable, "was changed by support, so no operator can mail a link to it until "+e.ExpiresAt.Format("2 January 2006 at 15:04 UTC")+
		"; the customer can ask for a link on the customer pages immediately, or ask an admin")
}
