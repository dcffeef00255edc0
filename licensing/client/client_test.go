package client_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/client"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// newHandler returns a service in memory and the credentials of an API client
// with every scope.
func newHandler(t *testing.T, opts licensing.Options) (h *licensing.Handler, id, secret string) {
	t.Helper()
	opts.Logger = slog.New(slog.DiscardHandler)
	h = licensing.NewHandler(memory.New(), opts)
	c, secret, err := h.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "test", Scopes: auth.Scopes()})
	if err != nil {
		t.Fatal(err)
	}
	return h, c.ID, secret
}

// serve returns the URL of a service on loopback, mounted below a prefix.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(http.StripPrefix("/licensing", h))
	t.Cleanup(s.Close)
	return s.URL + "/licensing"
}

// newService returns a client of a service on loopback.
func newService(t *testing.T, opts licensing.Options) (*client.Client, *licensing.Handler) {
	t.Helper()
	h, id, secret := newHandler(t, opts)
	c, err := client.New(client.Options{URL: serve(t, h), ClientID: id, ClientSecret: secret})
	if err != nil {
		t.Fatal(err)
	}
	return c, h
}

func atlas(customer string) api.CreateLicenseParams {
	return api.CreateLicenseParams{Name: "Atlas Team", ProductID: "atlas", CustomerID: customer}
}

func TestNewRefusesWrongOptions(t *testing.T) {
	for url, want := range map[string]string{
		"":                               "must be set",
		"licensing.example.com":          "must begin with",
		"ftp://example.com":              "must begin with",
		"https:///licensing":             "must begin with",
		"https://ada:pw@example.com":     "user name",
		"https://example.com/?a=1":       "query",
		"https://example.com/#x":         "fragment",
		"https://exa mple.com/licensing": "must be a URL",
	} {
		_, err := client.New(client.Options{URL: url})
		if err == nil || !strings.Contains(err.Error(), "client: Options.URL ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v, want one with %q", url, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "pw") {
			t.Errorf("the error repeats the password: %v", err)
		}
	}
	_, err := client.New(client.Options{URL: "https://example.com", ClientID: "cid_1"})
	is.New(t).True(err != nil)
}

