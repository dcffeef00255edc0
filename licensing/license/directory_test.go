package license_test

import (
	"errors"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

func TestDirectory(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	for _, customer := range []string{"a", "ab", "ab", "ab\U0010FFFD", "abc", "ac", "B"} {
		f.create(t, func(p *license.CreateParams) { p.CustomerID = customer })
	}
	names := func(p license.NamesParams) (list []license.NameCount) {
		page, err := f.Customers(t.Context(), p)
		is.NoErr(err)
		is.True(page.Indexing == nil)
		is.Equal(page.HasMore, page.NextCursor != "")
		return page.Data
	}
	is.Equal(names(license.NamesParams{}), []license.NameCount{{"B", 1}, {"a", 1}, {"ab", 2}, {"abc", 1}, {"ab\U0010FFFD", 1}, {"ac", 1}})
	is.Equal(names(license.NamesParams{Prefix: "ab"}), []license.NameCount{{"ab", 2}, {"abc", 1}, {"ab\U0010FFFD", 1}})
	is.Equal(names(license.NamesParams{Prefix: "ab", After: "ab", Limit: 1}), []license.NameCount{{"abc", 1}})
	page, err := f.Customers(t.Context(), license.NamesParams{Prefix: "ab", Limit: 2})
	is.NoErr(err)
	is.Equal(page.NextCursor, "abc") // the last name
	is.Equal(names(license.NamesParams{Prefix: "ab", After: page.NextCursor}), []license.NameCount{{"ab\U0010FFFD", 1}})
	is.Equal(names(license.NamesParams{Prefix: "x"}), []license.NameCount{})
	products, err := f.Products(t.Context(), license.NamesParams{})
	is.NoErr(err)
	is.Equal(products.Data, []license.NameCount{{"prod_editor", 7}})

	_, err = f.Customers(t.Context(), license.NamesParams{Prefix: "a\x00"})
	is.True(errors.Is(err, license.ErrInvalid))
	_, err = f.As(license.Caller{Products: []string{"prod_editor"}}).Products(t.Context(), license.NamesParams{})
	is.True(errors.Is(err, license.ErrProductForbidden))
}
