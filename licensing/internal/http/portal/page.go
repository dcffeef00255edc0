package portal

import (
	"cmp"
	"errors"
	"html/template"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/selling"

	"github.com/seed-d8a106b4/licensekit/internal/dates"
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
)

// A licenseView is a license as the pages show it.
type licenseView struct {
	api.License
	State string // in words
	Help  string // what the customer can do; empty: nothing is wrong
	Good  bool   // the license works
	Until string // the end of its validity, as a date
	Over  bool   // that has passed
	Built string // the end of its updates, as a date; empty: none
	Plan  string // the name of its plan; empty: none
	Named string // the name of its product
	Trial bool   // nothing was bought
}

// view returns a license with its verdict in words.
func (v *visit) view(l api.License, verdict api.Verdict) (licenseView, error) {
	out := licenseView{License: l, Named: v.product(l.ProductID), Good: verdict.Valid, Until: v.lastDay(l.ExpiresAt), Built: v.lastDay(l.UpdatesUntil)}
	var err error
	if out.Plan, err = v.plan(l.PlanID); err != nil {
		return out, err
	}
	out.Trial = inner.Of(v.h.opts.Licenses).Purchases().TrialOf(l.Reference) != ""
	out.Over = l.ExpiresAt != nil && !l.ExpiresAt.After(inner.Of(v.h.opts.Licenses).Call().Now())
	name := map[api.VerdictCode]string{
		api.VerdictValid: "Active", api.VerdictInGrace: "Grace", api.VerdictExpired: "Expired",
		api.VerdictScheduled: "Scheduled", api.VerdictSuspended: "Suspended", api.VerdictRevoked: "Revoked",
	}[verdict.Code]
	at, help := l.ExpiresAt, ""
	switch {
	case verdict.Code == api.VerdictInGrace:
		end := call.GraceEnd(l)
		at, help = &end, "Expired"
	case verdict.Code == api.VerdictScheduled:
		at = l.StartsAt
	case !verdict.Valid:
		help = name
	}
	if help == "Expired" && out.Trial {
		help = "Trial"
	}
	out.Help = v.h.opts.Texts[help+"Help"]
	date := v.lastDay(at)
	if verdict.Code == api.VerdictScheduled {
		date = v.date(at)
	}
	out.State = v.text(name, "date", date)
	return out, nil
}

// devicesUsed returns how many devices of a license are in use.
func (v *visit) devicesUsed(used int, limit int64) string {
	return v.text("DevicesUsed", "used", strconv.Itoa(used), "limit", strconv.FormatInt(limit, 10))
}

// product returns the name of a product.
func (v *visit) product(id string) string {
	return inner.Of(v.h.opts.Licenses).Call().Opts.ProductName(id)
}

// text returns a text with the values in their places: pairs of a name and a value.
func (v *visit) text(name string, values ...string) string {
	text := v.h.opts.Texts[name]
	for i := 0; i+1 < len(values); i += 2 {
		text = strings.ReplaceAll(text, "{"+values[i]+"}", values[i+1])
	}
	return text
}

// about returns a text about a device, which is isolated from the words beside its name.
func (v *visit) about(name, device string) template.HTML {
	text := template.HTMLEscapeString(v.h.opts.Texts[name])
	return template.HTML(strings.ReplaceAll(text, "{name}", "<bdi>"+template.HTMLEscapeString(device)+"</bdi>"))
}

// date returns the day of an instant; nil, and the last instant, which is never: "".
func (v *visit) date(t *time.Time) string {
	if t == nil || terms.IsLast(*t) {
		return ""
	}
	return v.day(t.In(v.zone()))
}

// lastDay returns the last day before an end; nil, and the last instant, which is never: "".
func (v *visit) lastDay(end *time.Time) string {
	if end == nil || terms.IsLast(*end) {
		return ""
	}
	return v.day(dates.Last(*end, v.zone()))
}

// day writes a day in the language of the pages.
func (v *visit) day(day time.Time) string {
	texts := v.h.opts.Texts
	layout := texts["Date"]
	if day.Day() == 1 {
		layout = cmp.Or(texts["DateFirst"], layout)
	}
	month := strings.Fields(texts["Months"])[day.Month()-1]
	return strings.Replace(day.Format(layout), day.Month().String(), month, 1)
}

