package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
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

// A wire is a transport to a real handler in this process. Each request takes
// the next fault, if there is one.
type wire struct {
	handler http.Handler

	mu       sync.Mutex
	faults   []fault
	requests []*http.Request // that are not for a token
	tokens   int             // requests for a token
}

// A fault answers a request in place of the handler, or with its help.
type fault func(w *wire, r *http.Request) (*http.Response, error)

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	w.mu.Lock()
	if strings.HasSuffix(r.URL.Path, "/oauth/token") {
		w.tokens++
		w.mu.Unlock()
		return w.answer(r), nil
	}
	w.requests = append(w.requests, r)
	var f fault
	if len(w.faults) > 0 {
		f, w.faults = w.faults[0], w.faults[1:]
	}
	w.mu.Unlock()
	if f != nil {
		return f(w, r)
	}
	return w.answer(r), nil
}

func (w *wire) answer(r *http.Request) *http.Response {
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, r)
	resp := rec.Result()
	resp.Request = r
	return resp
}

// refused is the error of a connection that was never made.
func refused(*wire, *http.Request) (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
}

// lost loses the response after the request had its effect.
func lost(w *wire, r *http.Request) (*http.Response, error) {
	w.answer(r)
	return nil, errors.New("connection reset")
}

// status answers with a status, and pairs of headers.
func status(code int, header ...string) fault {
	return func(*wire, *http.Request) (*http.Response, error) {
		resp := respond(code, "text/html", "<p>No.</p>")
		for i := 0; i < len(header); i += 2 {
			resp.Header.Set(header[i], header[i+1])
		}
		return resp, nil
	}
}

func problem(code int, name string) fault {
	return func(*wire, *http.Request) (*http.Response, error) {
		return respond(code, "application/problem+json", fmt.Sprintf(`{"status":%d,"code":%q}`, code, name)), nil
	}
}

// newWire returns a client whose requests take these faults, in a bubble of
// synctest.
func newWire(t *testing.T, faults ...fault) (*client.Client, *wire) {
	t.Helper()
	h, id, secret := newHandler(t, licensing.Options{})
	w := &wire{handler: h, faults: faults}
	c, err := client.New(client.Options{URL: "http://licensing.test", ClientID: id, ClientSecret: secret, HTTPClient: &http.Client{Transport: w}})
	if err != nil {
		t.Fatal(err)
	}
	return c, w
}

// TestRetriesCreateOneLicense loses, refuses and delays a creation.
func TestRetriesCreateOneLicense(t *testing.T) {
	for name, f := range map[string]fault{
		"connection refused":  refused,
		"response lost":       lost,
		"502":                 status(502),
		"503":                 status(503),
		"504":                 status(504),
		"429":                 status(429, "Retry-After", "2"),
		"outcome unknown":     problem(503, "outcome_unknown"),
		"busy":                problem(503, "busy"),
		"token refused":       problem(401, "invalid_token"),
		"lost after two more": nil,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				faults := []fault{f}
				if f == nil {
					faults = []fault{refused, status(503), lost}
				}
				c, w := newWire(t, faults...)
				start := time.Now()
				l, err := c.CreateLicense(t.Context(), atlas("cus_1"))
				is.NoErr(err)
				is.Equal(len(w.requests), len(faults)+1)
				key := w.requests[0].Header.Get("Idempotency-Key")
				require.AtLeast(t, len(key), 26)
				for _, r := range w.requests {
					is.Equal(r.Header.Get("Idempotency-Key"), key)
				}
				n := 0
				for other, err := range c.ListLicenses(t.Context(), api.ListLicensesParams{}) {
					is.NoErr(err)
					is.Equal(other.ID, l.ID)
					n++
				}
				is.Equal(n, 1)
				took := time.Since(start)
				if name == "429" {
					require.AtLeast(t, took, 2*time.Second) // as Retry-After says
				}
				require.Less(t, took, 4*time.Second)
				is.Equal(took > 0, name != "token refused") // which is repeated immediately
			})
		})
	}
}

func TestRetriesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		c, w := newWire(t, status(502), status(502), status(502), status(502), status(502), status(502))
		_, err := c.GetLicense(t.Context(), "lic_1")
		e, _ := errors.AsType[*client.Error](err)
		is.Equal(e.Status, 502)
		is.Equal(e.Code, client.CodeUnexpectedResponse)
		is.Equal(len(w.requests), 5)
	})
}

