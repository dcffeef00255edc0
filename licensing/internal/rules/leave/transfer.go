package leave

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/meters"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/revocations"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/seats"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Transfer gives a license to another customer; see package license.
func (s Service) Transfer(ctx context.Context, p api.TransferLicenseParams) (api.License, error) {
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
			return s.Shown(l), nil
		}
	}
}

// TransferInParts returns the parts of Transfer for OncePrepared: the first
// does all Updates but the last.
func (s Service) TransferInParts(ctx context.Context, p api.TransferLicenseParams) (prepare func() error, change func(*call.Call) (api.License, error)) {
	t := transfer{TransferLicenseParams: p}
	prepare = func() error {
		if err := t.check(); err != nil {
			return err
		}
		for {
			many, usage, err := leftToTransfer(ctx, s.Reader(), p.ID, s.Now())
			if err == nil && !many && !usage {
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
	return prepare, func(in *call.Call) (api.License, error) {
		last := t // the Update may be undone
		l, more, err := Of(in).transfer(ctx, &last, true)
		if err == nil && more {
			err = call.ErrUnprepared
		}
		if err != nil {
			return api.License{}, fmt.Errorf("transfer license: %w", err)
		}
		return in.Shown(l), nil
	}
}

// A transfer is a call of Transfer.
type transfer struct {
	api.TransferLicenseParams
	from string // the customer, once the first Update has deleted activations
}

// check checks t and normalizes it as stored.
func (t *transfer) check() error { return call.InvalidFields(CheckTransfer(&t.TransferLicenseParams)) }

func CheckTransfer(p *api.TransferLicenseParams) []api.FieldError {
	broken := call.CheckTags(p)
	metadata, wrong := call.CheckMetadata(p.Metadata)
	p.Metadata = metadata
	return append(broken, wrong...)
}

// transfer does one Update of a transfer. If the license has more activations or more
// usage of earlier periods than a batch, it only deletes a batch of one of them, and more
// is true. Otherwise it moves the license if move is set.
func (s Service) transfer(ctx context.Context, t *transfer, move bool) (moved api.License, more bool, err error) {
	from := t.from
	err = s.Write(ctx, func(tx *call.Tx) error {
		more = false
		rec, err := licenses.Of(s.Call).Find(ctx, tx, t.ID)
		if err != nil {
			return err
		}
		before, err := licenses.FromRecord(rec, tx.Now)
		if err != nil {
			return err
		}
		if err := t.refusal(before); err != nil {
			return err
		}
		units, err := s.reserve(ctx, tx, rec)
		if err != nil {
			return err
		}
		many, usage, err := leftToTransfer(ctx, tx, rec.ID, tx.Now)
		if more = many || usage; err != nil || !more && !move {
			return err
		}
		if !more {
			if err := meters.Of(s.Call).Put(ctx, tx, units); err != nil {
				return err
			}
			moved, err = s.moveTo(ctx, tx, rec, before, t.TransferLicenseParams)
			return err
		}
		from = rec.CustomerID
		d := departure{how: licenseTransferred, from: rec, exact: s.Opts.HoldOffline, call: s.Call}
		if usage {
			return leaveUsage(ctx, tx, d)
		}
		if err := deleteSeats(ctx, tx, d); err != nil {
			return err
		}
		return tx.DeleteEntries(ctx, seats.SeatsKind, rec.ID) // counted when it is needed
	})
	if err == nil {
		t.from = from
	}
	return moved, more, err
}

// reserve counts the transfer of a license that has a meter for that, or returns a
// [*api.DeniedError]. It writes nothing, so a transfer in several Updates counts once, in
// the Update that moves the license.
func (s Service) reserve(ctx context.Context, tx *call.Tx, rec record.License) (*meters.Ledger, error) {
	units, refused, err := meters.Reserve(ctx, tx, rec, tx.Now, api.MeterTransfers)
	if err == nil && refused != nil {
		var denied *api.DeniedError
		if denied, err = meters.Of(s.Call).Denied(rec, *refused, tx.Now); err == nil {
			err = denied
		}
	}
	return units, err
}

// leftToTransfer reports whether a license has more activations than a batch, and at least
// a batch of usage of earlier periods.
func leftToTransfer(ctx context.Context, r store.Reader, id string, now time.Time) (many, usage bool, err error) {
	rows, err := r.Activations(ctx, store.ActivationQuery{LicenseID: id, Limit: activationBatch + 1})
	if err == nil {
		usage, err = meters.ManyEnded(ctx, r, id, now)
	}
	return len(rows) > activationBatch, usage, err
}

// refusal returns why a license cannot be transferred now; nil: it can.
func (t *transfer) refusal(l api.License) error {
	if t.from == "" {
		if err := call.CheckVersion(l.Version(), t.IfMatch); err != nil {
			return err
		}
	}
	switch {
	case l.Status == api.LicenseRevoked:
		return &api.StateError{Change: "transfer", From: api.LicenseRevoked, To: api.LicenseRevoked}
	case l.CustomerID == t.CustomerID:
		return api.Invalid("customer_id", api.FieldTaken, "is the customer of the license")
	case t.from != "" && l.CustomerID != t.from:
		return &api.StaleError{Current: l.Version()}
	}
	return nil
}

// moveTo writes the license of the new customer.
func (s Service) moveTo(ctx context.Context, tx *call.Tx, rec record.License, before api.License, p api.TransferLicenseParams) (api.License, error) {
	fields := licenses.ParamsOf(before)
	fields.CustomerID, fields.Name, fields.Metadata = p.CustomerID, cmp.Or(p.Name, p.CustomerID), p.Metadata
	next := rec
	if !p.KeepKey {
		fields.Key = call.NewKey()
	}
	licenses.WriteFields(fields, &next)
	next.StateReason, next.Generation = "", revocations.Generation(rec)+1
	next.CustomerSince = next.Generation
	if err := licenses.LeaveTexts(&next, tx.Now); err != nil {
		return api.License{}, err
	}
	data := api.EventData{Reason: p.Reason, Changes: map[string]api.FieldChange{
		"customer_id": {From: before.CustomerID, To: p.CustomerID},
		"generation":  {From: before.Generation, To: next.Generation},
	}}
	after, _, err := licenses.Of(s.Call).Replace(ctx, tx, rec, before, next, api.EventLicenseTransferred, data)
	return after, err
}
