package webhook

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

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/seal"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
)

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
		s, err := f.signStored(t.Context(), w.ID, "evt_1", f.now, []byte("{}"))
		is.NoErr(err)
		return s
	}
	is.Equal(sign(), signed(t, first, "evt_1", f.now, "{}"))
	w, second, err := f.RotateSecret(t.Context(), api.RotateWebhookParams{ID: w.ID, OverlapSeconds: new(int64(3600))})
	is.NoErr(err)
	is.Equal(len(w.Secrets), 2)
	is.Equal(sign(), signed(t, second, "evt_1", f.now, "{}")+" "+signed(t, first, "evt_1", f.now, "{}"))
	_, third, err := f.RotateSecret(t.Context(), api.RotateWebhookParams{ID: w.ID, OverlapSeconds: new(int64(3600))})
	is.NoErr(err)
	is.Equal(sign(), signed(t, third, "evt_1", f.now, "{}")+" "+signed(t, second, "evt_1", f.now, "{}"))
	f.now = f.now.Add(time.Hour)
	is.Equal(sign(), signed(t, third, "evt_1", f.now, "{}"))
	_, fourth, err := f.RotateSecret(t.Context(), api.RotateWebhookParams{ID: w.ID, OverlapSeconds: new(int64)})
	is.NoErr(err)
	is.Equal(sign(), signed(t, fourth, "evt_1", f.now, "{}"))
	is.Equal(f.events(t, w.ID), []string{"webhook.created", "webhook.updated", "webhook.updated", "webhook.updated"})

	const most = 30 * 24 * 60 * 60
	for overlap, refused := range map[int64]bool{-1: true, most: false, most + 1: true, 1 << 62: true} {
		_, _, err = f.RotateSecret(t.Context(), api.RotateWebhookParams{ID: w.ID, OverlapSeconds: &overlap})
		is.Equal(errors.Is(err, api.ErrInvalid), refused)
	}
}

func TestAMasterKeySealsSecrets(t *testing.T) {
	is := is.New(t)
	key := []byte(strings.Repeat("k", 32))
	f := newFixture(t, func(o *license.Options, _ *Options) { o.MasterKey = key })
	w, secret := f.webhook(t)
	raw, err := base64.StdEncoding.DecodeString(secret[len("whsec_"):])
	is.NoErr(err)
	is.Equal(len(raw), 32)
	e, err := f.store.Entry(t.Context(), "webhook", w.ID)
	is.NoErr(err)
	require.NotContains(t, string(e.Data), base64.StdEncoding.EncodeToString(raw))

	got, err := f.signStored(t.Context(), w.ID, "evt_1", f.now, []byte("{}"))
	is.NoErr(err)
	is.Equal(got, signed(t, secret, "evt_1", f.now, "{}"))
	for _, other := range [][]byte{nil, []byte(strings.Repeat("o", 32))} {
		s := open(license.New(f.store, license.Options{MasterKey: other, Now: func() time.Time { return f.now }}), Options{})
		_, err = s.signStored(t.Context(), w.ID, "evt_1", f.now, nil)
		is.True(err != nil)
		require.Contains(t, err.Error(), "Options.MasterKey")
	}

	// A sealed secret is good for its webhook alone.
	other, _ := f.webhook(t)
	is.NoErr(f.store.Update(t.Context(), func(tx store.Tx) error {
		e.Data = []byte(strings.ReplaceAll(string(e.Data), w.ID, other.ID))
		e.Key = other.ID
		return tx.PutEntries(t.Context(), e)
	}))
	_, err = f.signStored(t.Context(), other.ID, "evt_1", f.now, nil)
	is.True(err != nil)
}

// After a change of the master key, the previous one keeps deliveries going
// until the secrets are rotated.
func TestAPreviousMasterKeyOpensSecrets(t *testing.T) {
	is := is.New(t)
	first, second := []byte(strings.Repeat("1", 32)), []byte(strings.Repeat("2", 32))
	f := newFixture(t, func(o *license.Options, _ *Options) { o.MasterKey = first })
	w, secret := f.webhook(t)
	open := func(o license.Options) *Service {
		o.Now = func() time.Time { return f.now }
		return open(license.New(f.store, o), Options{})
	}
	counts := func(s *Service) seal.Counts {
		n, err := inner.Of(s).SecretCounts(t.Context())
		is.NoErr(err)
		return n
	}
	both := open(license.Options{MasterKey: second, PreviousMasterKeys: [][]byte{first}})
	signature, err := both.signStored(t.Context(), w.ID, "evt_1", f.now, []byte("{}"))
	is.NoErr(err)
	is.Equal(signature, signed(t, secret, "evt_1", f.now, "{}"))
	is.Equal(counts(both), seal.Counts{Previous: 1})
	is.Equal(counts(open(license.Options{MasterKey: second})), seal.Counts{Unreadable: 1})

	got, _, err := both.RotateSecret(t.Context(), api.RotateWebhookParams{ID: w.ID, OverlapSeconds: new(int64(3600))})
	is.NoErr(err)
	is.Equal(len(got.Secrets), 2) // the old secret overlaps, because it can be read
	is.Equal(counts(both), seal.Counts{Sealed: 1, Previous: 1})
	f.now = f.now.Add(time.Hour)
	is.Equal(counts(both), seal.Counts{Sealed: 1})
	_, err = open(license.Options{MasterKey: second}).signStored(t.Context(), w.ID, "evt_1", f.now, []byte("{}"))
	is.NoErr(err) // the previous key is no longer needed
}

