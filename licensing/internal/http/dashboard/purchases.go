package dashboard

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

// purchasePath returns the page of a purchase, as a reference from dashboard/.
func purchasePath(reference string) string { return "purchase/" + url.PathEscape(reference) }

// purchasesListed is the maximum number of purchases on the page.
const purchasesListed = 1000

// waitingTexts say what purchases wait for.
var waitingTexts = map[api.Waiting]string{
	api.WaitingCustomer:     "No event has named the customer",
	api.WaitingPlan:         "No event has named the plan",
	api.WaitingActive:       "No event has reported it as active",
	api.WaitingUnknownPlan:  "There is no plan with its plan ID",
	api.WaitingOtherProduct: "Its plan is one of another product than the license",
	api.WaitingLicenseID:    "It is an add-on, and no event has named its license",
	api.WaitingLicenseFull:  "Its license has too many purchases",
}

// purchaseRow is a purchase formatted for a page.
type purchaseRow struct {
	api.Purchase
	Plan  string // the ID; empty: unknown
	Named string // the name of the plan, or its ID
	State api.PurchaseState
	Waits string // empty: for nothing, or it does not wait
	Adds  string // what it allows; empty: unknown
	Over  bool   // its end has passed, although no event has ended it
	zone  *time.Location
}

// Ready reports whether the purchase waits for nothing any more, so that it can have
// its license.
func (r purchaseRow) Ready() bool { return r.Result == api.PurchaseResultWaiting && r.Waiting == "" }

// PlanMissing reports whether the purchase waits for a plan that does not exist.
func (r purchaseRow) PlanMissing() bool { return r.Waiting == api.WaitingUnknownPlan }

// isBought reports whether a purchase is not a trial.
func isBought(v *kit.Visit, r purchaseRow) bool {
	return inner.Of(v.Licenses).Purchases().TrialOf(r.Reference) == ""
}

// Missing returns what an operator can name, since no event has: "customer", "plan" or
// "license". Empty: the purchase waits for nothing, or for something else.
func (r purchaseRow) Missing() string {
	return map[api.Waiting]string{api.WaitingCustomer: "customer", api.WaitingPlan: "plan", api.WaitingLicenseID: "license"}[r.Waiting]
}

func purchaseRowOf(v *kit.Visit, f api.Purchase) purchaseRow {
	r := purchaseRow{Purchase: f, Waits: waitingTexts[f.Waiting], zone: v.Zone()}
	r.Over = !f.Counts && f.EndsAt != nil && !f.EndsAt.After(v.Opts.Now())
	r.Plan, _ = f.Fields["plan_id"].Value.(string)
	r.Named = r.Plan
	r.State, _ = f.Fields["state"].Value.(api.PurchaseState)
	if f.EndedAt != nil {
		r.State = api.PurchaseEnded
	}
	if f.RefundedAt != nil {
		r.State = api.PurchaseRefunded
	}
	return r
}

// A waitingList has the purchases without a license that are in the same situation.
type waitingList struct {
	ID, Title, Text, None string // None is the text of an empty list; without one, it is not shown
	Rows                  []purchaseRow
}

// keptFor is said of purchases without a license.
const keptFor = " They are kept for 90 days after their last event. The first to expire is listed first."

// showPurchases shows the purchases that wait, and looks one up by its reference.
func showPurchases(v *kit.Visit) error {
	var body struct {
		Search, Problem string
		Lists           []waitingList
		Full            bool // there may be more
	}
	if body.Search = strings.TrimSpace(v.R.URL.Query().Get("reference")); body.Search != "" {
		switch _, err := selling.New(v.Licenses).GetPurchase(v.R.Context(), body.Search); {
		case err == nil:
			return v.Redirect(purchasePath(body.Search))
		case !errors.Is(err, api.ErrNotFound):
			return err
		}
		body.Problem = "No purchase has this reference."
	}
	lists := []waitingList{
		{ID: "paid", Title: "Paid, no key", Text: "These customers have paid and have no license." + keptFor, None: "None."},
		{ID: "unpaid", Title: "Not paid yet", Text: "No event has reported these purchases as active." + keptFor, None: "None."},
		{ID: "ended", Title: "Ended without a license", Text: "These purchases ended before they had a license." + keptFor},
		{ID: "kept", Title: "With a license", Text: "These purchases wait for a plan, or do not count in their license. They change nothing until that is corrected."},
	}
	paid, unpaid, ended, kept := &lists[0], &lists[1], &lists[2], &lists[3]
	listed := 0
	for f, err := range inner.Of(v.Licenses).Purchases().AllWaiting(v.R.Context()) {
		if err != nil {
			return err
		}
		if listed++; listed > purchasesListed {
			body.Full = true
			break
		}
		to := unpaid
		switch {
		case f.License != nil && f.Waiting == "":
			continue // another purchase of its license has ended since
		case f.License != nil:
			to = kept
		case inner.Of(v.Licenses).Purchases().Paid(f):
			to = paid
		case f.EndedAt != nil || f.RefundedAt != nil:
			to = ended
		}
		to.Rows = append(to.Rows, purchaseRowOf(v, f))
	}
	body.Lists = slices.DeleteFunc(lists, func(l waitingList) bool { return len(l.Rows) == 0 && l.None == "" })
	return v.Render(http.StatusOK, "purchases", kit.Page{Title: "Purchases", Section: "purchases", Body: body})
}

