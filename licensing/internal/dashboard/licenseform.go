package dashboard

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// licenseForm is the form of a licence's fields, filled in from l.
func licenseForm(l license.License) *form {
	number := func(n *int64) string {
		if n == nil {
			return ""
		}
		return strconv.FormatInt(*n, 10)
	}
	lease := ""
	if l.LeaseSeconds != nil {
		lease = formatSeconds(*l.LeaseSeconds)
	}
	return &form{Groups: []group{
		{Title: "What and for whom", Fields: []*field{
			{Name: "name", Label: "Name", Hint: "What you and your customer call it.", Type: "text", Value: l.Name, Required: true, MaxLength: 255},
			{Name: "product_id", Label: "Product", Hint: "Your identifier of the product.", Type: "text", Value: l.ProductID, Required: true, MaxLength: 255, Half: true},
			{Name: "customer_id", Label: "Customer", Hint: "Your identifier of the customer.", Type: "text", Value: l.CustomerID, Required: true, MaxLength: 255, Half: true},
		}},
		{Title: "Time", Text: "All times are UTC.", Fields: []*field{
			{Name: "starts_at", Label: "Starts", Hint: "Empty: at once.", Type: "datetime-local", Value: formatTime(l.StartsAt), Half: true},
			{Name: "expires_at", Label: "Expires", Hint: "Empty: never.", Type: "datetime-local", Value: formatTime(l.ExpiresAt), Half: true},
			{Name: "grace", Label: "Grace period", Hint: "How long it stays valid after it has expired, such as 14d or 36h. 0: not at all.", Type: "text", Value: formatSeconds(l.GraceSeconds)},
		}},
		{Title: "Seats", Fields: []*field{
			{Name: "max_activations", Label: "Activations at most", Hint: "Empty: as many as wanted.", Type: "text", Value: number(l.MaxActivations)},
			{Name: "lease", Label: "Seat lease", Hint: "How long a seat is held after its last validation, such as 15m for floating seats. Empty: until it is released.", Type: "text", Value: lease},
		}},
		{Title: "Particulars", Fields: []*field{
			{Name: "entitlements", Label: "Entitlements", Hint: "One in a line: a name alone, or name = a number or a text.", Type: "textarea", Rows: 4, Value: formatRights(l.Entitlements)},
			{Name: "metadata", Label: "Metadata", Hint: "One in a line: name = text. For you; the licensed program does not act on it.", Type: "textarea", Rows: 3, Value: formatMetadata(l.Metadata)},
		}},
	}}
}

// licenseInput is what the form of a licence says.
type licenseInput struct {
	startsAt, expiresAt          *time.Time
	grace                        int64
	maxActivations, leaseSeconds *int64
	entitlements                 map[string]any
	metadata                     map[string]string
}

