package client_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/client"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
)

// TestVerifyWebhook uses the example of the specification of Standard Webhooks.
func TestVerifyWebhook(t *testing.T) {
	const (
		secret    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
		id        = "msg_p5jXN8AQM9LWM0D4loKWxJek"
		timestamp = 1614265330
		signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
		body      = `{"test": 2432232314}`
	)
	for name, tt := range map[string]struct {
		after                 time.Duration
		secret, id, signature string
		timestamp, body       string
		ok                    bool
	}{
		"the example":          {ok: true},
		"a second signature":   {signature: "v1,AAAA v2,x " + signature, ok: true},
		"five minutes late":    {after: 5 * time.Minute, ok: true},
		"five minutes early":   {after: -5 * time.Minute, ok: true},
		"a replay":             {after: 5*time.Minute + time.Second},
		"too early":            {after: -5*time.Minute - time.Second},
		"another body":         {body: `{"test": 2432232315}`},
		"another id":           {id: "msg_2"},
		"another secret":       {secret: "whsec_AAAA"},
		"another time":         {timestamp: "1614265331"},
		"no signature":         {signature: " "},
		"another version":      {signature: "v1a," + signature[3:]},
		"no time":              {timestamp: "x"},
		"a time far away":      {timestamp: "-9223372036854775808"},
		"part of a signature":  {signature: signature[:20]},
		"an invalid secret":    {secret: "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
		"an empty secret":      {secret: "whsec_"},
		"a secret, not base64": {secret: "whsec_!"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				time.Sleep(time.Until(time.Unix(timestamp, 0).Add(tt.after)))
				or := func(v, otherwise string) string {
					if v == "" {
						return otherwise
					}
					return v
				}
				h := http.Header{}
				h.Set("webhook-id", or(tt.id, id))
				h.Set("webhook-timestamp", or(tt.timestamp, fmt.Sprint(timestamp)))
				h.Set("webhook-signature", or(tt.signature, signature))
				s := or(tt.secret, secret)
				_, err := client.VerifyWebhook(s, h, []byte(or(tt.body, body)))
				is.Equal(err == nil, tt.ok)
				is.Equal(errors.Is(err, client.CodeInvalidSignature), !tt.ok && !strings.Contains(name, "secret") || name == "another secret")
			})
		})
	}
}

func TestWebhooks(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	received := make(chan api.Event, 10)
	var secret string
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		e, err := client.VerifyWebhook(secret, r.Header, body)
		if err != nil {
			t.Errorf("verify: %v", err)
			w.WriteHeader(http.StatusUnauthorized)
		}
		received <- e
	}))
	t.Cleanup(receiver.Close)
	c, h := newService(t, licensing.Options{Webhooks: webhook.Options{AllowPrivate: true}})
	hook, err := c.CreateWebhook(ctx, api.CreateWebhookParams{URL: receiver.URL, Types: []string{"license.*"}})
	is.NoErr(err)
	secret = hook.Secret
	hook, err = c.RotateWebhook(ctx, api.RotateWebhookParams{ID: hook.ID, OverlapSeconds: new(int64(60))})
	is.NoErr(err)
	is.Equal(len(hook.Secrets), 2) // the old secret still verifies

	d, err := c.TestWebhook(ctx, hook.ID)
	is.NoErr(err)
	is.Equal(d.Status, api.DeliveryPending)
	l, err := c.CreateLicense(ctx, atlas("cus_1"))
	is.NoErr(err)
	run(t, h)
	got := map[string]api.Event{}
	for range 2 {
		e := <-received
		got[e.Type] = e
	}
	data, err := got["license.created"].Decode()
	is.NoErr(err)
	is.Equal(data.License.ID, l.ID)
	is.Equal(got["webhook.test"].ID, d.EventID)

	for list := 0; list < 2; { // they are stored with the batch
		list = 0
		for _, err := range c.ListDeliveries(ctx, api.ListDeliveriesParams{WebhookID: hook.ID, Limit: 1}) {
			is.NoErr(err)
			list++
		}
	}
	w, err := c.UpdateWebhook(ctx, api.UpdateWebhookParams{ID: hook.ID, Types: &[]string{}, Status: new(api.WebhookPaused)})
	is.NoErr(err)
	is.Equal(w.Status, api.WebhookPaused)
	is.Equal(w.Types, []string{})
	w, err = c.UpdateWebhook(ctx, api.UpdateWebhookParams{ID: hook.ID, Status: new(api.WebhookActive), ResumeFrom: api.ResumeFromNow})
	is.NoErr(err)
	require.Greater(t, w.SkippedEvents, 0) // that of the change before
	other, err := c.CreateWebhook(ctx, api.CreateWebhookParams{URL: "https://other.example/"})
	is.NoErr(err)
	var ids []string
	for w, err := range c.ListWebhooks(ctx, api.ListWebhooksParams{Limit: 1}) {
		is.NoErr(err)
		ids = append(ids, w.ID)
	}
	slices.Sort(ids) // both may have been created in one millisecond
	is.Equal(ids, slices.Sorted(slices.Values([]string{hook.ID, other.ID})))
	is.NoErr(c.DeleteWebhook(ctx, hook.ID))
	_, err = c.GetWebhook(ctx, hook.ID)
	require.ErrorIs(t, err, api.CodeNotFound)
}
