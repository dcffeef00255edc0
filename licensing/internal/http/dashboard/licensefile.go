package dashboard

import (
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// filesOffered is the number of activations that the form for a license file
// lists. The fingerprints of others can be typed.
const filesOffered = 20

// The values of the field "for" of a license file that is not for a listed
// activation.
const (
	forFingerprint = "fingerprint"
	forRequest     = "request"
	forNone        = "none"
)

// fileFields returns the fields of the form that issues a license file.
func fileFields(v *kit.Visit, l api.License) (*forms.Form, error) {
	active, err := v.Licenses.ListActivations(v.R.Context(), api.ListActivationsParams{LicenseID: l.ID, Limit: filesOffered})
	if err != nil {
		return nil, err
	}
	var options []forms.Option
	for _, a := range active.Data {
		o := forms.Option{Value: a.ID, Label: activationRow{Activation: a}.Label()}
		if a.Name != "" {
			o.Hint = a.Fingerprint
		}
		options = append(options, o)
	}
	if v.Admin() {
		options = append(options, forms.Option{Value: forFingerprint, Label: "Another fingerprint", Hint: "Takes a seat if it has none."})
	}
	options = append(options,
		forms.Option{Value: forRequest, Label: "A request", Hint: "The text that the program shows on a machine without a network, or that an office shows."})
	if l.MaxActivations == nil {
		options = append(options, forms.Option{Value: forNone, Label: "Any machine", Hint: "The file runs everywhere, because the license does not limit activations."})
	}
	bound := forms.Radios("for", "Issue for", options[0].Value, options...)
	request := &forms.Field{Name: "request", Label: "Request text", Hint: "For a request. Paste the whole text.", Type: "textarea", Rows: 4, When: "for=" + forRequest}
	if !v.Admin() {
		until, err := inner.Of(v.Licenses).Seats().FileUntil(v.R.Context(), l.ID)
		if err != nil {
			return nil, err
		}
		if until.After(v.Opts.Now()) {
			bound.Hint = "The file expires on " + v.Moment(until).Full + ", like a file that the customer's program gets now."
		}
		return forms.NewForm(bound, request), nil
	}
	lifetime := forms.TermField("lifetime", "Lifetime", "At most 10 years. A file never outlives the license with its grace period.", api.Duration{Days: 30})
	lifetime.Required = true
	return forms.NewForm(
		lifetime, bound,
		&forms.Field{Name: "fingerprint", Label: "Fingerprint", Hint: "For another fingerprint.", Type: "text", Mono: true, MaxLength: 255, When: "for=" + forFingerprint},
		request,
	), nil
}

// readFile returns the parameters of a submitted form.
func readFile(f *forms.Form, l api.License) api.IssueFileParams {
	p := api.IssueFileParams{LicenseID: l.ID}
	p.Lifetime, _ = f.Read("lifetime").(api.Duration)
	switch chosen := f.Field("for").Chosen(); chosen {
	case "":
		f.AddError("for", "Select one.")
	case forFingerprint:
		p.Fingerprint = f.Text("fingerprint")
	case forRequest:
		p.Request = f.Text("request")
	case forNone:
	default:
		p.ActivationID = chosen
	}
	return p
}

// issueFileForm issues a license file and responds with it. A repeated form takes
// no second seat, so the form needs no mark.
func issueFileForm(v *kit.Visit, l api.License) (*forms.FormPage, error) {
	p := licenseFormPage(l, "Issue license file",
		"With a license file, a program runs without reaching the service until the file expires. While it is valid, the file holds the seat of its activation.")
	fields, err := fileFields(v, l)
	p.Form = fields
	p.Action, p.Download, p.Names = "Issue and download", true, map[string]string{"entitlements": ""}
	var file license.File
	text := ""
	p.Do = func(*kit.Visit) (_ string, err error) {
		params := readFile(p.Form, l)
		if p.Form.HasErrors() {
			return "", nil
		}
		if file, err = issue(v, l, params); err == nil {
			text, err = v.Files.Sign(v.R.Context(), *file.FileClaims())
		}
		return "", err
	}
	p.Then = func(v *kit.Visit) error {
		web.DownloadFile(v.W, file, text)
		return nil
	}
	return p, err
}

// issue issues a license file: for an operator who may not change licenses, as
// their customer could get it.
func issue(v *kit.Visit, l api.License, p api.IssueFileParams) (license.File, error) {
	ctx := v.R.Context()
	switch holder := v.Licenses.Customer(l.CustomerID); {
	case v.Admin():
		return v.Licenses.IssueFile(ctx, p)
	case p.Request != "":
		return holder.AnswerRequest(ctx, l.ID, p.Request)
	default:
		return holder.LicenseFile(ctx, l.ID, p.ActivationID)
	}
}
