package dashboard_test

import (
	"fmt"
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/matryer/is"
)

func TestWebhookSuccessRate(t *testing.T) {
	is := is.New(t)
	s, v, w, receiver := newReceiverSite(t)
	at := "settings/webhooks/" + w.ID
	is.True(v.get("settings/webhooks").says("None yet") && !v.get(at).says("Success rate"))

	for i, status := range []int{200, 500, 204} {
		receiver.answer(status, "")
		_, err := s.Webhooks().Test(t.Context(), w.ID)
		is.NoErr(err)
		s.run(t, s.attempted(w, 1))
		if i == 0 {
			is.True(v.get("settings/webhooks").says(`100% <span class="sub">1 of 1</span>`))
		}
	}
	_, err := s.Webhooks().Test(t.Context(), w.ID) // not attempted
	is.NoErr(err)
	a := v.get("settings/webhooks")
	is.Equal(a.StatusCode, http.StatusOK)
	is.True(a.says(`66% <span class="sub">2 of 3</span>`) && a.says("the last 50 deliveries"))
	is.True(v.get(at).says("66% <span class=\"muted\">· 2 of 3 attempted among the last 50 deliveries"))
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
	is.True(first.says("Success rate") && first.says("https://shop.example/49/") && !first.says("https://shop.example/50/"))
	next := regexp.MustCompile(`rel="next" href="\?after=([^"]+)"`).FindStringSubmatch(first.body)
	is.Equal(len(next), 2)
	second := v.get("settings/webhooks?after=" + next[1])
	is.True(second.says("Success rate") && second.says("https://shop.example/50/") && !second.says("https://shop.example/49/"))
	is.True(second.says("First page") && !second.says("Next page"))
	is.Equal(v.get("settings/webhooks?after=wrong").StatusCode, http.StatusBadRequest)
}
