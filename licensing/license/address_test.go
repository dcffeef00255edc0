package license_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// addressKeys returns the keys of the entries of addresses.
func addressKeys(t *testing.T, st store.Store) (keys []string) {
	t.Helper()
	all, err := st.Entries(t.Context(), store.EntryQuery{Kind: "address"})
	is.New(t).NoErr(err)
	for _, e := range all {
		keys = append(keys, e.Key)
		for _, word := range []string{"no70", "customer.example"} {
			if strings.Contains(e.Key+string(e.Data)+e.Owner, word) {
				t.Errorf("an entry has %q: %s", word, e.Key)
			}
		}
	}
	return keys
}

// has returns the names of the licenses of an address.
func has(t *testing.T, s *license.Service, address string) (names string) {
	t.Helper()
	page, err := s.Mailbox(address).List(t.Context(), api.ListLicensesParams{})
	is.New(t).NoErr(err)
	for _, l := range page.Data {
		names += l.Name + " "
	}
	return strings.TrimSpace(names)
}

// TestAddressEntries: the entry of the address of a license is written and deleted with what
// gives it an address: creation, an import of many and of one, a change and deletion.
func TestAddressEntries(t *testing.T) {
	is := is.New(t)
	st := memory.New()
	s := license.New(st, license.Options{})
	create := func(name, email string) api.License {
		l, err := s.Create(t.Context(), api.CreateLicenseParams{Name: name, ProductID: "atlas", CustomerID: "cus_a", Metadata: map[string]string{"email": email}})
		is.NoErr(err)
		return l
	}
	is.Equal(len(addressKeys(t, st)), 0)
	create("none", "no address")
	ada := create("one", "Ada <Ada@customer.example>")
	is.Equal(len(addressKeys(t, st)), 1)
	require := func(address, names string) { t.Helper(); is.Equal(has(t, s, address), names) }
	require("ada@customer.example", "one")

	row := func(id, name, more string) string {
		return fmt.Sprintf(`{"id":"lic_%026d","name":%q,"product_id":"atlas","customer_id":"cus_b","key":"OLD-%s","metadata":{"email":"ada@customer.example"}%s}`+"\n", len(id)+7, name, id, more)
	}
	for _, rows := range []string{row("KEY-1-OF-THE-OTHER", "imported", ""), row("KEY-2-OF-THE-OTHER-SHOP", "single", `,"reference":"shop:1"`)} {
		is.NoErr(s.Import(t.Context(), strings.NewReader(rows), func(r api.RowResult) error {
			is.Equal(r.Result, api.ImportCreated)
			return nil
		}))
	}
	is.Equal(len(addressKeys(t, st)), 3)

	_, err := s.Update(t.Context(), api.UpdateLicenseParams{ID: ada.ID, Metadata: api.To(map[string]*string{"email": new("eve@customer.example")})})
	is.NoErr(err)
	is.Equal(len(addressKeys(t, st)), 3)
	require("eve@customer.example", "one")
	_, err = s.Update(t.Context(), api.UpdateLicenseParams{ID: ada.ID, Metadata: api.To(map[string]*string{"email": nil})})
	is.NoErr(err)
	is.Equal(len(addressKeys(t, st)), 2)
	bob, err := s.Transfer(t.Context(), api.TransferLicenseParams{ID: ada.ID, CustomerID: "bob", Name: "Bob", Metadata: map[string]string{"email": "bob@customer.example"}})
	is.NoErr(err)
	require("bob@customer.example", "Bob")
	is.NoErr(s.Delete(t.Context(), api.DeleteLicenseParams{ID: bob.ID}))
	is.Equal(len(addressKeys(t, st)), 2)
	_, err = s.EraseCustomer(t.Context(), "cus_b")
	is.NoErr(err)
	is.Equal(len(addressKeys(t, st)), 0)
}