// read takes the values of the form, and notes what cannot be read.
func (f *form) readLicense() (in licenseInput) {
	value := func(name string) string { return strings.TrimSpace(f.Field(name).Value) }
	note := func(name string, err error) {
		if err != nil {
			f.wrong(name, err.Error())
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
	if value("grace") != "" {
		in.grace, err = parseSeconds(value("grace"))
		note("grace", err)
	}
	if s := value("max_activations"); s != "" {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			err = errors.New("write a whole number, or leave it empty")
		}
		note("max_activations", err)
		in.maxActivations = &n
	}
	if s := value("lease"); s != "" {
		n, err := parseSeconds(s)
		note("lease", err)
		in.leaseSeconds = &n
	}
	in.entitlements, err = parseRights(f.Field("entitlements").Value)
	note("entitlements", err)
	in.metadata, err = parseMetadata(f.Field("metadata").Value)
	note("metadata", err)
	return in
}

// takeLicense is take, for the names that the form gives otherwise.
func (f *form) takeLicense(err error) bool {
	if invalid, ok := errors.AsType[*license.InvalidError](err); ok {
		renamed := &license.InvalidError{Fields: slices.Clone(invalid.Fields)}
		for i, x := range renamed.Fields {
			switch x.Field {
			case "grace_seconds":
				renamed.Fields[i].Field = "grace"
			case "lease_seconds":
				renamed.Fields[i].Field = "lease"
			}
		}
		err = renamed
	}
	return f.take(err)
}

func showNewLicense(v *visit) error {
	q := v.r.URL.Query()
	f := licenseForm(license.License{ProductID: q.Get("product"), CustomerID: q.Get("customer")})
	f.Once = auth.NewForm()
	return v.renderNewLicense(http.StatusOK, f)
}

// licenseEditor is the body of the pages with the form of a licence.
type licenseEditor struct {
	Form    *form
	License *license.License // nil: a new one
}

func (v *visit) renderNewLicense(status int, f *form) error {
	return v.render(status, "licenseform", page{Title: "New licence", Section: "licenses", Body: licenseEditor{Form: f}})
}

func createLicense(v *visit) error {
	f := licenseForm(license.License{})
	f.fill(v)
	in := f.readLicense()
	if f.Bad() {
		return v.renderNewLicense(http.StatusUnprocessableEntity, f)
	}
	id, repeated, err := v.auth.Once(v.r.Context(), f.Once, func() (string, error) {
		l, err := v.licenses.Create(v.r.Context(), license.CreateParams{
			Name: f.Field("name").Value, ProductID: f.Field("product_id").Value, CustomerID: f.Field("customer_id").Value,
			StartsAt: in.startsAt, ExpiresAt: in.expiresAt, GraceSeconds: in.grace,
			MaxActivations: in.maxActivations, LeaseSeconds: in.leaseSeconds, Entitlements: in.entitlements, Metadata: in.metadata,
		})
		return l.ID, err
	})
	switch {
	case f.takeLicense(err):
		return v.renderNewLicense(http.StatusUnprocessableEntity, f)
	case err != nil:
		return err
	case id == "":
		v.redirect("licenses?done=repeated")
	case repeated:
		v.redirect("licenses/" + url.PathEscape(id) + "?done=repeated")
	default:
		v.redirect("licenses/" + url.PathEscape(id) + "?done=created")
	}
	return nil
}

func showEditLicense(v *visit) error {
	l, err := v.licenses.Get(v.r.Context(), v.params["id"])
	if err != nil {
		return err
	}
	return v.renderEditLicense(http.StatusOK, l, licenseForm(l))
}

func (v *visit) renderEditLicense(status int, l license.License, f *form) error {
	f.Hidden = map[string]string{"version": l.Version().String()}
	return v.render(status, "licenseform", page{Title: "Edit " + l.Name, Section: "licenses", Body: licenseEditor{f, &l}})
}

func updateLicense(v *visit) error {
	ctx := v.r.Context()
	l, err := v.licenses.Get(ctx, v.params["id"])
	if err != nil {
		return err
	}
	before := licenseForm(l)
	f := licenseForm(l)
	f.fill(v)
	in := f.readLicense()
	if f.Bad() {
		return v.renderEditLicense(http.StatusUnprocessableEntity, l, f)
	}
	if v.sent("version") != l.Version().String() {
		f.Problem = "This licence was changed while you were editing it. Look at it again; sending this form now replaces those changes by what it says."
		return v.renderEditLicense(http.StatusConflict, l, f)
	}
	p := license.UpdateParams{ID: l.ID, IfMatch: []license.Version{l.Version()}}
	// Only what was edited is sent: a time to the millisecond survives a
	// form that shows seconds.
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
	if edited("grace") {
		p.GraceSeconds = &in.grace
	}
	if edited("max_activations") {
		p.MaxActivations = changeTo(in.maxActivations)
	}
	if edited("lease") {
		p.LeaseSeconds = changeTo(in.leaseSeconds)
	}
	if edited("entitlements") {
		merged := maps.Clone(in.entitlements)
		for name := range l.Entitlements {
			if _, kept := merged[name]; !kept {
				merged[name] = nil
			}
		}
		p.Entitlements = license.To(merged)
	}
	if edited("metadata") {
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
	after, err := v.licenses.Update(ctx, p)
	switch {
	case f.takeLicense(err):
		return v.renderEditLicense(http.StatusUnprocessableEntity, l, f)
	case errors.Is(err, license.ErrStale):
		f.Problem = "This licence was changed while you were saving it. Look at it again; sending this form now replaces those changes by what it says."
		if l, err = v.licenses.Get(ctx, l.ID); err != nil {
			return err
		}
		return v.renderEditLicense(http.StatusConflict, l, f)
	case err != nil:
		return err
	}
	done := "updated"
	if after.Revision == l.Revision {
		done = "unchanged"
	}
	v.redirect("licenses/" + url.PathEscape(l.ID) + "?done=" + done)
	return nil
}

// changeTo is the change to a value, or to null.
func changeTo[T any](value *T) license.Change[T] {
	if value == nil {
		return license.ToNull[T]()
	}
	return license.To(*value)
}

// formatRights writes entitlements one in a line.
func formatRights(m map[string]any) string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		switch x := m[name].(type) {
		case bool:
			lines = append(lines, name)
		case string:
			lines = append(lines, name+" = "+quoteRight(x))
		default:
			lines = append(lines, name+" = "+shown(x))
		}
	}
	return strings.Join(lines, "\n")
}

