package dashboard

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// terms are the calendar durations that the renewal form offers.
var terms = []struct{ value, label string }{
	{"P1Y", "1 year"}, {"P6M", "6 months"}, {"P3M", "3 months"}, {"P1M", "1 month"},
}

// The values of the term field for a renewal without one of the terms.
const (
	customLength = "length"
	customDate   = "date"
)

// renewStarts are the times from which a renewal can start.
var renewStarts = []struct {
	value license.RenewFrom
	label string
	hint  string
}{
	{license.FromLater, "Current expiry, or today if already expired", "The customer keeps all remaining time."},
	{license.FromExpiry, "Current expiry, even if already expired", ""},
	{license.FromNow, "Now", ""},
}

func renewForm(chosen string, from license.RenewFrom) *form {
	length := &field{Name: "term", Label: "Renew for", Type: "radios"}
	for _, t := range terms {
		length.Options = append(length.Options, option{Value: t.value, Label: t.label, Chosen: t.value == chosen})
	}
	length.Options = append(length.Options,
		option{Value: customLength, Label: "Custom length", Chosen: chosen == customLength},
		option{Value: customDate, Label: "Custom date", Chosen: chosen == customDate})
	begin := &field{Name: "from", Label: "Start from", Type: "radios"}
	for _, b := range renewStarts {
		begin.Options = append(begin.Options, option{Value: string(b.value), Label: b.label, Hint: b.hint, Chosen: b.value == from})
	}
	return &form{Groups: []group{{Fields: []*field{
		length,
		{Name: "duration", Label: "Length", Hint: "For a custom length.", Type: "text", Half: true, MaxLength: 60, Units: termUnits()},
		{Name: "expires_at", Label: "New expiry", Hint: "For a custom date, in UTC.", Type: "datetime-local", Half: true},
		begin,
		{Name: "reason", Label: "Reason", Hint: "Optional. Recorded in the history.", Type: "text", MaxLength: 255},
	}}}}
}

// renewable reports whether renewal is offered for a license. The license
// service decides.
func renewable(l license.License) bool {
	return l.ExpiresAt != nil && l.Status != license.StatusRevoked
}

func showRenew(v *visit) error {
	l, err := v.licenses.Get(v.r.Context(), v.params["id"])
	if err != nil {
		return err
	}
	if !renewable(l) {
		detail := "A revoked license cannot be renewed."
		if l.ExpiresAt == nil {
			detail = "This license has no expiry, so it cannot be renewed."
		}
		return &web.Problem{Status: http.StatusConflict, Code: "move_forbidden", Detail: detail}
	}
	return v.renderRenew(http.StatusOK, l, renewForm("P1Y", license.FromLater))
}

func (v *visit) renderRenew(status int, l license.License, f *form) error {
	text := "This license has no expiry."
	if end := v.momentOf(l.ExpiresAt); end != nil {
		text = "Currently expires " + end.Full + ", " + end.Relative + "."
	}
	return v.render(status, "confirm", page{Title: "Renew: " + l.Name, Section: "licenses", Body: confirmation{
		Heading: "Renew", Form: f, Text: []string{text}, Action: "Continue", Back: v.licenseRef(l.ID), Subject: l.Name,
	}})
}

// renderRenewal asks for confirmation of a new expiry. Its form has the expiry
// and the version of the license that the operator saw.
func (v *visit) renderRenewal(l license.License, end time.Time, reason string) error {
	now, then := v.momentOf(l.ExpiresAt), v.moment(end)
	text := []string{
		"Currently expires " + now.Full + ", " + now.Relative + ".",
		"New expiry: " + then.Full + ", " + then.Relative + ".",
	}
	if reason != "" {
		text = append(text, "Reason: "+reason)
	}
	f := &form{Hidden: map[string]string{"new_end": end.UTC().Format(time.RFC3339Nano), "reason": reason, "version": l.Version().String()}}
	return v.render(http.StatusOK, "confirm", page{Title: "Confirm renewal: " + l.Name, Section: "licenses", Body: confirmation{
		Heading: "Confirm renewal", Form: f, Text: text, Action: "Renew license", Back: v.licenseRef(l.ID), Subject: l.Name,
	}})
}

// renew first shows the new expiry, and renews the license when the operator
// confirms it.
func renew(v *visit) error {
	ctx := v.r.Context()
	l, err := v.licenses.Get(ctx, v.params["id"])
	if err != nil {
		return err
	}
	if v.sent("new_end") != "" {
		return v.confirmRenewal(l)
	}
	f := renewForm("", "")
	f.fill(v)
	p := f.readRenewal()
	p.ID = l.ID
	var before license.License
	var end time.Time
	if err = v.invalid(f.fieldErrors(), &p); err == nil {
		before, end, err = inner.Of(v.licenses).PreviewRenew(ctx, p)
	}
	if p.ExpiresAt == nil {
		err = renamed(err, map[string]string{"expires_at": "term"})
	}
	if f.takeErrors(err) {
		return v.renderRenew(http.StatusUnprocessableEntity, l, f)
	}
	if err != nil {
		return err
	}
	return v.renderRenewal(before, end, p.Reason)
}

// confirmRenewal renews a license until the expiry that the operator confirmed.
func (v *visit) confirmRenewal(l license.License) error {
	f := renewForm("P1Y", license.FromLater)
	end, err := parseTime(v.sent("new_end"))
	if err != nil || v.sent("version") != l.Version().String() {
		err = license.ErrStale
	} else {
		_, err = v.licenses.Renew(v.r.Context(), license.RenewParams{ID: l.ID, ExpiresAt: &end, Reason: v.sent("reason"), IfMatch: []license.Version{l.Version()}})
	}
	switch {
	case errors.Is(err, license.ErrStale):
		f.Problem = "This license was changed after you chose its new expiry. Check the current expiry and choose again."
		return v.renderRenew(http.StatusConflict, l, f)
	case f.takeErrors(err):
		return v.renderRenew(http.StatusUnprocessableEntity, l, f)
	case err != nil:
		return err
	}
	v.redirectDone(v.licenseRef(l.ID), "renewed")
	return nil
}

// readRenewal parses the values of the form. It adds errors for values that are
// invalid or contradict the selected term.
func (f *form) readRenewal() (p license.RenewParams) {
	chosen := func(name string) string {
		x := f.Field(name)
		if i := slices.IndexFunc(x.Options, func(o option) bool { return o.Chosen }); i >= 0 {
			return x.Options[i].Value
		}
		return ""
	}
	value := func(name string) string { return strings.TrimSpace(f.Field(name).Value) }
	p.Reason, p.From = f.Field("reason").Value, license.RenewFrom(chosen("from"))
	term := chosen("term")
	if term != "" && term != customLength && value("duration") != "" {
		f.addError("term", "a length is entered below: select “Custom length” or clear that field")
	}
	if term != "" && term != customDate && value("expires_at") != "" {
		f.addError("term", "a new expiry is entered below: select “Custom date” or clear that field")
	}
	switch term {
	case "":
		f.addError("term", "select an option")
	case customDate:
		at, err := parseTime(value("expires_at"))
		if err != nil {
			f.addError("expires_at", err.Error())
		}
		p.ExpiresAt = &at
	case customLength:
		d, err := parseTerm(f.Field("duration").amount())
		if err != nil {
			f.addError("duration", err.Error())
		}
		p.Duration = d
	default:
		p.Duration, _ = license.ParseDuration(term) // one of terms
	}
	return p
}
