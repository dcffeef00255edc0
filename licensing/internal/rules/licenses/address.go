package licenses

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/store"
)

// AddressKind is the kind of the entries of licenses whose metadata has an email address. Key
// is [AddressPrefix] and the license ID.
const AddressKind = "address"

// addressFillKind is the kind of the entry that says which licenses have their entries.
const addressFillKind = "address_fill"

// AddressPrefix is what the keys of the entries of an address begin with: its digest.
func AddressPrefix(address string) string { return call.Digest(address) + "/" }

// Address returns the address in the metadata of a license, in lower case, or "" if there is
// none or it is not valid.
func (s Service) Address(metadata map[string]string) string {
	return call.Address(metadata[s.Opts.EmailKey])
}

// AddressEntries returns the entry of the address of a license; nil: it has none.
func (s Service) AddressEntries(rec record.License) ([]store.Entry, error) {
	if len(rec.Metadata) == 0 {
		return nil, nil
	}
	var metadata map[string]string
	if err := call.Decode(rec.Metadata, &metadata); err != nil {
		return nil, err
	}
	address := s.Address(metadata)
	if address == "" {
		return nil, nil
	}
	return []store.Entry{{Kind: AddressKind, Key: AddressPrefix(address) + rec.ID, CreatedAt: rec.CreatedAt}}, nil
}

// FollowAddress makes the entry of the address of a license that was rec that of next. One
// of them may be none.
func (s Service) FollowAddress(ctx context.Context, tx *call.Tx, rec, next record.License) error {
	if bytes.Equal(rec.Metadata, next.Metadata) && rec.ID == next.ID {
		return nil
	}
	was, err := s.AddressEntries(rec)
	if err != nil {
		return err
	}
	is, err := s.AddressEntries(next)
	if err != nil {
		return err
	}
	return entries.Follow(ctx, tx, was, is)
}

// addressBatch is how many licenses one Update of [Service.FillAddresses] reads.
const addressBatch = 50

// An addressFill says which licenses have the entries of their addresses.
type addressFill struct {
	EmailKey string `json:"email_key"`
	Clearing bool   `json:"clearing,omitempty"` // entries of another EmailKey are left
	After    string `json:"after,omitempty"`    // licenses up to this ID have theirs
	Done     bool   `json:"done,omitempty"`     // all have
}

// FillAddresses writes the entries of the addresses of a batch of licenses that were stored
// without them, or with another EmailKey, and reports whether there may be more.
func (s Service) FillAddresses(ctx context.Context) (more bool, err error) {
	fill, err := s.addressFill(ctx, s.Reader())
	if err != nil || fill.Done {
		return false, err
	}
	err = feed.Contain(ctx, s.Opts.Logger, "addresses", func() error {
		return s.Write(ctx, func(tx *call.Tx) error {
			if fill, err = s.addressFill(ctx, tx); err != nil || fill.Done { // another process may have been first
				return err
			}
			if fill.Clearing {
				err = s.clearAddresses(ctx, tx, &fill)
			} else {
				err = s.fillAddresses(ctx, tx, &fill)
			}
			if err != nil {
				return err
			}
			return tx.PutEntries(ctx, store.Entry{Kind: addressFillKind, Key: "all", Data: record.Encode(fill), CreatedAt: tx.Now})
		})
	})
	if err != nil {
		return false, fmt.Errorf("addresses: %w", err)
	}
	return !fill.Done, nil
}

// addressFill returns which licenses have the entries of their addresses.
func (s Service) addressFill(ctx context.Context, r store.Reader) (fill addressFill, err error) {
	e, err := r.Entry(ctx, addressFillKind, "all")
	if errors.Is(err, store.ErrNotFound) {
		return addressFill{EmailKey: s.Opts.EmailKey}, nil
	}
	if err == nil {
		err = json.Unmarshal(e.Data, &fill)
	}
	if fill.EmailKey != s.Opts.EmailKey {
		fill = addressFill{EmailKey: s.Opts.EmailKey, Clearing: true}
	}
	return fill, err
}

// clearAddresses deletes a batch of the entries of addresses.
func (s Service) clearAddresses(ctx context.Context, tx *call.Tx, fill *addressFill) error {
	old, err := tx.Entries(ctx, store.EntryQuery{Kind: AddressKind, Limit: addressBatch})
	fill.Clearing = len(old) == addressBatch
	if err != nil {
		return err
	}
	return entries.Drop(ctx, tx, old, nil)
}

// fillAddresses writes the entries of a batch of licenses.
func (s Service) fillAddresses(ctx context.Context, tx *call.Tx, fill *addressFill) error {
	rows, err := tx.Licenses(ctx, store.LicenseQuery{After: store.Position{ID: fill.After}, Limit: addressBatch})
	if err != nil {
		return err
	}
	var all []store.Entry
	for _, row := range rows {
		fill.After = row.ID
		rec, err := Read(row, tx.Now)
		if err == nil {
			var own []store.Entry
			own, err = s.AddressEntries(rec)
			all = append(all, own...)
		}
		if err != nil { // it delays no other
			s.LogPostponed(ctx, "addresses", row.ID, err)
		}
	}
	if fill.Done = len(rows) < addressBatch; len(all) == 0 {
		return nil
	}
	return tx.PutEntries(ctx, all...)
}
