package dashboard_test

import (
	"fmt"
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/require"
)

func TestWebhookSuccessRate(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s, v, w, receiver := newReceiverSite(t)
	at := "settings/webhooks/" + w.ID
	require.Contains(t, v.get("settings/webhooks").body, "None yet")
	require.NotContains(t, v.get(at).body, "Success rate")

	for i, status := range []int{200, 500, 204} {
		receiver.answer(status, "")
		_, err := s.Webhooks().Test(t.Context(), w.ID)
		is.NoErr(err)
		s.run(t, s.attempted(w, 1))
		if i == 0 {
			require.Contains(t, v.get("settings/webhooks").body, `100% <span class="sub">1 of 1</span>`)
		}
	}
	_, err := s.Webhooks().Test(t.Context(), w.ID) // not attempted
	is.NoErr(err)
	a := v.get("settings/webhooks")
	is.Equal(a.StatusCode, http.StatusOK)
	require.Contains(t, a.body, `66% <span class="sub">2 of 3</span>`, "the last 50 deliveries")
	require.Contains(t, v.get(at).body, "66% <span class=\"muted\">· 2 of 3 attempted among the last 50 deliveries")
}

// A list of more than 50 webhooks has several pages, each with success rates.
func TestPagesOfWebhooks(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	for i := range 51 {
		s.advance(time.Millisecond)
		s.webhook(fmt.Sprintf("https://shop.example/%d/", i))
	}
	first := v.get("settings/webhooks")
	require.Contains(t, first.body, "Success rate", "https://shop.example/49/")
	require.NotContains(t, first.body, "https://shop.example/50/")
	next := regexp.MustCompile(`rel="next" href="\?after=([^"]+)"`).FindStringSubmatch(first.body)
	is.Equal(len(next), 2)
	second := v.get("settings/webhooks?after=" + next[1])
	require.Contains(t, second.body, "Success rate", "https://shop.example/50/")
	require.NotContains(t, second.body, "https://shop.example/49/")
	require.Contains(t, second.body, "First page")
	require.NotContains(t, second.body, "Next page")
	is.Equal(v.get("settings/webhooks?after=wrong").StatusCode, http.StatusBadRequest)
}
