package auth

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/store"
)

// authenticate checks a token against the scope license:read.
func authenticate(a *Auth, token string) (Grant, error) {
	r := httptest.NewRequest("GET", "/read", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	return a.Authenticate(r, ScopeLicenseRead)
}

// post sends a form with the credentials of the client to an OAuth endpoint.
func (s *issuer) post(endpoint http.HandlerFunc, form url.Values) error {
	r := httptest.NewRequest("POST", "/", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth(s.client.ID, s.secret)
	w := httptest.NewRecorder()
	if endpoint(w, r); w.Code != http.StatusOK {
		return errors.New(w.Body.String())
	}
	return nil
}

// status returns the HTTP status of an error of Authenticate.
func status(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Status
	}
	return http.StatusOK
}

func TestCachedTokenNeedsNoStoreReadForASecond(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t)
	token := s.token(t, s.client.ID, s.secret)
	verify := func() []string {
		return s.st.callsOf(func() {
			g, err := authenticate(s.Auth, token)
			is.NoErr(err)
			is.Equal(g.ClientID, s.client.ID)
		})
	}
	reads := []string{"Entry token", "Entry client"}
	is.Equal(verify(), reads)
	is.Equal(verify(), nil)
	s.turn(cacheTTL - time.Nanosecond)
	is.Equal(verify(), nil)
	s.turn(time.Nanosecond)
	is.Equal(verify(), reads) // a cached verification does not extend the second
	s.turn(-time.Hour)
	is.Equal(verify(), reads) // the clock was set back
}

// Two Auths on one store are like two processes.
func TestChangesApplyWithinASecond(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(s *issuer, token string) error
		status int
	}{
		"revoke the token": {func(s *issuer, token string) error {
			return s.post(s.ServeRevoke, url.Values{"token": {token}})
		}, 401},
		"disable the client": {func(s *issuer, _ string) error {
			_, err := s.UpdateClient(context.Background(), UpdateClientParams{ID: s.client.ID, Disabled: new(true)})
			return err
		}, 401},
		"delete the client": {func(s *issuer, _ string) error { return s.DeleteClient(context.Background(), s.client.ID) }, 401},
		"remove the scope": {func(s *issuer, _ string) error {
			_, err := s.UpdateClient(context.Background(), UpdateClientParams{ID: s.client.ID, Scopes: &[]string{ScopeLicenseWrite}})
			return err
		}, 403},
		"revoke the secret": {func(s *issuer, _ string) error {
			_, err := s.RevokeSecret(context.Background(), s.client.ID, s.client.Secrets[0].ID)
			return err
		}, 401},
		"rotate the secret without overlap": {func(s *issuer, _ string) error {
			_, _, err := s.As(Caller{Actor: "operator:opr_1"}).RotateSecret(context.Background(), RotateSecretParams{ClientID: s.client.ID})
			return err
		}, 401},
		"issue more tokens than MaxTokens": {func(s *issuer, _ string) error {
			return s.post(s.ServeToken, url.Values{"grant_type": {"client_credentials"}})
		}, 401},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			s := newIssuer(t, func(o *Options) { o.Tokens.Max = 1 })
			other := New(s.st, s.opts)
			token := s.token(t, s.client.ID, s.secret)
			for _, a := range []*Auth{s.Auth, other} {
				_, err := authenticate(a, token)
				is.NoErr(err)
			}
			is.NoErr(tt.change(s, token))
			_, err := authenticate(s.Auth, token)
			is.Equal(status(err), tt.status)
			s.turn(cacheTTL - time.Millisecond)
			_, err = authenticate(other, token)
			is.NoErr(err)
			s.turn(time.Millisecond)
			_, err = authenticate(other, token)
			is.Equal(status(err), tt.status)
		})
	}
}

func TestNarrowedProductsApplyWithinASecond(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t)
	other := New(s.st, s.opts)
	token := s.token(t, s.client.ID, s.secret)
	products := func(a *Auth) []string {
		g, err := authenticate(a, token)
		is.NoErr(err)
		return g.Products
	}
	is.Equal(products(other), nil)
	is.Equal(products(s.Auth), nil)
	_, err := s.UpdateClient(t.Context(), UpdateClientParams{ID: s.client.ID, Products: &[]string{"p1"}})
	is.NoErr(err)
	is.Equal(products(s.Auth), []string{"p1"})
	is.Equal(products(other), nil)
	s.turn(cacheTTL)
	is.Equal(products(other), []string{"p1"})
}

