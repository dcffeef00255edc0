package dashboard_test

import (
	"net/http"
	"regexp"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

var inviteCode = regexp.MustCompile(`join#code=([A-Z2-7]{26})`)

func TestInviteOperator(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	is.Equal(v.post("settings/operators/new", "email", "bob", "role", "viewer").StatusCode, http.StatusUnprocessableEntity)
	is.Equal(v.post("settings/operators/new", "email", "ada@example.com", "role", "viewer").StatusCode, http.StatusUnprocessableEntity)
	a := v.post("settings/operators/new", "email", "bob@example.com", "role", "viewer")
	is.Equal(a.StatusCode, http.StatusOK)
	code := inviteCode.FindStringSubmatch(a.body)[1]
	list := v.get("settings/operators")
	require.Contains(t, list.body, "bob@example.com")
	require.NotContains(t, list.body, code)
	require.NotContains(t, s.log.String(), code)

	bob := s.visitor()
	is.Equal(bob.get("join").StatusCode, http.StatusOK)
	is.Equal(bob.post("join", "code", "wrong", "password", password).StatusCode, http.StatusUnprocessableEntity)
	is.Equal(bob.post("join", "code", code, "password", "short").StatusCode, http.StatusUnprocessableEntity)
	is.Equal(bob.post("join", "code", code, "password", password).Header.Get("Location"), "./")
	require.Contains(t, bob.get("licenses").body, "bob@example.com")
	is.Equal(bob.get("settings/operators/new").StatusCode, http.StatusForbidden)

	a = v.post("settings/operators/new", "email", "eve@example.com", "role", "admin")
	require.Contains(t, v.get("settings/operators").body, "eve@example.com")
	require.NotContains(t, bob.get("settings/operators").body, "eve@example.com") // only admins see invitations
	code = inviteCode.FindStringSubmatch(a.body)[1]
	id := regexp.MustCompile(`name="id" value="(\w+)"`).FindStringSubmatch(v.get("settings/operators").body)[1]
	is.Equal(v.post("settings/operators/revoke", "id", id).to(), "../../settings/operators")
	is.Equal(s.visitor().post("join", "code", code, "password", password).StatusCode, http.StatusUnprocessableEntity)
}

func TestChangeOperator(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	op := s.operator("bob@example.com", operator.RoleViewer)
	bob := s.signedIn("bob@example.com")
	page := "settings/operators/" + op.ID
	change := func(form ...string) reply { return v.change(page, form...) }

	is.Equal(change("change", "explode").StatusCode, http.StatusUnprocessableEntity)
	is.Equal(change("change", "role", "role", "root").StatusCode, http.StatusUnprocessableEntity)
	is.Equal(change("change", "role", "role", "admin").to(), "../../"+page)
	is.Equal(bob.get("licenses").StatusCode, http.StatusSeeOther) // a change of role ends the sessions
	bob = s.signedIn("bob@example.com")
	is.Equal(bob.get("licenses/new").StatusCode, http.StatusOK)

	is.Equal(change("change", "sign-out").StatusCode, http.StatusSeeOther)
	is.Equal(bob.get("licenses").StatusCode, http.StatusSeeOther)

	code := inviteCode.FindStringSubmatch(change("change", "password").body)[1]
	is.Equal(bob.post("join", "code", code, "password", "nine lamps along the harbour wall").StatusCode, http.StatusSeeOther)
	is.Equal(s.visitor().post("sign-in", "email", "bob@example.com", "password", password).StatusCode, http.StatusUnprocessableEntity)

	is.Equal(change("change", "disable").StatusCode, http.StatusSeeOther)
	is.Equal(bob.get("licenses").StatusCode, http.StatusSeeOther)
	require.Contains(t, v.get(page).body, "disabled")
	is.Equal(change("change", "enable").StatusCode, http.StatusSeeOther)
	is.Equal(change("change", "role", "role", "viewer").StatusCode, http.StatusSeeOther)

	ada := regexp.MustCompile(`operators/(opr_\w+)">ada@`).FindStringSubmatch(v.get("settings/operators").body)[1]
	a := v.change("settings/operators/"+ada, "change", "disable")
	is.Equal(a.StatusCode, http.StatusConflict)
	require.Contains(t, a.body, "the last admin") // the last admin cannot be disabled
	is.Equal(v.get("settings/operators/opr_unknown").StatusCode, http.StatusNotFound)
}
