package operator

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/signin"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

func TestSessions(t *testing.T) {
	is := is.New(t)
	o := newFixture(t)
	ada, bob := o.operator(t, "ada@example.com", RoleAdmin), o.operator(t, "bob@example.com", RoleViewer)
	desk, phone := &browser{o: o}, &browser{o: o, addr: "198.51.100.7:9"}
	is.NoErr(desk.signIn("ada@example.com", goodPassword))
	o.now = o.now.Add(time.Hour)
	is.NoErr(phone.signIn("ada@example.com", goodPassword))
	is.NoErr((&browser{o: o}).signIn("bob@example.com", goodPassword))

	list, err := o.Sessions(desk.request(), ada.ID)
	is.NoErr(err)
	is.Equal(len(list), 2)
	is.Equal([]string{list[0].Address, list[1].Address}, []string{"198.51.100.7", "192.0.2.1"}) // newest first
	is.True(!list[0].Current && list[1].Current)
	is.Equal([]time.Time{list[0].CreatedAt, list[0].ExpiresAt}, []time.Time{o.now, o.now.Add(sessionLifetime)})

	require.ErrorIs(t, o.EndSession(t.Context(), bob.ID, list[0].ID), api.ErrNotFound) // of another operator
	require.ErrorIs(t, o.EndSession(t.Context(), "", list[0].ID), api.ErrNotFound)
	is.NoErr(o.EndSession(t.Context(), ada.ID, list[0].ID))
	is.Equal(phone.who(), signin.ErrNoSession.Error())
	is.Equal(desk.who(), "ada@example.com")
	require.ErrorIs(t, o.EndSession(t.Context(), ada.ID, list[0].ID), api.ErrNotFound)
	types, text := o.events(t)
	is.Equal(types[len(types)-1], "operator.signed_out by go")
	require.Contains(t, text, `"address":"198.51.100.7"`)
	require.NotContains(t, text, list[0].ID)

	is.NoErr(o.SignOutEverywhere(t.Context(), ada.ID))
	list, err = o.Sessions(desk.request(), ada.ID)
	is.NoErr(err)
	is.Equal(len(list), 0) // ended sessions are not listed, even before they are removed
	is.NoErr(desk.signIn("ada@example.com", goodPassword))
	o.now = o.now.Add(sessionLifetime)
	list, err = o.Sessions(desk.request(), ada.ID)
	is.NoErr(err)
	is.Equal(len(list), 0) // expired
	_, err = o.Sessions(desk.request(), "opr_unknown")
	require.ErrorIs(t, err, api.ErrNotFound)
}

// An operator has at most 50 sessions, so that the list is complete.
func TestSessionsAreBounded(t *testing.T) {
	is := is.New(t)
	o := newFixture(t)
	ada := o.operator(t, "ada@example.com", RoleAdmin)
	in := signedIn{Operator: ada, generation: 1}
	var first *browser
	for i := range maxSessions + 3 {
		w, r := httptest.NewRecorder(), httptest.NewRequest("POST", "https://host.example/dashboard/sign-in", nil)
		r.Header.Set("User-Agent", strings.Repeat("é", 200))
		o.now = o.now.Add(time.Second)
		is.NoErr(o.openSession(w, r, in))
		if i == 0 {
			first = &browser{o: o, cookie: w.Result().Cookies()[0]}
		}
	}
	list, err := o.Sessions(first.request(), ada.ID)
	is.NoErr(err)
	is.Equal(len(list), maxSessions)
	is.Equal(first.who(), signin.ErrNoSession.Error()) // the oldest session has ended
	is.Equal(list[0].UserAgent, strings.Repeat("é", 127))
	entries, err := o.st.Entries(t.Context(), store.EntryQuery{Kind: kindSession, Limit: store.MaxLimit})
	is.NoErr(err)
	is.Equal(len(entries), maxSessions)
}
