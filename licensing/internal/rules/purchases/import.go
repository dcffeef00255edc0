package purchases

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/plans"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
	"github.com/seed-d8a106b4/licensekit/store"
)

// ExportRow sets what the row of a license has of its purchases. rec is the license as it
// is now. A caller that is limited to products gets only purchases of these.
func (s Service) ExportRow(ctx context.Context, r store.Reader, rec record.License, row *api.LicenseRow, now time.Time) error {
	all, err := OfLicense(ctx, r, rec.ID)
	if err != nil {
		return err
	}
	for _, p := range all {
		if s.Caller.Products != nil && !p.IsOwn() && !s.Sees(p.ProductID()) {
			continue
		}
		p.CustomerID, p.LicenseID, p.Granted, p.Waits, p.UpdatedAt = "", "", false, "", time.Time{} // an import sets them
		row.Purchases = append(row.Purchases, documentOf(p))
	}
	is, err := licenses.SuspensionOf(rec)
	if err != nil {
		return err
	}
	if row.Purchases != nil || is.ByCustomer && is.By == "" {
		row.Suspension = documentOf(is)
	}
	if row.Purchases == nil {
		return nil
	}
	row.ExportedAt = &now
	return call.Decode(rec.Hand, &row.ByHand)
}

// documentOf returns a value as an object of JSON; nil: it is empty.
func documentOf(v any) (document map[string]any) {
	d := json.NewDecoder(bytes.NewReader(record.Encode(v)))
	d.UseNumber()
	if err := d.Decode(&document); err != nil || len(document) == 0 {
		return nil
	}
	return document
}

// A Moved is what a row of an import says of the purchases of its license.
type Moved struct {
	purchases  []Purchase
	waiting    []Purchase // purchases that wait with one of their references
	hand       terms.Hand
	suspension *terms.Suspension // nil: that of the state of the license
	at         time.Time         // the instant of hand
}

// ReadRow returns what a row says of the purchases of a license, or an
// [*api.InvalidError]. A row that has only a reference says nothing about the purchase:
// the license keeps its terms until the next event.
func (s Service) ReadRow(ctx context.Context, r store.Reader, row api.LicenseRow, licenseID string) (m Moved, err error) {
	m.at = s.Now()
	if row.ExportedAt != nil && row.ExportedAt.Before(m.at) {
		m.at = call.ToMillis(*row.ExportedAt)
	}
	if row.ByHand != nil && len(row.Purchases) == 0 {
		return m, api.Invalid("purchases", api.FieldRequired, "is required with by_hand")
	}
	if m.hand, m.suspension, err = readByHand(row); err != nil {
		return m, err
	}
	fields := map[string]string{} // the field of each reference
	for i, document := range row.Purchases {
		field := fmt.Sprint("purchases/", i)
		p, err := s.readPurchase(field, document)
		if err != nil {
			return m, err
		}
		if p.IsOwn() {
			p.Reference = ownPrefix + licenseID
		}
		if fields[p.Reference] != "" {
			return m, api.Invalid(field+"/reference", api.FieldTaken, "is that of another purchase of the row")
		}
		fields[p.Reference] = field + "/reference"
		m.purchases = append(m.purchases, p)
	}
	if row.Reference != "" && fields[row.Reference] == "" {
		p := Purchase{Reference: row.Reference}
		if isTrial(p.Reference) {
			p.Subjects = []string{TrialKey("customer", row.ProductID, row.CustomerID)}
		}
		fields[p.Reference] = "reference"
		m.purchases = append(m.purchases, p)
	}
	for _, p := range m.purchases {
		waits, ok, err := ReadPurchase(ctx, r, p.Reference, s.Now())
		switch {
		case err != nil:
			return m, err
		case ok && (waits.Granted || s.Caller.Products != nil || differ(waits.CustomerID, row.CustomerID) || differ(waits.LicenseID, row.ID)):
			return m, api.Invalid(fields[p.Reference], api.FieldTaken, "is that of another purchase")
		case ok:
			m.waiting = append(m.waiting, waits)
		}
	}
	return m, nil
}

