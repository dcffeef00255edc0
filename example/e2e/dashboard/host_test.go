package dashboard

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// prefix is the path of the mount. It has several segments, one from a parameter.
const prefix = "/tenants/acme/licensing"

const (
	adminEmail    = "ada@example.com"
	adminPassword = "the ferry leaves before breakfast"
)

// host is an application that mounts the service.
type host struct {
	*licensing.Handler
	base  string // URL of the mount
	log   *logBuffer
	store store.Store
	mails chan string // addresses to which something was mailed
}

// MailLink stands for the sign-in by mail.
func (h *host) MailLink(_ context.Context, address string) error {
	h.mails <- address
	return nil
}

// MailChange stands for the mail to a former address.
func (h *host) MailChange(_ context.Context, former, _ string) error {
	h.mails <- former
	return nil
}

// logBuffer is a log that tests can read.
type logBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newHost(t *testing.T) *host {
	t.Helper()
	st, err := sqlite.Open(filepath.Join(t.TempDir(), "licenses.db"))
	is.New(t).NoErr(err)
	t.Cleanup(func() { is.New(t).NoErr(st.Close()) })
	h := &host{log: &logBuffer{}, store: st, mails: make(chan string, 99)}
	h.Handler = licensing.NewHandler(st, licensing.Options{
		Logger:    slog.New(slog.NewTextHandler(io.Writer(h.log), nil)),
		Dashboard: licensing.DashboardOptions{Mailer: h, MailsKeys: true},
	})
	mux := http.NewServeMux()
	mux.Handle("/tenants/{tenant}/licensing/", http.StripPrefix(prefix, h.Handler))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	h.base = server.URL + prefix
	return h
}

// admin creates an admin.
func (h *host) admin(t *testing.T) operator.Operator {
	t.Helper()
	op, err := h.Operators().Create(t.Context(), operator.CreateParams{Email: adminEmail, Password: adminPassword, Role: operator.RoleAdmin})
	is.New(t).NoErr(err)
	return op
}

// cookie signs in over HTTP and returns the session cookie.
func (h *host) cookie(t *testing.T, email, password string) *http.Cookie {
	t.Helper()
	is := is.New(t)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.PostForm(h.base+"/dashboard/sign-in", url.Values{"email": {email}, "password": {password}})
	is.NoErr(err)
	is.NoErr(resp.Body.Close())
	is.Equal(resp.StatusCode, http.StatusSeeOther)
	return resp.Cookies()[0]
}

// seed creates licenses with every status and feature, including long names. It
// returns the ids of a license with all fields and of a credential.
func (h *host) seed(t *testing.T) (licenseID, clientID string) {
	t.Helper()
	is := is.New(t)
	ctx := t.Context()
	svc := h.Service()
	now := time.Now().UTC().Truncate(time.Second)
	in := func(days int) *time.Time { at := now.AddDate(0, 0, days); return &at }
	seats, lease := int64(25), int64(900)
	create := func(p api.CreateLicenseParams) api.License {
		l, err := svc.Create(ctx, p)
		is.NoErr(err)
		return l
	}
	for i, c := range []string{"north-wind-bakery", "harbour-pilots", "studio-meridian", "kestrel-optics"} {
		for j, p := range []string{"atlas", "atlas-pro", "compass"} {
			create(api.CreateLicenseParams{Name: fmt.Sprintf("%s for %s", []string{"Atlas", "Atlas Pro", "Compass"}[j], c), ProductID: p, CustomerID: c, ExpiresAt: in(20*i + 90*j - 30)})
		}
	}
	create(api.CreateLicenseParams{Name: "Atlas from next month", ProductID: "atlas", CustomerID: "harbour-pilots", StartsAt: in(30), ExpiresAt: in(395)})
	create(api.CreateLicenseParams{
		Name:       "Enterprise agreement for the Royal Observatory of the Northern Isles and all of its outposts, laboratories and field stations, including the ones that are still to be built",
		ProductID:  "atlas-enterprise-with-extended-support-and-onboarding",
		CustomerID: "the.royal.observatory.of.the.northern.isles@procurement.example.org",
	})
	none := int64(0)
	locked := create(api.CreateLicenseParams{Name: "Compass, no seats", ProductID: "compass", CustomerID: "harbour-pilots", Terms: api.Terms{MaxActivations: &none}})
	_, err := svc.As(license.Caller{Address: "203.0.113.7"}).Activate(ctx, api.ActivateKeyParams{Key: locked.Key, Fingerprint: "pilot-3"})
	require.ErrorIs(t, err, api.ErrActivationLimit)
	full := create(api.CreateLicenseParams{
		Name: "Atlas Pro, 25 seats", ProductID: "atlas-pro", CustomerID: "studio-meridian", StartsAt: in(-40), ExpiresAt: in(325),
		Terms:    api.Terms{GraceSeconds: 14 * 86400, MaxActivations: &seats, LeaseSeconds: &lease, Entitlements: map[string]any{"export": true, "projects": 250.0, "support": "business hours"}},
		Metadata: map[string]string{"order": "2026-00417", "sold_by": "Ines", "email": "licensing@observatory.example"},
	})
	client, _, err := h.Auth().CreateClient(ctx, auth.CreateClientParams{Name: "Web shop"})
	is.NoErr(err)
	page, err := svc.List(ctx, api.ListLicensesParams{CustomerID: "kestrel-optics"})
	is.NoErr(err)
	_, err = svc.Suspend(ctx, api.ChangeStateParams{ID: page.Data[0].ID, Reason: "The invoice of March is open"})
	is.NoErr(err)
	for _, fingerprint := range []string{"", "kestrel-bench-1", "the-workstation-of-the-optical-bench-in-the-northern-laboratory"} {
		_, err = svc.As(license.Caller{Address: "2001:db8:85a3::8a2e:370:7334"}).Validate(ctx, api.ValidateKeyParams{Key: page.Data[0].Key, ProductID: "compass", Fingerprint: fingerprint})
		is.NoErr(err)
		_, err = svc.Validate(ctx, api.ValidateKeyParams{Key: page.Data[1].Key, ProductID: "other", Fingerprint: fingerprint})
		is.NoErr(err)
	}
	_, err = svc.Revoke(ctx, api.ChangeStateParams{ID: page.Data[1].ID, Reason: "Charge-back"})
	is.NoErr(err)
	name := "Atlas Pro, 25 floating seats"
	_, err = svc.As(license.Caller{Actor: "client:" + client.ID}).Update(ctx, api.UpdateLicenseParams{ID: full.ID, Name: &name})
	is.NoErr(err)
	_, _, err = h.Auth().CreateClient(ctx, auth.CreateClientParams{
		Name:     "Build server of the team that maintains the installers for every platform",
		Scopes:   []string{auth.ScopeLicenseRead},
		Products: []string{"atlas", "atlas-enterprise-with-extended-support-and-onboarding"},
	})
	is.NoErr(err)
	_, _, err = h.Auth().RotateSecret(ctx, auth.RotateSecretParams{ClientID: client.ID, Overlap: auth.DefaultOverlap})
	is.NoErr(err)
	disabled := true
	old, _, err := h.Auth().CreateClient(ctx, auth.CreateClientParams{Name: "Old shop", Scopes: auth.Scopes()})
	is.NoErr(err)
	_, err = h.Auth().UpdateClient(ctx, auth.UpdateClientParams{ID: old.ID, Disabled: &disabled})
	is.NoErr(err)
	return full.ID, client.ID
}