// TestAddressFill: Run writes the entries of a store that has none, in steps of 50, and those of
// another EmailKey.
func TestAddressFill(t *testing.T) {
	is := is.New(t)
	st := memory.New()
	s := license.New(st, license.Options{})
	for i := range 120 {
		_, err := s.Create(t.Context(), api.CreateLicenseParams{
			Name: fmt.Sprint("license ", i), ProductID: "atlas", CustomerID: "cus_a", Metadata: map[string]string{"email": fmt.Sprintf("no%d@customer.example", i), "contact": fmt.Sprintf("it%d@customer.example", i)},
		})
		is.NoErr(err)
	}
	filled := addressKeys(t, st)
	is.NoErr(st.Update(t.Context(), func(tx store.Tx) error { return tx.DeleteEntries(t.Context(), "address", filled...) }))
	fill := func(s *license.Service) (steps int) {
		for more := true; more; steps++ {
			var err error
			more, err = inner.Of(s).Licenses().FillAddresses(t.Context())
			is.NoErr(err)
		}
		return steps
	}
	is.Equal(has(t, s, "no70@customer.example"), "")
	is.Equal(fill(s), 3)
	is.Equal(addressKeys(t, st), filled)
	is.Equal(fill(s), 1) // and writes nothing

	other := license.New(st, license.Options{EmailKey: "contact"})
	is.Equal(has(t, other, "it70@customer.example"), "")
	fill(other)
	is.Equal(has(t, other, "it70@customer.example"), "license 70")
	is.Equal(len(addressKeys(t, st)), 120)
	is.Equal(has(t, s, "no70@customer.example"), "")
}

// A readStore counts what is read by key, and forbids what reads more.
type readStore struct {
	store.Store
	t *testing.T
	n int
}

func (st *readStore) View(ctx context.Context, fn func(store.Reader) error) error {
	return st.Store.View(ctx, func(r store.Reader) error { return fn(readReader{r, st}) })
}

func (st *readStore) FindLicenses(context.Context, store.LicenseQuery) ([]store.License, store.Position, error) {
	st.t.Fatal("a search")
	return nil, store.Position{}, nil
}

type readReader struct {
	store.Reader
	st *readStore
}

func (r readReader) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	rows, err := r.Reader.Licenses(ctx, q)
	r.st.n += 1 + len(rows)
	return rows, err
}

func (r readReader) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	rows, err := r.Reader.Entries(ctx, q)
	r.st.n += 1 + len(rows)
	return rows, err
}

func (r readReader) FindLicenses(ctx context.Context, q store.LicenseQuery) ([]store.License, store.Position, error) {
	return r.st.FindLicenses(ctx, q)
}

// TestAddressCost: whether an address has a license costs at most 10 reads by key, among 100,000
// licenses, a thousand of which have it.
func TestAddressCost(t *testing.T) {
	is := is.New(t)
	st := &readStore{Store: memory.New(), t: t}
	s := license.New(st, license.Options{})
	for i := range 2000 {
		_, err := s.Create(t.Context(), api.CreateLicenseParams{
			Name: "license", ProductID: "atlas", CustomerID: "cus_a", Metadata: map[string]string{"email": fmt.Sprintf("no%d@customer.example", i%2*i)},
		})
		is.NoErr(err)
	}
	for i := range 98 { // the others, as they are stored
		rows := make([]store.License, 1000)
		for j := range rows {
			id := fmt.Sprintf("lic_%026d", i*1000+j)
			rows[j] = store.License{ID: id, Key: id, State: store.StateActive, CustomerID: "cus_b", ProductID: "atlas"}
		}
		is.NoErr(st.Store.Update(t.Context(), func(tx store.Tx) error { return tx.CreateLicenses(t.Context(), rows...) }))
	}
	for address, found := range map[string]int{"no0@customer.example": 1, "no1@customer.example": 1, "nobody@customer.example": 0} {
		st.n = 0
		page, err := s.Mailbox(address).List(t.Context(), api.ListLicensesParams{Limit: 1})
		is.NoErr(err)
		is.Equal(len(page.Data), found)
		is.True(st.n > 0 && st.n <= 10)
	}
}

// TestLinkMailedBeforeErasure: no event names a customer who was erased while a link was
// mailed.
func TestLinkMailedBeforeErasure(t *testing.T) {
	is := is.New(t)
	st := memory.New()
	s := license.New(st, license.Options{})
	l, err := s.Create(t.Context(), api.CreateLicenseParams{Name: "Ada", ProductID: "atlas", CustomerID: "cus_ada", Metadata: map[string]string{"email": "ada@customer.example"}})
	is.NoErr(err)
	is.NoErr(inner.Of(s).Licenses().MailLink(t.Context(), l, func(ctx context.Context, _ string) error {
		_, err := s.EraseCustomer(ctx, "cus_ada")
		return err
	}))
	is.Equal(mentions(t, st, "cus_ada"), nil)
}
