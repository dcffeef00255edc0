package dashboard

import (
	"errors"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

// oneYear is how long a renewal is without a plan.
var oneYear = api.Duration{Years: 1}

// terms are the calendar durations that forms offer for a renewal.
var terms = []api.Duration{oneYear, {Months: 6}, {Months: 3}, {Months: 1}}

// The values of the term field without one of the terms.
const (
	customLength = "length"
	customDate   = "date"
)

// termOptions offers calendar durations. The values are in ISO 8601 form.
func termOptions(durations ...api.Duration) []forms.Option {
	return kit.Each(durations, func(d api.Duration) forms.Option { return forms.Option{Value: d.String(), Label: kit.DescribeTerm(d)} })
}

// renewFields returns the form of a renewal for a duration, which is offered if it is none
// of the terms.
func renewFields(chosen api.Duration, from api.RenewFrom, zone *time.Location) *forms.Form {
	offered := terms
	if !slices.Contains(terms, chosen) {
		offered = append([]api.Duration{chosen}, terms...)
	}
	length := forms.TermField("duration", "Length", "For a custom length.", api.Duration{})
	length.When = "term=" + customLength
	end := forms.EndField("expires_at", "New end", "For a custom date.", nil, zone)
	end.When = "term=" + customDate
	return forms.NewForm(
		forms.Radios("term", "Renew for", chosen.String(),
			append(termOptions(offered...), forms.Option{Value: customLength, Label: "Custom length"}, forms.Option{Value: customDate, Label: "Custom date"})...),
		length, end,
		forms.Radios("from", "Start from", from,
			forms.Option{Value: string(api.RenewFromLater), Label: "Current end, or today if it has passed", Hint: "The customer keeps all remaining time."},
			forms.Option{Value: string(api.RenewFromExpiry), Label: "Current end, even if it has passed"},
			forms.Option{Value: string(api.RenewFromNow), Label: "Now"}),
		forms.ReasonField("Optional. Recorded in the history."),
	)
}

// renewable reports whether renewal is offered for a license. The license
// service decides.
func renewable(l api.License) bool {
	return (l.ExpiresAt != nil || l.UpdatesUntil != nil) && l.Status != api.LicenseRevoked
}

// renewForm renews a license or its updates. A GET with the values of the form shows the new
// expiry that they give, which the script of the page uses while the form is
// filled in.
func renewForm(v *kit.Visit, l api.License) (*forms.FormPage, error) {
	ctx := v.R.Context()
	if !renewable(l) {
		if l.Status != api.LicenseRevoked {
			return nil, stateForbidden("This license has no expiry, so it cannot be renewed.")
		}
		return nil, stateForbidden("A revoked license cannot be renewed.")
	}
	p := licenseFormPage(l, "Renew")
	if end := v.EndOf(l.ExpiresAt); end != nil {
		p.Text = append(p.Text, "Currently expires "+end.Full+", "+end.Relative+".")
	}
	if end := v.EndOf(l.UpdatesUntil); end != nil {
		p.Text = append(p.Text, "Currently includes updates until "+end.Full+", "+end.Relative+".")
	}
	length, text, err := renewalOf(v, l)
	if err != nil {
		return nil, err
	}
	p.Text = append(p.Text, text...)
	p.Form, p.Action, p.Done = renewFields(length, api.RenewFromLater, v.Zone()), "Renew license", "The license has been renewed."
	if l.ExpiresAt != nil && l.UpdatesUntil != nil {
		p.Form.Insert(0, forms.Radios("extend", "Renew", api.RenewExtendLicense,
			forms.Option{Value: string(api.RenewExtendLicense), Label: "The license"}, forms.Option{Value: string(api.RenewExtendUpdates), Label: "Its updates"}))
	}
	read := func() api.RenewLicenseParams {
		params := readRenewal(p.Form)
		params.ID = l.ID
		if x := p.Form.Field("extend"); x != nil && x.Chosen() == string(api.RenewExtendUpdates) || l.ExpiresAt == nil {
			if params.UpdatesUntil, params.ExpiresAt = params.ExpiresAt, nil; params.UpdatesUntil == nil {
				params.Extend = api.RenewExtendUpdates
			}
		}
		return params
	}
	p.Version = l.Version().String() // so that a form that is sent twice renews once
	if q := v.R.URL.Query(); v.IsRead() {
		if q.Has("term") {
			p.Form.FillFrom(q)
		}
		p.Form.CheckWhen()
		params := read()
		p.Live = "The new end is not known yet."
		if _, end, err := inner.Of(v.Licenses).Licenses().PreviewRenew(ctx, params); err == nil && !p.Form.HasErrors() {
			then, what := v.EndOf(&end), "New expiry: "
			if params.UpdatesUntil != nil || params.Extend == api.RenewExtendUpdates {
				what = "New end of updates: "
			}
			p.Live = what + then.Full + ", " + then.Relative + "."
		}
	}
	p.Do = func(tx *kit.Visit) (string, error) {
		params := read()
		params.IfMatch = []api.Version{l.Version()}
		p.Names = map[string]string{"expires_at": "term", "updates_until": "term"}
		if params.ExpiresAt != nil || params.UpdatesUntil != nil {
			p.Names = map[string]string{"updates_until": "expires_at"}
		}
		if err := forms.Check(v, p.Form, &params); err != nil {
			return "", err
		}
		_, err := tx.Licenses.Renew(ctx, params)
		return "", err
	}
	return p, nil
}

// renewalOf returns how long a renewal of a license is unless the operator chooses
// otherwise, and what is to be known before: its plan, and the purchase that governs it.
func renewalOf(v *kit.Visit, l api.License) (length api.Duration, text []string, err error) {
	length = oneYear
	if l.PlanID != "" {
		plan, err := selling.New(v.Licenses).GetPlan(v.R.Context(), l.PlanID)
		if err != nil && !errors.Is(err, api.ErrNotFound) {
			return length, nil, err
		}
		if err == nil && !plan.Duration.IsZero() {
			length, text = plan.Duration, append(text, "Its plan, "+plan.Name+", lasts "+kit.DescribeTerm(plan.Duration)+".")
		}
	}
	purchases, err := purchasesOf(v, l.ID)
	if len(purchases) > 0 && purchases[0].Governs {
		text = append(text, "The purchase "+purchases[0].Reference+" governs it: an end that you set stays until the purchase has a later one.")
	}
	return length, text, err
}

// readRenewal parses the values of the form. It adds errors for values that are
// invalid.
func readRenewal(f *forms.Form) (p api.RenewLicenseParams) {
	p.Reason, p.From = f.Field("reason").Value, api.RenewFrom(f.Field("from").Chosen())
	switch term := f.Field("term").Chosen(); term {
	case "":
		f.AddError("term", "select an option")
	case customDate:
		p.ExpiresAt = f.Time("expires_at")
	case customLength:
		p.Duration, _ = f.Read("duration").(api.Duration)
	default:
		p.Duration, _ = api.ParseDuration(term) // one of the options
	}
	return p
}
