package dashboard_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/outbox"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// webhook creates a webhook with the Go API.
func (s *site) webhook(url string) api.Webhook {
	s.t.Helper()
	w, _, err := s.Webhooks().Create(s.t.Context(), api.CreateWebhookParams{URL: url})
	is.New(s.t).NoErr(err)
	return w
}

func TestCreateWebhook(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	require.Contains(t, v.get("settings/webhooks").body, "No webhooks yet")
	once := v.get("settings/webhooks/new").hidden("once")
	form := []string{"once", once, "url", " https://shop.example/hooks ", "description", "The shop", "types", "license.*", "types", "activation.created", "products", "atlas"}
	a := v.post("settings/webhooks/new", form...)
	is.Equal(a.StatusCode, http.StatusOK)
	secret := regexp.MustCompile(`whsec_[A-Za-z0-9+/=]{44}`).FindString(strings.ReplaceAll(a.body, "&#43;", "+"))
	is.True(secret != "")
	hooks, err := s.Webhooks().List(t.Context(), api.ListWebhooksParams{})
	is.NoErr(err)
	is.Equal(len(hooks.Data), 1)
	w := hooks.Data[0]
	is.Equal(w.URL+w.Description+strings.Join(w.Types, " ")+strings.Join(w.Products, " "), "https://shop.example/hooksThe shopactivation.created license.*atlas")

	again := v.post("settings/webhooks/new", form...) // a reload creates no second webhook and shows no secret
	is.Equal(again.StatusCode, http.StatusConflict)
	require.NotContains(t, again.body, "whsec_")
	require.Contains(t, again.body, w.ID)
	page := v.get("settings/webhooks/" + w.ID)
	require.Contains(t, page.body, "https://shop.example/hooks", "The shop", "license.*")
	require.NotContains(t, page.body, "whsec_")
	require.Contains(t, v.get("settings/webhooks").body, "https://shop.example/hooks")
	require.NotContains(t, s.log.String(), secret)

	for _, tt := range [][2]string{
		{"url", ""}, {"url", "ftp://x.example"}, {"url", "http://shop.example"}, {"url", "https://me:you@shop.example"},
		{"types", "license.mislaid"}, {"types", ""}, {"description", "a\x01"}, {"products", "a\x01"},
	} {
		form := map[string]string{"url": "https://shop.example", "types": "all", tt[0]: tt[1]}
		a := v.post("settings/webhooks/new", "url", form["url"], "types", form["types"], "description", form["description"], "products", form["products"])
		is.Equal(a.StatusCode, http.StatusUnprocessableEntity)
		if !a.says(`id="f-` + tt[0] + `-error"`) {
			t.Errorf("%q: %s", tt, regexp.MustCompile(`(?s)<main.*</main>`).FindString(a.body))
		}
	}
}

func TestChangeWebhook(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	w := s.webhook("https://shop.example/hooks")
	at := "settings/webhooks/" + w.ID
	now := func() api.Webhook {
		w, err := s.Webhooks().Get(t.Context(), w.ID)
		is.NoErr(err)
		return w
	}
	is.Equal(v.change(at+"/edit", "url", "https://shop.example/new", "description", "Orders", "types", "license.created").StatusCode, http.StatusSeeOther)
	is.Equal(now().URL+" "+now().Description+" "+now().Types[0], "https://shop.example/new Orders license.created")
	is.Equal(v.change(at+"/edit", "url", "shop", "types", "all").StatusCode, http.StatusUnprocessableEntity)

	is.Equal(v.post(at+"/pause").StatusCode, http.StatusSeeOther)
	is.Equal(now().Status, api.WebhookPaused)
	require.Contains(t, v.get(at).body, "Resume")
	is.Equal(v.post(at+"/resume").StatusCode, http.StatusSeeOther)
	is.Equal(now().Status, api.WebhookActive)
	is.Equal(now().SkippedEvents, int64(0))
	is.Equal(v.post(at+"/pause").StatusCode, http.StatusSeeOther)
	require.Contains(t, v.get(at).body, "Resume from now")
	is.Equal(v.post(at+"/resume", "from", "now").StatusCode, http.StatusSeeOther)
	is.Equal(now().Status, api.WebhookActive)
	require.Greater(t, now().SkippedEvents, 0)
	require.Contains(t, v.get(at).body, "Skipped events")

	is.Equal(v.post(at+"/rotate", "overlap", "forever").StatusCode, http.StatusUnprocessableEntity)
	once := v.get(at + "/rotate").hidden("once")
	a := v.post(at+"/rotate", "once", once, "overlap", "24h0m0s")
	require.Contains(t, a.body, "whsec_")
	is.Equal(len(now().Secrets), 2)
	require.Contains(t, v.get(at).body, "Expires in 1 day")
	a = v.post(at+"/rotate", "once", once, "overlap", "24h0m0s")
	is.Equal(a.StatusCode, http.StatusConflict)
	require.NotContains(t, a.body, "whsec_")

	is.Equal(v.post(at+"/delete").to(), "../../../settings/webhooks")
	for _, page := range []string{"", "/edit", "/rotate", "/delete"} {
		is.Equal(v.get(at+page).StatusCode, http.StatusNotFound)
	}
	for _, change := range []string{"/pause", "/resume", "/test", "/delete", "/deliveries/dlv_x/resend"} {
		is.Equal(v.post(at+change).StatusCode, http.StatusNotFound)
	}
}

