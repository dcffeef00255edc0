package dashboard_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestReleaseSelectedActivations: the activations that were not seen since a day are
// released together, and a form that was interrupted releases the others.
func TestReleaseSelectedActivations(t *testing.T) {
	is := is.New(t)
	st := &feedStore{Store: memory.New()}
	s := newSiteOn(t, st, licensing.Options{})
	l := s.license(api.CreateLicenseParams{Name: "Atlas"})
	for i := range 25 {
		s.activate(l, fmt.Sprintf("old-%02d", i), "")
	}
	s.advance(48 * time.Hour)
	s.activate(l, "new-1", "")
	s.activate(l, "old-24", "") // seen again
	sue := s.operator("sue@example.com", operator.RoleSupport)
	v := s.signedIn("sue@example.com")
	tab := "licenses/" + l.ID + "/activations"
	list := v.get(tab + "?unseen=" + s.now.Format(time.DateOnly))
	is.Equal(strings.Count(list.body, `name="id"`), 24)
	require.NotContains(t, list.body, "new-1", "old-24")
	require.Contains(t, v.get(tab+"?unseen="+s.now.AddDate(0, 0, -10).Format(time.DateOnly)).body, "All were seen since then")
	is.Equal(v.get(tab+"?unseen=soon").StatusCode, http.StatusBadRequest)
	is.Equal(v.get(tab+"/release").StatusCode, http.StatusUnprocessableEntity)

	ask := v.get(tab + "/release?" + url.Values{"id": confirmedIDs(list)}.Encode())
	require.Contains(t, ask.body, "<h1>Remove 24 devices</h1>", " and 14 more", "Remove 24 devices</button>")
	live := func() int {
		page, err := s.Service().ListActivations(t.Context(), api.ListActivationsParams{LicenseID: l.ID})
		is.NoErr(err)
		return len(page.Data)
	}
	is.Equal(live(), 26) // the confirmation page changes nothing
	form := flat(fields(ask))
	st.most, st.onUpdate = 0, func() {
		viewer := operator.RoleViewer
		_, err := s.Operators().Update(t.Context(), operator.UpdateParams{ID: sue.ID, Role: &viewer})
		is.NoErr(err)
	}
	is.Equal(v.post(tab+"/release", form...).StatusCode, http.StatusForbidden)
	is.Equal(live(), 16)
	require.AtMost(t, st.most, 10) // in short Updates
	s.operator("eve@example.com", operator.RoleSupport)
	v = s.signedIn("eve@example.com")
	is.Equal(v.post(tab+"/release", append(form, "reason", "Reinstalled")...).StatusCode, http.StatusSeeOther)
	is.Equal(live(), 2)
	events, err := s.Service().Events(t.Context(), api.ListEventsParams{Types: []string{"activation.released"}})
	is.NoErr(err)
	is.Equal(len(events.Data), 24) // each once
	is.Equal(v.follow(v.post(tab+"/release", form...)).notice(), "The devices have been removed.")
}

// TestUnseenActivationsAfterManyOthers: a page of the activations that were not seen since a day
// reads on until it has some.
func TestUnseenActivationsAfterManyOthers(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	l := s.license(api.CreateLicenseParams{Name: "Atlas"})
	for i := range 105 {
		s.activate(l, fmt.Sprintf("seen-%03d", i), "")
	}
	s.activate(l, "old-1", "")
	s.advance(48 * time.Hour)
	for i := range 105 {
		s.activate(l, fmt.Sprintf("seen-%03d", i), "")
	}
	list := s.admin().get("licenses/" + l.ID + "/activations?unseen=" + s.now.Format(time.DateOnly))
	is.Equal(strings.Count(list.body, `name="id"`), 1)
	require.Contains(t, list.body, "old-1")
}

// confirmedIDs returns the values of the checkboxes of a list.
func confirmedIDs(a reply) (ids []string) {
	for _, part := range strings.Split(a.body, `name="id" value="`)[1:] {
		id, _, _ := strings.Cut(part, `"`)
		ids = append(ids, id)
	}
	return ids
}
