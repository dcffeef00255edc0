package dashboard

import "net/url"

// The pages of a license carry the search, the filters and the page of the list
// that led to them, as the parameter "list", so that the way back leads there.

// listNames are the parameters of the list of licenses.
var listNames = []string{"q", "status", "product", "customer", "expires", "cursor", "window"}

// listState returns the state of the list that the visit is on or comes from,
// as a query without a question mark. Other parameters are left out.
func (v *visit) listState() string {
	q := v.r.URL.Query()
	if v.path != "licenses" {
		q, _ = url.ParseQuery(q.Get("list")) // what cannot be read is left out
	}
	state := url.Values{}
	for _, name := range listNames {
		if value := q.Get(name); value != "" {
			state.Set(name, value)
		}
	}
	return state.Encode()
}

// listRef is the list that the visit comes from, as a reference from
// dashboard/.
func (v *visit) listRef() string { return withQuery("licenses", v.listState()) }

// keepList adds the state of the list to the reference of a page about
// licenses.
func (v *visit) keepList(reference string) string {
	state := v.listState()
	if state == "" {
		return reference
	}
	return withQuery(reference, url.Values{"list": {state}}.Encode())
}

// licenseRef is the page of a license, as a reference from dashboard/.
func (v *visit) licenseRef(id string) string { return v.keepList(licensePath(id)) }
