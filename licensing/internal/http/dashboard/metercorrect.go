package dashboard

import (
	"slices"
	"strconv"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// correctMeterForm sets what was used of a meter in its present period. What is counted
// while the form is open counts in addition.
func correctMeterForm(v *kit.Visit, l api.License) (*forms.FormPage, error) {
	now, err := v.Licenses.Explain(v.R.Context(), api.ExplainLicenseParams{ID: l.ID})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(now.Meters, func(u api.MeterUse) bool { return u.Name == v.R.PathValue("meter") })
	if i < 0 {
		return nil, kit.NotFound("The license has no such usage limit.")
	}
	u := now.Meters[i]
	p := licenseFormPage(l, "Correct usage",
		u.Name+": "+meterBarOf(v, u).Text+". Usage that is reported while this form is open counts in addition.")
	since := ""
	if u.From != nil {
		since = "Since " + v.Moment(*u.From).Full + "."
	}
	p.Form, p.Done = forms.NewForm(
		&forms.Field{Name: "used", Label: "Units used", Hint: since, Type: "text", Value: strconv.FormatInt(u.Used, 10), Required: true},
		forms.ReasonField("Optional. Recorded in the history."),
	), "The usage has been corrected."
	p.Once, p.Version = true, "never"
	if u.From != nil { // another period has another count
		p.Version = u.From.Format(time.RFC3339Nano)
	}
	shown := strconv.FormatInt(u.Used, 10)
	if v.Sent("version") == p.Version {
		shown = v.Sent("shown")
	}
	p.Form.Hidden["shown"] = shown
	p.Do = func(tx *kit.Visit) (string, error) {
		before, err := strconv.ParseInt(shown, 10, 64)
		if err != nil {
			return "", forms.ErrEdited
		}
		used, err := strconv.ParseInt(p.Form.Text("used"), 10, 64)
		if err != nil || used < 0 {
			p.Form.AddError("used", "enter a whole number, at least 0")
			return "", nil
		}
		_, err = inner.Of(tx.Licenses).Meters().CorrectUsage(tx.R.Context(), api.CorrectUsageParams{
			LicenseID: l.ID, Meter: u.Name, Used: max(0, u.Used-before+used), Reason: p.Form.Field("reason").Value,
		})
		return "", err
	}
	return p, nil
}
