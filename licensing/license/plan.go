package license

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// PutPlan creates a plan or replaces all its terms: a field that is not set gets
// its default. It appends a plan.created or plan.updated event. If nothing
// changes, it writes nothing. It returns an [*api.InvalidError], a [*api.StaleError],
// [api.ErrNotFound] if there is no plan and IfMatch is set, or [api.ErrProductForbidden].
func (s *Service) PutPlan(ctx context.Context, p api.PutPlanParams) (api.Plan, error) {
	plan, _, err := internals{s}.PutPlan(ctx, p)
	return plan, err
}

// PutPlan is [Service.PutPlan], and reports whether it created the plan.
func (s internals) PutPlan(ctx context.Context, p api.PutPlanParams) (put api.Plan, created bool, err error) {
	if err := invalidFields(checkPlan(&p, s.now())); err != nil {
		return api.Plan{}, false, err
	}
	p.Name, p.UntilEnds = cmp.Or(p.Name, p.ID), cmp.Or(p.UntilEnds, api.UntilEndsLicense)
	if !s.sees(p.ProductID) {
		return api.Plan{}, false, api.ErrProductForbidden
	}
	err = s.write(ctx, func(tx *transaction) error {
		before, ok, err := readPlan(ctx, tx, p.ID)
		switch {
		case err != nil:
			return err
		case ok && !s.sees(before.ProductID):
			return api.ErrProductForbidden
		case !ok && p.IfMatch != nil:
			return api.ErrNotFound
		}
		if err := checkVersion(before.Version(), p.IfMatch); err != nil {
			return err
		}
		put = api.Plan{
			Object: "plan", ID: p.ID, ProductID: p.ProductID, Name: p.Name, Duration: p.Duration, UntilEnds: p.UntilEnds,
			Terms: p.Terms, Revision: before.Revision + 1, CreatedAt: before.CreatedAt, UpdatedAt: tx.now,
		}
		created = !ok
		event, data := api.EventPlanUpdated, api.EventData{Plan: &put}
		if !ok {
			event, put.CreatedAt = api.EventPlanCreated, tx.now
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

// checkPlan checks p and normalizes it as stored.
func checkPlan(p *api.PutPlanParams, now time.Time) []api.FieldError {
	broken := checkTags(p)
	if !isIdentifier(p.ID) {
		broken = append(broken, api.FieldError{Field: "id", Code: api.FieldInvalidFormat, Detail: identifierRule})
	}
	if !inBounds(p.Duration) {
		broken = append(broken, api.FieldError{Field: "duration", Code: api.FieldOutOfRange, Detail: "must not have a negative part or a part of more than eight digits"})
	} else if !valid.IsInstant(p.Duration.AddTo(now.AddDate(1000, 0, 0))) {
		broken = append(broken, api.FieldError{Field: "duration", Code: api.FieldOutOfRange, Detail: "is too long; omit it for licenses that last forever"})
	}
	entitlements, wrong := checkEntitlements(p.Entitlements)
	p.Entitlements = entitlements
	return append(broken, wrong...)
}

// GetPlan returns a plan, or [api.ErrNotFound].
func (s *Service) GetPlan(ctx context.Context, id string) (api.Plan, error) {
	p, ok, err := s.findPlan(ctx, s.reader(), id)
	if err == nil && !ok {
		err = fmt.Errorf("plan: %w", api.ErrNotFound)
	}
	return p, err
}

// ListPlans returns a page of plans in the order of their IDs. It returns an
// [*api.InvalidError].
func (s *Service) ListPlans(ctx context.Context, p api.ListPlansParams) (api.Page[api.Plan], error) {
	if err := check(p); err != nil {
		return api.Page[api.Plan]{}, err
	}
	limit := cmp.Or(p.Limit, valid.DefaultLimit)
	at := cursor{scope: scopeOf("plans %q %t %q", p.ProductID, s.caller.Products != nil, s.products()), pinned: s.now()}
	if p.Cursor != "" {
		var ok bool
		if at, ok = parseCursor(p.Cursor, at.scope, ""); !ok {
			return api.Page[api.Plan]{}, errCursor
		}
	}
	page := api.Page[api.Plan]{Data: []api.Plan{}}
	for e, err := range entries.All(ctx, s.reader(), store.EntryQuery{Kind: planKind, After: at.after}) {
		if err != nil {
			return api.Page[api.Plan]{}, fmt.Errorf("list plans: %w", err)
		}
		plan, err := readJSON[api.Plan](e)
		if err != nil {
			return api.Page[api.Plan]{}, fmt.Errorf("plan %s: %w", e.Key, err)
		}
		if p.ProductID != "" && p.ProductID != plan.ProductID || !s.sees(plan.ProductID) {
			continue
		}
		if len(page.Data) == limit {
			at.after.ID = page.Data[limit-1].ID
			page.HasMore, page.NextCursor = true, at.String()
			return page, nil
		}
		page.Data = append(page.Data, plan)
	}
	return page, nil
}

// DeletePlan removes a plan and appends a plan.deleted event. Licenses and
// purchases keep what they have of it. It returns [api.ErrNotFound] or a
// [*api.StaleError].
func (s *Service) DeletePlan(ctx context.Context, p api.DeletePlanParams) error {
	err := s.write(ctx, func(tx *transaction) error {
		plan, ok, err := s.findPlan(ctx, tx, p.ID)
		if err == nil && !ok {
			err = api.ErrNotFound
		}
		if err == nil {
			err = checkVersion(plan.Version(), p.IfMatch)
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

// planKind is the kind of the entries of plans. Key is the ID of the plan.
const planKind = "plan"

func readPlan(ctx context.Context, r store.Reader, id string) (p api.Plan, ok bool, err error) {
	e, err := r.Entry(ctx, planKind, id)
	if errors.Is(err, store.ErrNotFound) {
		return api.Plan{}, false, nil
	}
	if err == nil {
		p, err = readJSON[api.Plan](e)
	}
	return p, err == nil, err
}

// findPlan is readPlan of a plan that exists for the caller.
func (s *Service) findPlan(ctx context.Context, r store.Reader, id string) (p api.Plan, ok bool, err error) {
	if !isIdentifier(id) {
		return api.Plan{}, false, nil
	}
	p, ok, err = readPlan(ctx, r, id)
	return p, ok && s.sees(p.ProductID), err
}

// appendPlan adds an event about the plan in data.
func (s *Service) appendPlan(ctx context.Context, tx *transaction, eventType string, data api.EventData) error {
	return s.appendOther(ctx, tx, store.Event{Type: eventType, Subject: data.Plan.ID, ProductID: data.Plan.ProductID, Data: record.Encode(data)})
}

func diffPlans(before, after api.Plan) map[string]api.FieldChange {
	changes := make(changes)
	note(changes, "product_id", before.ProductID == after.ProductID, before.ProductID, after.ProductID)
	note(changes, "name", before.Name == after.Name, before.Name, after.Name)
	note(changes, "duration", before.Duration == after.Duration, before.Duration, after.Duration)
	note(changes, "until_ends", before.UntilEnds == after.UntilEnds, before.UntilEnds, after.UntilEnds)
	noteTerms(changes, before.Terms, after.Terms)
	return changes
}
