package license

import (
	"cmp"
	"context"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Transfer gives a license to another customer. It gets a new key unless KeepKey is
// set; its files are void, its activations and refusals are deleted, and its name,
// metadata and status reason, which say something about the former customer, are
// replaced by those of p. Its purchases become those of the new customer, without
// what they said of the former one. Later events about them that name the former
// customer, or none, still change the license: see [Service.Fulfill]. With
// Options.HoldOffline, a seat that a license file holds stays spent until the file has
// expired, unless its fingerprint takes a seat again.
//
// It appends one license.transferred event, which names both customers and nothing
// else about them. Errors are those of [Service.Rekey]. To correct the ID of the same
// customer, use [Service.Update].
//
// A license with more than a hundred activations is transferred in several Updates,
// of which the last one moves it. Everything that can refuse the transfer is decided
// before the first. Until the last, the license is the former customer's and works:
// programs whose activations are already deleted activate again. A repeated call
// finishes a transfer that was interrupted. If the license is revoked, deleted or gets
// another customer between two Updates, the error says so. Inside Atomically or Once
// there is only their one Update, however many activations there are.
func (s *Service) Transfer(ctx context.Context, p api.TransferLicenseParams) (api.License, error) {
	t := transfer{TransferLicenseParams: p}
	if err := t.check(); err != nil {
		return api.License{}, err
	}
	for {
		l, more, err := s.transfer(ctx, &t, true)
		if err != nil {
			return api.License{}, fmt.Errorf("transfer license: %w", err)
		}
		if !more {
			return s.shown(l), nil
		}
	}
}

// TransferInParts returns the parts of Transfer for [internals.OncePrepared]: the first
// does all Updates but the last.
func (s internals) TransferInParts(ctx context.Context, p api.TransferLicenseParams) (prepare func() error, change func(*Service) (api.License, error)) {
	t := transfer{TransferLicenseParams: p}
	prepare = func() error {
		if err := t.check(); err != nil {
			return err
		}
		for {
			rows, err := activationsLeft(ctx, s.reader(), p.ID)
			if err == nil && len(rows) <= activationBatch {
				return nil
			}
			if err == nil {
				_, _, err = s.transfer(ctx, &t, false)
			}
			if err != nil {
				return fmt.Errorf("transfer license: %w", err)
			}
		}
	}
	return prepare, func(in *Service) (api.License, error) {
		last := t // the Update may be undone
		l, more, err := in.transfer(ctx, &last, true)
		if err == nil && more {
			err = errUnprepared
		}
		if err != nil {
			return api.License{}, fmt.Errorf("transfer license: %w", err)
		}
		return in.shown(l), nil
	}
}

// A transfer is a call of Transfer.
type transfer struct {
	api.TransferLicenseParams
	from string // the customer, once the first Update has deleted activations
}

// check checks t and normalizes it as stored.
func (t *transfer) check() error { return invalidFields(checkTransfer(&t.TransferLicenseParams)) }

func checkTransfer(p *api.TransferLicenseParams) []api.FieldError {
	broken := checkTags(p)
	metadata, wrong := checkMetadata(p.Metadata)
	p.Metadata = metadata
	return append(broken, wrong...)
}

// transfer does one Update of a transfer. If the license has more activations than a
// batch, it only deletes a batch, and more is true. Otherwise it moves the license if
// move is set.
func (s *Service) transfer(ctx context.Context, t *transfer, move bool) (moved api.License, more bool, err error) {
	from := t.from
	err = s.write(ctx, func(tx *transaction) error {
		more = false
		rec, err := s.find(ctx, tx, t.ID)
		if err != nil {
			return err
		}
		before, err := fromRecord(rec, tx.now)
		if err != nil {
			return err
		}
		if err := t.refusal(before); err != nil {
			return err
		}
		rows, err := activationsLeft(ctx, tx, rec.ID)
		if more = len(rows) > activationBatch; err != nil || !more && !move {
			return err
		}
		if !more {
			moved, err = s.moveTo(ctx, tx, rec, before, t.TransferLicenseParams)
			return err
		}
		from = rec.CustomerID
		if err := deleteSeats(ctx, tx, departure{how: licenseTransferred, from: rec, exact: s.opts.HoldOffline}); err != nil {
			return err
		}
		return tx.removeEntry(ctx, seatsKind, rec.ID) // counted when it is needed
	})
	if err == nil {
		t.from = from
	}
	return moved, more, err
}

// activationsLeft returns the activations of a license, up to one more than a batch.
func activationsLeft(ctx context.Context, r store.Reader, id string) ([]store.Activation, error) {
	return r.Activations(ctx, store.ActivationQuery{LicenseID: id, Limit: activationBatch + 1})
}

// refusal returns why a license cannot be transferred now; nil: it can.
func (t *transfer) refusal(l api.License) error {
	if t.from == "" {
		if err := checkVersion(l.Version(), t.IfMatch); err != nil {
			return err
		}
	}
	switch {
	case l.Status == api.LicenseRevoked:
		return &api.MoveError{Move: "transfer", From: api.LicenseRevoked, To: api.LicenseRevoked}
	case l.CustomerID == t.CustomerID:
		return api.Invalid("customer_id", api.FieldTaken, "is the customer of the license")
	case t.from != "" && l.CustomerID != t.from:
		return &api.StaleError{Current: l.Version()}
	}
	return nil
}

// moveTo writes the license of the new customer.
func (s *Service) moveTo(ctx context.Context, tx *transaction, rec record.License, before api.License, p api.TransferLicenseParams) (api.License, error) {
	fields := paramsOf(before)
	fields.CustomerID, fields.Name, fields.Metadata = p.CustomerID, cmp.Or(p.Name, p.CustomerID), p.Metadata
	next := rec
	if !p.KeepKey {
		fields.Key = NewKey()
	}
	writeFields(fields, &next)
	next.StateReason, next.Generation = "", generation(rec)+1
	next.CustomerSince = next.Generation
	data := api.EventData{Reason: p.Reason, Changes: map[string]api.FieldChange{
		"customer_id": {From: before.CustomerID, To: p.CustomerID},
		"generation":  {From: before.Generation, To: next.Generation},
	}}
	after, _, err := s.replace(ctx, tx, rec, before, next, api.EventLicenseTransferred, data)
	return after, err
}
