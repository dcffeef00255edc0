package meters

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/store"
)

// CountUsage counts usage of the license with a key; see package metering.
func (s Service) CountUsage(ctx context.Context, p api.CountUsageParams) (u api.Usage, err error) {
	p.Usage = slices.Clone(p.Usage)
	if err := call.InvalidFields(CheckCount(&p, s.Now())); err != nil {
		return api.Usage{}, err
	}
	s = Of(s.AsHolder())
	var a answer
	err = s.Write(ctx, func(tx *call.Tx) error {
		rec, ok, err := licenses.Of(s.Call).ByKey(ctx, tx, p.Key)
		if err != nil {
			return err
		}
		answers, err := s.count(ctx, tx, p.ProductID, Reports{License: found(rec, ok), Usage: p.Usage})
		if err != nil {
			return err
		}
		if a = answers[0]; a.denied != nil {
			return a.denied
		}
		return nil
	})
	if a.denied != nil && errors.Is(err, api.ErrDenied) {
		s.observe(ctx, a)
	}
	if err != nil {
		return api.Usage{}, fmt.Errorf("count usage: %w", err)
	}
	return a.Usage, nil
}

// RecordUsage counts usage of licenses, each of which is decided by itself; see package
// metering.
func (s Service) RecordUsage(ctx context.Context, p api.RecordUsageParams) (api.UsageBatch, error) {
	p.Licenses = slices.Clone(p.Licenses)
	ids := make([]string, len(p.Licenses))
	for i, l := range p.Licenses {
		ids[i], p.Licenses[i].Usage = l.LicenseID, slices.Clone(l.Usage)
	}
	if err := call.InvalidFields(CheckRecord(&p, s.Now())); err != nil {
		return api.UsageBatch{}, err
	}
	var answers []answer
	err := s.Write(ctx, func(tx *call.Tx) error {
		rows, err := tx.Licenses(ctx, store.LicenseQuery{IDs: ids})
		if err != nil {
			return err
		}
		all := make([]Reports, len(ids))
		for i, id := range ids {
			all[i].Usage = p.Licenses[i].Usage
			at := slices.IndexFunc(rows, func(row store.License) bool { return row.ID == id && s.Sees(row.ProductID) })
			if at < 0 {
				continue
			}
			rec, err := licenses.Read(rows[at], tx.Now)
			if err != nil {
				return err
			}
			all[i].License = &rec
		}
		answers, err = s.count(ctx, tx, "", all...)
		return err
	})
	if err != nil {
		return api.UsageBatch{}, fmt.Errorf("record usage: %w", err)
	}
	batch := api.UsageBatch{Object: "usage_batch", Data: make([]api.Usage, len(answers))}
	for i, a := range answers {
		batch.Data[i] = a.Usage
		batch.Data[i].LicenseID = ids[i]
		switch {
		case a.denied == nil:
		case a.denied.Verdict.License == nil: // a verdict speaks of the key
			batch.Data[i].Refused.Detail = "No license has this id, or the caller may not see it."
		default:
			s.observe(ctx, a)
		}
	}
	return batch, nil
}

func found(rec record.License, ok bool) *record.License {
	if !ok {
		return nil
	}
	return &rec
}

// An answer is the result of a call for one license.
type answer struct {
	api.Usage
	denied *api.DeniedError // why nothing was counted; nil: it was
	meter  string           // that was refused
}

// count counts the reports that are not refused, for a product unless that is empty. It
// reads and decides before it writes.
func (s Service) count(ctx context.Context, tx *call.Tx, productID string, all ...Reports) ([]answer, error) {
	ledger, err := Load(ctx, tx, tx.Now, all...)
	if err != nil {
		return nil, err
	}
	answers := make([]answer, len(all))
	for i, one := range all {
		v, err := s.MayUse(one.License, productID, tx.Now)
		if err == nil {
			answers[i], err = s.countOne(ledger, i, one, v, tx.Now)
		}
		if err != nil {
			return nil, err
		}
	}
	return answers, s.Put(ctx, tx, ledger)
}

// countOne counts the reports about one license, at an index of a ledger, if a verdict allows
// it or all has happened.
func (s Service) countOne(ledger *Ledger, index int, one Reports, v api.Verdict, now time.Time) (a answer, err error) {
	a.Usage = api.Usage{Object: "usage", Counted: make([]int64, len(one.Usage)), Meters: []api.MeterUse{}}
	if !v.Valid && !happened(one, v) {
		a.denied = &api.DeniedError{Verdict: v}
		a.Refused = &v.Reasons[0]
		return a, nil
	}
	counted, uses, refused := ledger.Count(index)
	a.LicenseID = one.License.ID
	if refused != nil {
		if a.Refused, a.meter = &refused.Reason, refused.Meter; refused.Uses != nil {
			a.Meters = refused.Uses
		}
		a.denied, err = s.Denied(*one.License, *refused, now)
		return a, err
	}
	a.Counted, a.Meters = counted, uses
	return a, nil
}

// observe hands a refused report to the hook.
func (s Service) observe(ctx context.Context, a answer) {
	s.Observe(ctx, a.denied.Verdict, api.RefusedCall{Action: "use", Asked: a.meter})
}

// Denied returns the error for a license that is valid, of which a meter allows no more.
func (s Service) Denied(l record.License, refused Refusal, at time.Time) (*api.DeniedError, error) {
	shown, err := licenses.FromRecord(l, at)
	if err != nil {
		return nil, err
	}
	shown.Key, shown.Reference = "", ""
	v := api.Verdict{Code: refused.Reason.Code, Reasons: []api.Reason{refused.Reason}, License: &shown, Meters: refused.Uses, RecheckAfter: call.Seconds(s.Opts.RecheckAfter)}
	for _, u := range refused.Uses {
		v.NextChangeAt = u.ResetsAt
	}
	return &api.DeniedError{Verdict: v}, nil
}

// happened reports whether all that is reported has been used already, so that the state of
// the license does not matter.
func happened(one Reports, v api.Verdict) bool {
	other := func(r api.Reason) bool { return r.Code == api.VerdictProductMismatch }
	asks := func(r api.UsageReport) bool { return r.At == nil }
	return one.License != nil && !slices.ContainsFunc(v.Reasons, other) && !slices.ContainsFunc(one.Usage, asks)
}
