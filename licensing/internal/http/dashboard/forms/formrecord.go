package forms

import (
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// About returns a form about a record, which it reads for each build.
func About[T any](get func(*kit.Visit) (T, error), build func(*kit.Visit, T) (*FormPage, error)) Builder {
	return func(v *kit.Visit) (*FormPage, error) {
		record, err := get(v)
		if err != nil {
			return nil, err
		}
		return build(v, record)
	}
}

// Showing returns the handler of a page that shows a record.
func Showing[T any](get func(*kit.Visit) (T, error), show func(*kit.Visit, T) error) func(*kit.Visit) error {
	return func(v *kit.Visit) error {
		record, err := get(v)
		if err != nil {
			return err
		}
		return show(v, record)
	}
}
