package licensingtest_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/licensingtest"
)

// A host's test: what the host sells is a license, an event, and over in a year.
func TestKitFromGo(t *testing.T) {
	is := is.New(t)
	kit := licensingtest.New(t, licensing.Options{})
	before := len(kit.Events())

	ends := kit.Clock.Now().AddDate(1, 0, 0)
	sold, err := kit.Handler.Service().Create(t.Context(), api.CreateLicenseParams{
		Name: "Atlas Team", ProductID: "atlas", CustomerID: "cus_1", ExpiresAt: &ends,
	})
	is.NoErr(err)
	is.Equal(sold.CreatedAt, licensingtest.Start)
	is.Equal(sold.Status, api.LicenseActive)

	events := kit.Events()[before:]
	is.Equal(len(events), 1)
	is.Equal(events[0].Type, "license.created")
	is.Equal(events[0].Subject, sold.ID)

	kit.Clock.Advance(366 * 24 * time.Hour)
	sold, err = kit.Handler.Service().Get(t.Context(), sold.ID)
	is.NoErr(err)
	is.Equal(sold.Status, api.LicenseExpired)
}

// A host's test over HTTP: the token is good at any time, and another client's
// only until it ends.
func TestKitOverHTTP(t *testing.T) {
	is := is.New(t)
	kit := licensingtest.New(t, licensing.Options{Tokens: auth.TokenOptions{TTL: 10 * time.Minute}})
	c, secret := kit.NewClient(auth.CreateClientParams{Name: "shop"})
	theirs, ttl := kit.NewToken(c.ID, secret)
	is.Equal(ttl, 10*time.Minute)
	is.Equal(statusOf(kit, theirs), http.StatusOK)
	is.Equal(statusOf(kit, kit.Token()), http.StatusOK)
	is.Equal(kit.Token(), kit.Token()) // it is kept

	kit.Clock.Advance(ttl)
	is.Equal(statusOf(kit, theirs), http.StatusUnauthorized)
	is.Equal(statusOf(kit, kit.Token()), http.StatusOK)
}

func statusOf(kit *licensingtest.Kit, token string) int {
	r := httptest.NewRequest(http.MethodGet, "/license", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	kit.Handler.ServeHTTP(w, r)
	return w.Code
}
