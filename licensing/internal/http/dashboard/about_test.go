package dashboard_test

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// put writes an entry as Handler.Run does.
func (s *site) put(e store.Entry) {
	s.t.Helper()
	is.New(s.t).NoErr(s.st.Update(s.t.Context(), func(tx store.Tx) error { return tx.PutEntries(s.t.Context(), e) }))
}

// run calls Handler.Run until nothing is overdue and all conditions hold.
func (s *site) run(t *testing.T, until ...func() bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Error("Run has not done what it was to do")
			break
		}
		overdue := func(p licensing.HealthProblem) bool {
			return p.Code == licensing.HealthNotRunning || p.Code == licensing.HealthOverdue || p.Code == licensing.HealthStore
		}
		if !slices.ContainsFunc(s.Health(ctx).Problems, overdue) {
			_, err := s.st.Entry(ctx, "watermark", "expiry:0s")
			if err == nil && !slices.ContainsFunc(until, func(done func() bool) bool { return !done() }) {
				break
			}
		}
	}
	cancel()
	is.New(t).NoErr(<-done)
}

func TestAbout(t *testing.T) {
	s := newSite(t)
	admin := s.admin()
	s.advance(2 * time.Minute)
	a := admin.get("settings/about")
	for _, text := range []string{
		"*memory.Store", `<a href="../../openapi.json">`, runtime.Version(), "Version 1", "1 hour", "Access token lifetime", "1000 per second, bursts of 2000", "64 KiB", "16 MiB", "Forever", "30 days",
		"Options.PublicURL is not set", "Options.MasterKey is not set", "calls Handler.Run",
	} {
		if !a.says(text) {
			t.Errorf("the page does not contain %q", text)
		}
	}
	key := "thirty-two bytes of a master key"
	s = newSiteOn(t, memory.New(), licensing.Options{
		PublicURL: "https://example.com/licensing", MasterKey: []byte(key), Tokens: auth.TokenOptions{TTL: 90 * time.Minute}, Limits: licensing.LimitOptions{ClientRate: -1, MaxBody: 100_000}, Events: license.EventOptions{Retention: 48 * time.Hour},
	})
	s.run(t)
	admin = s.admin()
	s.advance(2 * time.Minute)
	a = admin.get("settings/about")
	require.NotContains(t, a.body, "not set", "calls Handler.Run", key)
	require.Contains(t, a.body, "https://example.com/licensing", "1 hour 30 minutes", "No limit", "100000 bytes", "2 days")
}

func TestDashboardShowsFailingSubscriber(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	_, err := s.Service().Create(t.Context(), api.CreateLicenseParams{Name: "n", ProductID: "p", CustomerID: "c"})
	is.NoErr(err) // an empty store has a different overview
	s.put(store.Entry{Kind: "subscriber_cursor", Key: "subscriber:mailer", Data: []byte(`{"seq":0,"event":"evt_1","failures":7}`), CreatedAt: s.now})
	admin := s.admin()
	require.Contains(t, admin.get("settings/about").body, "mailer")
	require.Contains(t, admin.get("").body, "mailer")
	s.advance(time.Hour + time.Millisecond)
	require.NotContains(t, admin.get("settings/about").body, "mailer")
}
