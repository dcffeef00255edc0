package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// terms are the lengths that a renewal is offered for. Years and months are
// those of the calendar.
var terms = []struct{ value, label string }{
	{"P1Y", "1 year"}, {"P6M", "6 months"}, {"P3M", "3 months"}, {"P1M", "1 month"},
}

// What a renewal is besides one of the terms.
const (
	otherTerm = "length"
	exactEnd  = "date"
)

// begins are the places where the length of a renewal can begin.
var begins = []struct {
	value license.RenewFrom
	label string
	hint  string
}{
	{license.FromLater, "Its end, or now if that is later", "Neither time that is paid for nor time that has passed is counted."},
	{license.FromExpiry, "Its end, even if that has passed", ""},
	{license.FromNow, "Now", ""},
}

func renewForm(chosen string, from license.RenewFrom) *form {
	length := &field{Name: "term", Label: "Renew for", Type: "radios"}
	for _, t := range terms {
		length.Options = append(length.Options, option{Value: t.value, Label: t.label, Chosen: t.value == chosen})
	}
	length.Options = append(length.Options,
		option{Value: otherTerm, Label: "Another length, below", Chosen: chosen == otherTerm},
		option{Value: exactEnd, Label: "Until the date below", Chosen: chosen == exactEnd})
	begin := &field{Name: "from", Label: "Counted from", Type: "radios"}
	for _, b := range begins {
		begin.Options = append(begin.Options, option{Value: string(b.value), Label: b.label, Hint: b.hint, Chosen: b.value == from})
	}
	return &form{Groups: []group{{Fields: []*field{
		length,
		{Name: "duration", Label: "Another length", Hint: "Such as 2y, 18m, 6w or 45d.", Type: "text", Half: true, MaxLength: 60},
		{Name: "expires_at", Label: "New end", Hint: "In UTC. Later than the present end.", Type: "datetime-local", Half: true},
		begin,
		{Name: "reason", Label: "Reason", Hint: "Kept in the history. May be empty.", Type: "text", MaxLength: 255},
	}}}}
}

// renewable reports whether a licence can be renewed; the rules have the last
// word.
func renewable(l license.License) bool {
	return l.ExpiresAt != nil && l.Status != license.StatusRevoked
}

func showRenew(v *visit) error {
	l, err := v.licenses.Get(v.r.Context(), v.params["id"])
	if err != nil {
		return err
	}
	if !renewable(l) {
		detail := "This licence is revoked, and that is final."
		if l.ExpiresAt == nil {
			detail = "This licence has no end, so there is nothing to renew."
		}
		return &web.Problem{Status: http.StatusConflict, Code: "move_forbidden", Detail: detail}
	}
	return v.renderRenew(http.StatusOK, l, renewForm("P1Y", license.FromLater))
}

func (v *visit) renderRenew(status int, l license.License, f *form) error {
	text := "It has no end."
	if end := v.momentOf(l.ExpiresAt); end != nil {
		text = "Its present end is " + end.Full + ", " + end.Relative + "."
	}
	return v.render(status, "confirm", page{Title: "Renew: " + l.Name, Section: "licenses", Body: confirmation{
		Heading: "Renew", Form: f, Text: []string{text}, Action: "Renew licence", Back: "licenses/" + url.PathEscape(l.ID), Subject: l.Name,
	}})
}

func renew(v *visit) error {
	ctx := v.r.Context()
	l, err := v.licenses.Get(ctx, v.params["id"])
	if err != nil {
		return err
	}
	f := renewForm("", "")
	f.fill(v)
	p, ok := f.readRenewal()
	if !ok {
		return v.renderRenew(http.StatusUnprocessableEntity, l, f)
	}
	p.ID = l.ID
	_, err = v.licenses.Renew(ctx, p)
	if p.ExpiresAt == nil {
		err = renamed(err, map[string]string{"expires_at": "term"})
	}
	if f.take(err) {
		return v.renderRenew(http.StatusUnprocessableEntity, l, f)
	}
	if err != nil {
		return err
	}
	v.redirectDone("licenses/"+url.PathEscape(l.ID), "renewed")
	return nil
}

// readRenewal takes the values of the form, and notes what cannot be read.
func (f *form) readRenewal() (p license.RenewParams, ok bool) {
	chosen := func(name string) string {
		x := f.Field(name)
		if i := slices.IndexFunc(x.Options, func(o option) bool { return o.Chosen }); i >= 0 {
			return x.Options[i].Value
		}
		return ""
	}
	value := func(name string) string { return strings.TrimSpace(f.Field(name).Value) }
	p.Reason, p.From = f.Field("reason").Value, license.RenewFrom(chosen("from"))
	switch term := chosen("term"); term {
	case "":
		f.wrong("term", "choose one of these")
	case exactEnd:
		at, err := parseTime(value("expires_at"))
		if err != nil {
			f.wrong("expires_at", err.Error())
		}
		p.ExpiresAt = &at
	case otherTerm:
		d, err := parseTerm(value("duration"))
		if err != nil {
			f.wrong("duration", err.Error())
		}
		p.Duration = d
	default:
		p.Duration, _ = license.ParseDuration(term) // one of ours
	}
	return p, !f.Bad()
}

// parseTerm reads a length of calendar time as people write it, "1y 6m" or
// "45 d", or in the form of ISO 8601. An m is a month.
func parseTerm(s string) (license.Duration, error) {
	s = strings.ToUpper(strings.Join(strings.Fields(s), ""))
	if s != "" && !strings.HasPrefix(s, "P") {
		s = "P" + s
	}
	d, err := license.ParseDuration(s)
	if err != nil || d.IsZero() {
		return license.Duration{}, errors.New("write a number with a unit, such as 2y, 18m, 6w or 45d, the largest unit first")
	}
	return d, nil
}
