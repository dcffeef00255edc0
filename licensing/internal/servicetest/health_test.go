package servicetest

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/licensingtest"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestHealthNamesWhatIsWrong looks at the details of problems.
func TestHealthNamesWhatIsWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		o := newOutage(t)
		began := time.Now()
		got := conditions["subscriber_failing"](o).Health(t.Context())
		is.Equal(len(got.Subscribers), 1)
		is.Equal(got.Subscribers[0].Name, "mailer")
		is.Equal(got.Subscribers[0].Events, int64(1))
		is.Equal(got.Subscribers[0].Since.Sub(began), 0*time.Second)
		is.Equal(got.Subscribers[0].LastError, "no mail server")
		i := slices.IndexFunc(got.Problems, func(p licensing.HealthProblem) bool { return p.Code == licensing.HealthSubscriber })
		require.AtLeast(t, i, 0)
		is.Equal(got.Problems[i].Subject, "mailer")
		is.True(got.Problems[i].Since != nil)
		require.NotContains(t, got.Problems[i].Detail, "mail server") // the error is with the subscriber

		o = newOutage(t)
		h := conditions["webhook_disabled"](o)
		hooks, err := h.Webhooks().List(t.Context(), api.ListWebhooksParams{})
		is.NoErr(err)
		got = h.Health(t.Context())
		i = slices.IndexFunc(got.Problems, func(p licensing.HealthProblem) bool { return p.Code == licensing.HealthWebhookDisabled })
		require.AtLeast(t, i, 0)
		is.Equal(got.Problems[i].Subject, hooks.Data[0].ID)
		is.Equal(got.Problems[i].Detail, "The webhook is disabled: the endpoint answered 410 Gone.")
	})
}

// TestFailingWritesShow while reads work: after a request, or without one after the
// hourly write of Run, and until a write succeeds, which Run tries.
func TestFailingWritesShow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		o := newOutage(t)
		h := o.handler()
		create := func() error {
			_, err := h.Service().Create(t.Context(), api.CreateLicenseParams{Name: "n", ProductID: "p", CustomerID: "c"})
			return err
		}
		failing := func() *licensing.HealthProblem {
			got := h.Health(t.Context())
			is.Equal(got.Status, "ready")
			is.Equal(ask(t, h, "GET", "/ready", "", "").Code, http.StatusOK)
			i := slices.IndexFunc(got.Problems, func(p licensing.HealthProblem) bool { return p.Code == licensing.HealthWrites })
			if i < 0 {
				return nil
			}
			return &got.Problems[i]
		}
		is.NoErr(create())
		is.Equal(failing(), nil)
		began := time.Now()
		o.store.readOnly.Store(true)
		is.True(create() != nil)
		time.Sleep(time.Second)
		is.True(create() != nil)
		is.Equal(failing().Since.Sub(began), 0*time.Second)
		require.Contains(t, failing().Detail, "the disk is full")
		_, err := h.Service().Create(t.Context(), api.CreateLicenseParams{}) // a refusal of the rules says nothing of the store
		is.True(err != nil)
		o.store.readOnly.Store(false)
		is.NoErr(h.Service().Atomically(t.Context(), func(*license.Service) error { return nil })) // nor does an Update that writes nothing
		is.True(failing() != nil)
		is.NoErr(create())
		is.True(failing() != nil) // others may still fail, as on a disk that is almost full
		time.Sleep(time.Minute)
		is.Equal(failing(), nil)

		defer begin(t, h)()
		time.Sleep(time.Minute)
		o.store.readOnly.Store(true)
		time.Sleep(2 * time.Hour) // without a request
		is.True(failing() != nil)
		before := o.store.refused.Load()
		time.Sleep(10 * time.Minute)
		if n := o.store.refused.Load() - before; n < 50 || n > 100 { // and the hourly write itself, every 30 s
			t.Errorf("%d writes were tried in 10 minutes", n)
		}
		o.store.readOnly.Store(false)
		time.Sleep(12*time.Second + time.Minute)
		is.Equal(failing(), nil)
	})
}

