package host

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
)

// receiverPath is where the application receives its own events, as another
// program would.
const receiverPath = "/hook"

// A receiver prints events after it verifies their signature with the webhook
// secret (standardwebhooks.com). Libraries can do this; the receiver shows how
// little code it needs.
type receiver struct {
	secret []byte
	out    io.Writer
}

// signatureAge is the maximum age of a message, to prevent replays.
const signatureAge = 5 * time.Minute

func (rc receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
	if err != nil {
		http.Error(w, "The body cannot be read.", http.StatusBadRequest)
		return
	}
	if !rc.verify(r.Header, body) {
		http.Error(w, "The signature is not valid.", http.StatusUnauthorized)
		return
	}
	var e api.Event
	if err := json.Unmarshal(body, &e); err != nil {
		http.Error(w, "The body is not an event.", http.StatusBadRequest)
		return
	}
	// An event may be delivered more than once, with the same ID. A receiver
	// with side effects should remember the IDs it has seen.
	fmt.Fprintf(rc.out, "event  %s  %s  by %s\n", e.Type, e.Subject, e.Actor)
	w.WriteHeader(http.StatusNoContent)
}

// verify reports whether one of the signatures is by the secret, over the id,
// the time and the body of the message.
func (rc receiver) verify(h http.Header, body []byte) bool {
	at, err := strconv.ParseInt(h.Get("webhook-timestamp"), 10, 64)
	if err != nil || time.Since(time.Unix(at, 0)).Abs() > signatureAge {
		return false
	}
	mac := hmac.New(sha256.New, rc.secret)
	fmt.Fprintf(mac, "%s.%d.", h.Get("webhook-id"), at)
	mac.Write(body)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for signature := range strings.FieldsSeq(h.Get("webhook-signature")) {
		if hmac.Equal([]byte(signature), []byte(want)) {
			return true
		}
	}
	return false
}

// receiverNote is the description of the webhook of this receiver.
const receiverNote = "The example's own receiver"

// newReceiver creates a webhook for this process at root. In a kept database the
// webhook exists; it gets the new URL and a new secret, because the old one cannot
// be read.
func newReceiver(ctx context.Context, hooks *webhook.Service, root string, out io.Writer) (receiver, error) {
	address := root + receiverPath
	page, err := hooks.List(ctx, api.ListWebhooksParams{}) // the first page has it: it is older than others
	if err != nil {
		return receiver{}, err
	}
	var secret string
	for _, w := range page.Data {
		if w.Description != receiverNote {
			continue
		}
		active := api.WebhookActive
		if _, err = hooks.Update(ctx, api.UpdateWebhookParams{ID: w.ID, URL: &address, Status: &active}); err == nil {
			_, secret, err = hooks.RotateSecret(ctx, api.RotateWebhookParams{ID: w.ID, OverlapSeconds: new(int64)})
		}
		break
	}
	if secret == "" && err == nil {
		_, secret, err = hooks.Create(ctx, api.CreateWebhookParams{
			URL: address, Description: receiverNote, Types: []string{"license.*", "activation.*"},
		})
	}
	if err != nil {
		return receiver{}, err
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	return receiver{key, out}, err
}
