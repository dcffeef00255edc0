package mail_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/mail"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestService: a message is sent as the API wants it, and an answer that refuses it is an
// error, so that the event is retried.
func TestService(t *testing.T) {
	is := is.New(t)
	status := http.StatusOK
	var got map[string]any
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		is.Equal([]string{r.Method, r.Header.Get("Authorization"), r.Header.Get("Idempotency-Key"), r.Header.Get("Content-Type")},
			[]string{"POST", "Bearer re_1", "evt_1", "application/json"})
		is.NoErr(json.NewDecoder(r.Body).Decode(&got))
		w.WriteHeader(status)
	}))
	defer api.Close()
	s := Service{URL: api.URL, Token: "re_1", From: "keys@vendor.example"}
	m := mail.Message{ID: "evt_1", To: "ada@customer.example", Subject: "Your key", Text: "K"}
	is.NoErr(s.Send(t.Context(), m))
	is.Equal(got, map[string]any{"from": "keys@vendor.example", "to": []any{"ada@customer.example"}, "subject": "Your key", "text": "K"})
	status = http.StatusUnprocessableEntity
	is.True(s.Send(t.Context(), m) != nil)
}

// TestExample: the guide's shop has the pages.
func TestExample(t *testing.T) {
	is := is.New(t)
	shop := newShop(memory.New(), mail.Server{Addr: "127.0.0.1:1", From: "keys@acme.example"})
	for path, status := range map[string]int{"/account/sign-in": http.StatusOK, "/account/licenses/": http.StatusSeeOther, "/licensing/health": http.StatusOK} {
		w := httptest.NewRecorder()
		shop.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", path, nil))
		is.Equal(w.Code, status)
	}
}