// quoteRight puts quotation marks around a text that would be read as
// something else.
func quoteRight(s string) string {
	if x, err := parseRight(s); err == nil && x == s && !strings.Contains(s, "\n") {
		return s
	}
	return shown2(s)
}

func shown2(s string) string {
	b, _ := json.Marshal(s) // a string always can be
	return string(b)
}

// parseRights reads what formatRights writes.
func parseRights(s string) (map[string]any, error) {
	m := map[string]any{}
	for i, line := range strings.Split(s, "\n") {
		name, value, valued := strings.Cut(line, "=")
		name = strings.TrimSpace(name)
		if name == "" && !valued {
			continue
		}
		if _, twice := m[name]; name == "" || twice {
			return nil, fmt.Errorf("line %d has no name, or one that was there before", i+1)
		}
		m[name] = true
		if valued {
			x, err := parseRight(strings.TrimSpace(value))
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			m[name] = x
		}
	}
	return m, nil
}

// parseRight reads the value of an entitlement: true, a number, or a text,
// which may be in quotation marks.
func parseRight(s string) (any, error) {
	switch {
	case s == "":
		return nil, errors.New("there is nothing after the equals sign")
	case s == "true":
		return true, nil
	case s[0] == '"':
		var text string
		if err := json.Unmarshal([]byte(s), &text); err != nil {
			return nil, errors.New("the quotation marks do not match")
		}
		return text, nil
	}
	var n json.Number
	if json.Unmarshal([]byte(s), &n) == nil {
		if f, err := n.Float64(); err == nil {
			return f, nil
		}
	}
	return s, nil
}

// formatMetadata writes metadata one in a line.
func formatMetadata(m map[string]string) string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		value := m[name]
		if value == "" || value != strings.TrimSpace(value) || value[0] == '"' || strings.Contains(value, "\n") {
			value = shown2(value)
		}
		lines = append(lines, name+" = "+value)
	}
	return strings.Join(lines, "\n")
}

// parseMetadata reads what formatMetadata writes.
func parseMetadata(s string) (map[string]string, error) {
	m := map[string]string{}
	for i, line := range strings.Split(s, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		name, value, valued := strings.Cut(line, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if _, twice := m[name]; name == "" || !valued || twice {
			return nil, fmt.Errorf("line %d is not name = text, or has a name that was there before", i+1)
		}
		if strings.HasPrefix(value, `"`) {
			if err := json.Unmarshal([]byte(value), &value); err != nil {
				return nil, fmt.Errorf("line %d: the quotation marks do not match", i+1)
			}
		}
		m[name] = value
	}
	return m, nil
}