// A storedField is a stored field of a purchase with the At of the event that set it.
type storedField struct {
	Name, Value string
	Moment      *time.Time // instead of Value
	At          time.Time
}

// A provider is a payment provider and its dashboard.
type provider struct{ Name, URL string }

// providers has the payment providers by what the references of package payment begin with.
var providers = map[string]provider{
	"stripe":       {"Stripe", "https://dashboard.stripe.com/"},
	"paddle":       {"Paddle", "https://vendors.paddle.com/"},
	"polar":        {"Polar", "https://polar.sh/dashboard"},
	"lemonsqueezy": {"Lemon Squeezy", "https://app.lemonsqueezy.com/"},
}

func showPurchase(v *kit.Visit, f api.Purchase) error {
	rows := []purchaseRow{purchaseRowOf(v, f)}
	if err := namePlans(v, rows); err != nil {
		return err
	}
	body := struct {
		purchaseRow
		Fields   []storedField
		Trial    bool
		Provider provider // where it is refunded
	}{purchaseRow: rows[0], Trial: !isBought(v, rows[0]), Provider: providers[strings.Split(f.Reference, ":")[0]]}
	for _, name := range slices.Sorted(maps.Keys(f.Fields)) {
		field := storedField{Name: kit.ChangeLabel(name), At: f.Fields[name].At}
		switch value := f.Fields[name].Value.(type) {
		case *time.Time:
			if field.Moment = value; value == nil {
				field.Value = "never"
			}
		case api.PurchaseState: // ended and refunded are stored apart from the other states
			field.Value = string(body.State)
			if at := cmp.Or(f.RefundedAt, f.EndedAt); at != nil {
				field.At = *at
			}
		case *string:
			if field.Value = "removed"; value != nil {
				field.Value = *value
			}
		case bool:
			field.Value = kit.DescribeValue(name, value, v.Zone())
		default:
			field.Value = kit.FormatValue(value)
		}
		body.Fields = append(body.Fields, field)
	}
	return v.Render(http.StatusOK, "purchase", kit.Page{Title: "Purchase " + f.Reference, Heading: f.Reference, Section: "purchases", Body: body})
}

// reopenForm continues a purchase that was ended by mistake.
func reopenForm(v *kit.Visit, f api.Purchase) (*forms.FormPage, error) {
	p := purchaseFormPage(f.Reference, "Reopen purchase",
		"The purchase continues as if it had not ended, and so does its license. Reports of an end up to the given time do not count any more, also if they arrive again. Later ones do.",
		"Check at the payment provider that the purchase is paid for.")
	p.Form = forms.NewForm(
		forms.TimeField("at", "Ends do not count up to", "In UTC. Leave blank for now.", nil),
		forms.ReasonField("Optional. Recorded in the history."))
	p.Done, p.Names = "The purchase has been reopened.", map[string]string{"reference": ""}
	p.Do = func(tx *kit.Visit) (string, error) {
		params := api.ReopenPurchaseParams{Reference: f.Reference, Reason: p.Form.Field("reason").Value}
		if at := p.Form.Time("at"); at != nil {
			params.At = *at
		}
		if p.Form.HasErrors() {
			return "", nil
		}
		_, err := selling.New(tx.Licenses).ReopenPurchase(tx.R.Context(), params)
		return "", err
	}
	return p, nil
}

// allowTrialForm allows the customer and the devices of a trial another one.
func allowTrialForm(v *kit.Visit, f api.Purchase) (*forms.FormPage, error) {
	id := inner.Of(v.Licenses).Purchases().TrialOf(f.Reference)
	if id == "" {
		return nil, kit.NotFound("This purchase is not a trial.")
	}
	p := purchaseFormPage(f.Reference, "Allow another trial",
		"The customer, and each device or address of the trial, may have another trial of the product. The license of this trial does not change.")
	p.Form, p.Done = forms.NewForm(forms.ReasonField("Optional. Recorded in the history.")), "Another trial is allowed."
	p.Do = func(tx *kit.Visit) (string, error) {
		err := selling.New(tx.Licenses).AllowTrial(tx.R.Context(), api.AllowTrialParams{LicenseID: id, Reason: p.Form.Field("reason").Value})
		if errors.Is(err, api.ErrNotFound) {
			err = forms.ConflictError("This trial prevents no other one.")
		}
		return "", err
	}
	return p, nil
}

func purchaseFormPage(reference, heading string, text ...string) *forms.FormPage {
	return forms.NewFormPage("purchases", kit.Place{Title: reference, Path: purchasePath(reference)}, heading, text...)
}

// purchasesOf returns the purchases of a license, the one that governs it first.
func purchasesOf(v *kit.Visit, licenseID string) (rows []purchaseRow, err error) {
	parts, err := inner.Of(v.Licenses).Purchases().Parts(v.R.Context(), licenseID)
	for _, p := range parts {
		row := purchaseRowOf(v, p.Purchase)
		row.Adds = addsOf(p.Kind, p.Terms)
		rows = append(rows, row)
	}
	if err == nil {
		err = namePlans(v, rows)
	}
	return rows, err
}

// namePlans gives purchases the names of their plans.
func namePlans(v *kit.Visit, rows []purchaseRow) error {
	for i, r := range rows {
		name, err := v.PlanName(r.Plan)
		if err != nil {
			return err
		}
		rows[i].Named = cmp.Or(name, r.Plan)
	}
	return nil
}
