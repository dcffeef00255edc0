package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
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

// queryOf returns a query with the values that are not empty.
func queryOf(values map[string]string) url.Values {
	q := url.Values{}
	for name, value := range values {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q
}

// dayOf returns the day that a parameter names in UTC, the zero time if it is blank, or an
// *api.InvalidError.
func dayOf(name, value string) (time.Time, error) {
	if value == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.DateOnly, value)
	if err != nil {
		return t, api.Invalid(name, api.FieldInvalidFormat, "must be a date, such as 2027-01-31")
	}
	return t, nil
}

// checkQuery returns an error if the query of a request has a part that the page
// would ignore: a parameter that it does not have, or one twice unless its name has a star. A page without a filter that the operator has mistyped would be
// about other licenses than the operator means.
func (r *route) checkQuery(query string) error {
	names := append(strings.Fields(r.query), "done")
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

// explainQuery replaces the error of a page for a parameter of its query.
func (v *visit) explainQuery(err error) error {
	invalid, ok := errors.AsType[*api.InvalidError](err)
	if !ok || !v.isRead() {
		return err
	}
	x := invalid.Fields[0]
	detail := sentence(strings.TrimSuffix(x.Field, "_id") + " " + x.Detail)
	if x.Field == "cursor" || x.Field == "after" {
		detail = "This page of the list does not exist. Start again from the first page."
	}
	return web.NewProblem(http.StatusBadRequest, "invalid_query", detail).WithCause(err)
}