// A process that gets a revocation stops accepting the token, even if another
// process has ended it already.
func TestRevokingAnEndedTokenAppliesImmediately(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t)
	other := New(s.st, s.opts)
	token := s.token(t, s.client.ID, s.secret)
	_, err := authenticate(other, token)
	is.NoErr(err)
	is.NoErr(s.post(s.ServeRevoke, url.Values{"token": {token}}))
	is.NoErr(s.post(other.ServeRevoke, url.Values{"token": {token}}))
	_, err = authenticate(other, token)
	is.Equal(status(err), 401)
}

// A verification that read the client before a change must not fill the cache
// after it.
func TestVerificationDuringAChangeIsNotCached(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t)
	token := s.token(t, s.client.ID, s.secret)
	st := &interruptedStore{Store: s.st.Store}
	a := New(st, s.opts)
	st.after = func() {
		_, err := a.UpdateClient(t.Context(), UpdateClientParams{ID: s.client.ID, Disabled: new(true)})
		is.NoErr(err)
	}
	_, err := authenticate(a, token)
	is.NoErr(err) // it started before the change
	_, err = authenticate(a, token)
	is.Equal(status(err), 401)
}

// interruptedStore calls after once it has read a client for the first time.
type interruptedStore struct {
	store.Store
	after func()
}

func (s *interruptedStore) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	e, err := s.Store.Entry(ctx, kind, key)
	if after := s.after; kind == kindClient && after != nil {
		s.after = nil
		after()
	}
	return e, err
}

// TestIntrospectionNeedsTheToken: a token that the store does not return may be active.
func TestIntrospectionNeedsTheToken(t *testing.T) {
	s := newIssuer(t)
	form := url.Values{"token": {s.token(t, s.client.ID, s.secret)}}
	a := New(&interruptedStore{s.st, func() { storeDown(t, s) }}, s.opts)
	err := s.post(a.ServeIntrospect, form)
	is.New(t).True(err != nil)
	require.Contains(t, err.Error(), "temporarily_unavailable")
}

func TestCachedTokenExpiresOnTime(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t, func(o *Options) { o.Tokens.TTL = time.Minute })
	token := s.token(t, s.client.ID, s.secret)
	s.turn(time.Minute - time.Millisecond)
	_, err := authenticate(s.Auth, token)
	is.NoErr(err)
	s.turn(time.Millisecond)
	_, err = authenticate(s.Auth, token)
	is.Equal(status(err), 401)
}

func TestCallersCannotChangeTheCache(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t)
	_, err := s.UpdateClient(t.Context(), UpdateClientParams{ID: s.client.ID, Products: &[]string{"p1"}})
	is.NoErr(err)
	token := s.token(t, s.client.ID, s.secret)
	for range 3 {
		g, err := authenticate(s.Auth, token)
		is.NoErr(err)
		is.Equal(g.Scopes, []string{ScopeLicenseRead, ScopeLicenseWrite})
		is.Equal(g.Products, []string{"p1"})
		g.Scopes[1], g.Products[0] = ScopeEventRead, "p2"
	}
}

func TestTokenCacheIsBounded(t *testing.T) {
	is := is.New(t)
	c := newTokenCache()
	for i := range 2*cacheSize + 1 {
		c.put(tokenDigest{byte(i), byte(i >> 8), byte(i >> 16)}, Grant{ExpiresAt: start.Add(time.Hour)}, start, 0)
		require.AtMost(t, len(c.grants), cacheSize)
	}
	last := 2 * cacheSize
	_, _, ok := c.get(tokenDigest{byte(last & 0xff), byte(last >> 8 & 0xff), byte(last >> 16)}, start)
	is.True(ok) // the newest token is in the cache
}

func TestTokenCacheForgetsUnusedTokens(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t)
	for range 3 {
		_, err := authenticate(s.Auth, s.token(t, s.client.ID, s.secret))
		is.NoErr(err)
	}
	is.Equal(len(s.cache.grants), 3)
	s.turn(cacheTTL)
	_, err := authenticate(s.Auth, s.token(t, s.client.ID, s.secret))
	is.NoErr(err)
	is.Equal(len(s.cache.grants), 1)
	s.turn(-time.Hour) // the clock was set back
	_, err = authenticate(s.Auth, s.token(t, s.client.ID, s.secret))
	is.NoErr(err)
	is.Equal(len(s.cache.grants), 1)
}

func TestNoVerificationSucceedsAfterAConcurrentChange(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t)
	token := s.token(t, s.client.ID, s.secret)
	var disabled atomic.Bool
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				before := disabled.Load()
				if _, err := authenticate(s.Auth, token); err == nil && before {
					t.Error("the token was accepted after the client was disabled")
					return
				}
			}
		})
	}
	_, err := s.UpdateClient(t.Context(), UpdateClientParams{ID: s.client.ID, Disabled: new(true)})
	is.NoErr(err)
	disabled.Store(true)
	wg.Wait()
	_, err = authenticate(s.Auth, token)
	is.Equal(status(err), 401)
}
