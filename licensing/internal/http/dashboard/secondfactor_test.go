package dashboard_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/qr"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// appCode returns what an authenticator app shows for a secret (RFC 6238).
func (s *site) appCode(secret string) string {
	key, err := base32.StdEncoding.DecodeString(strings.ReplaceAll(secret, " ", ""))
	is.New(s.t).NoErr(err)
	var step [8]byte
	binary.BigEndian.PutUint64(step[:], uint64(s.clock().Unix()/30))
	mac := hmac.New(sha1.New, key)
	mac.Write(step[:])
	sum := mac.Sum(nil)
	at := sum[19] & 0xf
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[at:])&0x7fffffff%1e6)
}

func TestSecondFactor(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	admin := s.admin()
	bob := s.operator("bob@example.com", operator.RoleViewer)
	v := s.signedIn("bob@example.com")
	require.Contains(t, v.get("password").body, "Set up second factor")

	a := v.get("second-factor")
	secret := a.hidden("secret")
	require.Contains(t, a.body, `href="otpauth://totp/Licensing:bob@example.com?issuer=Licensing&amp;secret=`+secret)
	shown := regexp.MustCompile(`id="secret">([A-Z2-7 ]+)<`).FindStringSubmatch(a.body)[1]
	is.Equal(strings.ReplaceAll(shown, " ", ""), secret)

	// The QR code is that of the link, with its border.
	link := regexp.MustCompile(`id="uri" href="([^"]*)"`).FindStringSubmatch(a.body)[1]
	drawing := qr.Draw(html.UnescapeString(link))
	require.Contains(t, a.body, fmt.Sprintf(`viewBox="0 0 %[1]d %[1]d" role="img" aria-label="QR code of the link"><path d="%[2]s"/>`, drawing.Size, drawing.Path))
	long := s.operator("bob@"+strings.Repeat("long.", 40)+"example.com", operator.RoleViewer)
	a = s.signedIn(long.Email).get("second-factor")
	is.Equal(a.StatusCode, http.StatusOK)
	require.Contains(t, a.body, "otpauth://")
	require.Contains(t, a.body, `class="qr"`)

	a = v.post("second-factor", "secret", secret, "otp", "000000", "current", password)
	is.Equal(a.StatusCode, http.StatusUnprocessableEntity)
	require.Contains(t, a.body, "This is not the current code")
	is.Equal(a.hidden("secret"), secret)
	require.NotContains(t, a.body, password)
	a = v.post("second-factor", "secret", secret, "otp", s.appCode(secret), "current", "wrong")
	require.Contains(t, a.body, "The current password is incorrect.")
	is.Equal(a.hidden("secret"), secret)
	is.Equal(v.post("second-factor", "secret", "short", "otp", s.appCode(secret), "current", password).StatusCode, http.StatusUnprocessableEntity)

	a = v.post("second-factor", "secret", secret, "otp", s.appCode(secret), "current", password)
	is.Equal(a.StatusCode, http.StatusOK)
	recovery := regexp.MustCompile(`(?m)([A-Z2-7]{4}-){3}[A-Z2-7]{4}`).FindAllString(a.body, -1)
	is.Equal(len(recovery), 10)
	require.Contains(t, v.get("password").body, "10 recovery codes are left.")
	require.NotContains(t, s.log.String(), secret)
	is.Equal(v.post("second-factor", "secret", secret, "otp", s.appCode(secret), "current", password).Header.Get("Location"), "./second-factor")

	s.advance(30 * time.Second)
	code := s.appCode(secret)
	w := s.visitor()
	a = w.post("sign-in", "email", "bob@example.com", "password", password, "return", "licenses")
	is.Equal(a.Header.Get("Location"), "./sign-in-code?return=licenses")
	is.Equal(w.get("licenses").StatusCode, http.StatusSeeOther) // not signed in yet
	require.Contains(t, w.follow(a).body, `autocomplete="one-time-code"`)
	a = w.post("sign-in-code", "otp", "123", "return", "licenses")
	is.Equal(a.StatusCode, http.StatusUnprocessableEntity)
	require.Contains(t, a.body, "This code is incorrect or was used before.")
	is.Equal(a.hidden("return"), "licenses")
	is.Equal(w.post("sign-in-code", "otp", code, "return", "licenses").Header.Get("Location"), "./licenses")
	is.Equal(w.get("licenses").StatusCode, http.StatusOK)

	other := s.visitor()
	is.Equal(other.post("sign-in-code", "otp", s.appCode(secret)).Header.Get("Location"), "./sign-in") // without a password
	other.post("sign-in", "email", "bob@example.com", "password", password)
	is.Equal(other.post("sign-in-code", "otp", code, "return", "//evil.example").StatusCode, http.StatusUnprocessableEntity) // used before
	is.Equal(other.post("sign-in-code", "otp", recovery[3], "return", "//evil.example").Header.Get("Location"), "./")

	other.post("sign-out")
	other.post("sign-in", "email", "bob@example.com", "password", password)
	for range 3 {
		other.post("sign-in-code", "otp", "000000")
	}
	a = other.post("sign-in-code", "otp", recovery[4])
	is.Equal(a.StatusCode, http.StatusTooManyRequests)
	is.True(a.Header.Get("Retry-After") != "")

	page := "settings/operators/" + bob.ID
	require.Contains(t, admin.get(page).body, "Remove second factor")
	is.Equal(admin.post(page, "change", "remove-factor").StatusCode, http.StatusSeeOther)
	require.NotContains(t, admin.get(page).body, "Remove second factor")
	require.Contains(t, admin.get("audit?type=operator.updated").body, "bob@example.com")
	s.signedIn("bob@example.com")
}