func TestLifeOfALicense(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	c, _ := newService(t, licensing.Options{})
	p := atlas("cus_1")
	end := time.Now().Add(24 * time.Hour).UTC().Truncate(time.Millisecond)
	p.ExpiresAt, p.MaxActivations = &end, new(int64(1))
	p.Entitlements = map[string]any{"export": true, "users": 5, "tier": "gold"}
	p.Metadata = map[string]string{"order": "7"}
	l, err := c.CreateLicense(ctx, p)
	is.NoErr(err)
	require.HasPrefix(t, l.ID, "lic_")
	is.True(l.Key != "")
	is.Equal(l.Entitlements, map[string]any{"export": true, "users": 5.0, "tier": "gold"})
	is.Equal(l.ExpiresAt.UTC(), end)

	got, err := c.GetLicense(ctx, l.ID)
	is.NoErr(err)
	is.Equal(got, l)

	l, err = c.UpdateLicense(ctx, api.UpdateLicenseParams{
		ID: l.ID, Name: new("Atlas Solo"), MaxActivations: api.ToNull[int64](), LeaseSeconds: api.To[int64](60),
		Metadata: api.To(map[string]*string{"order": nil, "region": new("eu")}), IfMatch: []api.Version{l.Version()},
	})
	is.NoErr(err)
	is.Equal(l.Name, "Atlas Solo")
	is.Equal(l.MaxActivations, nil)
	is.Equal(*l.LeaseSeconds, int64(60))
	is.Equal(l.Metadata, map[string]string{"region": "eu"})
	is.Equal(l.Entitlements["tier"], "gold") // was not set, and stayed

	l, err = c.UpdateLicense(ctx, api.UpdateLicenseParams{Name: new("Atlas"), ProductID: new("atlas"), CustomerID: new("cus_1")})
	is.NoErr(err)
	is.Equal(l.Name, "Atlas")

	stale := []api.Version{{Revision: 1, Status: api.LicenseActive}}
	_, err = c.SuspendLicense(ctx, api.ChangeStateParams{ID: l.ID, IfMatch: stale})
	require.ErrorIs(t, err, api.CodeStale)
	l, err = c.SuspendLicense(ctx, api.ChangeStateParams{ID: l.ID, Reason: "invoice 7 is open"})
	is.NoErr(err)
	is.Equal(l.Status, api.LicenseSuspended)
	is.Equal(l.StatusReason, "invoice 7 is open")
	l, err = c.ReinstateLicense(ctx, api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)
	held, err := c.SuspendCustomer(ctx, api.ChangeCustomerStateParams{CustomerID: "cus_1", Reason: "invoice 7 is open"})
	is.NoErr(err)
	is.Equal(held, api.CustomerSuspension{Object: "customer_suspension", CustomerID: "cus_1", Suspended: true, Licenses: 1})
	_, err = c.ReinstateLicense(ctx, api.ChangeStateParams{ID: l.ID})
	require.ErrorIs(t, err, api.CodeStateForbidden)
	require.Contains(t, err.Error(), "Reinstate the customer.")
	held, err = c.ReinstateCustomer(ctx, api.ChangeCustomerStateParams{CustomerID: "cus_1"})
	is.NoErr(err)
	is.Equal(held, api.CustomerSuspension{Object: "customer_suspension", CustomerID: "cus_1", Licenses: 1})
	l, err = c.RenewLicense(ctx, api.RenewLicenseParams{ID: l.ID, Duration: api.Duration{Years: 1}, From: api.RenewFromExpiry})
	is.NoErr(err)
	is.Equal(l.ExpiresAt.UTC(), end.AddDate(1, 0, 0))
	old := l.Key
	l, err = c.RekeyLicense(ctx, api.RekeyLicenseParams{ID: l.ID})
	is.NoErr(err)
	is.True(l.Key != old)

	generation := l.Generation
	l, err = c.VoidFiles(ctx, api.VoidFilesParams{ID: l.ID, Reason: "laptop stolen", IfMatch: []api.Version{l.Version()}})
	is.NoErr(err)
	is.Equal(l.Generation, generation+1)

	v, err := c.ExplainLicense(ctx, api.ExplainLicenseParams{
		ID: l.ID, At: end.AddDate(2, 0, 0), ProductID: "borealis", Entitlements: []string{"export", "import"},
	})
	is.NoErr(err)
	var codes []api.Code
	for _, reason := range v.Reasons {
		codes = append(codes, reason.Code)
	}
	is.Equal(codes, []api.Code{api.VerdictExpired, api.VerdictProductMismatch, api.VerdictEntitlementMissing})

	l, err = c.RevokeLicense(ctx, api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)
	_, err = c.ReinstateLicense(ctx, api.ChangeStateParams{ID: l.ID})
	e, _ := errors.AsType[*client.Error](err)
	is.Equal([]string{string(e.Code), e.From, e.To}, []string{"state_forbidden", "revoked", "active"})

	is.NoErr(c.DeleteLicense(ctx, api.DeleteLicenseParams{ID: l.ID, IfMatch: []api.Version{l.Version()}}))
	require.ErrorIs(t, c.DeleteLicense(ctx, api.DeleteLicenseParams{ID: l.ID}), api.CodeNotFound)
	_, err = c.GetLicense(ctx, l.ID)
	require.ErrorIs(t, err, api.CodeNotFound)
	_, err = c.GetLicense(ctx, "")
	is.Equal(err.Error(), "GET /license/{licenseID}: ID must be set")
}

func TestErrorsNameTheFields(t *testing.T) {
	is := is.New(t)
	c, _ := newService(t, licensing.Options{})
	_, err := c.CreateLicense(t.Context(), api.CreateLicenseParams{Name: "n", ProductID: "atlas", CustomerID: "lic_1", Terms: api.Terms{GraceSeconds: -1}})
	e, ok := errors.AsType[*client.Error](err)
	is.True(ok)
	is.Equal(e.Status, http.StatusUnprocessableEntity)
	is.Equal(e.Code, api.CodeInvalidParameters)
	is.True(e.Title != "" && e.Detail != "")
	is.True(e.RequestID != "")
	var pointers []string
	for _, f := range e.Errors {
		is.True(f.Code != "" && f.Detail != "")
		pointers = append(pointers, f.Pointer)
	}
	slices.Sort(pointers)
	is.Equal(pointers, []string{"#/customer_id", "#/grace_seconds"})
	for _, want := range []string{"POST /license: 422 invalid_parameters: ", "#/grace_seconds ", e.RequestID} {
		require.Contains(t, err.Error(), want)
	}
}