func TestRotatingDropsASecretThatCannotBeRead(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, func(o *license.Options, _ *Options) { o.MasterKey = []byte(strings.Repeat("a", 32)) })
	w, _ := f.webhook(t)
	replaced := open(license.New(f.store, license.Options{MasterKey: []byte(strings.Repeat("b", 32)), Now: func() time.Time { return f.now }}), Options{})
	got, secret, err := replaced.RotateSecret(t.Context(), api.RotateWebhookParams{ID: w.ID})
	is.NoErr(err)
	is.Equal(len(got.Secrets), 1)
	signature, err := replaced.signStored(t.Context(), w.ID, "evt_1", f.now, []byte("{}"))
	is.NoErr(err)
	is.Equal(signature, signed(t, secret, "evt_1", f.now, "{}"))
}

func TestAWebhookIsDisabledAfterFiveDaysOfFailuresOnly(t *testing.T) {
	f := newFixture(t)
	for name, test := range map[string]struct {
		every   time.Duration
		days    int
		success int // a success on that day; 0: none
		gone    bool
		status  api.WebhookStatus
	}{
		"failing for less":            {every: time.Hour, days: 4, status: api.WebhookActive},
		"failing for five days":       {every: time.Hour, days: 6, status: api.WebhookDisabled},
		"a success in between":        {every: time.Hour, days: 6, success: 3, status: api.WebhookActive},
		"a failure every other day":   {every: 48 * time.Hour, days: 20, status: api.WebhookActive},
		"gone":                        {gone: true, status: api.WebhookDisabled},
		"a failure a day, for longer": {every: 24 * time.Hour, days: 6, status: api.WebhookDisabled},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			w, _ := f.webhook(t)
			if test.gone {
				_, err := f.reportOn(t.Context(), w.ID, resultGone)
				is.NoErr(err)
			}
			began := f.now
			for ; f.now.Sub(began) < time.Duration(test.days)*day; f.now = f.now.Add(test.every) {
				result := resultFailed
				if test.success > 0 && f.now.Equal(began.Add(time.Duration(test.success)*day)) {
					result = resultDelivered
				}
				_, err := f.reportOn(t.Context(), w.ID, result)
				is.NoErr(err)
			}
			w, err := f.Get(t.Context(), w.ID)
			is.NoErr(err)
			is.Equal(w.Status, test.status)
			types := f.events(t, w.ID)
			is.Equal(types[len(types)-1] == "webhook.disabled", test.status == api.WebhookDisabled)
			require.AtMost(t, len(types), 2) // told once
		})
	}
}

// TestAFailureNotedByAClockThatWasAhead does not count for the days before that.
func TestAFailureNotedByAClockThatWasAhead(t *testing.T) {
	is := is.New(t)
	rec := webhookRecord{Status: api.WebhookActive}
	rec.note(resultFailed, start.Add(10*day))
	rec.note(resultFailed, start)
	is.Equal(rec.FailingSince, start)
}

func TestChangesOfAWebhookAreTold(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	w, _ := f.webhook(t)
	same, err := f.Update(t.Context(), api.UpdateWebhookParams{ID: w.ID, URL: ptr(w.URL)})
	is.NoErr(err)
	is.Equal(same, w)
	f.now = f.now.Add(time.Minute)
	next, err := f.Update(t.Context(), api.UpdateWebhookParams{
		ID: w.ID, URL: ptr("https://y.example/secret-path"), Types: &[]string{"license.*"}, Status: ptr(api.WebhookPaused),
	})
	is.NoErr(err)
	is.Equal(next.UpdatedAt, f.now)
	e, data := f.lastEvent(t)
	is.Equal(e.Type, "webhook.updated")
	is.Equal(len(data.Changes), 3)
	is.Equal(data.Changes["url"], api.FieldChange{From: "https://x.example", To: "https://y.example"})
	is.Equal(data.Webhook.URL, "https://y.example")
	require.NotContains(t, string(e.Data), "secret-path")
	_, err = f.Test(t.Context(), w.ID)
	is.NoErr(err)
	e, data = f.lastEvent(t)
	is.Equal(e.Type, api.EventWebhookTest)
	is.Equal(data.Webhook.URL, "https://y.example")
	is.NoErr(f.Delete(t.Context(), w.ID))
	require.ErrorIs(t, f.Delete(t.Context(), w.ID), api.ErrNotFound)
	is.Equal(f.events(t, w.ID), []string{"webhook.created", "webhook.updated", "webhook.test", "webhook.deleted"})
}

