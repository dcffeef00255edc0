package license_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

func TestUpdateChangesWhatIsSet(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, func(p *api.CreateLicenseParams) {
		p.ExpiresAt = ptr(start.AddDate(1, 0, 0))
		p.Entitlements = map[string]any{"export": true, "users": 5}
		p.Metadata = map[string]string{"a": "1", "b": "2"}
	})
	f.now = f.now.Add(time.Minute)
	u, err := f.Update(t.Context(), api.UpdateLicenseParams{
		ID:             l.ID,
		Name:           ptr("Another name"),
		ExpiresAt:      api.ToNull[time.Time](),
		MaxActivations: api.To(int64(3)),
		Entitlements:   api.To(map[string]any{"export": nil, "plan": "pro"}),
		Metadata:       api.To(map[string]*string{"a": nil, "c": ptr("3")}),
	})
	is.NoErr(err)
	is.Equal(u.Name, "Another name")
	is.Equal(u.ExpiresAt, nil)
	is.Equal(*u.MaxActivations, int64(3))
	is.Equal(u.Entitlements, map[string]any{"users": 5.0, "plan": "pro"})
	is.Equal(u.Metadata, map[string]string{"b": "2", "c": "3"})
	is.Equal(u.ProductID, l.ProductID)
	is.Equal(u.Key, l.Key)
	is.Equal(u.Revision, int64(2))
	is.Equal(u.CreatedAt, start)
	is.Equal(u.UpdatedAt, f.now)
	read, err := f.Get(t.Context(), l.ID)
	is.NoErr(err)
	is.Equal(read, u)

	e, data := f.lastEvent(t)
	is.Equal(e.Type, api.EventLicenseUpdated)
	is.Equal(data.Changes["name"], api.FieldChange{From: "Ada's license", To: "Another name"})
	is.Equal(data.Changes["expires_at"], api.FieldChange{From: "2027-03-01T12:00:00Z", To: nil})
	is.Equal(len(data.Changes), 6) // and the generation, because an entitlement was removed

	u, err = f.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, Metadata: api.ToNull[map[string]*string](), ProductID: ptr("prod_other"), CustomerID: ptr("cus_bob")})
	is.NoErr(err)
	is.Equal(u.Metadata, map[string]string{})
	is.Equal(f.tallies(t, "product"), map[string]int64{"prod_other": 1})
	is.Equal(f.tallies(t, "customer"), map[string]int64{"cus_bob": 1})
}

func TestUpdateOfNothingIsNone(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, func(p *api.CreateLicenseParams) { p.Metadata = map[string]string{"a": "1"} })
	f.now = f.now.Add(time.Minute)
	u, err := f.Update(t.Context(), api.UpdateLicenseParams{
		ID: l.ID, Name: &l.Name, ExpiresAt: api.ToNull[time.Time](),
		Metadata: api.To(map[string]*string{"a": ptr("1"), "b": nil}),
	})
	is.NoErr(err)
	is.Equal(u, l)
	is.Equal(f.events(t, l.ID), []string{api.EventLicenseCreated})
}

func TestUpdateByMatch(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t)
	other := f.create(t, func(p *api.CreateLicenseParams) { p.ProductID = "prod_other" })
	f.create(t, func(p *api.CreateLicenseParams) { p.CustomerID = "cus_other" })
	match := &api.Match{ProductID: l.ProductID, CustomerID: l.CustomerID}
	u, err := f.Update(t.Context(), api.UpdateLicenseParams{Match: match, Name: ptr("By match")})
	is.NoErr(err)
	is.Equal(u.ID, l.ID)

	_, err = f.Update(t.Context(), api.UpdateLicenseParams{Match: &api.Match{ProductID: "prod_none", CustomerID: l.CustomerID}, Name: ptr("x")})
	require.ErrorIs(t, err, api.ErrNotFound)
	_, err = f.Update(t.Context(), api.UpdateLicenseParams{Match: &api.Match{ProductID: " ", CustomerID: ""}, Name: ptr("x")})
	is.Equal(fields(t, err), map[string]string{"product_id": "invalid_format", "customer_id": "required"})
	_, err = f.Update(t.Context(), api.UpdateLicenseParams{Name: ptr("x")})
	is.Equal(fields(t, err), map[string]string{"id": "required"})
	_, err = f.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, Match: match, Name: ptr("x")})
	is.Equal(fields(t, err), map[string]string{"id": "required"})

	f.now = f.now.Add(time.Millisecond)
	twin := f.create(t)
	_, err = f.Update(t.Context(), api.UpdateLicenseParams{Match: match, Name: ptr("x")})
	var ambiguous *api.AmbiguousError
	require.ErrorAs(t, err, &ambiguous)
	require.ErrorIs(t, err, api.ErrAmbiguous)
	is.Equal(ambiguous.IDs, []string{l.ID, twin.ID}) // and nothing was changed by guess
	is.Equal(len(f.events(t, twin.ID)), 1)
	is.Equal(len(f.events(t, other.ID)), 1)
}

