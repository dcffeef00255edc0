package license_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

// TestChangeEmailStopped: a change of the email address of a customer may stop after any of its
// Updates. No operator can mail a link to the new address before or after that, the former one
// has got its mail before a license has the new one, and each address opens the licenses that
// have it. A repeated call finishes. Licenses with another address, and of another customer,
// stay as they are, and a purchase does not bring the former address back.
func TestChangeEmailStopped(t *testing.T) {
	const own = 2*50 + 1
	const former, address = "ada@customer.example", "ada@new.example"
	for n := 0; ; n++ {
		is := is.New(t)
		ctx := t.Context()
		st := &haltingStore{Store: storetest.Twice(memory.New()), left: unhalted}
		s := newSeller(t, st)
		create := func(customer, email string) api.License {
			l, err := s.Create(ctx, api.CreateLicenseParams{Name: "Ada", ProductID: "prod_editor", CustomerID: customer, Metadata: map[string]string{"email": email}})
			is.NoErr(err)
			return l
		}
		for range own {
			create("cus_ada", "Ada <Ada@customer.example>")
		}
		others := []api.License{create("cus_ada", "accounts@customer.example"), create("cus_bob", former)}
		sale := event{At: onDay(0), CustomerID: "cus_ada", PlanID: "pro", State: "active", Metadata: map[string]*string{"email": new(former)}}
		bought := s.tell(t, "shop:1", sale).License

		mails := 0
		has := func(address string) int {
			found, err := s.List(ctx, api.ListLicensesParams{CustomerID: "cus_ada", Search: address, Limit: 200})
			is.NoErr(err)
			return len(found.Data)
		}
		change := func() (int, error) {
			return inner.Of(s.Service).Licenses().ChangeEmail(ctx, "cus_ada", former, "Ada@new.example", "asked", func(_ context.Context, from, to string) error {
				is.Equal([]string{from, to}, []string{former, "Ada@new.example"})
				mails++
				return nil
			})
		}
		st.left = n
		changed, err := change()
		st.left = unhalted
		is.Equal(mails, min(n, 1))
		is.Equal(has(address), min(own+1, max(0, n-1)*50))
		is.Equal(has(former), own+1-has(address))
		if err == nil {
			is.Equal([]int{n, changed}, []int{4, own + 1})
		} else {
			is.True(errors.Is(err, errHalted))
			again, err := change()
			is.NoErr(err)
			is.Equal(changed+again, own+1)
		}
		is.Equal([]int{has(former), has(address)}, []int{0, own + 1})
		for _, l := range others {
			is.Equal(s.mustGet(t, l.ID).Revision, int64(1))
		}
		_, err = change()
		require.ErrorIs(t, err, api.ErrNotFound)

		l := s.tell(t, "shop:1", sale).License
		is.Equal(l.ID, bought.ID)
		is.Equal(l.Metadata["email"], "Ada@new.example")
		err = inner.Of(s.Service).Licenses().MailLink(ctx, *l, func(context.Context, string) error { return errors.New("mailed") })
		require.ErrorIs(t, err, api.ErrInvalid)
		require.Contains(t, fmt.Sprint(err), "was changed by support", "ask an admin")
		if changed == own+1 {
			return
		}
	}
}

// TestChangeEmailRefused: nothing changes if the former address gets
// none, if the new one is not an address or the former one, for a batch, and without a former
// address unless the operator is an admin.
func TestChangeEmailRefused(t *testing.T) {
	is := is.New(t)
	st := memory.New()
	s := license.New(st, license.Options{ClaimFrom: []string{"batch:"}})
	create := func(customer, email string) api.License {
		l, err := s.Create(t.Context(), api.CreateLicenseParams{Name: "Ada", ProductID: "prod_editor", CustomerID: customer, Metadata: map[string]string{"email": email}})
		is.NoErr(err)
		return l
	}
	ada, none, batch := create("cus_ada", "ada@customer.example"), create("cus_none", "not an address"), create("batch:1", "ada@customer.example")
	mailed := errors.New("550 no such mailbox")
	warn := func(context.Context, string, string) error { return mailed }
	for _, test := range []struct {
		customer, from, to string
		want               error
	}{
		{"cus_ada", "ada@customer.example", "ada@new.example", mailed},
		{"cus_ada", "ada@customer.example", "Ada <ADA@customer.example>", api.ErrInvalid},
		{"cus_ada", "ada@customer.example", "ada", api.ErrInvalid},
		{"cus_ada", "bob@customer.example", "ada@new.example", api.ErrNotFound},
		{"cus_none", "", "ada@new.example", api.ErrForbidden},
		{"batch:1", "ada@customer.example", "ada@new.example", api.ErrInvalid},
	} {
		_, err := inner.Of(s).Licenses().ChangeEmail(t.Context(), test.customer, test.from, test.to, "", warn)
		require.ErrorIs(t, err, test.want)
	}
	for _, l := range []api.License{ada, none, batch} {
		now, err := s.Get(t.Context(), l.ID)
		is.NoErr(err)
		is.Equal(now.Revision, int64(1))
	}
	n, err := inner.Of(s).Licenses().ChangeEmail(t.Context(), "cus_none", "", "ada@new.example", "", nil)
	is.NoErr(err)
	is.Equal(n, 1)
	held, err := st.Entries(t.Context(), store.EntryQuery{Kind: "address_changed"})
	is.NoErr(err)
	is.Equal(len(held), 1) // of the mail that failed
}
