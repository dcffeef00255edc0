package license_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
)

// TestFindActivations by the beginning of their fingerprint: active and ended ones of
// the products that the caller sees, page by page, and none of deleted licenses.
func TestFindActivations(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	var all []api.License
	for i := range 5 {
		f.now = f.now.Add(time.Millisecond)
		l := f.create(t, func(p *api.CreateLicenseParams) { p.ProductID = fmt.Sprint("p", i%2) })
		all = append(all, l)
		for _, print := range []string{"pc-1", "pc-10", "pd", "PC-1"} {
			f.activate(t, l.Key, print)
		}
	}
	is.NoErr(f.release(t, all[1].Key, "pc-10"))
	gone := f.create(t)
	is.NoErr(f.store.Update(t.Context(), func(tx store.Tx) (err error) {
		for i := range 150 {
			err = errors.Join(err, tx.PutActivations(t.Context(), store.Activation{LicenseID: gone.ID, ID: store.NewID("act", start), Fingerprint: fmt.Sprint("pc-1", i), Document: []byte("{}")}))
		}
		return err
	}))
	is.NoErr(f.Atomically(t.Context(), func(s *license.Service) error { return s.Delete(t.Context(), api.DeleteLicenseParams{ID: gone.ID}) }))
	left, err := f.store.Activations(t.Context(), store.ActivationQuery{FingerprintPrefix: "pc-1"})
	is.NoErr(err)
	is.Equal(len(left), 10+50) // which Run removes
	find := func(s *license.Service, prefix string, limit int) (list []string) {
		cursor := ""
		for {
			page, err := inner.Of(s).Find().FindActivations(t.Context(), prefix, cursor, limit)
			is.NoErr(err)
			for _, x := range page.Data {
				is.Equal(x.Activation.LicenseID, x.License.ID)
				list = append(list, fmt.Sprint(x.Activation.Fingerprint, " ", slices.IndexFunc(all, func(l api.License) bool { return l.ID == x.License.ID }), " ", x.Activation.Status))
			}
			is.True(len(page.Data) == limit || !page.HasMore)
			if cursor = page.NextCursor; !page.HasMore {
				return list
			}
		}
	}
	for _, limit := range []int{1, 3, 200} {
		is.Equal(find(f.Service, "pc-1", limit), []string{
			"pc-1 0 live", "pc-1 1 live", "pc-1 2 live", "pc-1 3 live", "pc-1 4 live",
			"pc-10 0 live", "pc-10 1 released", "pc-10 2 live", "pc-10 3 live", "pc-10 4 live",
		})
		limited := f.As(license.Caller{Products: []string{"p1"}, MaskKeys: true})
		is.Equal(find(limited, "pc-1", limit), []string{"pc-1 1 live", "pc-1 3 live", "pc-10 1 released", "pc-10 3 live"})
		is.Equal(find(f.Service, "c-1", limit), nil)
	}
	page, err := inner.Of(f.As(license.Caller{MaskKeys: true})).Find().FindActivations(t.Context(), "pd", "", 1)
	is.NoErr(err)
	is.Equal(page.Data[0].License.Key[:3], "…")
	for _, p := range [][2]string{{}, {"a\x00"}, {"pc", page.NextCursor}, {"pd", "x"}} {
		_, err := inner.Of(f.Service).Find().FindActivations(t.Context(), p[0], p[1], 0)
		require.ErrorIs(t, err, api.ErrInvalid)
	}
}

// TestMatchSaysWhereASearchFoundALicense: in which field, or in the name that a list shows.
func TestMatchSaysWhereASearchFoundALicense(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, func(p *api.CreateLicenseParams) {
		p.Name, p.CustomerID, p.Metadata = "Söhne", "ada@example.com", map[string]string{"contact": "Elif@example.org", "order": "7"}
	})
	for text, want := range map[string]string{
		"sohne": " ", "elif": "contact Elif@example.org", "sohne ELIF": "contact Elif@example.org", "ada": "customer_id ada@example.com",
		"editor": "product_id prod_editor", "example": "customer_id ada@example.com", "7": "order 7", l.ID: " ", "sohne none": " ",
	} {
		field, value := inner.Of(f.Service).Find().Match(l, text)
		is.Equal(field+" "+value, want) // text
	}
	other := f.create(t, func(p *api.CreateLicenseParams) { p.Name = "Elif" })
	list := []api.License{l, other}
	inner.Of(f.Service).Find().NameFirst(list, "elif")
	is.Equal(list[0].ID, other.ID)
}
