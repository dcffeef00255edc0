package license_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
)

// webhook creates one.
func (f *fixture) webhook(t *testing.T, types ...string) (license.Webhook, string) {
	t.Helper()
	w, secret, err := f.CreateWebhook(t.Context(), license.CreateWebhookParams{URL: "https://x.example/in", Types: types})
	if err != nil {
		t.Fatal(err)
	}
	return w, secret
}

// signed is the signature of a message by the words of Standard Webhooks.
func signed(t *testing.T, secret, id string, at time.Time, body string) string {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%d.%s", id, at.Unix(), body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func TestARotationSignsWithBothSecretsForAWhile(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	w, first := f.webhook(t)
	sign := func() string {
		s, err := f.SignWebhook(t.Context(), w.ID, "evt_1", f.now, []byte("{}"))
		is.NoErr(err)
		return s
	}
	is.Equal(sign(), signed(t, first, "evt_1", f.now, "{}"))
	w, second, err := f.RotateWebhookSecret(t.Context(), license.RotateWebhookParams{ID: w.ID, Overlap: time.Hour})
	is.NoErr(err)
	is.Equal(len(w.Secrets), 2)
	is.Equal(sign(), signed(t, second, "evt_1", f.now, "{}")+" "+signed(t, first, "evt_1", f.now, "{}"))
	_, third, err := f.RotateWebhookSecret(t.Context(), license.RotateWebhookParams{ID: w.ID, Overlap: time.Hour})
	is.NoErr(err)
	is.Equal(sign(), signed(t, third, "evt_1", f.now, "{}")+" "+signed(t, second, "evt_1", f.now, "{}"))
	f.now = f.now.Add(time.Hour)
	is.Equal(sign(), signed(t, third, "evt_1", f.now, "{}"))
	_, fourth, err := f.RotateWebhookSecret(t.Context(), license.RotateWebhookParams{ID: w.ID})
	is.NoErr(err)
	is.Equal(sign(), signed(t, fourth, "evt_1", f.now, "{}"))
	is.Equal(f.events(t, w.ID), []string{"webhook.created", "webhook.updated", "webhook.updated", "webhook.updated"})
}

func TestAMasterKeySealsSecrets(t *testing.T) {
	is := is.New(t)
	key := []byte(strings.Repeat("k", 32))
	f := newFixture(t, func(o *license.Options) { o.MasterKey = key })
	w, secret := f.webhook(t)
	raw, err := base64.StdEncoding.DecodeString(secret[len("whsec_"):])
	is.NoErr(err)
	is.Equal(len(raw), 32)
	e, err := f.store.Entry(t.Context(), "webhook", w.ID)
	is.NoErr(err)
	is.True(!strings.Contains(string(e.Data), base64.StdEncoding.EncodeToString(raw)))

	got, err := f.SignWebhook(t.Context(), w.ID, "evt_1", f.now, []byte("{}"))
	is.NoErr(err)
	is.Equal(got, signed(t, secret, "evt_1", f.now, "{}"))
	for _, other := range [][]byte{nil, []byte(strings.Repeat("o", 32))} {
		s := license.New(f.store, license.Options{MasterKey: other, Now: func() time.Time { return f.now }})
		_, err = s.SignWebhook(t.Context(), w.ID, "evt_1", f.now, nil)
		is.True(err != nil)
		is.True(strings.Contains(err.Error(), "Options.MasterKey"))
	}

	// A sealed secret is good for its webhook alone.
	other, _ := f.webhook(t)
	is.NoErr(f.store.Update(t.Context(), func(tx store.Tx) error {
		e.Data = []byte(strings.ReplaceAll(string(e.Data), w.ID, other.ID))
		e.Key = other.ID
		return tx.PutEntries(t.Context(), e)
	}))
	_, err = f.SignWebhook(t.Context(), other.ID, "evt_1", f.now, nil)
	is.True(err != nil)
}

func TestRotatingDropsASecretThatCannotBeRead(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, func(o *license.Options) { o.MasterKey = []byte(strings.Repeat("a", 32)) })
	w, _ := f.webhook(t)
	replaced := license.New(f.store, license.Options{MasterKey: []byte(strings.Repeat("b", 32)), Now: func() time.Time { return f.now }})
	got, secret, err := replaced.RotateWebhookSecret(t.Context(), license.RotateWebhookParams{ID: w.ID, Overlap: 24 * time.Hour})
	is.NoErr(err)
	is.Equal(len(got.Secrets), 1)
	signature, err := replaced.SignWebhook(t.Context(), w.ID, "evt_1", f.now, []byte("{}"))
	is.NoErr(err)
	is.Equal(signature, signed(t, secret, "evt_1", f.now, "{}"))
}

