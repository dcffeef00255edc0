package purchases

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/plans"
	"github.com/seed-d8a106b4/licensekit/store"
)

// StartTrial creates a license for the Duration of a plan, unless the customer or one of
// the subjects has had a trial of the product; see package license.
func (s Service) StartTrial(ctx context.Context, p api.StartTrialParams) (api.Trial, error) {
	if err := call.Check(p); err != nil {
		return api.Trial{}, err
	}
	f, err := s.inUpdate(ctx, "start trial", s.decideTrial(s.newTrial(p)))
	if err != nil {
		return api.Trial{}, err
	}
	return trialOf(f), nil
}

// StartTrialInParts returns the parts of StartTrial for OncePrepared:
// Options.BeforeCreate runs before the Update.
func (s Service) StartTrialInParts(ctx context.Context, p api.StartTrialParams) (prepare func() error, change func(*call.Call) (api.Trial, error)) {
	if s.Opts.BeforeCreate == nil {
		return nil, func(in *call.Call) (api.Trial, error) { return Of(in).StartTrial(ctx, p) }
	}
	trial := s.newTrial(p)
	var prepared *preparedCreate
	prepare = func() (err error) {
		if err = call.Check(p); err != nil {
			return err
		}
		if prepared, err = s.prepareCreate(ctx, s.decideTrial(trial)); err != nil {
			err = fmt.Errorf("start trial: %w", err)
		}
		return err
	}
	return prepare, func(in *call.Call) (api.Trial, error) {
		f, err := Of(in).inUpdatePrepared(ctx, Of(in).decideTrial(trial), prepared)
		if err != nil {
			return api.Trial{}, fmt.Errorf("start trial: %w", err)
		}
		return trialOf(f), nil
	}
}

func trialOf(f api.Purchase) api.Trial {
	return api.Trial{Object: "trial", Started: f.Result == api.PurchaseResultCreated, License: *f.License}
}

// A newTrial is a call of StartTrial, and the license that it creates if it creates one.
type newTrial struct {
	api.StartTrialParams
	at time.Time
	id string
}

func (s Service) newTrial(p api.StartTrialParams) newTrial {
	now := s.Now()
	return newTrial{p, now, store.NewID("lic", now)}
}