func TestUpdateRefuses(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, func(p *api.CreateLicenseParams) { p.ExpiresAt = ptr(start.Add(time.Hour)) })
	_, err := f.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, Name: ptr(""), CustomerID: ptr("lic_x")})
	is.Equal(fields(t, err), map[string]string{"name": "required", "customer_id": "invalid_format"})
	_, err = f.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, StartsAt: api.To(start.Add(2 * time.Hour))})
	is.Equal(fields(t, err), map[string]string{"expires_at": "out_of_range"}) // the two are judged together
	for _, id := range []string{"lic_00000000000000000000000000", "lic_1", "nothing"} {
		_, err = f.Update(t.Context(), api.UpdateLicenseParams{ID: id, Name: ptr("")})
		is.Equal(fields(t, err), map[string]string{"name": "required"}) // before the license is read
		_, err = f.Update(t.Context(), api.UpdateLicenseParams{ID: id, Name: ptr("m")})
		require.ErrorIs(t, err, api.ErrNotFound)
	}
	read, err := f.Get(t.Context(), l.ID)
	is.NoErr(err)
	is.Equal(read, l)
}

func TestIfMatch(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, func(p *api.CreateLicenseParams) { p.ExpiresAt = ptr(start.Add(time.Hour)) })
	one := []api.Version{{Revision: 9, Status: api.LicenseActive}, l.Version()}
	u, err := f.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, IfMatch: one, Name: ptr("second")})
	is.NoErr(err)

	_, err = f.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, IfMatch: one, Name: ptr("third")})
	var stale *api.StaleError
	require.ErrorAs(t, err, &stale)
	require.ErrorIs(t, err, api.ErrStale)
	is.Equal(stale.Current.String(), "2.active")

	f.now = f.now.Add(time.Hour) // the clock alone makes a version stale
	err = f.Delete(t.Context(), api.DeleteLicenseParams{ID: l.ID, IfMatch: []api.Version{u.Version()}})
	require.ErrorAs(t, err, &stale)
	is.Equal(stale.Current.String(), "2.expired")
	require.ErrorIs(t, f.Delete(t.Context(), api.DeleteLicenseParams{ID: l.ID, IfMatch: []api.Version{}}), api.ErrStale) // none can match
	is.NoErr(f.Delete(t.Context(), api.DeleteLicenseParams{ID: l.ID, IfMatch: []api.Version{stale.Current}}))
}

func TestDelete(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, func(p *api.CreateLicenseParams) { p.ExpiresAt = ptr(start.Add(time.Hour)) })
	is.NoErr(f.Delete(t.Context(), api.DeleteLicenseParams{ID: l.ID}))
	_, err := f.Get(t.Context(), l.ID)
	require.ErrorIs(t, err, api.ErrNotFound)
	require.ErrorIs(t, f.Delete(t.Context(), api.DeleteLicenseParams{ID: l.ID}), api.ErrNotFound)

	e, data := f.lastEvent(t)
	is.Equal(e.Type, api.EventLicenseDeleted)
	is.Equal(e.Subject, l.ID)
	is.Equal(data.License.Name, l.Name) // as it last was
	for _, kind := range []string{"state", "product", "customer"} {
		is.Equal(f.tallies(t, kind), map[string]int64{})
	}
	f.create(t, func(p *api.CreateLicenseParams) { p.Key = l.Key }) // the key is free again
}

// TestConcurrentUpdates: of two hundred updates of two fields, none is lost
// and none is counted twice.
func TestConcurrentUpdates(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t)
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			_, err := f.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, Name: ptr(fmt.Sprint("name ", i))})
			is.NoErr(err)
		})
		wg.Go(func() {
			_, err := f.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, Metadata: api.To(map[string]*string{fmt.Sprint("m", i%50): ptr(fmt.Sprint(i))})})
			is.NoErr(err)
		})
	}
	wg.Wait()
	read, err := f.Get(t.Context(), l.ID)
	is.NoErr(err)
	is.Equal(read.Revision, int64(201))
	is.Equal(len(read.Metadata), 50)
	events, err := f.store.Events(t.Context(), store.EventQuery{Subject: l.ID})
	is.NoErr(err)
	is.Equal(len(events), 201)
}
