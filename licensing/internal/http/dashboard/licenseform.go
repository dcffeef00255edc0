package dashboard

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// licenseForm returns the form for a license, with the values of l.
func licenseForm(l api.License, zone *time.Location) *forms.Form {
	seats := &forms.Field{Name: "max_activations", Label: "Maximum activations", Hint: "Leave blank for unlimited.", Type: "text", Half: true, Parse: forms.Parser(forms.ParseNumber)}
	if l.MaxActivations != nil {
		seats.Value = strconv.FormatInt(*l.MaxActivations, 10)
	}
	expires := forms.EndField("expires_at", "Expires", "Leave blank for no expiry.", l.ExpiresAt, zone)
	starts := inMore(forms.TimeField("starts_at", "Starts", "In UTC. Leave blank to start now.", l.StartsAt), "Validity")
	updates := inMore(forms.EndField("updates_until", "Updates until", "Later builds of the program are refused; older ones keep running. Leave blank for no end.", l.UpdatesUntil, zone), "")
	expires.Half, starts.Half, updates.Half = true, true, true
	return forms.NewForm(
		&forms.Field{Name: "name", Label: "Name", Hint: "The name that you and your customer use.", Type: "text", Value: l.Name, Required: true, MaxLength: 255},
		&forms.Field{Name: "product_id", Label: "Product", Hint: "Your ID for the product.", Type: "text", Value: l.ProductID, Required: true, MaxLength: 255, Half: true},
		&forms.Field{Name: "customer_id", Label: "Customer", Hint: "Your ID for the customer.", Type: "text", Value: l.CustomerID, Required: true, MaxLength: 255, Half: true},
		expires, seats, starts, updates,
		inMore(forms.AmountField("grace_seconds", "Grace period", "How long the license stays valid after it expires. Enter 0 for none.", &l.GraceSeconds), ""),
		inMore(forms.AmountField("lease_seconds", kit.ChangeLabel("lease_seconds"), "How long an activation lasts after its last validation, such as 15 minutes for floating licenses. Leave blank to keep activations until they are released.", l.LeaseSeconds), "Activations"),
		inMore(forms.PairsField("entitlements", "Entitlements", "Entitlement", "Leave the value blank for a feature that is included, or enter a number or text. Put a number in quotation marks to store it as text.", l.Entitlements, forms.FormatEntitlement, forms.Parser(forms.ParseEntitlement)), "Details"),
		inMore(metersField(l.Meters), ""),
		inMore(forms.PairsField("metadata", "Metadata", "Metadata entry", "For your own data; not used by validation.", l.Metadata, kit.Same, nil), ""),
	)
}

// inMore makes the page show a field on request, below a heading.
func inMore(x *forms.Field, title string) *forms.Field {
	x.More, x.Title = true, title
	return x
}

// The values of the term of a new license that is no calendar duration; see also
// customDate.
const (
	termNever  = "never"
	termOfPlan = "plan" // as long as its plan says
)

// createForm returns the form for a new license. It offers shortcuts for the
// expiry.
func createForm(l api.License, zone *time.Location) *forms.Form {
	f := licenseForm(l, zone)
	term := forms.Radios("term", "Valid for", termNever, append(append([]forms.Option{{Value: termNever, Label: "No expiry"}},
		termOptions(api.Duration{Days: 30}, oneYear)...), forms.Option{Value: customDate, Label: "Custom date"})...)
	term.Hint = "From the start."
	f.Add(inMore((&forms.Field{
		Name: "key", Label: "Existing key", Hint: "Leave blank to generate a license key. A key from another system is 16 to 1,024 visible ASCII characters.",
		Type: "text", Mono: true, MaxLength: 1024,
	}), ""))
	f.Add(inMore(&forms.Field{
		Name: "count", Label: "Number of licenses", Hint: "Up to 1,000 that are alike, each with a key of its own. A customer such as batch:spring keeps them together.",
		Type: "text", Value: "1", Half: true, Parse: forms.Parser(forms.ParseNumber),
	}, ""))
	expires := f.Field("expires_at")
	expires.Label, expires.When, expires.Half = "Custom date", "term="+customDate, false
	expires.Hint = strings.ReplaceAll(expires.Hint, "Leave blank for no expiry.", "Only if “Custom date” is selected.")
	f.Insert(3, term)
	return f
}

// createParams reads the fields of a new license.
func createParams(f *forms.Form, now time.Time) (p api.CreateLicenseParams) {
	forms.Decode(f.Values(), &p)
	p.Key, p.PlanID = f.Text("key"), f.Text("plan_id")
	term := f.Field("term").Chosen()
	if d, err := api.ParseDuration(term); err == nil {
		p.ExpiresAt = new(d.AddTo(*cmp.Or(p.StartsAt, &now)))
	}
	if term == termNever {
		p.Explicit = append(p.Explicit, "expires_at")
	}
	if f.Text("grace_seconds") != "" {
		p.Explicit = append(p.Explicit, "grace_seconds")
	}
	return p
}

// updateParams returns the edited fields of l. A time with milliseconds is kept
// unless it is edited, although the form shows seconds.
func updateParams(f *forms.Form, l api.License, zone *time.Location) api.UpdateLicenseParams {
	changes := f.Changes(licenseForm(l, zone))
	if grace, edited := changes["grace_seconds"]; edited && grace == nil {
		changes["grace_seconds"] = 0
	}
	p := api.UpdateLicenseParams{ID: l.ID, IfMatch: []api.Version{l.Version()}}
	forms.Decode(changes, &p)
	return p
}

// changeTo returns a change to the value, or to null if value is nil.
func changeTo[T any](value *T) api.Change[T] {
	if value == nil {
		return api.ToNull[T]()
	}
	return api.To(*value)
}