// decideTrial decides what StartTrial does.
func (s Service) decideTrial(p newTrial) decide {
	return func(ctx context.Context, r store.Reader) (decision, error) {
		plan, ok, err := plans.Of(s.Call).FindPlan(ctx, r, p.PlanID)
		switch {
		case err != nil:
			return decision{}, err
		case !ok:
			return decision{}, plans.ErrUnknownPlan
		case plan.Kind == api.PlanAddOn:
			return decision{}, plans.ErrAddOn
		case plan.Duration.IsZero():
			return decision{}, api.Invalid("plan_id", api.FieldOutOfRange, "is a plan without a duration, so that a trial of it would never end")
		case plan.UntilEnds == api.UntilEndsUpdates:
			return decision{}, api.Invalid("plan_id", api.FieldOutOfRange, "is a plan whose duration ends only updates, so that a trial of it would never end")
		}
		keys := []string{TrialKey("customer", plan.ProductID, p.CustomerID)}
		for _, subject := range p.Subjects {
			if key := TrialKey("subject", plan.ProductID, subject); !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
		found, err := r.Entries(ctx, store.EntryQuery{Kind: TrialKind, Keys: keys})
		if err != nil {
			return decision{}, err
		}
		for _, e := range found {
			if e.Key == keys[0] {
				more := slices.DeleteFunc(keys, func(key string) bool {
					return slices.ContainsFunc(found, func(e store.Entry) bool { return e.Key == key })
				})
				return s.oldTrial(ctx, r, string(e.Data), p.CustomerID, more)
			}
		}
		if len(found) > 0 {
			return decision{}, api.ErrTrialTaken
		}
		event := purchaseOf(api.RecordPurchaseParams{Reference: TrialPrefix + p.id, At: p.at, CustomerID: p.CustomerID, Name: p.Name, PlanID: plan.ID, State: api.PurchaseActive})
		d := decision{after: event, id: p.id}
		d.after.Subjects = keys
		return s.decideChange(ctx, r, d, event.Plan)
	}
}

// How many subjects a trial has at most, beside its customer, and how many of them repeated calls
// bind: a customer could name devices and addresses of others.
const (
	maxSubjects      = 20
	maxLaterSubjects = 5
)

// oldTrial decides that a customer gets the license of an earlier trial, which binds as many of
// more subjects as it may have. Their keys are in no other trial.
func (s Service) oldTrial(ctx context.Context, r store.Reader, id, customerID string, more []string) (decision, error) {
	rec, err := licenses.Of(s.Call).Find(ctx, r, id)
	if errors.Is(err, api.ErrNotFound) || err == nil && (rec.State == store.StateRevoked || rec.CustomerID != customerID) {
		return decision{}, api.ErrTrialTaken
	}
	if err != nil {
		return decision{}, err
	}
	reference := TrialPrefix + id
	before, ok, err := ReadPurchase(ctx, r, reference, s.Now())
	if err != nil {
		return decision{}, err
	}
	before.Reference, before.LicenseID, before.Granted = reference, id, true
	d := decision{before: before, after: before, license: &rec, waits: before.Waits}
	free := max(0, min(maxSubjects+1-len(before.Subjects), maxLaterSubjects-before.Later))
	if more = more[:min(len(more), free)]; ok && len(more) > 0 {
		d.subjects = more
		d.after.Subjects, d.after.Later = append(slices.Clone(before.Subjects), more...), before.Later+len(more)
	}
	return d, nil
}

// AllowTrial allows the customer and the subjects of a trial another one, and appends
// a trial.allowed event. The license of the trial does not change. It returns
// [api.ErrNotFound] if no trial with that license is in the way of another.
func (s Service) AllowTrial(ctx context.Context, p api.AllowTrialParams) error {
	if err := call.Check(p); err != nil {
		return err
	}
	err := s.Write(ctx, func(tx *call.Tx) error {
		reference := TrialPrefix + p.LicenseID
		trial, ok, err := ReadPurchase(ctx, tx, reference, tx.Now)
		if err == nil && (!ok || len(trial.Subjects) == 0 || !s.Sees(trial.ProductID())) {
			err = fmt.Errorf("trial %q: %w", p.LicenseID, api.ErrNotFound)
		}
		if err != nil {
			return err
		}
		bound, err := tx.Entries(ctx, store.EntryQuery{Kind: TrialKind, Keys: trial.Subjects})
		if err != nil {
			return err
		}
		for _, e := range bound {
			if string(e.Data) != p.LicenseID { // bound again, to a later trial
				continue
			}
			if err := tx.DeleteEntries(ctx, TrialKind, e.Key); err != nil {
				return err
			}
		}
		before := trial
		trial.Reference, trial.Subjects = reference, nil
		if trial, err = PutPurchase(ctx, tx, before, trial); err != nil {
			return err
		}
		return s.AppendOther(ctx, tx, store.Event{
			Type: api.EventTrialAllowed, Subject: p.LicenseID, ProductID: trial.ProductID(), CustomerID: trial.CustomerID,
			Data: record.Encode(api.EventData{Reference: reference, Reason: p.Reason}),
		})
	})
	if err != nil {
		return fmt.Errorf("allow another trial: %w", err)
	}
	return nil
}

// TrialKind is the kind of the entries of customers and subjects that have had a
// trial. Data is the ID of its license. They never expire.
const TrialKind = "trial"

// TrialPrefix begins the references of trials; the ID of the license follows.
const TrialPrefix = "trial:"

func isTrial(reference string) bool { return strings.HasPrefix(reference, TrialPrefix) }

// TrialKey returns the key of an entry. It begins with the key of the product.
func TrialKey(kind, productID, text string) string {
	var b []byte
	for _, text := range []string{kind, productID, text} {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	return trialProductKey(productID) + call.Digest(string(b))
}

// trialProductKey returns what the keys of the subjects that have had a trial of a product
// begin with. An import knows the product of a subject by it.
func trialProductKey(productID string) string { return call.Digest(productID)[:32] }

// PutTrial binds the subjects of a trial to its license.
func PutTrial(ctx context.Context, tx *call.Tx, licenseID string, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	entries := make([]store.Entry, len(keys))
	for i, key := range keys {
		entries[i] = store.Entry{Kind: TrialKind, Key: key, Data: []byte(licenseID), CreatedAt: tx.Now}
	}
	return tx.PutEntries(ctx, entries...)
}

// TrialOf returns the ID of the license of the trial with a reference, or "" if the
// reference is that of a purchase.
func (Service) TrialOf(reference string) string {
	id, _ := strings.CutPrefix(reference, TrialPrefix)
	if id == reference {
		return ""
	}
	return id
}
