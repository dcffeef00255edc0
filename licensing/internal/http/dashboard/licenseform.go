package dashboard

import (
	"maps"
	"strconv"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// licenseForm returns the form for a license, with the values of l.
func licenseForm(l api.License) *form {
	number := func(n *int64) string {
		if n == nil {
			return ""
		}
		return strconv.FormatInt(*n, 10)
	}
	return newForm(
		&field{Name: "name", Label: "Name", Hint: "The name that you and your customer use.", Type: "text", Value: l.Name, Required: true, MaxLength: 255},
		&field{Name: "product_id", Label: "Product", Hint: "Your ID for the product.", Type: "text", Value: l.ProductID, Required: true, MaxLength: 255, Half: true},
		&field{Name: "customer_id", Label: "Customer", Hint: "Your ID for the customer.", Type: "text", Value: l.CustomerID, Required: true, MaxLength: 255, Half: true},
		&field{Name: "expires_at", Label: "Expires", Hint: "In UTC. Leave blank for no expiry.", Type: "datetime-local", Value: formatTime(l.ExpiresAt), Half: true},
		&field{Name: "max_activations", Label: "Maximum activations", Hint: "Leave blank for unlimited.", Type: "text", Value: number(l.MaxActivations), Half: true},
		&field{Title: "Validity", More: true, Name: "starts_at", Label: "Starts", Hint: "In UTC. Leave blank to start now.", Type: "datetime-local", Value: formatTime(l.StartsAt), Half: true},
		&field{More: true, Name: "updates_until", Label: "Updates until", Hint: "In UTC. Later builds of the program are refused; older ones keep running. Leave blank for no end.", Type: "datetime-local", Value: formatTime(l.UpdatesUntil), Half: true},
		amountField("grace_seconds", "Grace period", "How long the license stays valid after it expires. Enter 0 for none.", &l.GraceSeconds).inMore(""),
		amountField("lease_seconds", "Activation lease", "How long an activation lasts after its last validation, such as 15 minutes for floating licenses. Leave blank to keep activations until they are released.", l.LeaseSeconds).inMore("Activations"),
		pairsField("entitlements", "Entitlements", "Entitlement", "Leave the value blank for a feature that is included, or enter a number or text. Put a number in quotation marks to store it as text.", l.Entitlements, formatEntitlement).inMore("Details"),
		metersField(l.Meters).inMore(""),
		pairsField("metadata", "Metadata", "Metadata entry", "For your own data; not used by validation.", l.Metadata, formatMetadata).inMore(""),
	)
}

// inMore makes the page show a field on request, below a heading.
func (x *field) inMore(title string) *field {
	x.More, x.Title = true, title
	return x
}

// expiryTerms are the shortcuts for the expiry of a new license.
var expiryTerms = []struct {
	value, label string
	days, years  int
}{
	{"never", "No expiry", 0, 0}, {"30d", "30 days", 30, 0}, {"1y", "1 year", 0, 1}, {customDate, "Custom date", 0, 0},
}

// termOfPlan is the value of the term of a license that lasts as long as its plan
// says.
const termOfPlan = "plan"

// createForm returns the form for a new license. It offers shortcuts for the
// expiry.
func createForm(l api.License) *form {
	f := licenseForm(l)
	term := &field{Name: "term", Label: "Valid for", Hint: "From the start.", Type: "radios"}
	for _, t := range expiryTerms {
		chosen := t.value == "never" && l.ExpiresAt == nil || t.value == customDate && l.ExpiresAt != nil
		term.Options = append(term.Options, option{Value: t.value, Label: t.label, Chosen: chosen})
	}
	f.add((&field{
		Name: "key", Label: "Existing key", Hint: "Leave blank to generate a license key. A key from another system is 16 to 1,024 visible ASCII characters.",
		Type: "text", Mono: true, MaxLength: 1024,
	}).inMore(""))
	expires := f.Field("expires_at")
	expires.Label, expires.Hint, expires.When, expires.Half = "Custom date", "In UTC. Only if “Custom date” is selected.", "term="+customDate, false
	f.insert(3, term)
	return f
}

// createParams reads the fields of a new license.
func (f *form) createParams(now time.Time) api.CreateLicenseParams {
	p := api.CreateLicenseParams{
		Name: f.Field("name").Value, ProductID: f.Field("product_id").Value, CustomerID: f.Field("customer_id").Value, Key: f.text("key"),
		StartsAt: f.time("starts_at"), ExpiresAt: f.time("expires_at"), UpdatesUntil: f.time("updates_until"),
		Terms: f.terms(), Metadata: readPairs(f, "metadata", parseMetadata),
	}
	term := f.Field("term").chosen()
	switch dated := p.ExpiresAt != nil; {
	case term == customDate && !dated:
		f.addError("expires_at", "enter a date or select another option")
	case term != customDate && term != "" && dated:
		f.addError("term", "a date is entered below: select “Custom date” or clear that field")
	}
	for _, t := range expiryTerms {
		if term == t.value && (t.years > 0 || t.days > 0) {
			start := now.UTC()
			if p.StartsAt != nil {
				start = *p.StartsAt
			}
			end := start.AddDate(t.years, 0, t.days)
			p.ExpiresAt = &end
		}
	}
	if f.Field("plan_id") != nil {
		p.PlanID = f.text("plan_id")
		if term == "never" {
			p.Explicit = append(p.Explicit, "expires_at")
		}
		if f.text("grace_seconds") != "" {
			p.Explicit = append(p.Explicit, "grace_seconds")
		}
		if len(p.Entitlements) == 0 {
			p.Entitlements = nil
		}
		if len(p.Meters) == 0 {
			p.Meters = nil
		}
	}
	return p
}

// terms reads the terms of a license or a plan.
func (f *form) terms() api.Terms {
	return api.Terms{
		GraceSeconds: f.grace(), MaxActivations: f.number("max_activations"), LeaseSeconds: f.seconds("lease_seconds"),
		OfflineSeconds: f.seconds("offline_seconds"), Entitlements: readPairs(f, "entitlements", parseEntitlement),
		Meters: readPairs(f, "meters", parseMeter),
	}
}

// grace returns the grace period, which is 0 if the field is blank.
func (f *form) grace() int64 {
	if n := f.seconds("grace_seconds"); n != nil {
		return *n
	}
	return 0
}

// updateParams returns the edited fields of l. A time with milliseconds is kept
// unless it is edited, although the form shows seconds.
func (f *form) updateParams(l api.License) api.UpdateLicenseParams {
	before := licenseForm(l)
	p := api.UpdateLicenseParams{ID: l.ID, IfMatch: []api.Version{l.Version()}}
	edited := func(name string) bool { return f.Field(name).Value != before.Field(name).Value }
	text := func(name string) *string {
		if !edited(name) {
			return nil
		}
		return &f.Field(name).Value
	}
	p.Name, p.ProductID, p.CustomerID = text("name"), text("product_id"), text("customer_id")
	for name, change := range map[string]*api.Change[time.Time]{"starts_at": &p.StartsAt, "expires_at": &p.ExpiresAt, "updates_until": &p.UpdatesUntil} {
		if edited(name) {
			*change = changeTo(f.time(name))
		}
	}
	if grace := f.grace(); grace != l.GraceSeconds {
		p.GraceSeconds = &grace
	}
	if edited("max_activations") {
		p.MaxActivations = changeTo(f.number("max_activations"))
	}
	if f.amount("lease_seconds") != before.amount("lease_seconds") {
		p.LeaseSeconds = changeTo(f.seconds("lease_seconds"))
	}
	entitlements, metadata := readPairs(f, "entitlements", parseEntitlement), readPairs(f, "metadata", parseMetadata)
	if !f.Field("entitlements").samePairs(before.Field("entitlements")) {
		merged := maps.Clone(entitlements)
		for name := range l.Entitlements {
			if _, kept := merged[name]; !kept {
				merged[name] = nil
			}
		}
		p.Entitlements = api.To(merged)
	}
	if meters := readPairs(f, "meters", parseMeter); !f.Field("meters").samePairs(before.Field("meters")) {
		p.Meters = api.To(changeMeters(l.Meters, meters))
	}
	if !f.Field("metadata").samePairs(before.Field("metadata")) {
		merged := map[string]*string{}
		for name, value := range metadata {
			merged[name] = &value
		}
		for name := range l.Metadata {
			if _, kept := merged[name]; !kept {
				merged[name] = nil
			}
		}
		p.Metadata = api.To(merged)
	}
	return p
}

// changeTo returns a change to the value, or to null if value is nil.
func changeTo[T any](value *T) api.Change[T] {
	if value == nil {
		return api.ToNull[T]()
	}
	return api.To(*value)
}
