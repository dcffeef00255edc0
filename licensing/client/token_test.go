package client_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/client"
)

// TestTokens: one request for any number of callers, early renewal, and one
// request when the service has revoked the token.
func TestTokenSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		c, w := newWire(t)
		all := func() {
			var calls sync.WaitGroup
			for range 64 {
				calls.Go(func() {
					_, err := c.GetLicense(t.Context(), "lic_00000000000000000000000000")
					require.ErrorIs(t, err, api.CodeNotFound)
				})
			}
			calls.Wait()
		}
		all()
		is.Equal(w.tokens, 1)
		time.Sleep(58 * time.Minute)
		all()
		is.Equal(w.tokens, 1)
		time.Sleep(90 * time.Second) // half a minute before the end
		all()
		is.Equal(w.tokens, 2)
		time.Sleep(2 * time.Hour)
		all()
		is.Equal(w.tokens, 3)

		is.NoErr(c.RevokeToken(t.Context(), strings.TrimPrefix(w.requests[len(w.requests)-1].Header.Get("Authorization"), "Bearer ")))
		time.Sleep(2 * time.Second)
		all()
		is.Equal(w.tokens, 4)
	})
}

// TestEarlyRenewalFails: the token in use is still good.
func TestEarlyRenewalFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		h, id, secret := newHandler(t, licensing.Options{})
		down := false
		w := &wire{handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if down && r.URL.Path == "/oauth/token" {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			h.ServeHTTP(w, r)
		})}
		c, err := client.New(client.Options{URL: "http://licensing.test", ClientID: id, ClientSecret: secret, HTTPClient: &http.Client{Transport: w}})
		is.NoErr(err)
		_, err = c.CreateLicense(t.Context(), atlas("cus_1"))
		is.NoErr(err)
		down = true
		time.Sleep(59*time.Minute + 30*time.Second)
		_, err = c.CreateLicense(t.Context(), atlas("cus_1"))
		is.NoErr(err)
		time.Sleep(time.Minute)
		_, err = c.CreateLicense(t.Context(), atlas("cus_1"))
		e, _ := errors.AsType[*client.Error](err)
		is.Equal(e.Status, 502)
	})
}

// TestCanceledCallerDoesNotFailTheOthers: the caller that requests the token
// leaves, and the others still get one.
func TestCanceledCallerDoesNotFailTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		h, id, secret := newHandler(t, licensing.Options{})
		first := true
		c, err := client.New(client.Options{URL: "http://licensing.test", ClientID: id, ClientSecret: secret,
			HTTPClient: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				if strings.HasSuffix(r.URL.Path, "/oauth/token") && first {
					first = false
					<-r.Context().Done()
					return nil, r.Context().Err()
				}
				return (&wire{handler: h}).answer(r), nil
			})}})
		is.NoErr(err)
		ctx, cancel := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		calls.Go(func() {
			_, err := c.CreateLicense(ctx, atlas("cus_1"))
			require.ErrorIs(t, err, context.Canceled)
		})
		synctest.Wait()
		for range 8 {
			calls.Go(func() {
				_, err := c.CreateLicense(t.Context(), atlas("cus_1"))
				is.NoErr(err)
			})
		}
		synctest.Wait()
		cancel()
		calls.Wait()
	})
}

func TestWrongSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		h, id, _ := newHandler(t, licensing.Options{})
		w := &wire{handler: h}
		c, err := client.New(client.Options{URL: "http://licensing.test", ClientID: id, ClientSecret: "csk_wrong", HTTPClient: &http.Client{Transport: w}})
		is.NoErr(err)
		_, err = c.CreateLicense(t.Context(), atlas("cus_1"))
		require.ErrorIs(t, err, api.CodeInvalidClient)
		is.Equal(w.tokens, 1)
		require.NotContains(t, err.Error(), "csk_")
	})
}
