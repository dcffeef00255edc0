package licensing_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// verifyWebhook reports whether a message was signed with the secret of the
// webhook (standardwebhooks.com) in the last five minutes.
func verifyWebhook(secret string, h http.Header, body []byte) bool {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) == 0 {
		return false
	}
	sent, err := strconv.ParseInt(h.Get("webhook-timestamp"), 10, 64)
	if err != nil || time.Since(time.Unix(sent, 0)).Abs() > 5*time.Minute {
		return false
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%d.%s", h.Get("webhook-id"), sent, body)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for signature := range strings.FieldsSeq(h.Get("webhook-signature")) { // two after a rotation
		if hmac.Equal([]byte(signature), []byte(want)) {
			return true
		}
	}
	return false
}

// receiveWebhook calls handle for each signed message, and skips messages that it
// has already handled.
func receiveWebhook(secret string, handle func(body []byte) error) http.Handler {
	var seen sync.Map // of ids; keep them in a database for a few days
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
		if err != nil || !verifyWebhook(secret, r.Header, body) {
			http.Error(w, "The signature is not valid.", http.StatusUnauthorized)
			return
		}
		if _, again := seen.Load(r.Header.Get("webhook-id")); !again {
			if err := handle(body); err != nil {
				http.Error(w, "Send it again.", http.StatusServiceUnavailable)
				return
			}
			seen.Store(r.Header.Get("webhook-id"), true)
		}
		w.WriteHeader(http.StatusNoContent)
	})
}

// A program receives events over HTTP and refuses what the service did not
// sign.
func Example_webhook() {
	opts := quiet
	opts.Webhooks.AllowPrivate = true // because the receiver is on this machine
	h := licensing.NewHandler(memory.New(), opts)
	received := make(chan string)
	var receiver http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { receiver.ServeHTTP(w, r) }))
	defer server.Close()

	// Create the webhook. Its secret is shown once.
	r := httptest.NewRequest("POST", "/webhook", strings.NewReader(`{"url":"`+server.URL+`","types":["license.*"]}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+newToken(h, auth.ScopeWebhookWrite))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var webhook struct{ Secret string }
	if err := json.Unmarshal(w.Body.Bytes(), &webhook); err != nil {
		panic(err)
	}
	receiver = receiveWebhook(webhook.Secret, func(body []byte) error {
		var event struct {
			Type       string `json:"type"`
			CustomerID string `json:"customer_id"`
		}
		err := json.Unmarshal(body, &event)
		received <- event.Type + " for " + event.CustomerID
		return err
	})

	ctx, stop := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { h.Run(ctx) })
	_, err := h.Service().Create(ctx, api.CreateLicenseParams{Name: "Atlas", ProductID: "atlas", CustomerID: "ada"})
	if err != nil {
		panic(err)
	}
	fmt.Println(<-received)
	stop()
	work.Wait()

	forged, err := http.Post(server.URL, "application/json", strings.NewReader(`{"type":"license.deleted"}`))
	if err != nil {
		panic(err)
	}
	forged.Body.Close()
	fmt.Println(forged.Status)
	// Output:
	// license.created for ada
	// 401 Unauthorized
}

// newToken returns an access token of a new API client with these scopes.
func newToken(h *licensing.Handler, scopes ...string) string {
	client, secret, err := h.Auth().CreateClient(context.Background(), auth.CreateClientParams{Name: "example", Scopes: scopes})
	if err != nil {
		panic(err)
	}
	r := httptest.NewRequest("POST", "/oauth/token", strings.NewReader("grant_type=client_credentials"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth(client.ID, secret)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var token struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &token); err != nil {
		panic(err)
	}
	return token.AccessToken
}