// TestRequestsThatFailShow for a minute, while the service stays ready.
func TestRequestsThatFailShow(t *testing.T) {
	for name, tt := range map[string]struct {
		method, path, body string
		fail               func(o *outage, l store.License)
		detail             string
	}{
		"a refused write": {"POST", "/license", someLicense, func(o *outage, _ store.License) { o.store.locked = true }, "POST /license: "},
		"an undecodable record": {"GET", "/license/c", "", func(o *outage, l store.License) {
			l.Document = []byte("{")
			_ = o.store.Update(o.t.Context(), func(tx store.Tx) error { return tx.UpdateLicense(o.t.Context(), l) })
		}, "GET /license/{licenseID}: "},
		"a panic": {"POST", "/license", someLicense, func(o *outage, _ store.License) {
			o.opts.BeforeCreate = func(context.Context, *api.CreateLicenseParams) error { panic("no plan") }
		}, "no plan"},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			o := newOutage(t)
			o.opts.Logger = discard
			now := time.Now()
			o.opts.Now = func() time.Time { return now }
			h := o.handler()
			token := tokenFor(t, h)
			happen(t, h, 1)
			all, err := o.store.Licenses(t.Context(), store.LicenseQuery{Limit: 1})
			is.NoErr(err)
			tt.fail(o, all[0])
			h = o.handler()
			send := func() int { return ask(t, h, tt.method, tt.path, token, tt.body).Code }
			failing := func() (found []licensing.HealthProblem) {
				got := h.Health(t.Context())
				is.Equal(got.Status, "ready")
				is.Equal(ask(t, h, "GET", "/ready", "", "").Code, http.StatusOK)
				for _, p := range got.Problems {
					if p.Code == licensing.HealthRequests {
						found = append(found, p)
					}
				}
				return found
			}

			is.Equal(ask(t, h, "GET", "/license/lic_none", token, "").Code, http.StatusNotFound)
			is.Equal(len(failing()), 0)
			began := now
			is.Equal(send(), http.StatusInternalServerError)
			now = now.Add(59 * time.Second)
			is.Equal(send(), http.StatusInternalServerError)
			now = now.Add(59 * time.Second)
			got := failing()
			is.Equal(len(got), 1)
			is.Equal(*got[0].Since, began)
			require.Contains(t, got[0].Detail, tt.detail)
			now = now.Add(time.Second)
			is.Equal(len(failing()), 0)
		})
	}
}

// TestHealthWithAnUndecodableRecord of its own says so, and that the store answers.
func TestHealthWithAnUndecodableRecord(t *testing.T) {
	is := is.New(t)
	o := newOutage(t)
	h := o.handler()
	is.NoErr(o.store.Update(t.Context(), func(tx store.Tx) error {
		return tx.PutEntries(t.Context(), store.Entry{Kind: "revocation_list", Key: "atlas", Data: []byte("{")})
	}))
	got := h.Health(t.Context())
	is.Equal(got.Status, "ready")
	is.Equal(len(got.Problems), 1)
	is.Equal(got.Problems[0].Code, licensing.HealthRequests)
	require.Contains(t, got.Problems[0].Detail, `revocation list of product "atlas"`)
}

// TestDamageEndsReadiness until the process starts again, although other reads work.
func TestDamageEndsReadiness(t *testing.T) {
	is := is.New(t)
	o := newOutage(t)
	h := conditions["store_damaged"](o)
	is.Equal(ask(t, h, "GET", "/ready", "", "").Code, http.StatusServiceUnavailable)
	is.Equal(h.Health(t.Context()).Status, "unavailable")
	o.store.damaged = false
	is.Equal(ask(t, h, "GET", "/ready", "", "").Code, http.StatusServiceUnavailable)
	is.Equal(ask(t, o.handler(), "GET", "/ready", "", "").Code, http.StatusOK)
}