// zone is where the days of the pages begin.
func (v *visit) zone() *time.Location { return inner.Of(v.h.opts.Licenses).Call().Opts.TimeZone }

// showLicenses shows all licenses of the customer. If there is one, and nothing else to
// show, it shows that one.
func showLicenses(v *visit) error {
	page, err := v.customer.List(v.r.Context(), api.ListLicensesParams{Cursor: v.r.URL.Query().Get("cursor")})
	if invalid, ok := errors.AsType[*api.InvalidError](err); ok && invalid.Fields[0].Field == "cursor" {
		err = api.ErrNotFound
	}
	if err != nil {
		return err
	}
	body := struct {
		Waiting  []string // purchases without a license, in words
		Licenses []licenseView
		Next     string
	}{Next: page.NextCursor}
	buyers := map[string]bool{v.buyer: true}
	if v.buyer == "" { // an address is signed in: the customers of its licenses
		buyers = map[string]bool{}
		for _, l := range page.Data {
			buyers[l.CustomerID] = true
		}
	}
	for _, buyer := range slices.Sorted(maps.Keys(buyers)) {
		purchases, err := inner.Of(v.licenses).Purchases().PaidPurchases(v.r.Context(), buyer)
		if err != nil {
			return err
		}
		for _, f := range purchases {
			body.Waiting = append(body.Waiting, v.text("Waiting", "date", v.date(f.FirstActiveAt)))
		}
	}
	if len(page.Data) == 1 && len(body.Waiting) == 0 && !page.HasMore && page.PrevCursor == "" {
		v.id, v.only = page.Data[0].ID, true
		return showLicense(v)
	}
	for _, l := range page.Data {
		view, err := v.view(l, v.verdict(l))
		if err != nil {
			return err
		}
		body.Licenses = append(body.Licenses, view)
	}
	return v.render(200, "list", v.text("Title"), body)
}

// verdict returns the verdict on a license of a list.
func (v *visit) verdict(l api.License) api.Verdict {
	switch {
	case l.Status == api.LicenseActive:
		return api.Verdict{Valid: true, Code: api.VerdictValid}
	case inner.Of(v.h.opts.Licenses).Licenses().InGrace(l):
		return api.Verdict{Valid: true, Code: api.VerdictInGrace}
	}
	return api.Verdict{Code: api.VerdictCode(l.Status)}
}

// A device is an activation as the pages show it.
type device struct {
	api.Activation
	Label        string
	Seen         string // when it was last seen, in words
	Held         string // until when it works offline, in words; empty: not
	Asks         string // what removing it means
	ReleaseLabel string // of the link to the question, for screen readers
	Remove       template.HTML
}

// device returns an activation as the pages show it.
func (v *visit) device(a api.Activation) device {
	label := cmp.Or(a.Name, a.Fingerprint)
	d := device{
		Activation: a, Label: label, Asks: v.text("ReleaseAsk"), Seen: v.text("LastSeen", "date", v.date(&a.LastSeenAt)),
		ReleaseLabel: v.text("ReleaseLabel", "name", label), Remove: v.about("ReleaseLabel", label),
	}
	if a.HeldUntil != nil && a.HeldUntil.After(inner.Of(v.h.opts.Licenses).Call().Now()) {
		d.Held = v.text("HeldUntil", "date", v.lastDay(a.HeldUntil))
		d.Asks = v.text("ReleaseHeld", "date", v.lastDay(a.HeldUntil))
	}
	return d
}

// A meter is what was used of a meter of a license in its present period.
type meter struct {
	Name   string
	Text   string
	Bar    bool // there is a limit
	Used   int  // in percent
	Resets string
}

// meters returns what was used of the meters of a license.
func (v *visit) meters(verdict api.Verdict) (list []meter) {
	for _, u := range verdict.Meters {
		used := strconv.FormatInt(u.Used, 10)
		m := meter{Name: u.Name, Text: v.text("MeterCounted", "used", used)}
		if u.Limit != nil {
			m.Bar, m.Used = true, 100
			m.Text = v.text("MeterUsed", "used", used, "limit", strconv.FormatInt(*u.Limit, 10))
			if *u.Limit > 0 {
				m.Used = int(min(100, float64(u.Used)*100/float64(*u.Limit)))
			}
		}
		if u.ResetsAt != nil {
			m.Resets = v.text("MeterResets", "date", v.date(u.ResetsAt))
		}
		list = append(list, m)
	}
	return list
}

