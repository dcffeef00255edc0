package webhook

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// TestReceiver: a receiver in Python that was written from docs/eventtypes.md handles
// fourteen types of events and ignores others, and ends with the same in whatever order and
// however often they come.
func TestReceiver(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skipf("python3 is needed: %v", err)
	}
	secret, messages := deliveries(t)
	const want = `{"licenses": [["Ada", "cus_2", "active", 1], ["Ends", "cus_1", "expired", 0], ["Held", "cus_5", "suspended", 0], ["Soon", "cus_1", "active", 0]], ` +
		`"sales": [["shop:1", "team"]], ` +
		`"mails": [["cus_1", "expiring", "30 days"], ["cus_1", "suspended", "unpaid"], ["cus_1", "welcome", "Ada"], ` +
		`["cus_1", "welcome", "Ends"], ["cus_1", "welcome", "Gone"], ["cus_1", "welcome", "Soon"], ["cus_2", "transferred", ""], ` +
		`["cus_5", "suspended", ""], ["cus_5", "welcome", "Held"]], ` +
		`"alerts": [["cus_1", "100 % of 10 exports"], ["cus_1", "80 % of 10 exports"]], "used": [10], "suspended": ["cus_5"]}`
	reversed := slices.Clone(messages)
	slices.Reverse(reversed)
	for name, order := range map[string][]message{
		"in order": messages, "backward": reversed, "twice": slices.Concat(messages, messages), "backward and again": slices.Concat(reversed, messages),
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			url := receiver(t, secret)
			for _, m := range order {
				is.Equal(send(t, url, m), http.StatusNoContent)
			}
			resp, err := http.Get(url)
			is.NoErr(err)
			defer resp.Body.Close()
			got, err := io.ReadAll(resp.Body)
			is.NoErr(err)
			is.Equal(string(got), want)
		})
	}
	t.Run("refused", func(t *testing.T) {
		is := is.New(t)
		url := receiver(t, secret)
		m := messages[0]
		is.Equal(send(t, url, message{m.Header, m.Body + " "}), http.StatusUnauthorized)
		late := m.Header.Clone()
		late.Set("webhook-timestamp", fmt.Sprint(time.Now().Add(-6*time.Minute).Unix()))
		is.Equal(send(t, url, message{late, m.Body}), http.StatusUnauthorized)
		is.Equal(send(t, receiver(t, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), m), http.StatusUnauthorized)
	})
}