// TestCallsWithALicenseKey uses a client without credentials.
func TestCallsWithALicenseKey(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	h, _, _ := newHandler(t, licensing.Options{KeyHolderSeats: true})
	l, err := h.Service().Create(ctx, api.CreateLicenseParams{Name: "n", ProductID: "atlas", CustomerID: "c", Terms: api.Terms{MaxActivations: new(int64(1))}})
	is.NoErr(err)
	c, err := client.New(client.Options{URL: serve(t, h)})
	is.NoErr(err)

	v, err := c.ValidateKey(ctx, api.ValidateKeyParams{Key: l.Key, ProductID: "atlas", Entitlements: []string{"export"}})
	is.NoErr(err)
	is.Equal(v.Code, api.VerdictEntitlementMissing)
	is.Equal(v.License.ID, l.ID)
	is.Equal(v.License.Key, "")
	v, err = c.ActivateKey(ctx, api.ActivateKeyParams{Key: l.Key, Fingerprint: "pc-1", Name: "Ada's PC", Metadata: map[string]string{"os": "linux"}})
	is.NoErr(err)
	is.Equal(v.Activation.Name, "Ada's PC")
	is.Equal(v.Activation.Status, api.ActivationLive)

	_, err = c.ActivateKey(ctx, api.ActivateKeyParams{Key: l.Key, Fingerprint: "pc-2"})
	require.ErrorIs(t, err, api.VerdictActivationLimit)
	e, _ := errors.AsType[*client.Error](err)
	is.Equal(e.Verdict.Reasons[0].Code, api.VerdictActivationLimit)
	_, err = c.ActivateKey(ctx, api.ActivateKeyParams{Key: l.Key, Fingerprint: "pc-2", TakeOver: "oldest"})
	is.NoErr(err)
	v, err = c.ValidateKey(ctx, api.ValidateKeyParams{Key: l.Key, Fingerprint: "pc-1"})
	is.NoErr(err)
	is.Equal(v.Code, api.VerdictEvicted)

	n := 0
	for a, err := range c.ListActivationsOfKey(ctx, api.ListActivationsParams{Key: l.Key, Ended: true, Limit: 1}) {
		is.NoErr(err)
		is.Equal(a.LicenseID, l.ID)
		n++
	}
	is.Equal(n, 2) // over two pages
	a, err := c.DeactivateKey(ctx, api.DeactivateKeyParams{Key: l.Key, Fingerprint: "pc-2"})
	is.NoErr(err)
	is.Equal(a.Status, api.ActivationReleased)

	v, err = c.ValidateKey(ctx, api.ValidateKeyParams{Key: "no such key"})
	is.NoErr(err)
	is.Equal(v.Code, api.CodeNotFound)
	is.Equal(v.License, nil)

	_, err = c.GetLicense(ctx, l.ID)
	require.Contains(t, err.Error(), "Options.ClientID")
}