// readDocument decodes a document of a row, which has no other members than v.
func readDocument(field string, document map[string]any, v any) error {
	d := json.NewDecoder(bytes.NewReader(record.Encode(document)))
	d.DisallowUnknownFields()
	if d.Decode(v) != nil {
		return api.Invalid(field, api.FieldInvalidFormat, "is not as an export writes it")
	}
	return nil
}

// readByHand returns what a row says was set by hand, and who suspends the license.
func readByHand(row api.LicenseRow) (hand terms.Hand, is *terms.Suspension, err error) {
	if row.Suspension != nil {
		is = new(terms.Suspension)
		if err := readDocument("suspension", row.Suspension, is); err != nil {
			return hand, nil, err
		}
		if err := under("suspension", checkSuspension(*is)); err != nil {
			return hand, nil, err
		}
	}
	if err := readDocument("by_hand", row.ByHand, &hand); err != nil {
		return hand, nil, err
	}
	hand.ExpiresAt, hand.UpdatesUntil = call.Cut(hand.ExpiresAt), call.Cut(hand.UpdatesUntil)
	return hand, is, under("by_hand", checkHand(hand))
}

// under returns an [*api.InvalidError] with errors of a member of a row; nil: there are
// none.
func under(field string, broken []api.FieldError) error {
	for i := range broken {
		broken[i].Field = field + "/" + broken[i].Field
	}
	return call.InvalidFields(broken)
}

// readPurchase returns a purchase of a row. It must be one that events can make.
func (s Service) readPurchase(field string, document map[string]any) (p Purchase, err error) {
	if err := readDocument(field, document, &p); err != nil {
		return p, err
	}
	event := api.RecordPurchaseParams{
		Reference: p.Reference, Name: p.Name.Value, PlanID: p.Plan.Value, State: p.State.Value, Reason: p.Reason.Value, Metadata: map[string]*string{},
	}
	if p.Quantity.Value != 0 {
		event.Quantity = &p.Quantity.Value
	}
	if isTrial(p.Reference) || p.IsOwn() {
		event.Reference = strings.ReplaceAll(p.Reference, ":", "-")
	}
	said := []*time.Time{
		&p.Plan.At, &p.Name.At, &p.Reason.At, &p.Quantity.At, &p.Until.At, &p.Renews.At, &p.State.At, &p.Terms.At,
		&p.FirstActive, &p.Activated, &p.FirstEnded, &p.LastEnded, &p.FirstRefunded, &p.LastRefunded, &p.Reopened,
	}
	for name, v := range p.Metadata {
		event.Metadata[name] = v.Value
		v.At = call.ToMillis(v.At)
		p.Metadata[name] = v
		said = append(said, &v.At)
	}
	broken := CheckPurchase(&event, s.Now())
	if p.State.Value != "" && p.State.Value != api.PurchaseActive && p.State.Value != api.PurchasePaused {
		broken = append(broken, api.FieldError{Field: "state", Code: api.FieldUnknown, Detail: "must be active or paused"})
	}
	for _, at := range said {
		if *at = call.ToMillis(*at); at.After(s.Now().Add(24 * time.Hour)) {
			broken = append(broken, errAhead)
			break
		}
	}
	said = append(said, &p.Until.Value, &p.Updates, &p.CreatedAt)
	for _, at := range said {
		if *at = call.ToMillis(*at); !at.IsZero() && !valid.IsInstant(*at) {
			broken = append(broken, api.FieldError{Field: "at", Code: api.FieldOutOfRange, Detail: "must be a time between the years 1970 and 9999"})
			break
		}
	}
	for _, key := range p.Subjects {
		ofProduct := func(id string) bool { return strings.HasPrefix(key, trialProductKey(id)) }
		if len(key) != len(TrialKey("", "", "")) || strings.Trim(key, "0123456789abcdef") != "" {
			broken = append(broken, api.FieldError{Field: "subjects", Code: api.FieldInvalidFormat, Detail: "must be digests in hexadecimal"})
			break
		}
		if s.Caller.Products != nil && !slices.ContainsFunc(s.Caller.Products, ofProduct) {
			broken = append(broken, api.FieldError{Field: "subjects", Code: api.FieldUnknown, Detail: "must be those of trials of the caller's products"})
			break
		}
	}
	broken = append(broken, checkStored(p)...)
	if p.Terms.Value.ID == "" && !p.IsOwn() {
		p.Terms = Said[api.Plan]{}
	} else {
		broken = append(broken, s.checkTerms(&p)...)
	}
	p.CustomerID, p.Waits = "", "" // set later, as the license says
	p.LicenseID, p.LicenseAt, p.Erased, p.Product = "", time.Time{}, false, ""
	return p, under(field, broken)
}