// TestNoRetry: what another attempt cannot change, or must not repeat.
func TestNoRetry(t *testing.T) {
	get := func(ctx context.Context, c *client.Client) error {
		_, err := c.GetLicense(ctx, "lic_1")
		return err
	}
	webhook := func(ctx context.Context, c *client.Client) error {
		_, err := c.CreateWebhook(ctx, api.CreateWebhookParams{URL: "https://example.com"})
		return err
	}
	for name, tt := range map[string]struct {
		call   func(context.Context, *client.Client) error
		fault  fault
		status int // 0: no response
	}{
		"500":                       {get, problem(500, "internal"), 500},
		"a captive portal":          {get, status(200), 200},
		"another service":           {get, func(*wire, *http.Request) (*http.Response, error) { return respond(200, "application/json", `{}`), nil }, 200},
		"a redirect":                {get, status(307, "Location", "http://evil.test/"), 307},
		"a long Retry-After":        {get, status(429, "Retry-After", "3600"), 429},
		"a webhook that may exist":  {webhook, lost, 0},
		"a webhook, unknown result": {webhook, problem(503, "outcome_unknown"), 503},
		"a webhook, 502":            {webhook, status(502), 502},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				c, w := newWire(t, tt.fault)
				err := tt.call(t.Context(), c)
				is.True(err != nil)
				is.Equal(len(w.requests), 1)
				if e, ok := errors.AsType[*client.Error](err); ok {
					is.Equal(e.Status, tt.status)
					is.Equal(errors.Is(err, client.CodeUnexpectedResponse), e.Status != 500 && e.Status != 503)
				} else {
					is.Equal(tt.status, 0)
				}
			})
		})
	}
	t.Run("a webhook that was not created", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			is := is.New(t)
			c, w := newWire(t, refused, problem(503, "busy"), status(429))
			is.NoErr(webhook(t.Context(), c))
			is.Equal(len(w.requests), 4)
		})
	})
}

func TestContextEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		c, w := newWire(t, status(503, "Retry-After", "30"), status(503, "Retry-After", "30"))
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := c.GetLicense(ctx, "lic_1")
		e, _ := errors.AsType[*client.Error](err)
		is.Equal(e.RetryAfter, 30*time.Second)
		is.Equal(time.Since(start), time.Duration(0)) // the deadline is before the next attempt

		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(10*time.Second, cancel)
		_, err = c.GetLicense(ctx, "lic_1")
		is.True(err != nil)
		is.Equal(time.Since(start), 10*time.Second)
		is.Equal(len(w.requests), 2)
	})
}

// TestStalledAttempt: an attempt without a response ends by itself.
func TestStalledAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		c, _ := newWire(t, func(_ *wire, r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		start := time.Now()
		_, err := c.CreateLicense(t.Context(), atlas("cus_1"))
		is.NoErr(err)
		require.AtLeast(t, time.Since(start), 30*time.Second)
	})
}

// TestDeletionAfterALostResponse: the second attempt finds nothing.
func TestDeletionAfterALostResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		c, w := newWire(t, nil, lost)
		l, err := c.CreateLicense(t.Context(), atlas("cus_1"))
		is.NoErr(err)
		is.NoErr(c.DeleteLicense(t.Context(), api.DeleteLicenseParams{ID: l.ID}))
		w.faults = []fault{refused}
		require.ErrorIs(t, c.DeleteLicense(t.Context(), api.DeleteLicenseParams{ID: l.ID}), api.CodeNotFound)
	})
}

// TestCredentialsStayAtTheirAddress: the token and the secret reach no other
// host, and no URL.
func TestCredentialsStayAtTheirAddress(t *testing.T) {
	is := is.New(t)
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	defer other.Close()
	h, id, secret := newHandler(t, licensing.Options{})
	var moved bool
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		require.NotContains(t, r.URL.String(), secret)
		if moved {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
			return
		}
		h.ServeHTTP(w, r)
	}))
	c, err := client.New(client.Options{URL: url, ClientID: id, ClientSecret: secret})
	is.NoErr(err)
	_, err = c.CreateLicense(t.Context(), atlas("cus_1"))
	is.NoErr(err)
	moved = true
	_, err = c.ValidateKey(t.Context(), api.ValidateKeyParams{Key: "k"})
	require.ErrorIs(t, err, client.CodeUnexpectedResponse)
	require.NotContains(t, err.Error(), secret)
}

func TestTruncatedExport(t *testing.T) {
	is := is.New(t)
	h, id, secret := newHandler(t, licensing.Options{})
	cut := false
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/export") {
			h.ServeHTTP(w, r)
			return
		}
		cut = true
		w.Header().Set("Content-Type", "application/x-ndjson")
		fmt.Fprintln(w, `{"name":"n","product_id":"atlas","customer_id":"c"}`)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}))
	c, err := client.New(client.Options{URL: url, ClientID: id, ClientSecret: secret})
	is.NoErr(err)
	rows := 0
	var last error
	for _, err := range c.ExportLicenses(t.Context(), api.ExportLicensesParams{}) {
		if last = err; err == nil {
			rows++
		}
	}
	is.True(cut)
	is.Equal(rows, 1) // not read again
	is.True(last != nil)
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
