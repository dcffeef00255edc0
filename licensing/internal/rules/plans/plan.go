package plans

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/store"
)

// PutPlan is [Service.PutPlan], and reports whether it created the plan.
func (s Service) PutPlan(ctx context.Context, p api.PutPlanParams) (put api.Plan, created bool, err error) {
	if err := call.InvalidFields(CheckPlan(&p, s.Now())); err != nil {
		return api.Plan{}, false, err
	}
	p.Name, p.Kind, p.UntilEnds = cmp.Or(p.Name, p.ID), cmp.Or(p.Kind, api.PlanBase), cmp.Or(p.UntilEnds, api.UntilEndsLicense)
	if !s.Sees(p.ProductID) {
		return api.Plan{}, false, api.ErrProductForbidden
	}
	err = s.Write(ctx, func(tx *call.Tx) error {
		before, ok, err := ReadPlan(ctx, tx, p.ID)
		switch {
		case err != nil:
			return err
		case ok && !s.Sees(before.ProductID):
			return api.ErrProductForbidden
		case !ok && p.IfMatch != nil:
			return fmt.Errorf("plan %q: %w", p.ID, api.ErrNotFound)
		}
		if err := call.CheckVersion(before.Version(), p.IfMatch); err != nil {
			return err
		}
		if ok && before.Kind != p.Kind {
			if err := checkUnsold(ctx, tx, p.ID); err != nil {
				return err
			}
		}
		put = api.Plan{
			Object: "plan", ID: p.ID, ProductID: p.ProductID, Name: p.Name, Kind: p.Kind, Line: p.Line, Duration: p.Duration, UntilEnds: p.UntilEnds, Starts: p.Starts,
			Terms: p.Terms, Revision: before.Revision + 1, CreatedAt: before.CreatedAt, UpdatedAt: tx.Now,
		}
		created = !ok
		event, data := api.EventPlanUpdated, api.EventData{Plan: &put}
		if !ok {
			event, put.CreatedAt = api.EventPlanCreated, tx.Now
		} else if data.Changes = diffPlans(before, put); len(data.Changes) == 0 {
			put = before
			return nil
		}
		if err := tx.PutEntries(ctx, store.Entry{Kind: planKind, Key: put.ID, Data: record.Encode(put), CreatedAt: put.CreatedAt}); err != nil {
			return err
		}
		return s.appendPlan(ctx, tx, event, data)
	})
	if err != nil {
		return api.Plan{}, false, fmt.Errorf("put plan: %w", err)
	}
	return put, created, nil
}

// CheckPlan checks p and normalizes it as stored.
func CheckPlan(p *api.PutPlanParams, now time.Time) []api.FieldError {
	broken := call.CheckTags(p)
	if !call.IsIdentifier(p.ID) {
		broken = append(broken, api.FieldError{Field: "id", Code: api.FieldInvalidFormat, Detail: call.IdentifierRule})
	}
	if !call.InBounds(p.Duration) {
		broken = append(broken, api.FieldError{Field: "duration", Code: api.FieldOutOfRange, Detail: "must not have a negative part or a part of more than eight digits"})
	} else if !valid.IsInstant(p.Duration.AddTo(now.AddDate(1000, 0, 0))) {
		broken = append(broken, api.FieldError{Field: "duration", Code: api.FieldOutOfRange, Detail: "is too long; omit it for licenses that last forever"})
	}
	if p.Starts != "" && p.Duration.IsZero() {
		broken = append(broken, api.FieldError{Field: "starts", Code: api.FieldOutOfRange, Detail: "is when the duration begins; set duration too, or omit it"})
	}
	refuse := func(field string, given bool) {
		if given && p.Kind == api.PlanAddOn {
			broken = append(broken, api.FieldError{Field: field, Code: api.FieldOutOfRange, Detail: "is a term of the base; a plan of an add-on must not have it"})
		}
	}
	refuse("until_ends", p.UntilEnds == api.UntilEndsUpdates)
	refuse("lease_seconds", p.LeaseSeconds != nil)
	refuse("offline_seconds", p.OfflineSeconds != nil)
	entitlements, wrong := call.CheckEntitlements(p.Entitlements)
	broken = append(broken, wrong...)
	p.Entitlements = entitlements
	meters, wrong := call.CheckMeters(p.Meters)
	p.Meters = meters
	return append(broken, wrong...)
}

// GetPlan returns a plan, or [api.ErrNotFound].
func (s Service) GetPlan(ctx context.Context, id string) (api.Plan, error) {
	p, ok, err := s.FindPlan(ctx, s.Reader(), id)
	if err == nil && !ok {
		err = fmt.Errorf("plan %q: %w", id, api.ErrNotFound)
	}
	return p, err
}

