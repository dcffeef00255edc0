package dashboard

import "net/url"

// Pages about a license have a parameter "list" with the search, the filters and
// the page of the license list, so that links back open the same list.

// listNames are the parameters of the license list.
var listNames = []string{"q", "status", "product", "customer", "expires", "sort", "cursor", "window"}

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

// keepList adds the state of the license list to a reference.
func (v *visit) keepList(reference string) string {
	state := v.listState()
	if state == "" {
		return reference
	}
	return withQuery(reference, url.Values{"list": {state}}.Encode())
}

// licenseRef returns the page of a license, as a reference from dashboard/.
func (v *visit) licenseRef(id string) string { return v.keepList(licensePath(id)) }