func TestRemoveOwnSecondFactor(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	secret := v.get("second-factor").hidden("secret")
	is.Equal(v.post("second-factor", "secret", secret, "otp", s.appCode(secret), "current", password).StatusCode, http.StatusOK)
	require.Contains(t, v.get("second-factor").body, "10 recovery codes are left.")
	is.Equal(v.post("second-factor", "change", "remove", "current", "wrong").StatusCode, http.StatusUnprocessableEntity)
	a := v.post("second-factor", "change", "remove", "current", password)
	is.Equal(v.follow(a).notice(), "The second factor has been removed. Your other sessions have ended.")
	s.signedIn("ada@example.com")
}

// A link that resets the password leads to the form for the code.
func TestPasswordResetWithSecondFactor(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	secret := v.get("second-factor").hidden("secret")
	v.post("second-factor", "secret", secret, "otp", s.appCode(secret), "current", password)
	ada, err := s.Operators().List(t.Context(), operator.ListParams{})
	is.NoErr(err)
	link := inviteCode.FindStringSubmatch(v.post("settings/operators/"+ada.Data[0].ID, "change", "password").body)[1]
	w := s.visitor()
	is.Equal(w.post("join", "code", link, "password", "nine lamps along the harbour wall").Header.Get("Location"), "./sign-in-code")
	is.Equal(w.get("licenses").StatusCode, http.StatusSeeOther)
	s.advance(30 * time.Second)
	is.Equal(w.post("sign-in-code", "otp", s.appCode(secret)).Header.Get("Location"), "./")
	is.Equal(w.get("licenses").StatusCode, http.StatusOK)
}

// TestRequiredSecondFactor: an operator without a second factor gets no page but
// the own account.
func TestRequiredSecondFactor(t *testing.T) {
	is := is.New(t)
	s := newSiteOn(t, memory.New(), licensing.Options{Dashboard: licensing.DashboardOptions{RequireSecondFactor: true}})
	v := s.admin()
	for _, page := range []string{"", "licenses", "settings/operators"} {
		require.Contains(t, v.get(page).Header.Get("Location"), "second-factor")
	}
	require.Contains(t, v.post("licenses/new", "name", "Atlas").Header.Get("Location"), "second-factor")
	is.Equal(v.get("password").StatusCode, http.StatusOK)
	a := v.get("second-factor")
	require.Contains(t, a.body, "This dashboard requires a second factor.")
	secret := a.hidden("secret")
	is.Equal(v.post("second-factor", "secret", secret, "otp", s.appCode(secret), "current", password).StatusCode, http.StatusOK)
	is.Equal(v.get("licenses").StatusCode, http.StatusOK)
	require.Contains(t, v.get("settings/operators").body, `data-label="Second factor"><div><span class="pill active">yes`)
}
