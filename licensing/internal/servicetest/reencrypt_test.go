package servicetest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/signin"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/client"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

var errInterrupted = errors.New("interrupted")

// An interruptedStore fails every Update but the first few.
type interruptedStore struct {
	store.Store
	updates int
}

func (s *interruptedStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	if s.updates--; s.updates < 0 {
		return errInterrupted
	}
	return s.Store.Update(ctx, fn)
}

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestReencryptSecrets replaces the master key: a first run is interrupted, a
// process with the old key as its MasterKey works meanwhile, and at the end the new
// key alone opens the same secrets.
func TestReencryptSecrets(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	st := memory.New()
	now := time.Now()
	oldKey, newKey := bytes.Repeat([]byte("o"), 32), bytes.Repeat([]byte("n"), 32)
	received := make(chan bool, 1) // whether the signature is right
	var secret string
	process := func(st store.Store, key []byte, previous ...[]byte) *licensing.Handler {
		opts := postedBy(newPostOffice())
		opts.Now = func() time.Time { return now }
		opts.MasterKey, opts.PreviousMasterKeys = key, previous
		opts.Webhooks.Transport = transportFunc(func(r *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			if err == nil {
				_, err = client.VerifyWebhook(secret, r.Header, body)
			}
			received <- err == nil
			return status(204)(r)
		})
		return licensing.NewHandler(st, opts)
	}

	// Two webhooks, two signing keys and two second factors, one of which is in
	// plain text.
	unencrypted, before := process(st, nil), process(st, oldKey)
	factors := []string{enableSecondFactor(t, unencrypted, "ada@example.com", now), enableSecondFactor(t, before, "bob@example.com", now)}
	set, err := before.Files().KeySet(ctx)
	is.NoErr(err)
	var hook api.Webhook
	for range 2 {
		hook, secret, err = before.Webhooks().Create(ctx, api.CreateWebhookParams{URL: "https://receiver.example/", Types: []string{"license.created"}})
		is.NoErr(err)
	}

	_, err = unencrypted.ReencryptSecrets(ctx)
	is.True(err != nil) // there is no key
	got, err := process(st, newKey).ReencryptSecrets(ctx)
	is.NoErr(err)
	is.Equal(got, licensing.Reencrypted{SecondFactors: 1, Unreadable: 5}) // without the old key, they stay as they are
	got, err = before.ReencryptSecrets(ctx)
	is.NoErr(err)
	is.Equal(got, licensing.Reencrypted{Unreadable: 1})

	// Each run is interrupted in its second Update.
	var total licensing.Reencrypted
	for range 2 {
		got, err := process(&interruptedStore{Store: st, updates: 1}, newKey, oldKey).ReencryptSecrets(ctx)
		require.ErrorIs(t, err, errInterrupted)
		total.WebhookSecrets += got.WebhookSecrets
		total.SigningKeys += got.SigningKeys
	}
	got, err = process(&interruptedStore{Store: st, updates: 1}, newKey, oldKey).ReencryptSecrets(ctx)
	require.ErrorIs(t, err, errInterrupted)
	total.SigningKeys += got.SigningKeys
	is.Equal(total, licensing.Reencrypted{WebhookSecrets: 2, SigningKeys: 1})

	// A process that was not restarted yet reads both, and still encrypts with
	// the old key.
	second := process(st, oldKey, newKey)
	is.Equal(second.Health(ctx).Secrets, files.SecretCounts{Previous: 2})
	now = now.Add(time.Minute)
	for i, email := range []string{"ada@example.com", "bob@example.com"} {
		is.NoErr(signInWithCode(t, second, email, appCode(t, factors[i], now)))
	}
	_, err = second.Webhooks().Test(ctx, hook.ID)
	is.NoErr(err)
	stop := begin(t, second)
	is.True(<-received)
	stop()
	_, secret, err = second.Webhooks().RotateSecret(ctx, api.RotateWebhookParams{ID: hook.ID, OverlapSeconds: new(int64(3600))})
	is.NoErr(err)

	got, err = process(st, newKey, oldKey).ReencryptSecrets(ctx)
	is.NoErr(err)
	is.Equal(got, licensing.Reencrypted{WebhookSecrets: 1, SigningKeys: 1, SecondFactors: 2})
	got, err = process(st, newKey, oldKey).ReencryptSecrets(ctx)
	is.NoErr(err)
	is.Equal(got, licensing.Reencrypted{}) // nothing is left

	after := process(st, newKey)
	health := after.Health(ctx)
	is.Equal(health.Secrets, files.SecretCounts{Sealed: 3})
	is.Equal(health.SigningKeys, files.SecretCounts{Sealed: 2})
	now = now.Add(time.Minute)
	for i, email := range []string{"ada@example.com", "bob@example.com"} {
		is.NoErr(signInWithCode(t, after, email, appCode(t, factors[i], now)))
	}
	text, err := after.Files().Sign(ctx, licensefile.Claims{
		ID: "file", LicenseID: "lic_1", ProductID: "atlas", Generation: 1, IssuedAt: now, NotBefore: now, ExpiresAt: now.Add(time.Hour),
	})
	is.NoErr(err)
	_, err = set.Verify(text)
	is.NoErr(err) // the keys are the same
	_, err = after.Webhooks().Test(ctx, hook.ID)
	is.NoErr(err)
	stop = begin(t, after)
	is.True(<-received)
	stop()
}

// appCode returns what an authenticator app shows for a secret (RFC 6238).
func appCode(t *testing.T, secret string, at time.Time) string {
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(secret)
	is.New(t).NoErr(err)
	mac := hmac.New(sha1.New, key)
	is.New(t).NoErr(binary.Write(mac, binary.BigEndian, at.Unix()/30))
	sum := mac.Sum(nil)
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[sum[19]&0xf:])&0x7fffffff%1e6)
}

const operatorPassword = "correct-horse-battery-41"

// withCookies returns a request with the cookies that w sets.
func withCookies(ctx context.Context, w *httptest.ResponseRecorder) *http.Request {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/dashboard/", nil)
	for _, c := range w.Result().Cookies() {
		r.AddCookie(c)
	}
	return r
}

// enableSecondFactor creates an operator with a second factor and returns its
// secret.
func enableSecondFactor(t *testing.T, h *licensing.Handler, email string, now time.Time) (secret string) {
	t.Helper()
	is := is.New(t)
	_, err := h.Operators().Create(t.Context(), operator.CreateParams{Email: email, Password: operatorPassword, Role: operator.RoleViewer})
	is.NoErr(err)
	w := httptest.NewRecorder()
	_, err = inner.Of(h.Operators()).SignIn(w, withCookies(t.Context(), httptest.NewRecorder()), email, operatorPassword, false)
	is.NoErr(err)
	secret = signin.NewTOTPSecret()
	_, err = inner.Of(h.Operators()).EnableSecondFactor(httptest.NewRecorder(), withCookies(t.Context(), w),
		signin.EnableSecondFactorParams{Secret: secret, Code: appCode(t, secret, now), Password: operatorPassword})
	is.NoErr(err)
	return secret
}

func signInWithCode(t *testing.T, h *licensing.Handler, email, code string) error {
	t.Helper()
	w := httptest.NewRecorder()
	_, err := inner.Of(h.Operators()).SignIn(w, withCookies(t.Context(), httptest.NewRecorder()), email, operatorPassword, false)
	require.ErrorIs(t, err, signin.ErrSecondFactor)
	_, err = inner.Of(h.Operators()).CompleteSignIn(httptest.NewRecorder(), withCookies(t.Context(), w), code)
	return err
}