func TestLists(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	c, h := newService(t, licensing.Options{})
	for range 5 {
		_, err := c.CreateLicense(ctx, atlas("cus_1"))
		is.NoErr(err)
	}
	other, err := c.CreateLicense(ctx, atlas("cus_2"))
	is.NoErr(err)
	seen := map[string]bool{}
	for l, err := range c.ListLicenses(ctx, api.ListLicensesParams{CustomerID: "cus_1", Status: api.LicenseActive, Limit: 2}) {
		is.NoErr(err)
		is.Equal(l.CustomerID, "cus_1")
		seen[l.ID] = true
	}
	is.Equal(len(seen), 5)
	for range c.ListLicenses(ctx, api.ListLicensesParams{Limit: 1}) {
		break // must not panic
	}
	failed := false
	for l, err := range c.ListLicenses(ctx, api.ListLicensesParams{Limit: 1000}) {
		is.Equal(l.ID, "")
		require.ErrorIs(t, err, api.CodeInvalidRequest)
		failed = true
	}
	is.True(failed)

	for _, fingerprint := range []string{"a", "b", "c"} {
		_, err := h.Service().Activate(ctx, api.ActivateKeyParams{Key: other.Key, Fingerprint: fingerprint})
		is.NoErr(err)
	}
	var ids []string
	for a, err := range c.ListActivations(ctx, api.ListActivationsParams{LicenseID: other.ID, Limit: 2}) {
		is.NoErr(err)
		ids = append(ids, a.ID)
	}
	is.Equal(len(ids), 3)
	a, err := c.ReleaseActivation(ctx, api.ReleaseActivationParams{LicenseID: other.ID, ActivationID: ids[0], Reason: "asked by mail"})
	is.NoErr(err)
	is.Equal(a.Status, api.ActivationReleased)

	_, err = c.ValidateKey(ctx, api.ValidateKeyParams{Key: other.Key, ProductID: "other", Fingerprint: "b"})
	is.NoErr(err)
	var refusals []api.Refusal
	for r, err := range c.ListRefusals(ctx, api.ListRefusalsParams{ID: other.ID}) {
		is.NoErr(err)
		refusals = append(refusals, r)
	}
	is.Equal(len(refusals), 1)
	is.Equal(refusals[0].Code, api.VerdictProductMismatch)
	is.Equal(refusals[0].Count, int64(1))
	is.Equal(refusals[0].Days[0].Count, int64(1))
	is.Equal(refusals[0].Recent[0].Fingerprint, "b")
	is.Equal(refusals[0].Recent[0].Action, "validate")
	for _, err := range c.ListRefusals(ctx, api.ListRefusalsParams{ID: "lic_01kaxh3v9zq7w5m2r8t4y6b1cd"}) {
		require.ErrorIs(t, err, api.CodeNotFound)
	}
}

func TestEventFeed(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	c, _ := newService(t, licensing.Options{})
	for range 3 {
		_, err := c.CreateLicense(ctx, atlas("cus_1"))
		is.NoErr(err)
	}
	read := func(after string) (types []string, cursor string) {
		for page, err := range c.ListEvents(ctx, api.ListEventsParams{After: after, Types: []string{"license.*"}, Limit: 2}) {
			is.NoErr(err)
			for _, e := range page.Data {
				types = append(types, e.Type)
				data, err := e.Decode()
				is.NoErr(err)
				is.Equal(data.License.CustomerID, "cus_1")
			}
			cursor = page.NextCursor
		}
		return types, cursor
	}
	types, cursor := read("")
	is.Equal(types, []string{"license.created", "license.created", "license.created"})
	types, end := read(cursor)
	is.Equal(len(types), 0) // nothing new, and the cursor still arrives
	is.True(end != "")
	l, err := c.CreateLicense(ctx, atlas("cus_1"))
	is.NoErr(err)
	_, err = c.UpdateLicense(ctx, api.UpdateLicenseParams{ID: l.ID, Name: new("New name")})
	is.NoErr(err)
	types, _ = read(end)
	is.Equal(types, []string{"license.created", "license.updated"})

	// The same cursor at another service, as after a restored backup.
	restored, _ := newService(t, licensing.Options{})
	for _, err := range restored.ListEvents(ctx, api.ListEventsParams{After: end}) {
		require.ErrorIs(t, err, api.CodeCursorGone)
	}
}

func TestExportAndImport(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	from, _ := newService(t, licensing.Options{})
	to, _ := newService(t, licensing.Options{})
	for range 3 {
		_, err := from.CreateLicense(ctx, atlas("cus_1"))
		is.NoErr(err)
	}
	var rows []api.LicenseRow
	for row, err := range from.ExportLicenses(ctx, api.ExportLicensesParams{ProductID: "atlas"}) {
		is.NoErr(err)
		is.True(row.Key != "")
		rows = append(rows, row)
	}
	is.Equal(len(rows), 3)
	rows = append(rows, api.LicenseRow{CreateLicenseParams: api.CreateLicenseParams{Name: "n"}})
	want := []string{"created", "created", "created", "refused"}
	for range 2 {
		var results []string
		for result, err := range to.ImportLicenses(ctx, rows) {
			is.NoErr(err)
			results = append(results, result.Result)
			is.Equal(len(result.Errors) > 0, result.Result == "refused")
		}
		is.Equal(results, want)
		want = []string{"exists", "exists", "exists", "refused"}
	}
	l, err := to.GetLicense(ctx, rows[0].ID)
	is.NoErr(err)
	is.Equal(l.Key, rows[0].Key)
	for range to.ExportLicenses(ctx, api.ExportLicensesParams{}) {
		break // must not be reported as an error
	}
}

