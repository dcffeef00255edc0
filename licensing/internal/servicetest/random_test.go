package servicetest

import (
	"fmt"
	"net/http/httptest"
	"testing"
	"testing/cryptotest"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/signin"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/licensingtest"
)

// TestCredentialsAreFromCryptoRand creates a credential of each kind with crypto/rand
// returning the same numbers twice, and then others. A credential of another source
// would differ the second time, and a constant one would not differ the third time.
func TestCredentialsAreFromCryptoRand(t *testing.T) {
	is := is.New(t)
	create := func(seed uint64) (all map[string]string) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			cryptotest.SetGlobalRandom(t, seed)
			all = newCredentials(t)
		})
		return all
	}
	first, again, others := create(1), create(1), create(2)
	is.Equal(first, again)
	for kind, c := range first {
		if c == "" || c == others[kind] {
			t.Errorf("the %s is always %q", kind, c)
		}
	}
}

// newCredentials returns a credential of each kind, from a service of its own.
func newCredentials(t *testing.T) map[string]string {
	t.Helper()
	is := is.New(t)
	ctx := t.Context()
	kit := licensingtest.New(t, licensing.Options{Logger: discard})
	h := kit.Handler
	all := map[string]string{}
	var err error

	all["setup code"], err = h.Operators().CreateSetupCode(ctx)
	is.NoErr(err)
	op, err := h.Operators().Create(ctx, operator.CreateParams{Email: "ada@example.com", Password: operatorPassword, Role: operator.RoleAdmin})
	is.NoErr(err)
	all["invitation"], err = h.Operators().Invite(ctx, operator.InviteParams{Email: "grace@example.com", Role: operator.RoleViewer})
	is.NoErr(err)
	all["password reset"], err = h.Operators().CreatePasswordReset(ctx, op.ID)
	is.NoErr(err)
	w := httptest.NewRecorder()
	_, err = inner.Of(h.Operators()).SignIn(w, withCookies(ctx, httptest.NewRecorder()), op.Email, operatorPassword, false)
	is.NoErr(err)
	all["session"] = w.Result().Cookies()[0].Value
	all["second factor"] = signin.NewTOTPSecret()
	recovery, err := inner.Of(h.Operators()).EnableSecondFactor(httptest.NewRecorder(), withCookies(ctx, w), signin.EnableSecondFactorParams{
		Secret: all["second factor"], Code: appCode(t, all["second factor"], kit.Clock.Now()), Password: operatorPassword,
	})
	is.NoErr(err)
	all["recovery codes"] = fmt.Sprint(recovery)

	client, secret, err := h.Auth().CreateClient(ctx, auth.CreateClientParams{Name: "shop", Scopes: auth.Scopes()})
	is.NoErr(err)
	all["client id"], all["client secret"] = client.ID, secret
	all["access token"], _ = kit.NewToken(client.ID, secret)

	l, err := h.Service().Create(ctx, api.CreateLicenseParams{Name: "n", ProductID: "atlas", CustomerID: "c"})
	is.NoErr(err)
	all["license key"] = l.Key
	_, all["webhook secret"], err = h.Webhooks().Create(ctx, api.CreateWebhookParams{URL: "https://receiver.example/"})
	is.NoErr(err)
	keys := httptest.NewRecorder()
	h.ServeHTTP(keys, httptest.NewRequestWithContext(ctx, "GET", "/file/keys", nil))
	all["signing keys"] = keys.Body.String()
	return all
}
