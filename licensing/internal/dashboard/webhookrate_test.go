package dashboard_test

import (
	"net/http"
	"testing"

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

func TestAListOfManyWebhooksHasNoSuccessRates(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	for range 50 {
		s.webhook("https://shop.example/hooks")
	}
	is.True(v.get("settings/webhooks").says("Success rate"))
	s.webhook("https://shop.example/hooks")
	a := v.get("settings/webhooks")
	is.True(a.StatusCode == http.StatusOK && !a.says("Success rate"))
}
