package find

import (
	"cmp"
	"slices"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
)

// Match returns a field and its value in which a search has found a license, if it
// is not the name: "customer_id", "product_id" or the name of a metadata value. It
// returns no field if the name has all words, or if the search was for an ID or a key.
func (s Service) Match(l api.License, search string) (field, value string) {
	words := call.SearchWords(search)
	name := call.Fold(l.Name)
	words = slices.DeleteFunc(words, func(word string) bool { return call.ContainsAll(name, []string{word}) })
	if len(words) == 0 {
		return "", ""
	}
	fields, values := []string{"customer_id", "product_id"}, []string{l.CustomerID, l.ProductID}
	for _, name := range call.Names(l.Metadata) {
		fields, values = append(fields, name), append(values, l.Metadata[name])
	}
	for i, value := range values {
		if call.ContainsAll(call.Fold(value), words[:1]) {
			return fields[i], value
		}
	}
	return "", ""
}

// NameFirst moves the licenses of a page that a search has found by their names
// before the others.
func (s Service) NameFirst(page []api.License, search string) {
	rank := func(l api.License) int {
		if field, _ := s.Match(l, search); field != "" {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(page, func(a, b api.License) int { return cmp.Compare(rank(a), rank(b)) })
}
