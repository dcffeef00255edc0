package license_test

import (
	"fmt"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

func TestDirectory(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	for _, customer := range []string{"a", "ab", "ab", "ab\U0010FFFD", "abc", "ac", "B"} {
		f.create(t, func(p *api.CreateLicenseParams) { p.CustomerID = customer })
	}
	names := func(p api.NamesParams) (list []api.NameCount) {
		page, err := f.Customers(t.Context(), p)
		is.NoErr(err)
		is.Equal(page.HasMore, page.NextCursor != "")
		return page.Data
	}
	is.Equal(names(api.NamesParams{}), []api.NameCount{{Name: "B", N: 1}, {Name: "a", N: 1}, {Name: "ab", N: 2}, {Name: "abc", N: 1}, {Name: "ab\U0010FFFD", N: 1}, {Name: "ac", N: 1}})
	is.Equal(names(api.NamesParams{Prefix: "ab"}), []api.NameCount{{Name: "ab", N: 2}, {Name: "abc", N: 1}, {Name: "ab\U0010FFFD", N: 1}})
	is.Equal(names(api.NamesParams{Prefix: "ab", Cursor: "ab", Limit: 1}), []api.NameCount{{Name: "abc", N: 1}})
	page, err := f.Customers(t.Context(), api.NamesParams{Prefix: "ab", Limit: 2})
	is.NoErr(err)
	is.Equal(page.NextCursor, "abc") // the last name
	is.Equal(names(api.NamesParams{Prefix: "ab", Cursor: page.NextCursor}), []api.NameCount{{Name: "ab\U0010FFFD", N: 1}})
	is.Equal(names(api.NamesParams{Prefix: "x"}), []api.NameCount{})
	is.Equal(names(api.NamesParams{Prefix: "ab", Search: "bc"}), []api.NameCount{{Name: "abc", N: 1}})
	is.Equal(names(api.NamesParams{Prefix: "ab", Search: "AB"}), []api.NameCount{{Name: "ab", N: 2}, {Name: "abc", N: 1}, {Name: "ab\U0010FFFD", N: 1}})
	products, err := f.Products(t.Context(), api.NamesParams{})
	is.NoErr(err)
	is.Equal(products.Data, []api.NameCount{{Name: "prod_editor", N: 7}})

	_, err = f.Customers(t.Context(), api.NamesParams{Prefix: "a\x00"})
	require.ErrorIs(t, err, api.ErrInvalid)
	_, err = f.As(license.Caller{Products: []string{"prod_editor"}}).Products(t.Context(), api.NamesParams{})
	require.ErrorIs(t, err, api.ErrProductForbidden)
}

// TestSearchDirectory: customers and products are found by the rule of licenses.
func TestSearchDirectory(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	var last api.License
	for _, customer := range []string{"Ada@Example.com", "ada/adam", "example ada", "bob", "bob", "東京都", "-"} {
		last = f.create(t, func(p *api.CreateLicenseParams) { p.CustomerID = customer })
	}
	names := func(text string, limit int) (list []string) {
		p := api.NamesParams{Search: text, Limit: limit}
		for {
			page, err := f.Customers(t.Context(), p)
			is.NoErr(err)
			require.AtMost(t, len(page.Data), limit)
			for _, c := range page.Data {
				list = append(list, fmt.Sprint(c.Name, " ", c.N))
			}
			if p.Cursor = page.NextCursor; !page.HasMore {
				return list
			}
		}
	}
	for _, limit := range []int{1, 2, 50} {
		is.Equal(names("AD", limit), []string{"Ada@Example.com 1", "ada/adam 1", "example ada 1"})
		is.Equal(names("da", limit), []string{"Ada@Example.com 1", "ada/adam 1", "example ada 1"})
		is.Equal(names("ada exam", limit), []string{"Ada@Example.com 1", "example ada 1"})
		is.Equal(names("adam", limit), []string{"ada/adam 1"})
		is.Equal(names("bob", limit), []string{"bob 2"})
		is.Equal(names("京都", limit), []string{"東京都 1"})
		for _, none := range []string{"xx", "ada xx", "prod", "´", "都東"} {
			is.Equal(names(none, limit), nil) // none
		}
	}
	products, err := f.Products(t.Context(), api.NamesParams{Search: "edit"})
	is.NoErr(err)
	is.Equal(products.Data, []api.NameCount{{Name: "prod_editor", N: 7}})

	is.NoErr(f.Delete(t.Context(), api.DeleteLicenseParams{ID: last.ID}))
	page, err := f.Customers(t.Context(), api.NamesParams{Search: "bob", Limit: 1})
	is.NoErr(err)
	is.Equal(page.Data, []api.NameCount{{Name: "bob", N: 2}})
	_, err = f.EraseCustomer(t.Context(), "bob")
	is.NoErr(err)
	is.Equal(names("bob", 50), nil)
	_, err = f.Customers(t.Context(), api.NamesParams{Search: "a\x00"})
	require.ErrorIs(t, err, api.ErrInvalid)
}
