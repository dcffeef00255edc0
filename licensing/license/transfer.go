package license

import (
	"cmp"
	"context"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Transfer gives a license to another customer. It gets a new key unless KeepKey is
// set; its files are void, its activations are deleted, and its name, metadata and
// status reason, which say something about the former customer, are replaced by those
// of p. Purchases keep the customer that they were made by: events about them still
// change the license, under either customer's ID, and do not move it back.
//
// It appends one license.transferred event, which names both customers and nothing
// else about them. A license with many activations is transferred in several Updates,
// of which the last one moves it. Errors are those of [Service.Rekey]. To correct
// the ID of the same customer, use [Service.Update].
func (s *Service) Transfer(ctx context.Context, p TransferParams) (License, error) {
	if err := invalidFields(checkTransfer(&p)); err != nil {
		return License{}, err
	}
	for {
		l, more, err := s.transfer(ctx, p)
		if err != nil {
			return License{}, fmt.Errorf("transfer license: %w", err)
		}
		if !more {
			return s.shown(l), nil
		}
	}
}

// checkTransfer checks p and normalizes it as stored.
func checkTransfer(p *TransferParams) []FieldError {
	broken := checkTags(p)
	metadata, wrong := checkMetadata(p.Metadata)
	p.Metadata = metadata
	return append(broken, wrong...)
}

// transfer transfers a license in one Update. If more is true, it has only deleted a
// batch of its activations.
func (s *Service) transfer(ctx context.Context, p TransferParams) (moved License, more bool, err error) {
	err = s.update(ctx, func(tx *transaction) error {
		more = false
		rec, err := s.find(ctx, tx, p.ID)
		if err != nil {
			return err
		}
		before, err := fromRecord(rec, tx.now)
		if err != nil {
			return err
		}
		if err := checkVersion(before.Version(), p.IfMatch); err != nil {
			return err
		}
		switch {
		case rec.State == store.StateRevoked:
			return &MoveError{Move: "transfer", From: StatusRevoked, To: StatusRevoked}
		case rec.CustomerID == p.CustomerID:
			return Invalid("customer_id", CodeTaken, "is the customer of the license")
		}
		n, err := tx.deleteActivations(ctx, rec.ID)
		if err != nil {
			return err
		}
		if more = n == activationBatch; more {
			return nil
		}
		if err := tx.putSeats(ctx, rec.ID, 0); err != nil {
			return err
		}
		moved, err = s.moveTo(ctx, tx, rec, before, p)
		return err
	})
	return moved, more, err
}

// moveTo writes the license of the new customer.
func (s *Service) moveTo(ctx context.Context, tx *transaction, rec record.License, before License, p TransferParams) (License, error) {
	fields := paramsOf(before)
	fields.CustomerID, fields.Name, fields.Metadata = p.CustomerID, cmp.Or(p.Name, p.CustomerID), p.Metadata
	next := rec
	if !p.KeepKey {
		fields.Key = NewKey()
	}
	writeFields(fields, &next)
	next.StateReason, next.Generation = "", generation(rec)+1
	data := EventData{Reason: p.Reason, Changes: map[string]FieldChange{
		"customer_id": {From: before.CustomerID, To: p.CustomerID},
		"generation":  {From: before.Generation, To: next.Generation},
	}}
	after, _, err := s.replace(ctx, tx, rec, before, next, EventLicenseTransferred, data)
	return after, err
}
