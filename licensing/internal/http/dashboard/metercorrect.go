package dashboard

import (
	"slices"
	"strconv"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// correctMeterForm sets what was used of a meter in its present period. What is counted
// while the form is open counts in addition.
func correctMeterForm(v *visit, l api.License) (*formPage, error) {
	now, err := v.licenses.Explain(v.r.Context(), api.ExplainLicenseParams{ID: l.ID})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(now.Meters, func(u api.MeterUse) bool { return u.Name == v.r.PathValue("meter") })
	if i < 0 {
		return nil, notFound("The license has no such meter.")
	}
	u := now.Meters[i]
	p := licenseFormPage(l, "Correct usage",
		u.Name+": "+v.meterBar(u).Text+". Usage that is reported while this form is open counts in addition.")
	since := ""
	if u.From != nil {
		since = "Since " + v.moment(*u.From).Full + "."
	}
	p.Form, p.done = newForm(
		&field{Name: "used", Label: "Units used", Hint: since, Type: "text", Value: strconv.FormatInt(u.Used, 10), Required: true},
		reasonField("Optional. Recorded in the history."),
	), "The usage has been corrected."
	p.Once, p.Version = true, "never"
	if u.From != nil { // another period has another count
		p.Version = u.From.Format(time.RFC3339Nano)
	}
	shown := strconv.FormatInt(u.Used, 10)
	if v.sent("version") == p.Version {
		shown = v.sent("shown")
	}
	p.Form.Hidden["shown"] = shown
	p.do = func(tx *visit) (string, error) {
		before, err := strconv.ParseInt(shown, 10, 64)
		if err != nil {
			return "", errEdited
		}
		used, err := strconv.ParseInt(p.Form.text("used"), 10, 64)
		if err != nil || used < 0 {
			p.Form.addError("used", "enter a whole number, at least 0")
			return "", nil
		}
		_, err = inner.Of(tx.licenses).Meters().CorrectUsage(tx.r.Context(), api.CorrectUsageParams{
			LicenseID: l.ID, Meter: u.Name, Used: max(0, u.Used-before+used), Reason: p.Form.Field("reason").Value,
		})
		return "", err
	}
	return p, nil
}