// plan returns the name of a plan, or its ID if it was deleted.
func (v *visit) plan(id string) (string, error) {
	if id == "" || v.plans[id] != "" {
		return v.plans[id], nil
	}
	plan, err := selling.New(v.h.opts.Licenses).GetPlan(v.r.Context(), id)
	if err != nil && !errors.Is(err, api.ErrNotFound) {
		return "", err
	}
	if v.plans == nil {
		v.plans = map[string]string{}
	}
	v.plans[id] = cmp.Or(plan.Name, id)
	return v.plans[id], nil
}

// showLicense shows one license.
func showLicense(v *visit) error { return v.showLicense(200, "", "") }

// showLicense shows one license and what is wrong with the form that was sent. A
// request text that was refused stays in its box.
func (v *visit) showLicense(status int, problem, request string) error {
	ctx := v.r.Context()
	l, err := v.customer.Get(ctx, v.id)
	if err != nil {
		return err
	}
	verdict, err := v.customer.Verdict(ctx, v.id)
	if err != nil {
		return err
	}
	query := v.r.URL.Query()
	list, err := v.customer.Activations(ctx, api.ListActivationsParams{LicenseID: v.id, Cursor: query.Get("devices")})
	if _, ok := errors.AsType[*api.InvalidError](err); ok {
		err = api.ErrNotFound
	}
	if err != nil {
		return err
	}
	view, err := v.view(l, verdict)
	if err != nil {
		return err
	}
	body := struct {
		licenseView
		Here      string // relative reference to this page
		Problem   string
		Request   string
		Done      string // what the last form has done, in words; empty: nothing
		Devices   []device
		Used      string // how many devices use the license, in words; empty: there is no limit
		More      string // how many of the devices it allows only until a day, in words; empty: none
		Next      string
		Meters    []meter
		Renew     string   // where the license can be renewed; empty: nowhere
		Buy       string   // instead of Renew and Full, where one can be bought after the trial; empty: nowhere
		Full      string   // where the customer can buy more devices; empty: nowhere, or one is free
		History   []change // the latest
		Only      bool     // the customer has no other license
		Offline   bool     // license files can be had
		AnyDevice bool     // a file needs no activation
	}{
		licenseView: view, Here: v.root() + l.ID, Problem: problem, Request: request, Next: list.NextCursor,
		Meters: v.meters(verdict), Only: v.only, Offline: verdict.Valid, AnyDevice: l.MaxActivations == nil,
	}
	switch {
	case problem != "":
	case query.Has("released"):
		body.Done = v.text("Released")
	case query.Has("linked"):
		body.Done = v.text("Linked")
	case query.Has("claimed"):
		body.Done = v.text("Claimed")
	}
	for _, a := range list.Data {
		body.Devices = append(body.Devices, v.device(a))
	}
	if l.MaxActivations != nil && !list.HasMore && query.Get("devices") == "" {
		body.Used = v.devicesUsed(len(list.Data), *l.MaxActivations)
	}
	if i := slices.IndexFunc(l.Upcoming, func(c api.UpcomingChange) bool { return c.MaxActivations.Set }); i >= 0 && l.MaxActivations != nil {
		if c := l.Upcoming[i]; !c.MaxActivations.Null && c.MaxActivations.Value < *l.MaxActivations {
			body.More = v.text("MoreDevices", "number", strconv.FormatInt(*l.MaxActivations-c.MaxActivations.Value, 10), "date", v.lastDay(&c.At))
		}
	}
	if body.History, err = v.history(l); err != nil {
		return err
	}
	if v.h.opts.Renew != nil && l.Status != api.LicenseRevoked {
		url := v.h.opts.Renew(l)
		if l.ExpiresAt != nil {
			body.Renew = url
		}
		if body.Used != "" && int64(len(list.Data)) >= *l.MaxActivations {
			body.Full = url
		}
	}
	if view.Trial && v.h.opts.Buy != nil {
		body.Buy, body.Full = v.h.opts.Buy(l.ProductID), ""
	}
	return v.render(status, "license", l.Name, body)
}
