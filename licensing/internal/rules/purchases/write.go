package purchases

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/store"
)

// decide returns a decision from what a Reader reads. It may run several times.
type decide func(context.Context, store.Reader) (decision, error)

// inUpdate carries out a decision in one Update. Options.BeforeCreate runs before it,
// but inside Atomically and Once.
func (s Service) inUpdate(ctx context.Context, verb string, decide decide) (f api.Purchase, err error) {
	for {
		var p *preparedCreate
		if s.Opts.BeforeCreate != nil && s.Tx == nil {
			p, err = s.prepareCreate(ctx, decide)
		}
		if err == nil {
			f, err = s.inUpdatePrepared(ctx, decide, p)
		}
		if errors.Is(err, call.ErrUnprepared) {
			continue
		}
		if err != nil {
			return api.Purchase{}, fmt.Errorf("%s: %w", verb, err)
		}
		return f, nil
	}
}

// A preparedCreate is what Options.BeforeCreate made of the license that a decision
// creates.
type preparedCreate struct {
	asked  []byte // the license that it was given; nil: the decision creates none
	params api.CreateLicenseParams
}

// prepareCreate runs Options.BeforeCreate, if a decision creates a license now.
func (s Service) prepareCreate(ctx context.Context, decide decide) (*preparedCreate, error) {
	var d decision
	err := s.Read(ctx, func(r store.Reader) (err error) {
		d, err = decide(ctx, r)
		return err
	})
	p := &preparedCreate{}
	if err == nil && d.params != nil {
		p.asked, p.params = record.Encode(d.params), *d.params
		err = licenses.Of(s.Call).BeforeCreate(ctx, &p.params)
	}
	return p, err
}

// inUpdatePrepared carries out a decision in one Update. It returns errUnprepared if the
// license to create is not the one of p. With a nil p, Options.BeforeCreate runs in the
// Update.
func (s Service) inUpdatePrepared(ctx context.Context, decide decide, p *preparedCreate) (f api.Purchase, err error) {
	err = s.Write(ctx, func(tx *call.Tx) error {
		d, err := decide(ctx, tx)
		switch {
		case err != nil:
			return err
		case d.params == nil || s.Opts.BeforeCreate == nil:
		case p == nil:
			err = licenses.Of(s.Call).BeforeCreate(ctx, d.params)
		case !bytes.Equal(p.asked, record.Encode(d.params)):
			err = call.ErrUnprepared
		default:
			params := licenses.Clone(p.params)
			d.params = &params
		}
		if err == nil {
			f, err = s.carryOut(ctx, tx, d)
		}
		return err
	})
	return f, err
}

// carryOut writes the purchase and the license of a decision.
func (s Service) carryOut(ctx context.Context, tx *call.Tx, d decision) (f api.Purchase, err error) {
	var l api.License
	switch {
	case d.params != nil:
		l, err = s.createFor(ctx, tx, &d)
	case d.result == api.PurchaseResultUnchanged:
		l, err = s.changeFor(ctx, tx, &d)
	case d.license != nil:
		if l, err = licenses.FromRecord(*d.license, tx.Now); err == nil {
			err = PutTrial(ctx, tx, l.ID, d.subjects)
		}
	}
	if err != nil {
		return api.Purchase{}, err
	}
	if d.result == api.PurchaseResultRevoked || d.result == api.PurchaseResultDeleted {
		d.before.Reference = d.after.Reference
		d.after = d.before
	} else {
		d.after.Waits = d.waits
		if d.after, err = PutPurchase(ctx, tx, d.before, d.after); err != nil {
			return api.Purchase{}, err
		}
	}
	return s.shownPurchase(d, l), nil
}

// shownPurchase returns what the caller sees of a decision about l.
func (s Service) shownPurchase(d decision, l api.License) api.Purchase {
	if d.hidden {
		f := d.purchase(nil)
		f.Result, f.CustomerID, f.Fields = api.PurchaseResultTransferred, "", map[string]api.PurchaseField{}
		return f
	}
	if l.ID == "" || !d.after.Granted {
		return d.purchase(nil)
	}
	l = s.Shown(l)
	return d.purchase(&l)
}

// createFor creates the license of a purchase.
func (s Service) createFor(ctx context.Context, tx *call.Tx, d *decision) (api.License, error) {
	p := *d.params
	if err := licenses.Of(s.Call).CheckFields(&p); err != nil {
		return api.License{}, err
	}
	rec := licenses.NewRecord(tx.Now)
	if d.id != "" {
		rec.ID = d.id
	}
	licenses.WriteFields(p, &rec)
	rec.Reference = d.after.Reference
	if err := d.create(&rec, tx.Now); err != nil {
		return api.License{}, err
	}
	d.after.LicenseID = rec.ID
	l, err := licenses.Of(s.Call).Add(ctx, tx, rec, p, d.eventData())
	if err != nil { // nothing is written if it is a rule error
		return api.License{}, err
	}
	return l, PutTrial(ctx, tx, rec.ID, d.after.Subjects)
}

// eventData returns what the event of a change by a purchase says beside the license.
func (d *decision) eventData() api.EventData {
	data := api.EventData{Reference: d.after.Reference, Reason: d.reason}
	if !d.before.Granted {
		data.Granted = d.after.Terms.Value.ID
	}
	return data
}

// changeFor changes the license of a purchase.
func (s Service) changeFor(ctx context.Context, tx *call.Tx, d *decision) (api.License, error) {
	before, err := licenses.FromRecord(*d.license, tx.Now)
	if err != nil {
		return api.License{}, err
	}
	next := *d.license
	if err := d.change(&next, tx.Now); err != nil {
		return api.License{}, err
	}
	after, changed, err := licenses.Of(s.Call).Replace(ctx, tx, *d.license, before, next, d.eventOf(*d.license, next, tx.Now), d.eventData())
	if data := d.eventData(); err == nil && !changed && data.Granted != "" { // the sale has an event in any case
		err = s.Append(ctx, tx, api.EventLicenseUpdated, after, data)
	}
	if err == nil && d.own != nil {
		_, err = PutPurchase(ctx, tx, Purchase{}, *d.own)
	}
	if err == nil {
		err = d.putWaits(ctx, tx, next)
	}
	if changed {
		d.result = api.PurchaseResultChanged
	}
	return after, err
}
