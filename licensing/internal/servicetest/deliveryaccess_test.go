package servicetest

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestAWebhookSendsWhatItsClientMaySee narrows the client that made a webhook,
// and then disables it.
func TestAWebhookSendsWhatItsClientMaySee(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		p := newPostOffice()
		h := licensing.NewHandler(memory.New(), postedBy(p))
		c, _, err := h.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "n", Products: []string{"a", "b"}})
		is.NoErr(err)
		as := h.Webhooks().In(h.Service().As(license.Caller{Actor: "client:" + c.ID, Products: c.Products}))
		w, _, err := as.Create(t.Context(), api.CreateWebhookParams{URL: "https://x.example/"})
		is.NoErr(err)
		defer begin(t, h)()
		sentFor := func(product string) int {
			before := len(p.at("x.example"))
			_, err := h.Service().Create(t.Context(), api.CreateLicenseParams{Name: "n", ProductID: product, CustomerID: "c"})
			is.NoErr(err)
			time.Sleep(5 * time.Second)
			return len(p.at("x.example")) - before
		}
		is.Equal(sentFor("a"), 1)
		_, err = as.Test(t.Context(), w.ID) // a test has no product
		is.NoErr(err)
		time.Sleep(5 * time.Second)
		is.Equal(deliveries(t, h, w.ID)[0].Status, api.DeliverySucceeded)
		narrowed, disabled := []string{"b"}, true
		_, err = h.Auth().UpdateClient(t.Context(), auth.UpdateClientParams{ID: c.ID, Products: &narrowed})
		is.NoErr(err)
		is.Equal(sentFor("a"), 0)
		is.Equal(deliveries(t, h, w.ID)[0].Status, api.DeliveryFailed)
		is.Equal(sentFor("b"), 1)
		_, err = h.Auth().UpdateClient(t.Context(), auth.UpdateClientParams{ID: c.ID, Disabled: &disabled})
		is.NoErr(err)
		is.Equal(sentFor("b"), 0)
	})
}

// TestEveryAttemptChecksWhatItMaySend: a retry and a resend send nothing that the
// client that created the webhook may not see any more.
func TestEveryAttemptChecksWhatItMaySend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		p := newPostOffice()
		h := licensing.NewHandler(memory.New(), postedBy(p))
		c, _, err := h.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "n", Products: []string{"p", "q"}})
		is.NoErr(err)
		as := h.Webhooks().In(h.Service().As(license.Caller{Actor: "client:" + c.ID, Products: c.Products}))
		w, _, err := as.Create(t.Context(), api.CreateWebhookParams{URL: "https://x.example/"})
		is.NoErr(err)
		p.answers("x.example", status(500))
		defer begin(t, h)()
		happen(t, h, 1)
		time.Sleep(3 * time.Second)
		is.Equal(len(p.at("x.example")), 1)
		narrowed := []string{"q"}
		_, err = h.Auth().UpdateClient(t.Context(), auth.UpdateClientParams{ID: c.ID, Products: &narrowed})
		is.NoErr(err)
		time.Sleep(time.Minute)
		is.Equal(len(p.at("x.example")), 1)
		failed := deliveries(t, h, w.ID)[0]
		is.Equal(failed.Status, api.DeliveryFailed)
		_, err = h.Webhooks().Resend(t.Context(), w.ID, failed.ID)
		is.NoErr(err)
		time.Sleep(time.Minute)
		is.Equal(len(p.at("x.example")), 1)
		is.Equal(deliveries(t, h, w.ID)[0].Status, api.DeliveryFailed)
	})
}

// TestARetryChecksTheEventTypes: after the types of a webhook were narrowed, the
// deliveries in its queue that it no longer selects fail without another request.
// What an operator resends is sent nevertheless, as often as it takes.
func TestARetryChecksTheEventTypes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		p := newPostOffice()
		h := licensing.NewHandler(memory.New(), postedBy(p))
		w := hook(t, h, "x.example", "license.created")
		p.answers("x.example", status(500))
		defer begin(t, h)()
		happen(t, h, 1)
		time.Sleep(3 * time.Second)
		is.Equal(len(p.at("x.example")), 1)
		p.answers("x.example", nil)
		types := []string{"license.deleted"}
		_, err := h.Webhooks().Update(t.Context(), api.UpdateWebhookParams{ID: w.ID, Types: &types})
		is.NoErr(err)
		_, err = h.Webhooks().Test(t.Context(), w.ID)
		is.NoErr(err)
		time.Sleep(time.Minute)
		is.Equal(len(p.at("x.example")), 2) // the test
		skipped := deliveries(t, h, w.ID)[1]
		is.Equal(skipped.Status, api.DeliveryFailed)
		is.Equal(skipped.NextAttemptAt, nil)
		is.Equal(len(skipped.Attempts), 2)
		is.Equal(skipped.Attempts[1].Error, "skipped: the webhook no longer selects this event type")
		w, err = h.Webhooks().Get(t.Context(), w.ID)
		is.NoErr(err)
		is.Equal(w.FailingSince, nil) // it is no failure of the receiver
		is.Equal(w.Status, api.WebhookActive)

		p.answers("x.example", status(500))
		_, err = h.Webhooks().Resend(t.Context(), w.ID, skipped.ID)
		is.NoErr(err)
		time.Sleep(3 * time.Second)
		is.Equal(len(p.at("x.example")), 3)
		p.answers("x.example", nil)
		time.Sleep(time.Minute)
		is.Equal(len(p.at("x.example")), 4)
		is.Equal(deliveries(t, h, w.ID)[1].Status, api.DeliverySucceeded)
	})
}