func TestWebhookDeliveries(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	w := s.webhook("https://shop.example/hooks")
	at := "settings/webhooks/" + w.ID
	require.Contains(t, v.get(at).body, "None yet.")
	_, err := s.Webhooks().Test(t.Context(), w.ID)
	is.NoErr(err)
	a := v.get(at)
	require.Contains(t, a.body, "webhook.test", "pending", "No attempts yet")

	// Store the state of a delivery that failed for three days.
	page, err := s.Webhooks().Deliveries(t.Context(), api.ListDeliveriesParams{WebhookID: w.ID})
	is.NoErr(err)
	d := page.Data[0]
	data, err := json.Marshal(map[string]any{"attempts": []api.Attempt{
		{At: s.now, Error: "connection refused", DurationMS: 3}, {At: s.now, StatusCode: 503, Error: `<script>alert("x")</script>`, DurationMS: 120},
	}})
	is.NoErr(err)
	is.NoErr(s.st.Update(t.Context(), func(tx store.Tx) error {
		rec, err := outbox.Get(t.Context(), tx, w.ID, d.ID)
		if err != nil {
			return err
		}
		rec.State, rec.DueAt, rec.Data = string(api.DeliveryFailed), time.Time{}, data
		return outbox.Put(t.Context(), tx, rec)
	}))
	a = v.get(at + "?status=failed")
	require.Contains(t, a.body, "Status 503 after 120 ms, 2 attempts", "&lt;script&gt;alert")
	require.NotContains(t, a.body, "<script>alert")
	require.Contains(t, v.get(at+"?status=succeeded").body, "No deliveries with this status.")
	is.Equal(v.get(at+"?status=mislaid").StatusCode, http.StatusBadRequest)
	is.Equal(v.get(at+"?cursor=garbage").StatusCode, http.StatusBadRequest)

	_, err = s.Webhooks().Resend(t.Context(), w.ID, d.ID)
	is.NoErr(err)
	page, err = s.Webhooks().Deliveries(t.Context(), api.ListDeliveriesParams{WebhookID: w.ID})
	is.NoErr(err)
	is.Equal(page.Data[0].Status, api.DeliveryPending)

	for range 30 {
		_, err := s.Webhooks().Test(t.Context(), w.ID)
		is.NoErr(err)
		s.advance(time.Millisecond)
	}
	first := v.get(at)
	is.Equal(strings.Count(first.body, "/resend"), 25)
	next := regexp.MustCompile(`rel="next" href="([^"#]*)#deliveries"`).FindStringSubmatch(first.body)
	is.Equal(strings.Count(v.get(at+next[1]).body, "/resend"), 6)
}

// TestDeliveriesWithARareStatus: a page that examines only others says that the
// next one continues.
func TestDeliveriesWithARareStatus(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	w := s.webhook("https://shop.example/hooks")
	var many []outbox.Delivery
	for i := range 10_500 {
		d := outbox.Delivery{
			ID: fmt.Sprintf("dlv_%026d", i), WebhookID: w.ID, EventID: "evt_1", EventSeq: 1, EventType: "license.created",
			State: string(api.DeliverySucceeded), CreatedAt: s.now, UpdatedAt: s.now,
		}
		if i == 0 {
			d.State = string(api.DeliveryFailed)
		}
		many = append(many, d)
	}
	is.NoErr(s.st.Update(t.Context(), func(tx store.Tx) error { return outbox.Put(t.Context(), tx, many...) }))
	at := "settings/webhooks/" + w.ID
	a := v.get(at + "?status=failed")
	require.Contains(t, a.body, "None found yet. The next page continues the search.")
	next := regexp.MustCompile(`rel="next" href="([^"#]*)#deliveries"`).FindStringSubmatch(a.body)
	a = v.get(at + html.UnescapeString(next[1]))
	require.Contains(t, a.body, many[0].ID)
	require.NotContains(t, a.body, "None found yet")
}

// unreachable is a transport that reaches no receiver.
type unreachable struct{}

func (unreachable) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("unreachable")
}

func TestStalledDeliveriesAreShown(t *testing.T) {
	is := is.New(t)
	s := newSiteOn(t, memory.New(), licensing.Options{Webhooks: webhook.Options{Transport: unreachable{}}})
	v := s.admin()
	s.license(api.CreateLicenseParams{Name: "Atlas"})
	require.NotContains(t, v.get("settings/webhooks").body, "MasterKey") // no warning without webhooks
	w := s.webhook("https://shop.example/hooks")
	_, err := s.Webhooks().Test(t.Context(), w.ID)
	is.NoErr(err)
	s.advance(10 * time.Minute)
	for _, page := range []string{"", "settings/webhooks", "settings/webhooks/" + w.ID} {
		require.Contains(t, v.get(page).body, "calls Handler.Run")
	}
	require.Contains(t, v.get("").body, "Options.MasterKey")
	require.Contains(t, v.get("settings/webhooks").body, "Options.MasterKey")
	s.run(t, func() bool { // a delivery that was claimed and not attempted would be overdue again
		page, err := s.Webhooks().Deliveries(t.Context(), api.ListDeliveriesParams{WebhookID: w.ID})
		return err == nil && !slices.ContainsFunc(page.Data, func(d api.Delivery) bool { return len(d.Attempts) == 0 })
	})
	require.NotContains(t, v.get("").body, "calls Handler.Run")

	sealed := newSiteOn(t, memory.New(), licensing.Options{MasterKey: []byte("thirty-two bytes of a master key")})
	sealed.webhook("https://shop.example/hooks")
	require.NotContains(t, sealed.admin().get("settings/webhooks").body, "MasterKey")
}
