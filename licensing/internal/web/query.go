package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// A Query is the query of a request. Handlers take its parameters one by one,
// and [Query.Err] returns all that was wrong with them.
type Query struct {
	values url.Values
	faults []Fault
}

// ReadQuery reads the query of r, in which only the named parameters may
// stand, each of them once and with a value: a filter that is mistyped, or
// empty because a variable was, must not list everything. A name that ends in
// "..." is that of a parameter that may stand more than once.
func ReadQuery(r *http.Request, names ...string) *Query {
	q := new(Query)
	var err error
	if q.values, err = url.ParseQuery(r.URL.RawQuery); err != nil {
		q.fault("", "invalid_format", "The query is not well-formed; percent-encode its values")
		return q
	}
	for _, name := range sortedParameters(q.values) {
		values, many := q.values[name], slices.Contains(names, name+"...")
		switch {
		case !many && !slices.Contains(names, name):
			q.fault(name, license.CodeUnknown, "is not a parameter here; "+known(names))
		case !many && len(values) > 1:
			q.fault(name, "repeated", "is there more than once; send it once")
		case !Storable(url.Values{name: values}):
			q.fault(name, license.CodeInvalidFormat, "has a NUL character or is not UTF-8; remove it")
		case slices.Contains(values, ""):
			q.fault(name, license.CodeRequired, "is empty; give it a value or leave it out")
		}
	}
	return q
}

// Storable reports whether all names and values are text that every store can
// hold: valid UTF-8 without NUL.
func Storable(values url.Values) bool {
	for name, list := range values {
		if !storable(name) || slices.ContainsFunc(list, func(s string) bool { return !storable(s) }) {
			return false
		}
	}
	return true
}

func storable(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

func known(names []string) string {
	if len(names) == 0 {
		return "there are none"
	}
	return "there are " + strings.ReplaceAll(strings.Join(names, ", "), "...", "")
}

// Text returns a parameter, or "" if it is not there.
func (q *Query) Text(name string) string { return q.values.Get(name) }

// Texts returns all values of a parameter that may stand more than once.
func (q *Query) Texts(name string) []string { return q.values[name] }

// Bool returns a parameter that is true or false; false if it is not there.
func (q *Query) Bool(name string) bool {
	s := q.values.Get(name)
	if s != "" && s != "true" && s != "false" {
		q.fault(name, license.CodeInvalidFormat, "must be true or false")
	}
	return s == "true"
}

// Time returns a parameter that is an instant in the form of RFC 3339, or the
// zero time if it is not there.
func (q *Query) Time(name string) time.Time {
	s := q.values.Get(name)
	if s == "" {
		return time.Time{}
	}
	t, ok := ParseTime(s)
	if !ok {
		q.fault(name, license.CodeInvalidFormat, "must be a time in the form of RFC 3339, such as 2030-01-31T00:00:00Z; write + as %2B")
	}
	return t
}

// Number returns a parameter that is a whole number between the bounds, or 0
// if it is not there.
func (q *Query) Number(name string, least, most int) int {
	s := q.values.Get(name)
	if s == "" {
		return 0
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < least || n > most || s != strconv.Itoa(n) {
		q.fault(name, license.CodeOutOfRange, fmt.Sprintf("must be a whole number from %d to %d", least, most))
	}
	return n
}

// Err returns the answer to all that was wrong with the query, or nil.
func (q *Query) Err() error {
	if len(q.faults) == 0 {
		return nil
	}
	return Invalid(q.faults...)
}

func (q *Query) fault(name, code, detail string) {
	q.faults = append(q.faults, Fault{Parameter: name, Code: code, Detail: detail})
}

// QueryError returns err, or, if it is what the rules say about the parameters
// of a list, the answer to its query.
func QueryError(err error) error {
	invalid, ok := errors.AsType[*license.InvalidError](err)
	if !ok {
		return err
	}
	var q Query
	for _, f := range invalid.Fields {
		q.fault(f.Field, f.Code, f.Detail)
	}
	return q.Err()
}

func sortedParameters(values url.Values) []string {
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
