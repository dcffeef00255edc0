package dashboard

import (
	"errors"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// A matchCount is the number of licenses that match a filter.
type matchCount struct {
	n    int64
	more bool // there are more than n
}

// text returns the number with a unit, such as "1 license" or "100+ licenses".
func (m matchCount) text(unit string) string {
	if m.n == 1 && !m.more {
		return "1 " + unit
	}
	return m.number() + " " + unit + "s"
}

func (m matchCount) number() string {
	if m.more {
		return thousands(m.n) + "+"
	}
	return thousands(m.n)
}

// matches counts the licenses that p selects, of which result is a page.
func (v *visit) matches(p license.ListParams, result license.ListPage) (matchCount, error) {
	if p.Cursor == "" && !result.HasMore {
		return matchCount{n: int64(len(result.Data))}, nil
	}
	c, err := v.count(p)
	return matchCount{c.Total, c.AtLeast}, err
}

// byKey makes a search for a text one for a part of a key. The license service
// finds none of these for operators who may not see keys.
func byKey(p license.ListParams) license.ListParams {
	p.Search, p.KeyPart = "", p.Search
	return p
}

// find returns a page of a search. If the text is found nowhere, it is searched in
// keys.
func (v *visit) find(p license.ListParams) (license.ListPage, error) {
	page, err := v.licenses.List(v.r.Context(), p)
	if p.Search == "" {
		return page, err
	}
	invalid, _ := errors.AsType[*license.InvalidError](err)
	other := invalid != nil && invalid.Fields[0].Field == "cursor"
	if other || err == nil && p.Cursor == "" && len(page.Data) == 0 && !page.HasMore {
		return v.licenses.List(v.r.Context(), byKey(p))
	}
	v.licenses.Internal().NameFirst(page.Data, p.Search)
	return page, err
}

// resolve returns the search by which find finds something.
func (v *visit) resolve(p license.ListParams) (license.ListParams, error) {
	if p.Search == "" {
		return p, nil
	}
	one := p
	one.Limit = 1
	page, err := v.licenses.List(v.r.Context(), one)
	if err == nil && len(page.Data) == 0 && !page.HasMore {
		return byKey(p), nil
	}
	return p, err
}

// count counts what find finds.
func (v *visit) count(p license.ListParams) (license.Counts, error) {
	c, err := v.licenses.Count(v.r.Context(), p)
	if err == nil && p.Search != "" && c.Total == 0 && !c.AtLeast {
		return v.licenses.Count(v.r.Context(), byKey(p))
	}
	return c, err
}

// reached says how far a search has come that did not reach its end.
func reached(p license.ListParams, page license.ListPage) string {
	if page.SearchedTo.IsZero() {
		return ""
	}
	if !p.NewestFirst {
		return "Searched up to " + page.SearchedTo.Format("2 January 2006") + "."
	}
	return "Searched back to " + page.SearchedTo.Format("2 January 2006") + "."
}
