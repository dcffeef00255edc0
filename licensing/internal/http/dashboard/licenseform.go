package dashboard

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// licenseForm returns the form for a license, with the values of l.
func licenseForm(l license.License) *form {
	number := func(n *int64) string {
		if n == nil {
			return ""
		}
		return strconv.FormatInt(*n, 10)
	}
	return &form{Groups: []group{
		{Fields: []*field{
			{Name: "name", Label: "Name", Hint: "The name that you and your customer use.", Type: "text", Value: l.Name, Required: true, MaxLength: 255},
			{Name: "product_id", Label: "Product", Hint: "Your ID for the product.", Type: "text", Value: l.ProductID, Required: true, MaxLength: 255, Half: true},
			{Name: "customer_id", Label: "Customer", Hint: "Your ID for the customer.", Type: "text", Value: l.CustomerID, Required: true, MaxLength: 255, Half: true},
			{Name: "expires_at", Label: "Expires", Hint: "In UTC. Leave blank for no expiry.", Type: "datetime-local", Value: formatTime(l.ExpiresAt), Half: true},
			{Name: "max_activations", Label: "Maximum activations", Hint: "Leave blank for unlimited.", Type: "text", Value: number(l.MaxActivations), Half: true},
		}},
		{Title: "Validity", More: true, Fields: []*field{
			{Name: "starts_at", Label: "Starts", Hint: "In UTC. Leave blank to start now.", Type: "datetime-local", Value: formatTime(l.StartsAt), Half: true},
			{Name: "updates_until", Label: "Updates until", Hint: "In UTC. Later builds of the program are refused; older ones keep running. Leave blank for no end.", Type: "datetime-local", Value: formatTime(l.UpdatesUntil), Half: true},
			amountField("grace", "Grace period", "How long the license stays valid after it expires. Enter 0 for none.", &l.GraceSeconds),
		}},
		{Title: "Activations", More: true, Fields: []*field{
			amountField("lease", "Activation lease", "How long an activation lasts after its last validation, such as 15 minutes for floating licenses. Leave blank to keep activations until they are released.", l.LeaseSeconds),
		}},
		{Title: "Details", More: true, Fields: []*field{
			pairsField("entitlements", "Entitlements", "Entitlement", "Leave the value blank for a feature that is included, or enter a number or text. Put a number in quotation marks to store it as text.", l.Entitlements, formatEntitlement),
			pairsField("metadata", "Metadata", "Metadata entry", "For your own data; not used by validation.", l.Metadata, formatMetadata),
		}},
	}}
}

// licenseInput has the values of a license form.
type licenseInput struct {
	startsAt, expiresAt          *time.Time
	updatesUntil                 *time.Time
	grace                        int64
	maxActivations, leaseSeconds *int64
	offlineSeconds               *int64 // of a plan
	entitlements                 map[string]any
	metadata                     map[string]string
	explicit                     []string             // what a plan does not fill in although it is zero or nil
	errors                       []license.FieldError // parse errors, for the license service to report with its own
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
func createForm(l license.License) *form {
	f := licenseForm(l)
	term := &field{Name: "term", Label: "Valid for", Hint: "From the start.", Type: "radios"}
	for _, t := range expiryTerms {
		chosen := t.value == "never" && l.ExpiresAt == nil || t.value == customDate && l.ExpiresAt != nil
		term.Options = append(term.Options, option{Value: t.value, Label: t.label, Chosen: chosen})
	}
	f.Groups[3].Fields = append(f.Groups[3].Fields, &field{
		Name: "key", Label: "Existing key", Hint: "Leave blank to generate a license key. A key from another system is 16 to 1,024 visible ASCII characters.",
		Type: "text", Mono: true, MaxLength: 1024,
	})
	expires := f.Field("expires_at")
	expires.Label, expires.Hint, expires.When, expires.Half = "Custom date", "In UTC. Only if “Custom date” is selected.", "term="+customDate, false
	f.Groups[0].Fields = slices.Insert(f.Groups[0].Fields, 3, term)
	return f
}

// readTerm sets the expiry from the shortcut. Without one, the date counts.
func (f *form) readTerm(in *licenseInput, now time.Time, dated bool) {
	wrong := func(detail string) {
		in.errors = append(in.errors, license.FieldError{Field: "term", Code: license.CodeInvalidFormat, Detail: detail})
	}
	term := f.Field("term").chosen()
	if term == termOfPlan && dated {
		wrong("a date is entered below: select “Custom date” or clear that field")
	}
	for _, t := range expiryTerms {
		switch {
		case term != t.value:
		case t.value == customDate:
			if !dated {
				in.errors = append(in.errors, license.FieldError{Field: "expires_at", Code: license.CodeRequired, Detail: "enter a date or select another option"})
			}
		case dated:
			wrong("a date is entered below: select “Custom date” or clear that field")
		case t.value == "never":
			in.explicit = append(in.explicit, "expires_at")
		default:
			start := now.UTC()
			if in.startsAt != nil {
				start = *in.startsAt
			}
			end := start.AddDate(t.years, 0, t.days)
			in.expiresAt = &end
		}
	}
}

// readLicense parses the values of the form for a license, or of that for a plan,
// which has some of its fields.
func (f *form) readLicense(now time.Time) (in licenseInput) {
	value := func(name string) string {
		if x := f.Field(name); x != nil {
			return strings.TrimSpace(x.Value)
		}
		return ""
	}
	note := func(name string, errs ...error) {
		for _, err := range errs {
			if err != nil {
				in.errors = append(in.errors, license.FieldError{Field: name, Code: license.CodeInvalidFormat, Detail: err.Error()})
			}
		}
	}
	var err error
	when := func(name string) *time.Time {
		if value(name) == "" {
			return nil
		}
		t, err := parseTime(value(name))
		note(name, err)
		return &t
	}
	in.startsAt, in.expiresAt = when("starts_at"), when("expires_at")
	in.updatesUntil = when("updates_until")
	if x := f.Field("term"); x != nil {
		f.readTerm(&in, now, value("expires_at") != "")
	}
	if s := f.Field("grace").amount(); s != "" {
		in.grace, err = parseSeconds(s)
		note("grace_seconds", err)
	}
	if s := value("max_activations"); s != "" {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			err = errors.New("enter a whole number or leave blank")
		}
		note("max_activations", err)
		in.maxActivations = &n
	}
	if s := f.Field("lease").amount(); s != "" {
		n, err := parseSeconds(s)
		note("lease_seconds", err)
		in.leaseSeconds = &n
	}
	if x := f.Field("offline"); x != nil && x.amount() != "" {
		n, err := parseSeconds(x.amount())
		note("offline_seconds", err)
		in.offlineSeconds = &n
	}
	// The slash marks an error of one row, so that errors of other rows are
	// kept.
	var wrong []error
	in.entitlements, wrong = parsePairs(f.Field("entitlements"), parseEntitlement)
	note("entitlements/", wrong...)
	if x := f.Field("metadata"); x != nil {
		in.metadata, wrong = parsePairs(x, parseMetadata)
		note("metadata/", wrong...)
	}
	return in
}

