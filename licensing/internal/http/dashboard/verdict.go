package dashboard

import (
	"regexp"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// verdictPanel shows the verdict that a program gets when it validates the
// license.
type verdictPanel struct {
	Verdict *api.Verdict // nil if the parameters are invalid
	At      *kit.Moment  // nil for now
	Changes *kit.Moment
	Form    *forms.Form
	Tested  bool // the query has parameters of the form

	State string // "Valid", or why it is not
}

// verdictForm returns the form for a test validation.
func verdictForm() *forms.Form {
	return forms.NewForm(
		forms.TimeField("at", "Time", "In UTC. Leave blank for now.", nil),
		&forms.Field{Name: "fingerprint", Label: "Fingerprint", Hint: "The fingerprint that the program sends.", Type: "text", MaxLength: 255},
		&forms.Field{Name: "product", Label: "Product", Hint: "The product ID that the program sends.", Type: "text", MaxLength: 255},
		&forms.Field{Name: "entitlement", Label: "Entitlement", Hint: "The entitlement that the program requires.", Type: "text", MaxLength: 255},
		forms.TimeField("built", "Build", "When the program was built, in UTC.", nil),
	)
}

// verdictPanelOf validates the license, whose verdict is now without parameters, with those
// of the query. It does not change the license.
func verdictPanelOf(v *kit.Visit, l api.License, now api.Verdict) (verdictPanel, error) {
	q := v.R.URL.Query()
	p := verdictPanel{Form: verdictForm()}
	for _, x := range p.Form.Fields {
		x.Value = strings.TrimSpace(q.Get(x.Name))
		p.Tested = p.Tested || x.Value != ""
	}
	value := func(name string) string { return p.Form.Field(name).Value }
	params := api.ExplainLicenseParams{ID: l.ID, Fingerprint: value("fingerprint"), ProductID: value("product")}
	if s := value("entitlement"); s != "" {
		params.Entitlements = []string{s}
	}
	for name, t := range map[string]*time.Time{"at": &params.At, "built": &params.BuiltAt} {
		if at := p.Form.Time(name); at != nil {
			*t, p.Form.Field(name).Value = *at, kit.FormatTime(at)
		}
	}
	p.At = v.Moment(params.At)
	p.State = verdictSentence(v, now, l)
	var verdict api.Verdict
	if !p.Tested {
		return p, nil
	}
	err := forms.Check(v, p.Form, &params)
	if err == nil {
		verdict, err = v.Licenses.Explain(v.R.Context(), params)
	}
	if p.Form.TakeErrors(err, map[string]string{"product_id": "product", "entitlements/0": "entitlement", "built_at": "built"}) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	for i, reason := range verdict.Reasons {
		verdict.Reasons[i].Detail = readable(v, reason.Detail)
	}
	p.Verdict, p.Changes = &verdict, v.MomentOf(verdict.NextChangeAt)
	return p, nil
}

// verdictSentence says how long a license is valid, or why it is not.
func verdictSentence(v *kit.Visit, now api.Verdict, l api.License) string {
	switch end := v.MomentOf(now.NextChangeAt); {
	case !now.Valid:
		reasons := kit.Each(now.Reasons, func(r api.Reason) string { return kit.Sentence(readable(v, r.Detail)) })
		if l.StatusReason != "" {
			reasons = append(reasons, "Reason: "+l.StatusReason)
		}
		return "Not valid. " + strings.Join(reasons, " ")
	case now.Code == api.VerdictInGrace:
		return "Valid in its grace period, which ends " + end.Relative + "."
	}
	return "Valid"
}

var instantInText = regexp.MustCompile(`\b(at|until) (\d{4}-\d\d-\d\dT[\d:.]+Z)`)

// readable returns a text of the API with its times as pages show them.
func readable(v *kit.Visit, text string) string {
	return instantInText.ReplaceAllStringFunc(text, func(part string) string {
		word, instant, _ := strings.Cut(part, " ")
		t, err := time.Parse(time.RFC3339, instant)
		if err != nil {
			return part
		}
		if word == "at" {
			word = "on"
		}
		return word + " " + v.Moment(t).Full
	})
}

// Words returns the code of the verdict in words.
func (p verdictPanel) Words() string { return strings.ReplaceAll(string(p.Verdict.Code), "_", " ") }

// Recheck returns the time until a program validates again.
func (p verdictPanel) Recheck() string {
	return kit.Relative(time.Duration(p.Verdict.RecheckAfter) * time.Second)
}
