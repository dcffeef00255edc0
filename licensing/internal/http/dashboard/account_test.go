package dashboard_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/require"
)

var sessionID = regexp.MustCompile(`name="session" value="([^"]+)"`)

func TestEndSessions(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	admin := s.admin()
	bob := s.operator("bob@example.com", operator.RoleViewer)
	desk, phone := s.signedIn("bob@example.com"), s.signedIn("bob@example.com")
	s.visitor().post("sign-in", "email", "bob@example.com", "password", "wrong")

	a := desk.get("password")
	ids := sessionID.FindAllStringSubmatch(a.body, -1)
	is.Equal(len(ids), 1) // the session of this page has no button
	require.Contains(t, a.body, "this session", "127.0.0.1", "Go-http-client")
	require.Contains(t, a.body, "Failed to sign in")
	is.Equal(strings.Count(a.body, "<strong>Signed in</strong>"), 2)
	done := desk.post("sessions", "session", ids[0][1])
	is.Equal(desk.follow(done).notice(), "The session has ended.")
	is.Equal(phone.get("licenses").StatusCode, http.StatusSeeOther)
	is.Equal(desk.get("licenses").StatusCode, http.StatusOK)
	is.Equal(desk.post("sessions", "session", ids[0][1]).StatusCode, http.StatusSeeOther) // already ended

	page := "settings/operators/" + bob.ID
	id := sessionID.FindStringSubmatch(admin.get(page).body)[1]
	is.Equal(s.signedIn("ada@example.com").post("sessions", "session", id).StatusCode, http.StatusSeeOther)
	is.Equal(desk.get("licenses").StatusCode, http.StatusOK) // the form for the own account ends no other operator's session
	is.Equal(admin.post(page, "change", "end-session", "session", id).StatusCode, http.StatusSeeOther)
	is.Equal(desk.get("licenses").StatusCode, http.StatusSeeOther)
	require.Contains(t, admin.get(page).body, "No open sessions.")
	require.Contains(t, admin.get(page).body, "Sign-in history")
}