func TestAWebhookIsDisabledAfterFiveDaysOfFailuresOnly(t *testing.T) {
	f := newFixture(t)
	for name, test := range map[string]struct {
		every  time.Duration
		days   int
		mend   int // a success on that day; 0: none
		gone   bool
		status license.WebhookStatus
	}{
		"failing for less":            {every: time.Hour, days: 4, status: license.WebhookActive},
		"failing for five days":       {every: time.Hour, days: 6, status: license.WebhookDisabled},
		"a success in between":        {every: time.Hour, days: 6, mend: 3, status: license.WebhookActive},
		"a failure every other day":   {every: 48 * time.Hour, days: 20, status: license.WebhookActive},
		"gone":                        {gone: true, status: license.WebhookDisabled},
		"a failure a day, for longer": {every: 24 * time.Hour, days: 6, status: license.WebhookDisabled},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			w, _ := f.webhook(t)
			if test.gone {
				_, err := f.ReportWebhook(t.Context(), w.ID, license.WebhookGone)
				is.NoErr(err)
			}
			began := f.now
			for ; f.now.Sub(began) < time.Duration(test.days)*day; f.now = f.now.Add(test.every) {
				result := license.WebhookFailed
				if test.mend > 0 && f.now.Equal(began.Add(time.Duration(test.mend)*day)) {
					result = license.WebhookDelivered
				}
				_, err := f.ReportWebhook(t.Context(), w.ID, result)
				is.NoErr(err)
			}
			w, err := f.GetWebhook(t.Context(), w.ID)
			is.NoErr(err)
			is.Equal(w.Status, test.status)
			types := f.events(t, w.ID)
			is.Equal(types[len(types)-1] == "webhook.disabled", test.status == license.WebhookDisabled)
			is.True(len(types) <= 2) // told once
		})
	}
}

func TestChangesOfAWebhookAreTold(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	w, _ := f.webhook(t)
	same, err := f.UpdateWebhook(t.Context(), license.UpdateWebhookParams{ID: w.ID, URL: ptr(w.URL)})
	is.NoErr(err)
	is.Equal(same, w)
	f.now = f.now.Add(time.Minute)
	next, err := f.UpdateWebhook(t.Context(), license.UpdateWebhookParams{
		ID: w.ID, URL: ptr("https://y.example/secret-path"), Types: &[]string{"license.*"}, Status: ptr(license.WebhookPaused),
	})
	is.NoErr(err)
	is.Equal(next.UpdatedAt, f.now)
	e, data := f.lastEvent(t)
	is.Equal(e.Type, "webhook.updated")
	is.Equal(len(data.Changes), 3)
	is.Equal(data.Changes["url"], license.FieldChange{From: "https://x.example", To: "https://y.example"})
	is.Equal(data.Webhook.URL, "https://y.example")
	is.True(!strings.Contains(string(e.Data), "secret-path"))
	is.NoErr(f.DeleteWebhook(t.Context(), w.ID))
	is.True(errors.Is(f.DeleteWebhook(t.Context(), w.ID), license.ErrNotFound))
	is.Equal(f.events(t, w.ID), []string{"webhook.created", "webhook.updated", "webhook.deleted"})
}

func TestThereAreAtMostAHundredWebhooks(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	for range 100 {
		f.webhook(t)
	}
	_, _, err := f.CreateWebhook(t.Context(), license.CreateWebhookParams{URL: "https://x.example/"})
	is.True(errors.Is(err, license.ErrInvalid))
	all, err := f.Webhooks(t.Context())
	is.NoErr(err)
	is.Equal(len(all), 100)
}

// Fault: a webhook that its owner has paused says why it was disabled.
func TestADisabledWebhookThatIsPausedSaysNothingOfBeingDisabled(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	w, _ := f.webhook(t)
	w, err := f.ReportWebhook(t.Context(), w.ID, license.WebhookGone)
	is.NoErr(err)
	is.True(w.StatusReason != "")
	w, err = f.UpdateWebhook(t.Context(), license.UpdateWebhookParams{ID: w.ID, Status: ptr(license.WebhookPaused)})
	is.NoErr(err)
	is.Equal(w.Status, license.WebhookPaused)
	is.Equal(w.StatusReason, "")
}
