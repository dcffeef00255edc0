package license_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestClaimIsErasedWithEither: erasing the batch leaves nothing of its ID, and erasing the
// customer who claimed a license leaves nothing of the guest's, after any Update at which it
// stops.
func TestClaimIsErasedWithEither(t *testing.T) {
	for _, erased := range []string{"batch:spring", "mail:marvin@example.com", "arthur"} {
		t.Run(erased, func(t *testing.T) {
			for n := 0; ; n++ {
				is := is.New(t)
				st := &haltingStore{Store: memory.New(), left: unhalted}
				s := newSeller(t, st)
				b, err := s.CreateBatch(t.Context(), api.CreateBatchParams{Count: 3, CreateLicenseParams: api.CreateLicenseParams{Name: "Spring", CustomerID: "batch:spring", PlanID: "forever"}})
				is.NoErr(err)
				guest := *s.tell(t, "shop:1", event{At: onDay(0), CustomerID: "mail:marvin@example.com", PlanID: "basic", State: "active", Name: "Marvin", Metadata: map[string]*string{"email": ptr("marvin@example.com")}}).License
				for i, l := range []api.License{b.Data[0], guest} {
					_, err := s.Claim(t.Context(), api.ClaimLicenseParams{Key: l.Key, CustomerID: []string{"trillian", "arthur"}[i], Name: "Claimed"})
					is.NoErr(err)
				}
				s.tell(t, "shop:1", event{At: onDay(1), CustomerID: "mail:marvin@example.com", PlanID: "basic", Quantity: ptr[int64](2), Metadata: map[string]*string{"email": ptr("marvin@example.com")}})
				claimed := s.mustGet(t, b.Data[0].ID)
				st.left = n
				_, err = s.EraseCustomer(t.Context(), erased)
				st.left = unhalted
				finished := err == nil
				if !finished {
					is.True(errors.Is(err, errHalted))
					_, err = s.EraseCustomer(t.Context(), erased)
					is.NoErr(err)
				}
				words := []string{erased}
				if erased == "arthur" {
					words = append(words, "marvin")
				}
				is.Equal(mentions(t, st, words...), []string(nil)) // n
				is.Equal(s.mustGet(t, claimed.ID), claimed)
				_, err = s.Get(t.Context(), b.Data[1].ID)
				is.Equal(err == nil, erased != "batch:spring")
				_, err = s.Get(t.Context(), guest.ID)
				is.Equal(err == nil, erased != "arthur")
				if finished {
					is.True(n > 1)
					return
				}
			}
		})
	}
}

// TestClaimStopped: a batch and a claim are one Update each, so one that is stopped leaves
// nothing, and a repeated one finishes it.
func TestClaimStopped(t *testing.T) {
	is := is.New(t)
	st := &haltingStore{Store: memory.New(), left: unhalted}
	s := newSeller(t, st)
	create := func() (api.Batch, error) {
		return s.CreateBatch(t.Context(), api.CreateBatchParams{Count: 3, CreateLicenseParams: api.CreateLicenseParams{Name: "Spring", CustomerID: "batch:spring", PlanID: "forever"}})
	}
	before := everything(t, st)
	st.left = 0
	_, err := create()
	require.ErrorIs(t, err, errHalted)
	is.Equal(everything(t, st), before)
	st.left = 1
	b, err := create()
	is.NoErr(err)
	before = everything(t, st)
	claim := func() (api.License, error) { return s.Customer("arthur").Claim(t.Context(), b.Data[0].Key) }
	_, err = claim()
	require.ErrorIs(t, err, errHalted)
	is.Equal(everything(t, st), before)
	st.left = 1
	l, err := claim()
	is.NoErr(err)
	is.Equal(l.CustomerID, "arthur")
	st.left = 1
	same, err := claim()
	is.NoErr(err)
	is.Equal(same, l)
}

// TestClaimedMeanwhile: what was read before the Update is decided again in it.
func TestClaimedMeanwhile(t *testing.T) {
	is := is.New(t)
	st := &haltingStore{Store: memory.New(), left: unhalted}
	s := newSeller(t, st)
	b, err := s.CreateBatch(t.Context(), api.CreateBatchParams{Count: 1, CreateLicenseParams: api.CreateLicenseParams{Name: "Spring", CustomerID: "batch:spring", PlanID: "forever"}})
	is.NoErr(err)
	st.before = func() {
		_, err := s.Customer("trillian").Claim(t.Context(), b.Data[0].Key)
		is.NoErr(err)
	}
	_, err = s.Customer("arthur").Claim(t.Context(), b.Data[0].Key)
	require.ErrorIs(t, err, api.ErrClaimed)
	is.Equal(s.mustGet(t, b.Data[0].ID).CustomerID, "trillian")
}

// TestClaimedTogether: of the customers who claim a license at the same time, one gets it.
func TestClaimedTogether(t *testing.T) {
	is := is.New(t)
	s := newSeller(t, memory.New())
	b, err := s.CreateBatch(t.Context(), api.CreateBatchParams{Count: 1, CreateLicenseParams: api.CreateLicenseParams{Name: "Spring", CustomerID: "batch:spring", PlanID: "forever"}})
	is.NoErr(err)
	const customers = 16
	errs := make(chan error)
	for i := range customers {
		go func() {
			_, err := s.Customer(fmt.Sprint("cus_", i)).Claim(t.Context(), b.Data[0].Key)
			errs <- err
		}()
	}
	got := 0
	for range customers {
		if err := <-errs; err == nil {
			got++
		} else {
			require.ErrorIs(t, err, api.ErrClaimed)
		}
	}
	is.Equal(got, 1)
	events, err := s.Events(t.Context(), api.ListEventsParams{Types: []string{api.EventLicenseClaimed}})
	is.NoErr(err)
	is.Equal(len(events.Data), 1)
}
