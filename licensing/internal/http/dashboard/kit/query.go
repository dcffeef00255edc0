package kit

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
)

// QueryOf returns a query with the values that are not empty.
func QueryOf(values map[string]string) url.Values {
	q := url.Values{}
	for name, value := range values {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q
}

// DayOf returns the day that a parameter names in UTC, the zero time if it is blank, or an
// *api.InvalidError.
func DayOf(name, value string) (time.Time, error) {
	if value == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.DateOnly, value)
	if err != nil {
		return t, api.Invalid(name, api.FieldInvalidFormat, "must be a date, such as 2027-01-31")
	}
	return t, nil
}

// ExplainQuery replaces the error of a page for a parameter of its query.
func (v *Visit) ExplainQuery(err error) error {
	invalid, ok := errors.AsType[*api.InvalidError](err)
	if !ok || !v.IsRead() {
		return err
	}
	x := invalid.Fields[0]
	detail := Sentence(strings.TrimSuffix(x.Field, "_id") + " " + x.Detail)
	if x.Field == "cursor" || x.Field == "after" {
		detail = "This page of the list does not exist. Start again from the first page."
	}
	return web.NewProblem(http.StatusBadRequest, "invalid_query", detail).WithCause(err)
}