// ListPlans returns a page of plans in the order of their IDs. It returns an
// [*api.InvalidError].
func (s Service) ListPlans(ctx context.Context, p api.ListPlansParams) (api.Page[api.Plan], error) {
	if err := call.Check(p); err != nil {
		return api.Page[api.Plan]{}, err
	}
	limit := cmp.Or(p.Limit, valid.DefaultLimit)
	at := call.Cursor{Scope: call.ScopeOf("plans %q %t %q", p.ProductID, s.Caller.Products != nil, s.OnlyProducts()), Pinned: s.Now()}
	if p.Cursor != "" {
		var ok bool
		if at, ok = call.ParseCursor(p.Cursor, at.Scope, ""); !ok {
			return api.Page[api.Plan]{}, call.ErrCursor
		}
	}
	page := api.Page[api.Plan]{Data: []api.Plan{}}
	for e, err := range entries.All(ctx, s.Reader(), store.EntryQuery{Kind: planKind, After: at.After}) {
		if err != nil {
			return api.Page[api.Plan]{}, fmt.Errorf("list plans: %w", err)
		}
		plan, err := call.ReadJSON[api.Plan](e)
		if err != nil {
			return api.Page[api.Plan]{}, fmt.Errorf("plan %s: %w", e.Key, err)
		}
		if p.ProductID != "" && p.ProductID != plan.ProductID || !s.Sees(plan.ProductID) {
			continue
		}
		if len(page.Data) == limit {
			at.After.ID = page.Data[limit-1].ID
			page.HasMore, page.NextCursor = true, at.String()
			return page, nil
		}
		page.Data = append(page.Data, plan)
	}
	return page, nil
}

// AllPlans iterates over the plans that p selects; see package selling.
func (s Service) AllPlans(ctx context.Context, p api.ListPlansParams) iter.Seq2[api.Plan, error] {
	p.Limit = call.MaxLimit
	return call.All(func(cursor string) (api.Page[api.Plan], error) {
		p.Cursor = cursor
		return s.ListPlans(ctx, p)
	})
}

// DeletePlan removes a plan and appends a plan.deleted event. Licenses and
// purchases keep what they have of it. It returns [api.ErrNotFound] or a
// [*api.StaleError].
func (s Service) DeletePlan(ctx context.Context, p api.DeletePlanParams) error {
	err := s.Write(ctx, func(tx *call.Tx) error {
		plan, ok, err := s.FindPlan(ctx, tx, p.ID)
		if err == nil && !ok {
			err = fmt.Errorf("plan %q: %w", p.ID, api.ErrNotFound)
		}
		if err == nil {
			err = call.CheckVersion(plan.Version(), p.IfMatch)
		}
		if err == nil {
			err = tx.DeleteEntries(ctx, planKind, plan.ID)
		}
		if err != nil {
			return err
		}
		return s.appendPlan(ctx, tx, api.EventPlanDeleted, api.EventData{Plan: &plan})
	})
	if err != nil {
		return fmt.Errorf("delete plan: %w", err)
	}
	return nil
}

// PurchaseOfPlanKind is the kind of the entries of purchases whose terms are those of a
// plan. Key is the ID of the plan, a slash and the digest of the reference.
const PurchaseOfPlanKind = "purchase_plan"

// SoldQuery selects the entries of the purchases that have the terms of a plan.
func SoldQuery(id string) store.EntryQuery {
	return store.EntryQuery{Kind: PurchaseOfPlanKind, From: id + "/", Before: store.PrefixEnd(id + "/")}
}

// checkUnsold returns an error if a purchase has the terms of a plan.
func checkUnsold(ctx context.Context, r store.Reader, id string) error {
	q := SoldQuery(id)
	q.Limit = 1
	sold, err := r.Entries(ctx, q)
	if err == nil && len(sold) > 0 {
		err = api.Invalid("kind", api.FieldImmutable, "cannot change while a purchase has the plan; use another plan")
	}
	return err
}

// planKind is the kind of the entries of plans. Key is the ID of the plan.
const planKind = "plan"

func ReadPlan(ctx context.Context, r store.Reader, id string) (p api.Plan, ok bool, err error) {
	e, err := r.Entry(ctx, planKind, id)
	if errors.Is(err, store.ErrNotFound) {
		return api.Plan{}, false, nil
	}
	if err == nil {
		p, err = call.ReadJSON[api.Plan](e)
	}
	return p, err == nil, err
}

// FindPlan is readPlan of a plan that exists for the caller.
func (s Service) FindPlan(ctx context.Context, r store.Reader, id string) (p api.Plan, ok bool, err error) {
	if !call.IsIdentifier(id) {
		return api.Plan{}, false, nil
	}
	p, ok, err = ReadPlan(ctx, r, id)
	return p, ok && s.Sees(p.ProductID), err
}

// appendPlan adds an event about the plan in data.
func (s Service) appendPlan(ctx context.Context, tx *call.Tx, eventType string, data api.EventData) error {
	return s.AppendOther(ctx, tx, store.Event{Type: eventType, Subject: data.Plan.ID, ProductID: data.Plan.ProductID, Data: record.Encode(data)})
}

func diffPlans(before, after api.Plan) map[string]api.FieldChange {
	changes := make(call.Changes)
	call.Note(changes, "product_id", before.ProductID == after.ProductID, before.ProductID, after.ProductID)
	call.Note(changes, "name", before.Name == after.Name, before.Name, after.Name)
	call.Note(changes, "kind", before.Kind == after.Kind, before.Kind, after.Kind)
	call.Note(changes, "line", before.Line == after.Line, before.Line, after.Line)
	call.Note(changes, "duration", before.Duration == after.Duration, before.Duration, after.Duration)
	call.Note(changes, "until_ends", before.UntilEnds == after.UntilEnds, before.UntilEnds, after.UntilEnds)
	call.Note(changes, "starts", before.Starts == after.Starts, before.Starts, after.Starts)
	call.NoteTerms(changes, before.Terms, after.Terms)
	return changes
}