// TestHealthCountsSigningKeys covers the keys of license files in health.
func TestHealthCountsSigningKeys(t *testing.T) {
	is := is.New(t)
	problems := func(h licensing.Health) (codes []licensing.HealthCode) {
		for _, p := range h.Problems {
			codes = append(codes, p.Code)
		}
		return codes
	}
	o := newOutage(t)
	master := o.opts.MasterKey
	o.opts.MasterKey = nil
	_, err := o.handler().Files().KeySet(t.Context())
	is.NoErr(err)
	got := o.handler().Health(t.Context())
	is.Equal(got.SigningKeys, files.SecretCounts{Clear: 2})
	require.Includes(t, problems(got), licensing.HealthSecretsClear)

	o = newOutage(t)
	_, err = o.handler().Files().KeySet(t.Context())
	is.NoErr(err)
	got = o.handler().Health(t.Context())
	is.Equal(got.SigningKeys, files.SecretCounts{Sealed: 2})
	is.True(!slices.Contains(problems(got), licensing.HealthSecretsClear))
	o.opts.MasterKey, o.opts.PreviousMasterKeys = []byte(strings.Repeat("o", 32)), [][]byte{master}
	is.Equal(o.handler().Health(t.Context()).SigningKeys, files.SecretCounts{Previous: 2})
	o.opts.PreviousMasterKeys = nil
	got = o.handler().Health(t.Context())
	is.Equal(got.SigningKeys, files.SecretCounts{Unreadable: 2})
	require.Includes(t, problems(got), licensing.HealthSecretsUnreadable)
}

// TestReadyVerbose asks for the health over HTTP: with a token that may read
// events of all products, and without.
func TestReadyVerbose(t *testing.T) {
	is := is.New(t)
	kit := licensingtest.New(t, licensing.Options{})
	hook(t, kit.Handler, "shop.example")
	kit.Clock.Advance(2 * time.Minute) // longer than a running process leaves an event
	token := func(p auth.CreateClientParams) string {
		c, secret := kit.NewClient(p)
		token, _ := kit.NewToken(c.ID, secret)
		return token
	}
	for _, tt := range []struct {
		token  string
		status int
		code   string
	}{
		{"", http.StatusUnauthorized, "unauthorized"},
		{token(auth.CreateClientParams{Name: "shop"}), http.StatusForbidden, "insufficient_scope"},
		{token(auth.CreateClientParams{Name: "shop", Scopes: []string{auth.ScopeEventRead}, Products: []string{"atlas"}}), http.StatusForbidden, "product_forbidden"},
	} {
		w := ask(t, kit.Handler, "GET", "/ready?verbose", tt.token, "")
		is.Equal(w.Code, tt.status)
		require.Contains(t, w.Body.String(), `"code":"`+tt.code+`"`)
		require.NotContains(t, w.Body.String(), "problems")
	}
	is.Equal(strings.TrimSpace(ask(t, kit.Handler, "GET", "/ready", "", "").Body.String()), `{"status":"ready"}`)

	monitor := token(auth.CreateClientParams{Name: "monitor", Scopes: []string{auth.ScopeEventRead}})
	for _, query := range []string{"verbose", "verbose=", "verbose=1", "verbose&verbose", "verbose&t=%zz"} {
		w := ask(t, kit.Handler, "GET", "/ready?"+query, monitor, "")
		is.Equal(w.Code, http.StatusOK)
		var got licensing.Health
		is.NoErr(json.Unmarshal(w.Body.Bytes(), &got))
		is.Equal(got, kit.Handler.Health(t.Context()))
		is.Equal(got.Problems[0].Code, licensing.HealthNotRunning)
	}
}

// TestProbes: load balancers need no token, and may send a query or a body of
// their own.
func TestProbes(t *testing.T) {
	is := is.New(t)
	h := licensing.NewHandler(memory.New(), licensing.Options{Logger: discard})
	for path, want := range map[string]string{"/health": `{"status":"ok"}`, "/ready": `{"status":"ready"}`} {
		for _, query := range []string{"", "?", "?t=1&t=2", "?t=%zz", "?Verbose", "?a;b"} {
			for _, body := range []string{"", "probe"} {
				w := ask(t, h, "GET", path+query, "not a token", body)
				is.Equal(w.Code, http.StatusOK)
				is.Equal(w.Body.String(), want+"\n")
			}
		}
	}
}