// deliveries returns what a service sends when licenses are sold, used, changed and
// deleted, and customers suspended and erased, in the order of the feed.
func deliveries(t *testing.T) (secret string, messages []message) {
	is := is.New(t)
	ctx := t.Context()
	st, err := sqlite.Open(filepath.Join(t.TempDir(), "licenses.db"))
	is.NoErr(err)
	t.Cleanup(func() { st.Close() })
	h := licensing.NewHandler(st, licensing.Options{
		Logger: slog.New(slog.DiscardHandler), PollInterval: 10 * time.Millisecond,
		MasterKey: []byte(strings.Repeat("k", 32)), Webhooks: webhook.Options{AllowPrivate: true},
	})
	url, came := inbox(t)
	_, secret, err = h.Webhooks().Create(ctx, api.CreateWebhookParams{URL: url})
	is.NoErr(err)
	run := func() (stop func()) {
		ctx, cancel := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- h.Run(ctx) }()
		return func() {
			cancel()
			is.NoErr(<-ended)
		}
	}
	until := time.After(time.Minute)
	next := func() message {
		select {
		case m := <-came:
			messages = append(messages, m)
			return m
		case <-until:
			t.Fatal("the events did not come")
			panic("unreachable")
		}
	}

	s := h.Service()
	create := func(p api.CreateLicenseParams) api.License {
		p.ProductID = "atlas"
		l, err := s.Create(ctx, p)
		is.NoErr(err)
		return l
	}
	_, err = h.Selling().PutPlan(ctx, api.PutPlanParams{ID: "team", ProductID: "atlas", Name: "Team", Terms: api.Terms{Meters: map[string]api.Meter{"exports": {Limit: new(int64(10))}}}})
	is.NoErr(err)
	stop := run() // from which on licenses get notices
	next()
	stop()
	soon := create(api.CreateLicenseParams{Name: "Soon", CustomerID: "cus_1", ExpiresAt: new(time.Now().Add(30*24*time.Hour + time.Second))})
	ends := create(api.CreateLicenseParams{Name: "Ends", CustomerID: "cus_1", ExpiresAt: new(time.Now().Add(time.Second))})
	sold, err := h.Selling().RecordPurchase(ctx, api.RecordPurchaseParams{Reference: "shop:1", CustomerID: "cus_1", PlanID: "team", Name: "Ada", State: api.PurchaseActive})
	is.NoErr(err)
	ada := *sold.License
	for range 2 {
		v, err := s.Activate(ctx, api.ActivateKeyParams{Key: ada.Key, Fingerprint: "host-1"})
		is.NoErr(err)
		_, err = s.ReleaseActivation(ctx, api.ReleaseActivationParams{LicenseID: ada.ID, ActivationID: v.Activation.ID})
		is.NoErr(err)
	}
	for _, used := range []int64{8, 10} {
		report := []api.UsageReport{{ID: "report", Meter: "exports", Total: used}}
		_, err = h.Metering().RecordUsage(ctx, api.RecordUsageParams{Licenses: []api.LicenseUsage{{LicenseID: ada.ID, Usage: report}}})
		is.NoErr(err)
	}
	_, err = s.Update(ctx, api.UpdateLicenseParams{ID: ada.ID, MaxActivations: api.To(int64(5))})
	is.NoErr(err)
	_, err = s.Suspend(ctx, api.ChangeStateParams{ID: ada.ID, Reason: "unpaid"})
	is.NoErr(err)
	_, err = s.Reinstate(ctx, api.ChangeStateParams{ID: ada.ID})
	is.NoErr(err)
	_, err = s.Activate(ctx, api.ActivateKeyParams{Key: ada.Key, Fingerprint: "host-1"})
	is.NoErr(err)
	moved, err := s.Transfer(ctx, api.TransferLicenseParams{ID: ada.ID, CustomerID: "cus_2", Name: "Ada"})
	is.NoErr(err)
	_, err = s.Activate(ctx, api.ActivateKeyParams{Key: moved.Key, Fingerprint: "host-2"})
	is.NoErr(err)
	gone := create(api.CreateLicenseParams{Name: "Gone", CustomerID: "cus_1"})
	_, err = s.Revoke(ctx, api.ChangeStateParams{ID: gone.ID})
	is.NoErr(err)
	is.NoErr(s.Delete(ctx, api.DeleteLicenseParams{ID: gone.ID}))
	create(api.CreateLicenseParams{Name: "Held", CustomerID: "cus_5"})
	_, err = s.SuspendCustomer(ctx, api.ChangeCustomerStateParams{CustomerID: "cus_5"})
	is.NoErr(err)
	create(api.CreateLicenseParams{Name: "Erased", CustomerID: "cus_4"})

	time.Sleep(time.Until(soon.ExpiresAt.Add(-30 * 24 * time.Hour)))
	time.Sleep(time.Until(*ends.ExpiresAt))
	stop = run() // which looks for licenses that have ended
	for has := map[string]bool{}; !has[api.EventLicenseExpiring] || !has[api.EventCustomerErased]; {
		m := next()
		var e api.Event
		is.NoErr(json.Unmarshal([]byte(m.Body), &e))
		is.Equal(e.ID, m.Header.Get("webhook-id"))
		if e.Type == api.EventLicenseExpired { // the events before it have been delivered
			_, err = s.EraseCustomer(ctx, "cus_4")
			is.NoErr(err)
		}
		has[e.Type] = true
	}
	stop()
	feed, err := s.Events(ctx, api.ListEventsParams{Limit: 200})
	is.NoErr(err)
	positions := map[string]int{}
	for i, e := range feed.Data {
		positions[e.ID] = i
	}
	slices.SortFunc(messages, func(a, b message) int {
		return positions[a.Header.Get("webhook-id")] - positions[b.Header.Get("webhook-id")]
	})
	return secret, messages
}

// receiver starts the receiver and returns its address.
func receiver(t *testing.T, secret string) (url string) {
	is := is.New(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	cmd := exec.CommandContext(ctx, "python3", "testdata/receiver.py")
	cmd.Env, cmd.Stderr = append(os.Environ(), "SECRET="+secret), os.Stderr
	out, err := cmd.StdoutPipe()
	is.NoErr(err)
	is.NoErr(cmd.Start())
	t.Cleanup(func() { cancel(); cmd.Wait() })
	port, err := bufio.NewReader(out).ReadString('\n')
	is.NoErr(err)
	return "http://127.0.0.1:" + strings.TrimSpace(port)
}

// send returns the status that the receiver answers to a message.
func send(t *testing.T, url string, m message) int {
	is := is.New(t)
	r, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(m.Body))
	is.NoErr(err)
	maps.Copy(r.Header, m.Header)
	resp, err := http.DefaultClient.Do(r)
	is.NoErr(err)
	resp.Body.Close()
	return resp.StatusCode
}
