package dashboard

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
)

// bulkChanges are the changes that one form can make for several licenses.
var bulkChanges = append([]stateChange{{
	Name: "renew", Label: "Renew", access: kit.Supporters, heading: "Renew license", text: []string{"The expiry moves to a later time."},
}}, changesNamed("suspend", "reinstate", "revoke")...)

func changesNamed(names ...string) []stateChange {
	return slices.DeleteFunc(slices.Clone(stateChanges), func(m stateChange) bool { return !slices.Contains(names, m.Name) })
}

const (
	maxSelected     = 1000 // licenses that one form can change
	rowsSelected    = 50   // licenses that a page about them shows
	changedTogether = 10   // licenses that one Update changes at most
	pagesMatched    = 10   // pages of a list that are read to select all licenses
)

// maxMoving is the time after which an Update starts no further change, so that it
// holds the write lock for less than 20 ms, large licenses included.
const maxMoving = 10 * time.Millisecond

// A selection is what the page that changes several licenses shows in addition to the form.
type selection struct {
	Path   string // the target of the form, as a reference from dashboard/
	Done   bool   // the action is complete
	Query  string // of a selection by filter; empty: the operator chose licenses in the list
	Failed []selectedRow
	Rows   []selectedRow // the others: those that will be changed or, after the action, were
	Undo   *stateChange  // the change that undoes this one; nil: it cannot be undone
	Rest   bool          // more licenses can match the filter
}

// selectedRow is one of the selected licenses.
type selectedRow struct {
	api.License
	Value   string // what the form, or that of Undo, sends for the license
	Problem string
}

// failedRow returns the row of a value of the form that was not changed.
func failedRow(value, problem string) selectedRow {
	return selectedRow{api.License{ID: idOf(value), Name: idOf(value)}, "", problem}
}

// add adds a row to the rows with a problem, or to the others.
func (s *selection) add(row selectedRow) {
	if row.Problem != "" {
		s.Failed = append(s.Failed, row)
	} else {
		s.Rows = append(s.Rows, row)
	}
}

// Total returns the number of licenses.
func (s selection) Total() int { return len(s.Failed) + len(s.Rows) }

// Shown returns the rows that the page shows: all with a problem, which come first,
// and some of the others.
func (s selection) Shown() []selectedRow {
	return slices.Concat(s.Failed, s.Rows[:min(len(s.Rows), max(0, rowsSelected-len(s.Failed)))])
}

// More returns the number of rows that the page does not show.
func (s selection) More() string {
	if n := s.Total() - len(s.Shown()); n > 0 {
		return kit.Thousands(int64(n))
	}
	return ""
}

// isRenewal reports whether a change is a renewal, which has a form of its own.
func (m stateChange) isRenewal() bool { return m.Name == "renew" }

// typedAbove is the number of licenses above which the operator types it to make
// any change.
const typedAbove = 50

// bulkFields is the form for n licenses. For a change that is final and for many
// licenses, the operator types their number.
func (m stateChange) bulkFields(n int, zone *time.Location) *forms.Form {
	f := m.fields()
	if m.isRenewal() {
		f = renewFields(oneYear, api.RenewFromLater, zone)
	}
	if m.Danger || n > typedAbove {
		f.Add(forms.TypedField("number", "Number of licenses", strconv.Itoa(n), "This is not the number of licenses."))
	}
	return f
}

// undo returns the change that undoes m, or nil.
func (m stateChange) undo() *stateChange {
	name := map[string]string{"suspend": "reinstate", "reinstate": "suspend"}[m.Name]
	if i := slices.IndexFunc(bulkChanges, func(x stateChange) bool { return x.Name == name }); i >= 0 {
		return &bulkChanges[i]
	}
	return nil
}

// distinct returns the different values, in order.
func distinct(values []string) (unique []string) {
	seen := make(map[string]bool, len(values))
	for _, value := range values {
		if !seen[value] {
			seen[value] = true
			unique = append(unique, value)
		}
	}
	return unique
}

// errTwoSelections means that an address has selected licenses and a filter, one of which
// would be ignored.
var errTwoSelections = web.NewProblem(http.StatusBadRequest, "invalid_query", "The address of this page has either selected licenses or a filter. Correct the address.")

// checkSelected returns an error if a form selects nothing, or too much.
func checkSelected(n, most int, what string) error {
	switch {
	case n == 0:
		return web.NewProblem(http.StatusUnprocessableEntity, "none_selected", "Go back to the list and select at least one "+what+".")
	case n > most:
		return web.NewProblem(http.StatusUnprocessableEntity, "too_many_selected", "At most "+kit.Count(most, what)+" can be selected. Go back to the list and select fewer.")
	}
	return nil
}

