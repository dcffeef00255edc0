package dashboard

import (
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/input"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// verdictPanel says what a program is eventData that asks about a license.
type verdictPanel struct {
	Verdict *license.Verdict // nil: the question cannot be answered
	At      *moment          // nil: now
	Changes *moment
	Form    *form
	Tested  bool // somebody has asked, rather than just looked
}

// verdictForm is what can be asked besides "now".
func verdictForm() *form {
	return &form{Groups: []group{{Fields: []*field{
		{Name: "at", Label: "Time", Hint: "In UTC. Leave blank for now.", Type: "datetime-local"},
		{Name: "fingerprint", Label: "Fingerprint", Hint: "The fingerprint that the program sends.", Type: "text", MaxLength: 255},
		{Name: "product", Label: "Product", Hint: "The product ID that the program sends.", Type: "text", MaxLength: 255},
		{Name: "entitlement", Label: "Entitlement", Hint: "The entitlement that the program requires.", Type: "text", MaxLength: 255},
	}}}}
}

// verdictPanel asks the rules what the query of the page asks, and writes
// nothing.
func (v *visit) verdictPanel(l license.License) (verdictPanel, error) {
	q := v.r.URL.Query()
	p := verdictPanel{Form: verdictForm()}
	for _, x := range p.Form.Groups[0].Fields {
		x.Value = strings.TrimSpace(q.Get(x.Name))
		p.Tested = p.Tested || x.Value != ""
	}
	value := func(name string) string { return p.Form.Field(name).Value }
	ask := license.ExplainParams{ID: l.ID, Fingerprint: value("fingerprint"), ProductID: value("product")}
	if s := value("entitlement"); s != "" {
		ask.Entitlements = []string{s}
	}
	if s := value("at"); s != "" {
		if at, err := parseTime(s); err != nil {
			p.Form.addError("at", err.Error())
		} else {
			ask.At, p.At = at, v.moment(at)
			p.Form.Field("at").Value = formatTime(&at)
		}
	}
	verdict, err := v.licenses.Explain(input.WithErrors(v.r.Context(), p.Form.fieldErrors()), ask)
	if p.Form.takeVerdictErrors(err) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	p.Verdict, p.Changes = &verdict, v.momentOf(verdict.NextChangeAt)
	return p, nil
}

// takeVerdictErrors is take, for the names that the form gives otherwise.
func (f *form) takeVerdictErrors(err error) bool {
	return f.takeErrors(renamed(err, map[string]string{"product_id": "product", "entitlements/0": "entitlement"}))
}

// Words is the code of a verdict in words.
func (p verdictPanel) Words() string { return strings.ReplaceAll(string(p.Verdict.Code), "_", " ") }

// Recheck is how soon a program asks again.
func (p verdictPanel) Recheck() string {
	return relative(time.Duration(p.Verdict.RecheckAfter) * time.Second)
}
