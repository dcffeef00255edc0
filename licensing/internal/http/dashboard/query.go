package dashboard

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
)

// parameterValues are the values of the parameters that have a fixed set of them.
var parameterValues = map[string]func(value string) bool{
	"all":     func(value string) bool { return value == "1" },
	"back":    func(value string) bool { return value == "1" },
	"count":   func(value string) bool { return value == "1" },
	"of":      func(value string) bool { return value == "selected" },
	"period":  func(value string) bool { return salesPeriods[value][0] != "" },
	"expires": func(value string) bool { return windowLabel(value) != "" },
	"sort":    func(value string) bool { return sortLabels[value] != "" },
	"only":    func(value string) bool { return conditionText(value) != "" },
}

// checkQuery returns an error if the query of a request has a part that the page
// would ignore: a parameter that it does not have, or one twice unless its name has a star. A page without a filter that the operator has mistyped would be
// about other licenses than the operator means.
func checkQuery(r *kit.Route, query string) error {
	names := append(strings.Fields(r.Query), "done")
	refuse := func(detail string) error {
		return web.NewProblem(http.StatusBadRequest, "invalid_query", detail+" Correct the address.")
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return refuse("The address of this page is malformed.")
	}
	for name, sent := range values {
		if slices.Contains(names, name+"*") {
			continue
		}
		known := parameterValues[name]
		switch {
		case !slices.Contains(names, name):
			return refuse("This page has no parameter “" + name + "”.")
		case len(sent) > 1:
			return refuse("The address of this page has the parameter “" + name + "” more than once.")
		case known != nil && sent[0] != "" && !known(sent[0]):
			return refuse("The parameter “" + name + "” cannot be “" + sent[0] + "”.")
		}
	}
	return nil
}