// Fault: a webhook that its owner has paused says why it was disabled.
func TestPausingADisabledWebhook(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	w, _ := f.webhook(t)
	w, err := f.reportOn(t.Context(), w.ID, resultGone)
	is.NoErr(err)
	is.True(w.StatusReason != "")
	w, err = f.Update(t.Context(), api.UpdateWebhookParams{ID: w.ID, Status: ptr(api.WebhookPaused)})
	is.NoErr(err)
	is.Equal(w.Status, api.WebhookPaused)
	is.Equal(w.StatusReason, "")
}

// A webhook that is activated again gets another five days.
func TestActivatingAWebhookClearsItsFailures(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	w, _ := f.webhook(t)
	for began := f.now; f.now.Sub(began) <= failingFor; f.now = f.now.Add(day) {
		_, err := f.reportOn(t.Context(), w.ID, resultFailed)
		is.NoErr(err)
	}
	w, err := f.Update(t.Context(), api.UpdateWebhookParams{ID: w.ID, Status: ptr(api.WebhookActive)})
	is.NoErr(err)
	is.Equal(w.FailingSince, nil)
	w, err = f.reportOn(t.Context(), w.ID, resultFailed)
	is.NoErr(err)
	is.Equal(w.Status, api.WebhookActive)
	is.Equal(*w.FailingSince, f.now)
}

// TestCallsJoinTheUpdateOfTheRules: a webhook that is created inside Atomically
// exists only if all of it succeeds.
func TestCallsJoinTheUpdateOfTheRules(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	create := func(p api.CreateWebhookParams, end error) error {
		return f.rules.Atomically(t.Context(), func(rules *license.Service) error {
			if _, err := rules.Create(t.Context(), api.CreateLicenseParams{Name: "n", ProductID: "p", CustomerID: "c"}); err != nil {
				return err
			}
			_, _, err := f.In(rules.As(license.Caller{Actor: "client:cid_1"})).Create(t.Context(), p)
			if end != nil {
				return end
			}
			if errors.Is(err, api.ErrInvalid) {
				return nil // a refusal writes nothing, so the rest may stand
			}
			return err
		})
	}
	stop := errors.New("stop")
	is.Equal(create(api.CreateWebhookParams{URL: "https://x.example/"}, stop), stop)
	is.Equal(f.purgeAll(t), 0) // no event
	is.NoErr(create(api.CreateWebhookParams{URL: "ftp://x.example/"}, nil))
	is.Equal(f.purgeAll(t), 1)
	is.NoErr(create(api.CreateWebhookParams{URL: "https://x.example/"}, nil))
	e, _ := f.lastEvent(t)
	is.Equal(e.Type, api.EventWebhookCreated)
	is.Equal(e.Actor, "client:cid_1")
	all, err := f.List(t.Context(), api.ListWebhooksParams{})
	is.NoErr(err)
	is.Equal(len(all.Data), 1)
}

// TestCreateByACallerWithProducts: a webhook has at most the products of its creator.
func TestCreateByACallerWithProducts(t *testing.T) {
	for name, tt := range map[string]struct{ limit, asked, got []string }{
		"all of the caller's": {limit: []string{"q", "p"}, got: []string{"p", "q"}},
		"one of them":         {limit: []string{"q", "p"}, asked: []string{"p"}, got: []string{"p"}},
		"another's":           {limit: []string{"p"}, asked: []string{"p", "q"}},
		"a caller without":    {limit: []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			by := f.In(f.rules.As(license.Caller{Products: tt.limit}))
			w, _, err := by.Create(t.Context(), api.CreateWebhookParams{URL: "https://x.example/", Products: tt.asked})
			if tt.got == nil {
				require.ErrorIs(t, err, api.ErrProductForbidden)
				return
			}
			is.New(t).NoErr(err)
			is.New(t).Equal(w.Products, tt.got)
		})
	}
}

func TestThereAreAtMostAThousandWebhooks(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	w, _ := f.webhook(t)
	is.NoErr(f.update(t.Context(), func(tx *transaction) error {
		for range maxWebhooks - 2 {
			err := tx.putWebhook(t.Context(), webhookRecord{ID: store.NewID("whk", tx.now), URL: "https://x.example/", Status: api.WebhookActive})
			if err != nil {
				return err
			}
		}
		return nil
	}))
	full := func() bool {
		t.Helper()
		_, _, err := f.Create(t.Context(), api.CreateWebhookParams{URL: "https://x.example/"})
		is.True(err == nil || errors.Is(err, api.ErrInvalid))
		return err != nil
	}
	is.True(!full())
	is.True(full())
	is.NoErr(f.Delete(t.Context(), w.ID))
	is.True(!full())
	is.True(full())
}