// bulkForm is the page that confirms the change of several licenses.
func (m stateChange) bulkForm(v *kit.Visit) (p *forms.FormPage, err error) {
	q := v.R.URL.Query()
	body, f := selection{Path: "licenses/selected/" + m.Name}, readFilter(q)
	switch all := q.Get("all") != ""; {
	case all && q.Has("id"), !all && f != Filter{}:
		return nil, errTwoSelections
	case all:
		body.Query = "?" + q.Encode()
	}
	var found []api.License
	var ids []string
	sent := distinct(v.R.PostForm["id"])
	switch {
	case !v.IsRead():
		body.Rest = v.Sent("rest") != ""
		ids = kit.Each(sent, idOf)
	case body.Query != "":
		found, body.Rest, err = allMatching(v, m, f)
		ids = kit.Each(found, licenseID)
	default:
		ids = distinct(q["id"])
	}
	if err == nil {
		err = checkSelected(len(ids), maxSelected, "license")
	}
	if err == nil && found == nil {
		found, err = licensesOf(v, ids)
	}
	if err == nil {
		err = addBefore(v, &body, m, ids, found)
	}
	if err != nil {
		return nil, err
	}
	n := len(body.Rows)
	p = &forms.FormPage{
		Title: m.Label + ": " + kit.Count(len(ids), "license"), Section: "licenses", Heading: m.Label + " licenses", Danger: m.Danger, Template: "selected",
		Text: bulkText(v, m, body), Form: m.bulkFields(n, v.Zone()), Extra: body,
	}
	if n > 0 {
		p.Action = m.Label + " " + kit.Count(n, "license")
	}
	if !v.IsRead() {
		p.Form = m.bulkFields(len(sent), v.Zone())
	}
	p.Do = func(v *kit.Visit) (string, error) { return "", changeSelected(v, m, sent, p) }
	return p, nil
}

// addBefore adds the rows of the licenses with some IDs, of which found exist. It says
// which of them will not be changed.
func addBefore(v *kit.Visit, s *selection, m stateChange, ids []string, found []api.License) error {
	paused, err := inner.Of(v.Licenses).Licenses().Paused(v.R.Context(), found...)
	if err != nil {
		return err
	}
	byID := make(map[string]api.License, len(found))
	for _, l := range found {
		byID[l.ID] = l
	}
	for _, id := range ids {
		row := failedRow(id, "This license no longer exists.")
		if l, ok := byID[id]; ok {
			row = selectedRow{License: l, Value: l.ID}
			row.Problem = m.excludes(l, paused)
			if m.isRenewal() { // so that a form that is sent twice renews once
				row.Value += " " + l.Version().String()
			}
		}
		s.add(row)
	}
	return nil
}

// excludes says why a license will not be changed; empty: it will be.
func (m stateChange) excludes(l api.License, paused []string) string {
	switch {
	case !m.fits(l, paused):
		return "This license is " + string(l.Status) + " and will not be changed."
	case m.isRenewal() && l.ExpiresAt == nil:
		return "This license has no expiry and will not be changed."
	}
	return ""
}

// bulkText says which licenses are selected, how many of them will be changed, and
// what follows.
func bulkText(v *kit.Visit, m stateChange, s selection) (text []string) {
	if s.Query != "" {
		text = append(text, "Selected: "+readFilter(v.R.URL.Query()).describe()+" that this can change.")
	} else {
		text = append(text, "Selected: "+kit.Count(s.Total(), "license")+" that you chose in the list.")
	}
	if len(s.Failed) > 0 {
		text = append(text, kit.Thousands(int64(len(s.Rows)))+" of "+kit.Thousands(int64(s.Total()))+" licenses will be changed.")
	}
	switch {
	case s.Rest && m.isRenewal(): // a renewed license can still match
		text = append(text, "More licenses can match the filter. Narrow it to renew the others.")
	case s.Rest:
		text = append(text, "More licenses can match the filter. You can continue with them afterwards.")
	}
	switch {
	case m.undo() != nil:
		text = append(text, "You can undo this for all of them afterwards.")
	case m.Danger:
		text = append(text, "This cannot be undone.")
	}
	if len(s.Rows) > 0 {
		text = append(text, "For each license: "+strings.ToLower(m.text[0][:1])+m.text[0][1:])
	}
	return text
}

// allMatching returns the licenses that match a filter and that a change is for, up to
// maxSelected, and whether more can match.
func allMatching(v *kit.Visit, m stateChange, f Filter) (list []api.License, more bool, err error) {
	p := f.params(v.Opts.Now())
	p.Limit = 200
	for range pagesMatched {
		one := *v
		one.Licenses = inner.Of(v.Licenses).ForRequest() // each page searches as far as any
		page, _, err := listedLicenses(&one, f, p)
		if err != nil {
			return nil, false, err
		}
		paused, err := inner.Of(v.Licenses).Licenses().Paused(v.R.Context(), page.Data...)
		if err != nil {
			return nil, false, err
		}
		for _, l := range page.Data {
			if m.excludes(l, paused) == "" {
				list = append(list, l)
			}
		}
		if p.Cursor = page.NextCursor; p.Cursor == "" || len(list) >= maxSelected {
			break
		}
	}
	return list[:min(len(list), maxSelected)], p.Cursor != "" || len(list) > maxSelected, nil
}

// licensesOf returns the licenses with some IDs that exist.
func licensesOf(v *kit.Visit, ids []string) (list []api.License, err error) {
	for l, err := range v.Licenses.All(v.R.Context(), api.ListLicensesParams{IDs: ids}) {
		if err != nil {
			return nil, err
		}
		list = append(list, l)
	}
	return list, nil
}