// checkTerms checks the terms of a purchase of a row, and normalizes them as stored.
func (s Service) checkTerms(p *Purchase) []api.FieldError {
	plan := &p.Terms.Value
	params := api.PutPlanParams{
		ID: plan.ID, ProductID: plan.ProductID, Name: plan.Name, Kind: plan.Kind, Line: plan.Line, Duration: plan.Duration, Starts: plan.Starts, UntilEnds: plan.UntilEnds, Terms: plan.Terms,
	}
	if p.IsOwn() {
		params.ID = "own" // a license that no purchase made may have no plan
	}
	broken := plans.CheckPlan(&params, s.Now())
	if !s.Sees(plan.ProductID) {
		broken = append(broken, api.FieldError{Field: "product_id", Code: api.FieldUnknown, Detail: "is outside the caller's product limit"})
	}
	plan.Terms = params.Terms
	for i := range broken {
		broken[i].Field = "terms/value/" + broken[i].Field
	}
	return broken
}

// Restore makes a new license what its purchases make of it now.
func (m Moved) Restore(rec *record.License, now time.Time) error {
	known := termsOf(m.purchases...)
	if len(known) > 0 {
		state, err := licenses.StateOf(*rec)
		if err != nil {
			return err
		}
		state, _ = state.Restore(known, m.hand, m.at).Pass(now)
		putState(state, rec)
		rec.Bought = true
	}
	if rec.State == store.StateRevoked || len(known) == 0 && m.suspension == nil {
		return nil
	}
	is, err := licenses.SuspensionOf(*rec)
	if err != nil {
		return err
	}
	if m.suspension != nil {
		is = *m.suspension
	}
	licenses.PutSuspension(is.Follow(terms.GrantOf(known, rec.ProductID), now), rec, now)
	return nil
}

// PutMoved stores the purchases of an imported license. Events that have waited for one
// change it.
func (s Service) PutMoved(ctx context.Context, tx *call.Tx, m Moved, rec record.License) error {
	wait := terms.GrantOf(termsOf(m.purchases...), rec.ProductID).Waits(tx.Now)
	for _, p := range m.purchases {
		p.LicenseID, p.Granted = rec.ID, true
		if !p.IsOwn() {
			p.CustomerID = rec.CustomerID
			if p.Plan.Value != p.Terms.Value.ID {
				p.Waits = api.WaitingUnknownPlan
			}
		}
		if waits := wait[p.Reference]; waits != "" {
			p.Waits = waits
		}
		if err := PutTrial(ctx, tx, rec.ID, p.Subjects); err != nil {
			return err
		}
		if _, err := PutPurchase(ctx, tx, Purchase{CreatedAt: p.CreatedAt}, p); err != nil {
			return err
		}
	}
	for _, waits := range m.waiting {
		p, _, err := ReadPurchase(ctx, tx, waits.Reference, tx.Now)
		if err != nil {
			return err
		}
		d, err := s.decideChange(ctx, tx, decision{before: p, after: p.merge(waits)}, waits.Plan)
		if err != nil {
			return err
		}
		if _, err = s.carryOut(ctx, tx, d); err != nil {
			return err
		}
	}
	return nil
}
