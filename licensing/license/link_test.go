package license_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// startLink starts a link for a fingerprint.
func startLink(t *testing.T, s *license.Service, fingerprint string) api.Link {
	t.Helper()
	l, err := inner.Of(s).Links().Start(t.Context(), api.StartLinkParams{ProductID: "prod_editor", Fingerprint: fingerprint}, "https://acme.example")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func pollLink(t *testing.T, s *license.Service, l api.Link) (api.LinkState, error) {
	t.Helper()
	return inner.Of(s).Links().Poll(t.Context(), api.PollLinkParams{Secret: l.Secret})
}

// TestApproveLinkStopped: an approval may stop after any of its Updates, of which all but the
// last end leases. Until the last, nothing is activated, and the code can be used.
func TestApproveLinkStopped(t *testing.T) {
	const seats = 450 // more than one Update ends
	for n := 0; ; n++ {
		is := is.New(t)
		ctx, now := t.Context(), start
		st := &haltingStore{Store: memory.New(), left: unhalted}
		s := license.New(st, license.Options{Now: func() time.Time { return now }})
		p := plain()
		p.LeaseSeconds, p.MaxActivations = new(int64(60)), new(int64(seats))
		l, err := s.Create(ctx, p)
		is.NoErr(err)
		for i := range seats {
			_, err := s.Activate(ctx, api.ActivateKeyParams{Key: l.Key, Fingerprint: fmt.Sprint("pc-", i)})
			is.NoErr(err)
		}
		now = now.Add(time.Hour)
		_, err = s.Update(ctx, api.UpdateLicenseParams{ID: l.ID, MaxActivations: api.To(int64(1))})
		is.NoErr(err)
		link := startLink(t, s, "laptop")
		st.left = n
		approve := api.ApproveLinkParams{Code: link.Code, LicenseID: l.ID}
		_, err = s.Customer("cus_ada").ApproveLink(ctx, approve)
		st.left = unhalted
		finished := err == nil
		if !finished {
			require.ErrorIs(t, err, errHalted)
			state, err := pollLink(t, s, link)
			is.NoErr(err)
			is.Equal(state.Status, api.LinkPending)
			_, err = st.Activation(ctx, l.ID, "laptop")
			require.ErrorIs(t, err, store.ErrNotFound)
			_, err = s.Customer("cus_ada").ApproveLink(ctx, approve)
			is.NoErr(err)
		}
		state, err := pollLink(t, s, link)
		is.NoErr(err)
		is.Equal(state.Key, l.Key)
		is.Equal(state.Verdict.Activation.Fingerprint, "laptop")
		if finished {
			is.True(n > 2)
			return
		}
	}
}

// TestApproveLinkMeetsAnother: an approval that another one overtakes activates nothing.
func TestApproveLinkMeetsAnother(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	st := &haltingStore{Store: memory.New(), left: unhalted}
	s := license.New(st, license.Options{Now: func() time.Time { return start }})
	one, err := s.Create(ctx, plain())
	is.NoErr(err)
	two, err := s.Create(ctx, plain())
	is.NoErr(err)
	link := startLink(t, s, "laptop")
	approve := func(id string) error {
		_, err := s.Customer("cus_ada").ApproveLink(ctx, api.ApproveLinkParams{Code: link.Code, LicenseID: id})
		return err
	}
	st.before = func() { is.NoErr(approve(two.ID)) }
	require.ErrorIs(t, approve(one.ID), api.ErrLinkGone)
	_, err = st.Activation(ctx, one.ID, "laptop")
	require.ErrorIs(t, err, store.ErrNotFound)
	state, err := pollLink(t, s, link)
	is.NoErr(err)
	is.Equal(state.Key, two.Key)
}

func TestEndedLinksArePurged(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	startLink(t, f.Service, "pc")
	links := func() (n int) {
		for _, kind := range []string{"link", "link_code"} {
			found, err := f.store.Entries(t.Context(), store.EntryQuery{Kind: kind})
			is.NoErr(err)
			n += len(found)
		}
		return n
	}
	f.now = f.now.Add(10*time.Minute - time.Millisecond)
	_, err := f.Purge(t.Context())
	is.NoErr(err)
	is.Equal(links(), 2)
	f.now = f.now.Add(time.Millisecond)
	_, err = f.Purge(t.Context())
	is.NoErr(err)
	is.Equal(links(), 0)
}

// TestLinkChecks: codes are read as people type them, and the customer is checked.
func TestLinkChecks(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	link := startLink(t, f.Service, "pc")
	ada := f.Customer("cus_ada")
	for _, typed := range []string{link.Code, " " + link.Code[:3] + " " + link.Code[3:], link.Code[:4] + "–" + link.Code[5:]} {
		request, err := ada.Link(t.Context(), typed)
		is.NoErr(err)
		is.Equal(request, api.LinkRequest{Code: link.Code, ProductID: "prod_editor", Fingerprint: "pc", ExpiresAt: link.ExpiresAt})
	}
	for _, typed := range []string{"", "BCDF", link.Code + "B", link.Code[:8] + "1", link.Secret, "ÄÖÜßÄÖÜß"} {
		_, err := ada.Link(t.Context(), typed)
		require.ErrorIs(t, err, api.ErrLinkGone)
		require.ErrorIs(t, ada.DeclineLink(t.Context(), typed), api.ErrLinkGone)
	}
	_, err := f.Customer("").Link(t.Context(), link.Code)
	_, noLicense := ada.ApproveLink(t.Context(), api.ApproveLinkParams{Code: link.Code})
	_, noProduct := inner.Of(f.Service).Links().Start(t.Context(), api.StartLinkParams{Fingerprint: "pc"}, "")
	for _, err := range []error{err, f.Customer("").DeclineLink(t.Context(), link.Code), noLicense, noProduct} {
		_, invalid := errors.AsType[*api.InvalidError](err)
		is.True(invalid)
	}
}