func TestTokensAndHealth(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	c, _ := newService(t, licensing.Options{PublicURL: "https://example.com/licensing"})
	tok, err := c.IssueToken(ctx, client.IssueTokenParams{Scope: "license:read"})
	is.NoErr(err)
	is.Equal(tok.Scope, "license:read")
	seen, err := c.IntrospectToken(ctx, tok.AccessToken)
	is.NoErr(err)
	is.True(seen.Active)
	require.Greater(t, seen.ExpiresAt, seen.IssuedAt)
	is.NoErr(c.RevokeToken(ctx, tok.AccessToken))
	seen, err = c.IntrospectToken(ctx, tok.AccessToken)
	is.NoErr(err)
	is.Equal(seen, client.Introspection{})
	_, err = c.IssueToken(ctx, client.IssueTokenParams{Scope: "everything"})
	require.ErrorIs(t, err, api.CodeInvalidScope)

	m, err := c.GetMetadata(ctx)
	is.NoErr(err)
	is.Equal(m.TokenEndpoint, "https://example.com/licensing/oauth/token")
	for _, get := range []func() (client.Health, error){
		func() (client.Health, error) { return c.GetHealth(ctx) }, func() (client.Health, error) {
			ready, err := c.GetReady(ctx, false)
			return client.Health{Status: ready.Status}, err
		},
	} {
		health, err := get()
		is.NoErr(err)
		is.True(health.Status != "")
	}
	text, err := c.GetDescription(ctx)
	is.NoErr(err)
	require.Contains(t, string(text), `"openapi"`)
}

// run runs the background work of a service until the test ends.
func run(t *testing.T, h *licensing.Handler) {
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { h.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		work.Wait()
	})
}

func TestGetFileKeys(t *testing.T) {
	is := is.New(t)
	h, id, secret := newHandler(t, licensing.Options{})
	c, err := client.New(client.Options{URL: serve(t, h), ClientID: id, ClientSecret: secret})
	is.NoErr(err)
	jwks, err := c.GetFileKeys(t.Context())
	is.NoErr(err)
	keys, err := licensefile.ParseKeys(jwks)
	is.NoErr(err)
	is.Equal(len(keys.IDs()), 2)
}

// TestParametersThatAreNotSent: a parameter that a request cannot carry is an error,
// never ignored.
func TestParametersThatAreNotSent(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	c, _ := newService(t, licensing.Options{})
	for _, err := range c.ListLicenses(ctx, api.ListLicensesParams{Search: "atlas"}) {
		is.Equal(err.Error(), "GET /license: Search has no place in this request; it must not be set")
	}
	for _, err := range c.ListActivations(ctx, api.ListActivationsParams{LicenseID: "lic_1", Key: "k"}) {
		is.Equal(err.Error(), "GET /license/{licenseID}/activation: Key has no place in this request; it must not be set")
	}
	_, err := c.Once("order-1").CreateWebhook(ctx, api.CreateWebhookParams{URL: "https://a.example/"})
	is.Equal(err.Error(), "POST /webhook: has no idempotency key; call it without Once")

	l, err := c.CreateLicense(ctx, atlas("cus_1"))
	is.NoErr(err)
	_, err = c.UpdateLicense(ctx, api.UpdateLicenseParams{ID: l.ID, Name: new("x"), IfMatch: []api.Version{}})
	require.ErrorIs(t, err, api.CodeStale) // as in Go: no version matches
	l, err = c.UpdateLicense(ctx, api.UpdateLicenseParams{Match: &api.Match{ProductID: "atlas", CustomerID: "cus_1"}, Name: new("Atlas 2")})
	is.NoErr(err)
	is.Equal(l.Name, "Atlas 2")
}
