package dashboard_test

import (
	"fmt"
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// TestFailingWebhook: the list and the page of a webhook that fails say what it
// answers, since when, how many events wait, and when the next attempt is.
func TestFailingWebhook(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s, v, w, receiver := newReceiverSite(t)
	at := "settings/webhooks/" + w.ID
	receiver.answer(500, "out of <b>memory</b>\nat line 7")
	s.license(api.CreateLicenseParams{Name: "Pilot boat"})
	s.run(t, s.attempted(w, 1))
	s.license(api.CreateLicenseParams{Name: "Ferry"})
	s.license(api.CreateLicenseParams{Name: "Tug"})
	tags := regexp.MustCompile(`<[^>]*>`)
	for _, page := range []string{"settings/webhooks", at} {
		text := tags.ReplaceAllString(v.get(page).body, "")
		require.Contains(t, text, "Answers 500 (out of &lt;b&gt;memory&lt;/b&gt;) since 12:00 · 3 events wait · next attempt 12:00")
		require.NotContains(t, text, "Success rate")
	}
	s.advance(13 * time.Hour)
	v = s.signedIn("ada@example.com")
	require.Contains(t, tags.ReplaceAllString(v.get(at).body, ""), "since 1 Mar 2026 · 4 events wait · next attempt 01:00") // and the sign-in

	receiver.answer(204, "")
	s.run(t, func() bool {
		now, err := s.Webhooks().Get(t.Context(), w.ID)
		return err == nil && now.FailingSince == nil
	})
	for _, page := range []string{"settings/webhooks", at} {
		require.NotContains(t, v.get(page).body, "Answers 500")
	}
	is.Equal(v.get(at).StatusCode, http.StatusOK)
}

// A list of more than 50 webhooks has several pages.
func TestPagesOfWebhooks(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	for i := range 51 {
		s.advance(time.Millisecond)
		s.webhook(fmt.Sprintf("https://shop.example/%d/", i))
	}
	first := v.get("settings/webhooks")
	require.Contains(t, first.body, "https://shop.example/49/")
	require.NotContains(t, first.body, "https://shop.example/50/")
	next := regexp.MustCompile(`rel="next" href="\?after=([^"]+)"`).FindStringSubmatch(first.body)
	is.Equal(len(next), 2)
	second := v.get("settings/webhooks?after=" + next[1])
	require.Contains(t, second.body, "https://shop.example/50/")
	require.NotContains(t, second.body, "https://shop.example/49/")
	require.Contains(t, second.body, "First page")
	require.NotContains(t, second.body, "Next page")
	is.Equal(v.get("settings/webhooks?after=wrong").StatusCode, http.StatusBadRequest)
}
