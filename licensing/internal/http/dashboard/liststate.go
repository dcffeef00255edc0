package dashboard

import (
	"net/url"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// Pages about a license have a parameter "list" with the search, the filters and
// the page of the license list, so that links back open the same list.

// listNames are the parameters of the license list.
var listNames = []string{"q", "key", "status", "product", "customer", "expires", "sort", "cursor", "back", "window"}

// listState returns the state of the license list as a query without a question
// mark.
func (v *visit) listState() string { return v.listValues().Encode() }

// listValues returns the state of the license list, from the list itself or from
// the parameter "list".
func (v *visit) listValues() url.Values {
	q := v.r.URL.Query()
	if v.path != "licenses" {
		q, _ = url.ParseQuery(q.Get("list")) // invalid parameters are left out
	}
	state := url.Values{}
	for _, name := range listNames {
		if value := q.Get(name); value != "" {
			state.Set(name, value)
		}
	}
	return state
}

// listRef returns the license list with its state, as a reference from
// dashboard/.
func (v *visit) listRef() string { return withQuery("licenses", v.listState()) }

// listQuery returns the query that keeps the state of the license list.
func (v *visit) listQuery() url.Values {
	return queryOf(map[string]string{"list": v.listState()})
}

// keepList adds the state of the license list to a reference.
func (v *visit) keepList(reference string) string {
	return withQuery(reference, v.listQuery().Encode())
}

// licenseRef returns the page of a license, as a reference from dashboard/.
func (v *visit) licenseRef(id string) string { return v.keepList(licensePath(id)) }

// describe returns the licenses that match the filter in words.
func (f filter) describe() string {
	var with []string
	for _, x := range []struct{ value, text string }{
		{f.Search, "a match for “" + f.Search + "”"},
		{f.Key, "a key that contains “" + f.Key + "”"},
		{f.Status, "the status " + f.Status},
		{f.Product, "the product “" + f.Product + "”"},
		{f.Customer, "the customer “" + f.Customer + "”"},
		{f.Expires, "an expiry " + windowLabel(f.Expires)},
	} {
		if x.value != "" {
			with = append(with, x.text)
		}
	}
	if f.omitsPerpetual() {
		with = append(with, "an expiry")
	}
	last := len(with) - 1
	switch {
	case last < 0:
		return "all licenses"
	case last > 0:
		with[last-1] += " and " + with[last]
		with = with[:last]
	}
	return "all licenses with " + strings.Join(with, ", ")
}

// omitsPerpetual reports whether the order of the list leaves out licenses
// without an expiry, which the filter would not.
func (f filter) omitsPerpetual() bool {
	order := f.order()
	return (order == sortSoonest || order == sortLatest) && f.Expires == "" && f.Status != string(api.LicenseExpired)
}