// createParams returns the fields of a new license.
func (f *form) createParams(in licenseInput) license.CreateParams {
	p := license.CreateParams{
		Name: f.Field("name").Value, ProductID: f.Field("product_id").Value, CustomerID: f.Field("customer_id").Value,
		Key:      strings.TrimSpace(f.Field("key").Value),
		StartsAt: in.startsAt, ExpiresAt: in.expiresAt, UpdatesUntil: in.updatesUntil, GraceSeconds: in.grace,
		MaxActivations: in.maxActivations, LeaseSeconds: in.leaseSeconds, Entitlements: in.entitlements, Metadata: in.metadata,
	}
	if x := f.Field("plan_id"); x != nil {
		p.PlanID, p.Explicit = strings.TrimSpace(x.Value), in.explicit
		if f.Field("grace").amount() != "" {
			p.Explicit = append(p.Explicit, "grace_seconds")
		}
		if len(p.Entitlements) == 0 {
			p.Entitlements = nil
		}
	}
	return p
}

// updateParams returns the edited fields of l. A time with milliseconds is kept
// unless it is edited, although the form shows seconds.
func (f *form) updateParams(in licenseInput, l license.License) license.UpdateParams {
	before := licenseForm(l)
	p := license.UpdateParams{ID: l.ID, IfMatch: []license.Version{l.Version()}}
	edited := func(name string) bool { return f.Field(name).Value != before.Field(name).Value }
	text := func(name string) *string {
		if !edited(name) {
			return nil
		}
		return &f.Field(name).Value
	}
	p.Name, p.ProductID, p.CustomerID = text("name"), text("product_id"), text("customer_id")
	if edited("starts_at") {
		p.StartsAt = changeTo(in.startsAt)
	}
	if edited("expires_at") {
		p.ExpiresAt = changeTo(in.expiresAt)
	}
	if edited("updates_until") {
		p.UpdatesUntil = changeTo(in.updatesUntil)
	}
	if in.grace != l.GraceSeconds {
		p.GraceSeconds = &in.grace
	}
	if edited("max_activations") {
		p.MaxActivations = changeTo(in.maxActivations)
	}
	if edited("lease") || f.Field("lease").amount() != before.Field("lease").amount() {
		p.LeaseSeconds = changeTo(in.leaseSeconds)
	}
	if !f.Field("entitlements").samePairs(before.Field("entitlements")) {
		merged := maps.Clone(in.entitlements)
		for name := range l.Entitlements {
			if _, kept := merged[name]; !kept {
				merged[name] = nil
			}
		}
		p.Entitlements = license.To(merged)
	}
	if !f.Field("metadata").samePairs(before.Field("metadata")) {
		merged := map[string]*string{}
		for name, value := range in.metadata {
			merged[name] = &value
		}
		for name := range l.Metadata {
			if _, kept := merged[name]; !kept {
				merged[name] = nil
			}
		}
		p.Metadata = license.To(merged)
	}
	return p
}

// changeTo returns a change to the value, or to null if value is nil.
func changeTo[T any](value *T) license.Change[T] {
	if value == nil {
		return license.ToNull[T]()
	}
	return license.To(*value)
}
